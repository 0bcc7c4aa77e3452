//! Settings from disk and command line.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use posse_core::definition;
use posse_core::diagnostic::{Diagnostic, Problem, Rule, Severity};
use posse_core::origin::{Source, Standing};
use posse_core::registry::Findings;
use posse_core::settings::{self, Layer, Settings, SettingsFile};

use super::{CatalogOptions, Layout, LoadError, agents, file_problem, read};
use crate::trust::Trust;
use crate::world::World;

/// The files of every layer, and what they say together.
pub(super) struct Loaded {
    pub(super) files: Vec<SettingsFile>,
    pub(super) settings: Settings,
    /// Files that may hold limits and cannot be read.
    pub(super) unreadable: Vec<Diagnostic>,
}

/// Reads every layer; weakest first.
pub(super) fn load(
    layout: &Layout,
    world: &World,
    options: &CatalogOptions,
    trust: &Trust,
    findings: &mut Findings,
) -> Result<Loaded, LoadError> {
    let mut files = Vec::new();
    let mut unreadable = Vec::new();
    for (layer, path) in places(layout, options, &mut unreadable) {
        let file: Arc<Path> = path.into();
        // Whatever is not there says nothing; whatever is there and cannot be looked at may say a lot.
        if matches!(file.try_exists(), Ok(false)) {
            continue;
        }
        match read::text(&file) {
            Ok((text, _)) => {
                let (settings, diagnostics) = SettingsFile::read(layer, file, &text);
                if is_lost(&settings) {
                    unreadable.extend(diagnostics.iter().cloned());
                }
                findings.diagnostics.extend(diagnostics);
                files.push(settings);
            }
            Err(problem) => {
                let problem = file_problem(&file, problem.severity(Severity::Error));
                findings.diagnostics.push(problem.clone());
                unreadable.push(problem);
            }
        }
    }
    let flags = [(&options.settings, "<--settings>"), (&options.overlay, "<the program at the other end>")];
    for (given, name) in flags.into_iter().filter_map(|(given, name)| Some((given.as_deref()?, name))) {
        let (file, text) = read::inline_or_file(given, name, &world.cwd).map_err(LoadError::Settings)?;
        let (settings, diagnostics) = SettingsFile::read(Layer::Flag, file, &text);
        if diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error) {
            return Err(LoadError::Settings(diagnostics));
        }
        findings.diagnostics.extend(diagnostics);
        files.push(settings);
    }
    if let Some(given) = &options.parent {
        files.extend(of_parent(given, &files, findings)?);
    }
    let (mut settings, diagnostics) = settings::merge(&files, trust.of_folder());
    findings.diagnostics.extend(diagnostics);
    unreadable.append(&mut settings.unsound);
    Ok(Loaded { files, settings, unreadable })
}

/// What the program that started this lays down, as far as it only takes away. Where there is an administrator, only if
/// the administrator wants it (`parentSettingsBehavior`).
fn of_parent(
    given: &str,
    files: &[SettingsFile],
    findings: &mut Findings,
) -> Result<Option<SettingsFile>, LoadError> {
    let bad = |why: &dyn std::fmt::Display| LoadError::Parent(why.to_string());
    let given: serde_json::Value = serde_json::from_str(given).map_err(|error| bad(&error))?;
    let given = given.as_object().ok_or_else(|| bad(&"it is not an object"))?;
    let of_administrator = || files.iter().filter(|file| file.layer == Layer::Managed);
    let merges = |file: &SettingsFile| {
        let says = file.root.as_ref().and_then(|root| root.get("parentSettingsBehavior")?.as_text());
        says == Some("merge")
    };
    let file: Arc<Path> = Path::new("<--managed-settings>").into();
    let note = |text: String| Diagnostic::of_file(Rule::InvalidSetting, &file, None, text);
    if of_administrator().next().is_some() && !of_administrator().any(merges) {
        let text = "not used: the administrator's own settings say nothing of `parentSettingsBehavior`";
        findings.diagnostics.push(note(text.to_owned()));
        return Ok(None);
    }
    let (kept, dropped) = settings::restrictive(given);
    for key in dropped {
        findings.diagnostics.push(note(format!("`{key}` is not used: it does not only take away")));
    }
    let text = serde_json::Value::Object(kept).to_string();
    let (settings, diagnostics) = SettingsFile::of_parent(Arc::clone(&file), &text);
    findings.diagnostics.extend(diagnostics);
    Ok(Some(settings))
}

/// A file that could not be understood, and belongs to the administrator or speaks of a deny.
fn is_lost(file: &SettingsFile) -> bool {
    let may_limit = file.layer == Layer::Managed || file.text.contains("\"deny\"");
    file.root.is_none() && !file.text.trim().is_empty() && may_limit
}

pub(super) fn places(
    layout: &Layout,
    options: &CatalogOptions,
    unreadable: &mut Vec<Diagnostic>,
) -> Vec<(Layer, PathBuf)> {
    let mut places = Vec::new();
    if options.sources.user
        && let Some(user) = &layout.user
    {
        places.push((Layer::User, user.join("settings.json")));
    }
    if options.sources.project {
        places.push((Layer::Project, layout.project.join(".claude/settings.json")));
    }
    if options.sources.local {
        let top = layout.project_top();
        places.push((Layer::Local, top.join(".claude/settings.local.json")));
    }
    places.push((Layer::Managed, layout.managed.join("managed-settings.json")));
    let drop_in_folder = layout.managed.join("managed-settings.d");
    let mut drop_ins: Vec<PathBuf> = match std::fs::read_dir(&drop_in_folder) {
        Ok(entries) => entries.filter_map(|entry| Some(entry.ok()?.path())).collect(),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Vec::new(),
        Err(error) => {
            let text = format!("cannot be read: {}", read::plain(&error));
            let file: Arc<Path> = drop_in_folder.into();
            unreadable.push(Diagnostic::of_file(Rule::UnreadableFile, &file, None, text));
            Vec::new()
        }
    };
    drop_ins.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    drop_ins.sort();
    places.extend(drop_ins.into_iter().map(|path| (Layer::Managed, path)));
    places
}

/// `agents` objects in settings files: the lowest of their layer.
pub(super) fn agents(files: &[SettingsFile], settings: &Settings, findings: &mut Findings) {
    for (place, file) in files.iter().enumerate() {
        let Some(node) = file.root.as_ref().and_then(|root| root.get("agents")) else { continue };
        if settings.plugin_only.agents && file.layer != Layer::Managed {
            let text = "`agents` is not read: the managed settings allow agents only from plugins and administrators";
            let problem = Problem::at(Rule::SourceDisabled, node.span, text);
            findings.diagnostics.push(problem.located(&file.file, &file.text));
            continue;
        }
        let source = Source {
            origin: file.layer.origin(),
            standing: Standing::Settings(u16::try_from(place).unwrap_or(u16::MAX)),
            file: Arc::clone(&file.file),
            root: Arc::clone(&file.file),
            plugin: None,
        };
        let read = definition::read_json_agents(node, &file.text, &source);
        agents::record_json(read, &source, findings);
    }
}

/// A JSON file of somebody else's making, as a tree; problems are recorded.
pub(super) fn read_json(
    path: &Path,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<(posse_core::node::Node, String)> {
    let file: Arc<Path> = path.into();
    match read::text(path) {
        Ok((text, _)) => {
            let (root, problems) = posse_core::json::parse(&text);
            diagnostics.extend(problems.into_iter().map(|problem| problem.located(&file, &text)));
            root.map(|root| (root, text))
        }
        Err(problem) => {
            diagnostics.push(file_problem(&file, problem));
            None
        }
    }
}
