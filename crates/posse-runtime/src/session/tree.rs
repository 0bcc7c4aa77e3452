//! The agents of a session as a tree, with what each did and used. Everything is read from transcripts: what is not
//! written there (what tools asked models beside a conversation) is not counted. Refuses to know how a tree is drawn.

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use posse_core::message::{Usage, json as wire};
use posse_core::price::Price;
use serde_json::Value;

use super::entries::TURN_END;
use super::meta::{self, AgentMeta};
use super::{Found, SessionError};

/// How an agent stands, as far as its transcript tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It came to its end.
    Completed,
    /// It ended without what it was asked for.
    Failed,
    /// Somebody stopped it.
    Killed,
    /// It is at work.
    Running,
    /// Its process is gone, and it had not ended.
    Unfinished,
}

impl Status {
    /// In a word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Killed => "killed",
            Self::Running => "running",
            Self::Unfinished => "crashed",
        }
    }
}

/// What an agent did and used.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Work {
    /// Replies of a model.
    pub turns: u64,
    /// Calls of tools.
    pub tool_calls: u64,
    /// Tokens.
    pub usage: Usage,
    /// Dollars.
    pub cost: f64,
    /// Time at work: waiting for the next prompt does not count.
    pub duration_ms: u64,
}

impl Work {
    fn add(&mut self, other: &Self) {
        self.turns += other.turns;
        self.tool_calls += other.tool_calls;
        self.usage += other.usage;
        self.cost += other.cost;
    }
}

/// An agent of a session, with those it started.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Its id; that of the session for the main agent.
    pub id: Box<str>,
    /// What kind of agent.
    pub kind: Box<str>,
    /// What it was called.
    pub name: Option<Box<str>>,
    /// Its task in a few words.
    pub task: String,
    /// How it stands.
    pub status: Status,
    /// Whether nobody waited for it.
    pub in_background: bool,
    /// The models that answered, in order of appearance.
    pub models: Vec<Box<str>>,
    /// What it did itself.
    pub work: Work,
    /// When it began, as written.
    pub began: Option<Timestamp>,
    /// When it was at work: from and to, in milliseconds since 1970.
    pub busy: Vec<(i64, i64)>,
    /// Its transcript.
    pub transcript: PathBuf,
    /// Lines of it that cannot be read.
    pub unreadable: usize,
    /// Those it started, in the order they began.
    pub children: Vec<Node>,
}

impl Node {
    /// This one and all below it.
    pub fn all(&self) -> Vec<&Self> {
        let below = self.children.iter().flat_map(Self::all);
        std::iter::once(self).chain(below).collect()
    }

    /// What all of them did and used. Those who worked side by side took their time once.
    pub fn total(&self) -> Work {
        let all = self.all();
        let mut spans: Vec<(i64, i64)> = all.iter().flat_map(|node| node.busy.iter().copied()).collect();
        spans.sort_unstable();
        let mut total = Work::default();
        let mut upto = i64::MIN;
        for (from, to) in spans {
            let new = to.saturating_sub(from.max(upto)).max(0);
            total.duration_ms += u64::try_from(new).unwrap_or_default();
            upto = upto.max(to);
        }
        all.iter().for_each(|node| total.add(&node.work));
        total
    }

    /// The same at the price of another model.
    pub fn priced_as(&mut self, model: &str) {
        self.work.cost = Price::of(model).cost(&self.work.usage);
        self.children.iter_mut().for_each(|child| child.priced_as(model));
    }
}

/// Reads the agents of a session.
pub fn tree(session: &Found) -> Result<Node, SessionError> {
    let main = Account::read(&session.path)?;
    let status = match (is_open(&session.path), main.is_done(), main.ended) {
        (_, _, Some(ended)) => ended,
        (true, false, None) => Status::Running,
        (_, true, None) => Status::Completed,
        (false, false, None) => Status::Unfinished,
    };
    let mut root = main.node(&session.id, "main", &session.path, status);
    root.task = session.title.clone();
    let mut crew = members(&session.path.with_extension("").join("subagents"));
    // Those further down come first: when one is hung up, everybody below it hangs from it already.
    crew.sort_by(|a, b| b.depth.cmp(&a.depth).then_with(|| b.node.id.cmp(&a.node.id)));
    let parents: Vec<Option<usize>> = crew.iter().map(|member| parent(member, &crew)).collect();
    let mut nodes: Vec<Node> = crew.into_iter().map(|member| member.node).collect();
    for (place, parent) in parents.into_iter().enumerate() {
        let node = std::mem::replace(&mut nodes[place], root.bare());
        match parent {
            Some(parent) => nodes[parent].adopt(node),
            None => root.adopt(node),
        }
    }
    Ok(root)
}

