//! Writing fixes back to files, carefully.
//!
//! A safe fix must leave the agent exactly what it was; that is checked by reading the result again before a byte is
//! written. The file is replaced in one step, with its permissions, through links to where it really lies.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use posse_core::definition::{self, AgentDefinition, Naming, Parsed};
use posse_core::diagnostic::{Diagnostic, Edit, Fix, Safety};
use posse_core::origin::{Origin, Source, Standing};

use super::read;

/// A fix can uncover another; more rounds than this would be a fix that never settles.
const ROUNDS: usize = 10;

/// What was done to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fixed {
    /// The titles of the fixes, in the order applied.
    pub titles: Vec<String>,
    /// The new text; nothing has been written yet.
    pub text: String,
}

/// Why a file was left as it is.
#[derive(Debug, thiserror::Error)]
pub enum FixError {
    /// It could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: Arc<Path>,
        /// The system's reason.
        #[source]
        source: std::io::Error,
    },
    /// A fix that should have kept the meaning did not.
    #[error("{}: left as it is, because the fix \"{title}\" would have changed the agent", path.display())]
    MeaningChanged {
        /// The file.
        path: Arc<Path>,
        /// The fix.
        title: String,
    },
}

/// Works out the fixed text of an agent file; `None` if there is nothing to fix.
pub fn plan(path: &Path, origin: Origin, also_unsafe: bool) -> Result<Option<Fixed>, FixError> {
    let file: Arc<Path> = path.into();
    let Ok((mut text, _)) = read::text(path) else { return Ok(None) };
    let source =
        Source { origin, standing: Standing::Folder(0), file: Arc::clone(&file), root: file, plugin: None };
    let mut titles = Vec::new();
    for _ in 0..ROUNDS {
        let (before, diagnostics) = parse(&text, &source);
        let fixes = disjoint(
            diagnostics.iter().filter_map(|diagnostic| applicable(diagnostic, also_unsafe)).collect(),
        );
        if fixes.is_empty() {
            break;
        }
        let fixed = apply(&text, fixes.iter().flat_map(|fix| &fix.edits));
        let (after, _) = parse(&fixed, &source);
        let all_safe = fixes.iter().all(|fix| fix.safety == Safety::Safe);
        if all_safe && !same_meaning(before.as_ref(), after.as_ref()) {
            let title = fixes.iter().map(|fix| fix.title.as_str()).collect::<Vec<_>>().join(", ");
            return Err(FixError::MeaningChanged { path: source.file, title });
        }
        titles.extend(fixes.iter().map(|fix| fix.title.clone()));
        text = fixed;
    }
    Ok((!titles.is_empty()).then_some(Fixed { titles, text }))
}

/// Replaces the file's content in one step.
pub fn write(path: &Path, text: &str) -> Result<(), FixError> {
    let failed = |source| FixError::Io { path: path.into(), source };
    // Replacing a link would turn it into a copy.
    let real = path.canonicalize().map_err(failed)?;
    let folder = real.parent().unwrap_or(Path::new("."));
    let permissions = real.metadata().map_err(failed)?.permissions();
    let mut temporary = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    temporary.write_all(text.as_bytes()).map_err(failed)?;
    temporary.as_file().set_permissions(permissions).map_err(failed)?;
    temporary.persist(&real).map_err(|error| failed(error.error))?;
    Ok(())
}

fn parse(text: &str, source: &Source) -> (Option<AgentDefinition>, Vec<Diagnostic>) {
    let naming = match source.origin {
        Origin::Plugin => Naming::Plugin { plugin: "plugin", folders: &[], stem: "agent" },
        Origin::BuiltIn | Origin::User | Origin::Project | Origin::Flag | Origin::Managed => Naming::Field,
    };
    let (parsed, diagnostics) = definition::parse(text, source, naming);
    match parsed {
        Parsed::Agent(agent) => (Some(*agent), diagnostics),
        Parsed::Document | Parsed::Failed => (None, diagnostics),
    }
}

fn applicable(diagnostic: &Diagnostic, also_unsafe: bool) -> Option<&Fix> {
    diagnostic.fix.as_ref().filter(|fix| also_unsafe || fix.safety == Safety::Safe)
}

/// Of fixes that touch the same bytes only the first; the others get their chance in the next round. Safe ones go
/// first and alone, so that their promise can be checked.
fn disjoint(mut fixes: Vec<&Fix>) -> Vec<&Fix> {
    if fixes.iter().any(|fix| fix.safety == Safety::Safe) {
        fixes.retain(|fix| fix.safety == Safety::Safe);
    }
    let mut chosen: Vec<&Fix> = Vec::new();
    for fix in fixes {
        let overlaps =
            |a: &Edit, b: &Edit| a.span == b.span || (a.span.start < b.span.end && b.span.start < a.span.end);
        let clash =
            chosen.iter().any(|other| other.edits.iter().any(|a| fix.edits.iter().any(|b| overlaps(a, b))));
        if !clash {
            chosen.push(fix);
        }
    }
    chosen
}

fn apply<'e>(text: &str, edits: impl Iterator<Item = &'e Edit>) -> String {
    let mut edits: Vec<&Edit> = edits.collect();
    edits.sort_by_key(|edit| edit.span.start);
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for edit in edits {
        let range = edit.span.range();
        out.push_str(text.get(at..range.start).unwrap_or_default());
        out.push_str(&edit.text);
        at = range.end;
    }
    out.push_str(text.get(at..).unwrap_or_default());
    out
}

fn same_meaning(before: Option<&AgentDefinition>, after: Option<&AgentDefinition>) -> bool {
    match (before, after) {
        (Some(before), Some(after)) => before.same_meaning(after),
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => false,
    }
}
