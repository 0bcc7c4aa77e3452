//! Agents from folders of Markdown files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use posse_core::definition::{self, Naming, Parsed};
use posse_core::diagnostic::Diagnostic;
use posse_core::origin::{Origin, Source, Standing};
use posse_core::registry::{Failed, Findings};

use super::{file_problem, parallel, read, record, walk};
use crate::fence::Fence;

/// Reads all agents below a folder.
pub(super) fn scan(
    root: &Path,
    (origin, standing): (Origin, Standing),
    fence: Option<&Fence>,
    findings: &mut Findings,
) {
    let found = walk::files(root, walk::is_markdown, fence);
    findings.diagnostics.extend(found.diagnostics);
    let shared: Arc<Path> = root.into();
    let source_of = |path: &PathBuf| Source {
        origin,
        standing,
        file: path.as_path().into(),
        root: Arc::clone(&shared),
        plugin: None,
    };
    let read = parallel::map(&found.files, |path| {
        let source = source_of(path);
        let outcome = parse_file(&source, Naming::Field);
        (source, outcome)
    });
    for (source, outcome) in read {
        record(outcome, source, |_| {}, findings);
    }
}

/// What became of a file.
pub(super) struct FileOutcome {
    pub(super) parsed: Parsed,
    pub(super) diagnostics: Vec<Diagnostic>,
    /// The name in a file that failed, where one could be read.
    pub(super) name: Option<Box<str>>,
}

/// Reads one file.
pub(super) fn parse_file(source: &Source, naming: Naming<'_>) -> FileOutcome {
    match read::text(&source.file) {
        Ok((text, warning)) => {
            let (parsed, mut diagnostics) = definition::parse(&text, source, naming);
            diagnostics.extend(warning.map(|problem| problem.located(&source.file, &text)));
            let failed = matches!(parsed, Parsed::Failed);
            FileOutcome {
                parsed,
                diagnostics,
                name: failed.then(|| definition::written_name(&text)).flatten(),
            }
        }
        Err(problem) => {
            let diagnostics = vec![file_problem(&source.file, problem)];
            FileOutcome { parsed: Parsed::Failed, diagnostics, name: None }
        }
    }
}

/// Agents that stand in JSON, with those that cannot be used.
pub(super) fn record_json(agents: definition::JsonAgents, source: &Source, findings: &mut Findings) {
    findings.definitions.extend(agents.agents);
    findings.diagnostics.extend(agents.diagnostics);
    findings.failed.extend(agents.failed.into_iter().map(|(name, diagnostics)| Failed {
        name: Some(name),
        source: source.clone(),
        diagnostics,
    }));
}