impl Node {
    fn adopt(&mut self, child: Self) {
        let at = self.children.partition_point(|other| (other.began, &other.id) <= (child.began, &child.id));
        self.children.insert(at, child);
    }

    /// What stands where a node was taken away.
    fn bare(&self) -> Self {
        Self { children: Vec::new(), ..self.clone() }
    }
}

/// An agent as its files tell, before its place is known.
struct Member {
    node: Node,
    depth: u32,
    /// The call that set it to work.
    call: Box<str>,
    /// Calls it made, and agents it was told it started.
    calls: HashSet<Box<str>>,
    started: HashSet<Box<str>>,
}

fn members(folder: &Path) -> Vec<Member> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let metas = entries.map(|entry| entry.path());
    metas.filter_map(|path| member(&path)).collect()
}

fn member(path: &Path) -> Option<Member> {
    let id = meta::id(path)?;
    let transcript = path.with_file_name(format!("agent-{id}.jsonl"));
    // A file that cannot be read does not hide its agent.
    let meta = AgentMeta::read(path).unwrap_or_default();
    // One that never said a word has no transcript; it was started all the same.
    let account = Account::read(&transcript).unwrap_or_default();
    let status = match (meta.finished, meta.status.as_deref()) {
        (Some(true), Some("completed")) => Status::Completed,
        (Some(true), Some("killed")) => Status::Killed,
        (Some(true), _) => Status::Failed,
        // Files of other programs do not say; a last word is as good as an end.
        (None, _) if account.is_done() => Status::Completed,
        (Some(false) | None, _) if is_open(&transcript) => Status::Running,
        (Some(false) | None, _) => Status::Unfinished,
    };
    let kind = if meta.agent_type.is_empty() { "agent" } else { &meta.agent_type };
    let mut node = account.node(id, kind, &transcript, status);
    node.name = meta.name;
    node.task = meta.description;
    node.in_background = &*meta.request_shape == "background";
    if node.models.is_empty() {
        node.models = meta.model.into_iter().collect();
    }
    Some(Member {
        node,
        depth: meta.spawn_depth.max(1),
        call: meta.tool_use_id,
        calls: account.calls,
        started: account.started,
    })
}

/// Who started an agent: somebody above it who was told so, or whose call it works for. Else the main agent.
fn parent(member: &Member, crew: &[Member]) -> Option<usize> {
    let above = || crew.iter().enumerate().filter(|(_, other)| other.depth < member.depth);
    let told = above().filter(|(_, other)| other.started.contains(&member.node.id));
    let called = above().filter(|(_, other)| other.calls.contains(&member.call));
    told.chain(called).max_by_key(|(_, other)| other.depth).map(|(place, _)| place)
}

/// Whether somebody writes to a transcript: whoever does holds a lock on it, which ends with the process.
pub fn is_open(transcript: &Path) -> bool {
    let Ok(file) = File::open(transcript) else { return false };
    matches!(file.try_lock(), Err(std::fs::TryLockError::WouldBlock))
}

/// What a transcript tells.
#[derive(Default)]
struct Account {
    work: Work,
    usage: BTreeMap<Box<str>, Usage>,
    models: Vec<Box<str>>,
    began: Option<Timestamp>,
    last: Option<Timestamp>,
    busy: Vec<(i64, i64)>,
    reply: Option<Box<str>>,
    calls: HashSet<Box<str>>,
    started: HashSet<Box<str>>,
    /// Calls without an answer.
    owed: HashSet<Box<str>>,
    /// Whether the model had the last word.
    replied: bool,
    /// How the last turn ended, if without an answer.
    ended: Option<Status>,
    unreadable: usize,
}

