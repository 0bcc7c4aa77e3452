//! `posse plugin validate`: everything that is wrong with a plugin, an archive of one, or a list of them.

use std::path::{Path, PathBuf};

use posse_core::diagnostic::{Diagnostic, Rule, Severity};
use posse_core::plugin::PluginSource;
use posse_runtime::catalog::{Catalog, CatalogOptions};
use posse_runtime::plugins::{self, PluginError, Tree};
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
        checked.plugin(&folder, world)?;
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
                self.plugin(&target, world)?;
            } else {
                let text = format!("`{}` lies in {path}, which does not exist", entry.name);
                let file = folder.join(".claude-plugin/marketplace.json");
                let file: std::sync::Arc<Path> = file.as_path().into();
                self.found.push(Diagnostic::of_file(Rule::PluginPath, &file, None, text));
            }
        }
        Ok(())
    }

    fn plugin(&mut self, folder: &Path, world: &World) -> Result<(), Failure> {
        let options = CatalogOptions { headless: true, ..CatalogOptions::default() };
        let catalog = Catalog::of_plugin(world, &options, folder).map_err(|error| load_failure(&error))?;
        // What its user has not set yet is not the plugin's fault.
        self.found.extend(catalog.diagnostics().into_iter().filter(|one| one.rule != Rule::PluginOption));
        for plugin in &catalog.plugins {
            self.names.push(plugin.name.to_string());
            let parts = plugins::Parts::read(folder, &mut Vec::new());
            if let (Some(parts), Ok(tree)) = (parts, Tree::read(folder)) {
                self.brings.push_str(&format!(
                    "{} brings:\n{}",
                    plugin.name,
                    page::powers(&parts.powers(&tree))
                ));
            }
        }
        if catalog.plugins.is_empty() {
            self.names
                .push(folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default());
        }
        Ok(())
    }
}
