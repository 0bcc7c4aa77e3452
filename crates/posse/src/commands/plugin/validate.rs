//! `posse plugin validate`: everything that is wrong with a plugin, an archive of one, or a list of them.

use std::path::{Path, PathBuf};

use posse_core::diagnostic::{Diagnostic, Rule, Severity};
use posse_core::plugin::PluginSource;
use posse_runtime::catalog::{Catalog, CatalogOptions};
use posse_runtime::plugins::{self, PluginError};
use posse_runtime::skills::{Places, PluginSkills};
use posse_runtime::world::World;
use serde_json::json;

use super::failure;
use crate::commands::load_failure;
use crate::render::style::Style;
use crate::render::{diagnostics, json as as_json, plugins as page, relative};
use crate::report::{CommandResult, Failure, Outcome};
use crate::terminal::Terminal;

pub(super) fn run(
    path: &Path,
    strict: bool,
    json: bool,
    world: &World,
    terminal: &mut Terminal,
) -> CommandResult {
    let path = world.cwd.join(path);
    let given =
        path.canonicalize().map_err(|error| Failure::new(format!("{}: {error}", path.display())).usage())?;
    let staging = tempfile::tempdir_in(world.temp_dir())?;
    let folder = if given.is_file() {
        plugins::unpacked(&given, staging.path()).map_err(|error| failure(&error))?
    } else {
        given.clone()
    };
    let mut checked = Checked::default();
    if plugins::is_marketplace(&folder) {
        checked.marketplace(&folder, world)?;
    }
    if plugins::is_plugin(&folder) || !plugins::is_marketplace(&folder) {
        checked.plugin(&folder, &folder, world)?;
    }
    let limit = if strict { Severity::Warning } else { Severity::Error };
    let failed = checked.found.iter().any(|one| one.severity >= limit);
    if json {
        let found: Vec<_> = checked.found.iter().map(as_json::diagnostic).collect();
        as_json::print(
            &json!({ "valid": !failed, "plugins": checked.names, "diagnostics": found }),
            &mut terminal.out,
        )?;
    } else {
        let style = Style { color: terminal.color };
        let shown = |path: &Path| match path.strip_prefix(&folder) {
            Ok(below) if given.is_file() => below.display().to_string(),
            Ok(_) | Err(_) => relative(path, &world.cwd),
        };
        for one in &checked.found {
            terminal.out.write_all(diagnostics::one(one, style, shown).as_bytes())?;
            terminal.out.write_all(b"\n")?;
        }
        terminal.out.write_all(checked.brings.as_bytes())?;
        let mark = if failed { style.error("✗") } else { style.good("✓") };
        let count = |severity| checked.found.iter().filter(|one| one.severity == severity).count();
        let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
        let names = checked.names.join(", ");
        writeln!(terminal.out, "{mark} {names}: {errors} errors, {warnings} warnings")?;
    }
    Ok(if failed { Outcome::Problems } else { Outcome::Fine })
}

/// What was found so far.
#[derive(Default)]
struct Checked {
    names: Vec<String>,
    found: Vec<Diagnostic>,
    brings: String,
}

impl Checked {
    fn marketplace(&mut self, folder: &Path, world: &World) -> Result<(), Failure> {
        let list = match plugins::read_list(folder) {
            Ok((list, found)) => {
                self.found.extend(found);
                list
            }
            Err(PluginError::Invalid { diagnostics, .. }) => {
                self.names.push(folder.display().to_string());
                self.found.extend(diagnostics);
                return Ok(());
            }
            Err(error) => return Err(failure(&error)),
        };
        self.names.push(list.name.to_string());
        for entry in &list.plugins {
            let PluginSource::Folder(path) = &entry.source else { continue };
            let target: PathBuf = folder.join(&**path);
            if target == folder {
                continue;
            }
            if target.is_dir() {
                self.plugin(&target, folder, world)?;
            } else {
                let text = format!("`{}` lies in {path}, which does not exist", entry.name);
                let file = folder.join(".claude-plugin/marketplace.json");
                let file: std::sync::Arc<Path> = file.as_path().into();
                self.found.push(Diagnostic::of_file(Rule::PluginPath, &file, None, text));
            }
        }
        Ok(())
    }

    /// Looks at a plugin whose links may lead anywhere below `fence`.
    fn plugin(&mut self, folder: &Path, fence: &Path, world: &World) -> Result<(), Failure> {
        let options = CatalogOptions { headless: true, ..CatalogOptions::default() };
        let catalog = Catalog::of_plugin(world, &options, folder).map_err(|error| load_failure(&error))?;
        // What its user has not set yet is not the plugin's fault.
        let skills = Places::with_plugins(catalog.plugins.iter().map(PluginSkills::of).collect()).read();
        let skills = skills.diagnostics.into_iter().filter(|one| one.severity > Severity::Note);
        let mut found: Vec<Diagnostic> = catalog.diagnostics().into_iter().chain(skills).collect();
        found.retain(|one| one.rule != Rule::PluginOption);
        if folder != fence {
            // Installing puts what a link leads to in its place: only what leads out of the whole list is wrong.
            found.retain(|one| one.rule != Rule::LinkLeadsOut);
        }
        let staging = tempfile::tempdir_in(world.temp_dir())
            .map_err(|error| Failure::new(format!("{}: {error}", world.temp_dir().display())))?;
        let copy = staging.path().join(folder.file_name().unwrap_or_default());
        let powers = plugins::rehearse(folder, fence, &copy);
        if let Err(error) = &powers {
            found.extend(refusal(error, folder, &found));
        }
        self.found.append(&mut found);
        for plugin in &catalog.plugins {
            self.names.push(plugin.name.to_string());
            if let Ok(powers) = &powers {
                self.brings.push_str(&format!("{} brings:\n{}", plugin.name, page::powers(powers)));
            }
        }
        if catalog.plugins.is_empty() {
            self.names
                .push(folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default());
        }
        Ok(())
    }
}

/// Why the plugin could not be installed, unless that is said already.
fn refusal(error: &PluginError, folder: &Path, found: &[Diagnostic]) -> Option<Diagnostic> {
    let (rule, file) = if let PluginError::LeadsOut(path) = error {
        (Rule::LinkLeadsOut, Path::new(path))
    } else {
        (Rule::InvalidPlugin, folder)
    };
    let is_said = rule == Rule::LinkLeadsOut && found.iter().any(|one| one.rule == rule);
    let text = format!("it cannot be installed: {error}");
    (!is_said).then(|| Diagnostic::of_file(rule, &file.into(), None, text))
}