impl Account {
    fn read(path: &Path) -> Result<Self, SessionError> {
        let bytes =
            std::fs::read(path).map_err(|source| SessionError::Io { path: path.to_owned(), source })?;
        let mut account = Self::default();
        for line in String::from_utf8_lossy(&bytes).lines().filter(|line| !line.trim().is_empty()) {
            match serde_json::from_str::<Value>(line) {
                Ok(entry) => account.entry(&entry),
                Err(_) => account.unreadable += 1,
            }
        }
        Ok(account)
    }

    fn entry(&mut self, entry: &Value) {
        let kind = entry.get("type").and_then(Value::as_str);
        let blocks = entry.pointer("/message/content").and_then(Value::as_array);
        let blocks = blocks.map(Vec::as_slice).unwrap_or_default();
        match kind {
            Some("assistant") => self.reply(entry, blocks),
            Some("user") => {
                let answers = blocks.iter().filter_map(|block| block.get("tool_use_id")?.as_str());
                let answered: Vec<&str> = answers.collect();
                self.time(entry, !answered.is_empty());
                answered.iter().for_each(|id| {
                    self.owed.remove(*id);
                });
                if answered.is_empty() {
                    // Whoever is spoken to again has no answers to wait for from before.
                    self.owed.clear();
                    // A script that is played once more gives its replies the same ids.
                    self.reply = None;
                }
                self.ended = None;
                let started = entry.pointer("/toolUseResult/agentId").and_then(Value::as_str);
                self.started.extend(started.map(Into::into));
                self.replied = false;
            }
            Some(TURN_END) => {
                let killed = entry.get("status").and_then(Value::as_str) == Some("killed");
                self.ended = Some(if killed { Status::Killed } else { Status::Failed });
            }
            Some(_) | None => {}
        }
    }

    /// Each block of a reply is an entry of its own, and each carries what the whole reply used.
    fn reply(&mut self, entry: &Value, blocks: &[Value]) {
        self.time(entry, true);
        self.replied = true;
        self.ended = None;
        for call in
            blocks.iter().filter(|block| block.get("type").and_then(Value::as_str) == Some("tool_use"))
        {
            self.work.tool_calls += 1;
            let id: Box<str> = call.get("id").and_then(Value::as_str).unwrap_or_default().into();
            self.owed.insert(id.clone());
            self.calls.insert(id);
        }
        let word = |key: &str| entry.pointer(&format!("/message/{key}")).and_then(Value::as_str);
        let (id, model) = (word("id").unwrap_or_default(), word("model").unwrap_or_default());
        if self.reply.as_deref() == Some(id) || model == "<synthetic>" {
            return;
        }
        self.reply = Some(id.into());
        self.work.turns += 1;
        if !self.models.iter().any(|known| &**known == model) {
            self.models.push(model.into());
        }
        let usage = entry.pointer("/message/usage").map(wire::read_usage).unwrap_or_default();
        *self.usage.entry(model.into()).or_default() += usage;
    }

    fn time(&mut self, entry: &Value, at_work: bool) {
        let stamp = entry.get("timestamp").and_then(Value::as_str);
        let Some(at) = stamp.and_then(|text| text.parse::<Timestamp>().ok()) else { return };
        let before = self.last.replace(at);
        self.began = self.began.or(Some(at));
        if let Some(before) = before.filter(|_| at_work) {
            let (from, to) = (before.as_millisecond(), at.as_millisecond());
            self.work.duration_ms += u64::try_from(to.saturating_sub(from)).unwrap_or_default();
            match self.busy.last_mut().filter(|span| span.1 == from) {
                Some(span) => span.1 = to,
                None => self.busy.push((from, to)),
            }
        }
    }

    /// Whether nothing was left open.
    fn is_done(&self) -> bool {
        self.replied && self.owed.is_empty()
    }

    fn node(&self, id: &str, kind: &str, transcript: &Path, status: Status) -> Node {
        let mut work = self.work.clone();
        for (model, usage) in &self.usage {
            work.usage += *usage;
            work.cost += Price::of(model).cost(usage);
        }
        Node {
            id: id.into(),
            kind: kind.into(),
            name: None,
            task: String::new(),
            status,
            in_background: false,
            models: self.models.clone(),
            work,
            began: self.began,
            busy: self.busy.clone(),
            transcript: transcript.to_owned(),
            unreadable: self.unreadable,
            children: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests;
