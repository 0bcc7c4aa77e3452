//! The conversation a session goes on with, opened for writing.

use std::path::{Path, PathBuf};

use posse_core::message::Message;
use serde_json::Value;

use super::{LaunchError, LaunchRequest, SessionChoice};
use crate::catalog::Catalog;
use crate::context;
use crate::session::{self, EntryWriter, SessionError, Transcript};
use crate::world::World;

/// An opened conversation.
pub(super) struct Opened {
    pub(super) id: String,
    pub(super) file: PathBuf,
    pub(super) history: Vec<Message>,
    /// The call that was put off, if the conversation ended with that.
    pub(super) deferred: Option<Box<str>>,
    pub(super) transcript: Transcript,
    pub(super) spool: PathBuf,
    /// Where long outputs of the conversation lie that this one is a copy of.
    pub(super) copied_from: Option<PathBuf>,
}

pub(super) fn open_session(
    request: &LaunchRequest,
    catalog: &Catalog,
    world: &World,
) -> Result<Opened, LaunchError> {
    let config = catalog.layout.user.clone().unwrap_or_else(|| world.temp_dir().join("posse"));
    let cwd = &catalog.layout.cwd;
    let (source, fork) = match &request.session {
        SessionChoice::New | SessionChoice::NewWith(_) => (None, None),
        SessionChoice::Continue { fork } => {
            let newest = session::newest(&config, cwd).ok_or(SessionError::Nothing)?;
            (Some(newest), fork.clone())
        }
        SessionChoice::Resume { id, fork } => (Some(session::find(&config, cwd, id)?), fork.clone()),
    };
    if let (Some(found), None) = (&source, &fork)
        && session::is_open(&found.path)
    {
        return Err(SessionError::Busy(found.id.clone()).into());
    }
    let history = match &source {
        Some(found) => cut(session::load(&found.path, None)?, &found.path, request)?,
        None => session::History::default(),
    };
    let fresh = || world.ids.uuid();
    let id = match (&request.session, &source, &fork) {
        (SessionChoice::NewWith(id), _, _) => id.clone(),
        (_, Some(_), Some(fork)) => fork.clone().unwrap_or_else(fresh),
        (_, Some(found), None) => found.id.clone(),
        (_, None, _) => fresh(),
    };
    let file = session::session_file(&config, cwd, &id);
    let must_be_new = source.is_none() || fork.is_some();
    if must_be_new && file.exists() {
        return Err(SessionError::InUse(id).into());
    }
    let branch = catalog.layout.repository.as_deref().map(context::branch).unwrap_or_default();
    let writer =
        EntryWriter::new(&id, &cwd.display().to_string(), &branch, &request.entrypoint, history.last.clone());
    let stored = (!request.no_persistence).then_some(file.as_path());
    let mut transcript = Transcript::open(stored, writer)?.mirrored(request.mirror.clone());
    if fork.is_some() {
        transcript.append(&copied(&history.entries, &id))?;
    }
    let copied_from = source.filter(|_| fork.is_some()).map(|found| spool(&found.path));
    Ok(Opened {
        history: history.messages,
        deferred: history.deferred,
        transcript,
        spool: spool(&file),
        file,
        id,
        copied_from,
    })
}

/// The part of a conversation that is to go on, if not all of it is.
fn cut(
    whole: session::History,
    path: &Path,
    request: &LaunchRequest,
) -> Result<session::History, SessionError> {
    let (at, drops) = (request.resume_at.as_deref(), request.resume_drops.as_deref());
    let kept = match at {
        None => whole.clone(),
        Some(at) => session::load(path, Some(at))?,
    };
    if let Some(at) = at.filter(|_| kept.entries.is_empty()) {
        return Err(SessionError::Rejected(format!("No message found with message.uuid of: {at}")));
    }
    let Some(drops) = drops else { return Ok(kept) };
    let dropped: Vec<&Value> = whole
        .entries
        .iter()
        .filter(|entry| !kept.entries.contains(entry))
        .filter(|one| is_prompt(one))
        .collect();
    let is_it = |entry: &&Value| entry.get("uuid").and_then(Value::as_str) == Some(drops);
    match dropped.as_slice() {
        [one] if is_it(one) => Ok(kept),
        [] => Err(SessionError::Rejected(
            "Resume rejected by --resume-drops-turn: nothing would be dropped".to_owned(),
        )),
        several => Err(SessionError::Rejected(format!(
            "Resume rejected by --resume-drops-turn: {} turns would be dropped, and not just {drops:?}",
            several.len()
        ))),
    }
}

/// Whether an entry is something a user said, and no answer of a tool.
fn is_prompt(entry: &Value) -> bool {
    let blocks = entry.pointer("/message/content").and_then(Value::as_array);
    let answers = blocks
        .is_some_and(|blocks| blocks.iter().any(|block| block.get("type") == Some(&"tool_result".into())));
    let is_beside = entry.get("isMeta").and_then(Value::as_bool) == Some(true);
    entry.get("type").and_then(Value::as_str) == Some("user") && !answers && !is_beside
}

/// The entries of a conversation as those of its copy.
fn copied(entries: &[Value], id: &str) -> Vec<Value> {
    let own = |entry: &Value| {
        let mut entry = entry.clone();
        let from = entry.get("sessionId").cloned().unwrap_or_default();
        let uuid = entry.get("uuid").cloned().unwrap_or_default();
        entry["forkedFrom"] = serde_json::json!({ "sessionId": from, "messageUuid": uuid });
        entry["sessionId"] = Value::String(id.to_owned());
        entry
    };
    entries.iter().map(own).collect()
}

/// Long outputs lie beside the transcript, in a folder named like it.
fn spool(file: &Path) -> PathBuf {
    file.with_extension("")
}
