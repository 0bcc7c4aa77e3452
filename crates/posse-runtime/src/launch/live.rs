//! What a session goes by that may change while it runs: its settings, what the host adds to them, its title.
//!
//! Knows which settings can count at once, and says which cannot. Refuses to know who asks for a change.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use posse_core::definition::AgentDefinition;
use posse_core::permission::{Destination, Rule, Update};
use posse_core::settings::Layer;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc::UnboundedSender;

use super::{LaunchRequest, powers};
use crate::authority::{Authority, Reloaded};
use crate::catalog::{Catalog, CatalogOptions, LoadError};
use crate::hooks::Hooks;
use crate::session::{self, Mirrored, SessionError};
use crate::skills::{Places, PluginSkills, Shelf};
use crate::world::World;

/// What a session goes by.
pub(super) struct Live {
    pub(super) world: Arc<World>,
    pub(super) authority: Arc<Authority>,
    pub(super) hooks: Hooks,
    pub(super) shelf: Arc<Shelf>,
    /// The agent it runs as.
    pub(super) agent: Option<AgentDefinition>,
    /// What every command of Bash begins with.
    pub(super) env_file: Option<Arc<Path>>,
    /// The session, and where it is written down, if it is.
    pub(super) session: Box<str>,
    pub(super) transcript: Option<PathBuf>,
    pub(super) mirror: Option<UnboundedSender<Mirrored>>,
    now: Mutex<Now>,
}

struct Now {
    /// Only where things come from, and what flags allow.
    request: LaunchRequest,
    catalog: Arc<Catalog>,
    /// What the host has added to the flags.
    overlay: Map<String, Value>,
    /// Settings files whose new rules a hook will not have.
    held: BTreeSet<PathBuf>,
    title: Option<String>,
}

/// What a live session is made with.
pub(super) struct Beginning<'a> {
    pub(super) world: &'a Arc<World>,
    pub(super) request: &'a LaunchRequest,
    pub(super) catalog: &'a Arc<Catalog>,
    pub(super) authority: &'a Arc<Authority>,
    pub(super) hooks: &'a Hooks,
    pub(super) shelf: &'a Arc<Shelf>,
    pub(super) agent: Option<&'a AgentDefinition>,
    pub(super) env_file: Option<Arc<Path>>,
    pub(super) session: &'a str,
    pub(super) transcript: &'a Path,
}

/// What of changed settings counts now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resettled {
    /// What the user should know.
    pub notes: Vec<String>,
}

impl Live {
    pub(super) fn new(beginning: Beginning<'_>) -> Arc<Self> {
        let request = beginning.request;
        let lasting = LaunchRequest {
            catalog: request.catalog.clone(),
            allowed_tools: request.allowed_tools.clone(),
            disallowed_tools: request.disallowed_tools.clone(),
            ..LaunchRequest::default()
        };
        Arc::new(Self {
            world: Arc::clone(beginning.world),
            authority: Arc::clone(beginning.authority),
            hooks: beginning.hooks.clone(),
            shelf: Arc::clone(beginning.shelf),
            agent: beginning.agent.cloned(),
            env_file: beginning.env_file,
            session: beginning.session.into(),
            transcript: (!request.no_persistence).then(|| beginning.transcript.to_owned()),
            mirror: request.mirror.clone(),
            now: Mutex::new(Now {
                request: lasting,
                catalog: Arc::clone(beginning.catalog),
                overlay: Map::new(),
                held: BTreeSet::new(),
                title: None,
            }),
        })
    }

    fn now(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Everything as it was read last.
    pub(super) fn catalog(&self) -> Arc<Catalog> {
        Arc::clone(&self.now().catalog)
    }

    /// Where it comes from.
    pub(super) fn options(&self) -> CatalogOptions {
        self.now().request.catalog.clone()
    }

    /// The new rules of a file do not count.
    pub(super) fn hold(&self, path: PathBuf) {
        self.now().held.insert(path);
    }

    /// They do.
    pub(super) fn let_go(&self, path: &Path) {
        self.now().held.remove(path);
    }

    fn load(&self, options: &CatalogOptions) -> Result<Arc<Catalog>, String> {
        let loaded = Catalog::load(&self.world, options);
        let catalog = loaded.and_then(|catalog| catalog.check().map(|()| catalog));
        catalog.map(Arc::new).map_err(|error| match &error {
            LoadError::Settings(found) | LoadError::Agents(found) | LoadError::Unreadable(found) => {
                let first = found.first().map(|one| one.text.to_string()).unwrap_or_default();
                format!("{error}: {first}")
            }
            LoadError::Parent(_) | LoadError::Forbidden { .. } => error.to_string(),
        })
    }

    /// The rules of the settings as they are now. Of a file that cannot be understood the old ones stay: half of a
    /// file must not be taken for the absence of its limits. Says what stays.
    pub(super) fn reload_rules(&self) -> Result<Vec<String>, String> {
        let catalog = self
            .load(&self.options())
            .map_err(|error| format!("the settings have changed, but {error}; the rules from before stay"))?;
        let notes = self.take_rules(&catalog);
        self.now().catalog = catalog;
        Ok(notes)
    }

    fn take_rules(&self, catalog: &Catalog) -> Vec<String> {
        let (request, mut keeps) = {
            let now = self.now();
            let keeps: BTreeSet<String> = now.held.iter().map(|path| path.display().to_string()).collect();
            (now.request.clone(), keeps)
        };
        let mut notes = Vec::new();
        for file in catalog.settings_files.iter().filter(|file| file.root.is_none()) {
            notes.push(format!("{} cannot be understood; its rules from before stay", file.file.display()));
            keeps.insert(file.file.display().to_string());
        }
        let is_kept = |rule: &Rule| keeps.contains(&*rule.source.label);
        let mut rules = powers::rules(&request, catalog, &self.world);
        rules.retain(|rule| !is_kept(rule));
        rules.extend(self.authority.rules().rules().iter().filter(|rule| is_kept(rule)).cloned());
        self.authority.reload(Reloaded {
            rules,
            managed_only: catalog.settings.managed_rules_only.is_some(),
            bypass_disabled: catalog.settings.bypass_disabled.is_some(),
        });
        notes
    }

    /// Adds to the settings of the flags: each key takes the place of what was added under it before, `null` takes it
    /// out. An error is why nothing has changed.
    pub(super) fn add_flags(&self, patch: &Map<String, Value>) -> Result<Resettled, String> {
        let (mut options, mut overlay, before) = {
            let now = self.now();
            (now.request.catalog.clone(), now.overlay.clone(), Arc::clone(&now.catalog))
        };
        for (key, value) in patch {
            match value {
                Value::Null => drop(overlay.shift_remove(key)),
                value => drop(overlay.insert(key.clone(), value.clone())),
            }
        }
        options.overlay = (!overlay.is_empty()).then(|| Value::Object(overlay.clone()).to_string());
        let catalog = self.load(&options)?;
        {
            let mut now = self.now();
            now.request.catalog = options;
            now.overlay = overlay;
        }
        Ok(self.resettle(&before, catalog))
    }

    /// Writes to a settings file, and lets it count.
    pub(super) fn write(&self, layer: Layer, patch: &Map<String, Value>) -> Result<Resettled, String> {
        let (options, before) = (self.options(), self.catalog());
        // A limit that cannot be read would keep every session from starting: it is not written in the first place.
        let said: Map<String, Value> = patch
            .iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        self.load(&CatalogOptions { overlay: Some(Value::Object(said).to_string()), ..options.clone() })?;
        self.authority.write_settings(layer, patch)?;
        let catalog = self.load(&options)?;
        Ok(self.resettle(&before, catalog))
    }

    /// Lets settings count as far as they can while the session runs.
    fn resettle(&self, before: &Catalog, catalog: Arc<Catalog>) -> Resettled {
        let mut notes = self.take_rules(&catalog);
        self.take_folders(before, &catalog);
        self.take_hooks(before, &catalog, &mut notes);
        self.take_env(before, &catalog, &mut notes);
        self.now().catalog = catalog;
        Resettled { notes }
    }

    fn take_folders(&self, before: &Catalog, catalog: &Catalog) {
        let named = |catalog: &Catalog| -> BTreeSet<String> {
            catalog.settings.additional_directories.iter().map(|set| set.value.to_string()).collect()
        };
        let (old, new) = (named(before), named(catalog));
        let cwd = &catalog.layout.cwd;
        let path = |name: &String| powers::expand(name, cwd, catalog).display().to_string();
        let (destination, gone) = (Destination::Session, old.difference(&new).map(path).collect());
        self.authority.apply(&Update::RemoveDirectories { directories: gone, destination }, cwd);
        let come = new.difference(&old).map(path).collect();
        self.authority.apply(&Update::AddDirectories { directories: come, destination }, cwd);
    }

    /// Hooks of flags are the host's own; those of files count from the next session on, when somebody can look at them.
    fn take_hooks(&self, before: &Catalog, catalog: &Catalog, notes: &mut Vec<String>) {
        let mut mixed = catalog.clone();
        let is_open = |catalog: &Catalog| {
            catalog.settings.hooks_off.is_none() && catalog.settings.managed_hooks_only.is_none()
        };
        if is_open(before) && is_open(catalog) {
            let of_files = before.settings.hooks.iter().filter(|(_, by)| by.layer != Layer::Flag);
            let of_flags = catalog.settings.hooks.iter().filter(|(_, by)| by.layer == Layer::Flag);
            mixed.settings.hooks = of_files.chain(of_flags).cloned().collect();
        }
        let changed = |one: &Catalog, other: &Catalog| {
            one.settings.hooks != other.settings.hooks
                || one.settings.hooks_off != other.settings.hooks_off
                || one.settings.hook_urls != other.settings.hook_urls
                || one.settings.hook_env != other.settings.hook_env
        };
        if changed(before, catalog) {
            self.hooks.resettle(&powers::hooks(&mixed, self.agent.as_ref(), notes));
        }
    }

    /// Variables count for commands that are started from now on. What the environment itself says wins, as ever.
    fn take_env(&self, before: &Catalog, catalog: &Catalog, notes: &mut Vec<String>) {
        let value = |catalog: &Catalog, name: &str| {
            let set = catalog.settings.env.iter().find(|(known, _)| &**known == name);
            set.map(|(_, set)| set.value.clone())
        };
        let names: BTreeSet<&str> =
            before.settings.env.iter().chain(&catalog.settings.env).map(|(name, _)| &**name).collect();
        let mut lines = String::new();
        for name in names {
            let (old, new) = (value(before, name), value(catalog, name));
            if old == new {
                continue;
            }
            // The shell reads this: whatever is no name must not become a command.
            if !is_name(name) {
                notes.push(format!("`env` has a name that no shell takes: {name}"));
                continue;
            }
            let ours = self.world.env.get(name);
            if ours.is_some() && ours != old.as_deref() && !self.was_exported(name) {
                notes.push(format!("the environment's own {name} stays"));
                continue;
            }
            lines.push_str(&match new {
                Some(value) => format!("export {name}={}\n", quoted(&value)),
                None => format!("unset {name}\n"),
            });
        }
        if lines.is_empty() {
            return;
        }
        let written = self.env_file.as_deref().is_some_and(|file| append(file, &lines).is_ok());
        notes.push(if written {
            "`env` has changed: it counts for commands that are started from now on".to_owned()
        } else {
            "`env` has changed; it counts with the next session".to_owned()
        });
    }

    fn was_exported(&self, name: &str) -> bool {
        let text = self.env_file.as_deref().and_then(|file| std::fs::read_to_string(file).ok());
        text.is_some_and(|text| text.contains(&format!("export {name}=")))
    }

    /// Looks at plugins again, with some more, and lets count what can: skills, commands and hooks.
    pub(super) fn reload_plugins(&self, more: &[PathBuf]) -> Result<Vec<String>, String> {
        let mut options = self.options();
        for path in more.iter().filter(|path| !options.plugin_dirs.contains(path)).collect::<Vec<_>>() {
            options.plugin_dirs.push(path.clone());
        }
        let catalog = self.load(&options)?;
        self.now().request.catalog = options;
        let mut notes = self.take_rules(&catalog);
        self.hooks.resettle(&powers::hooks(&catalog, self.agent.as_ref(), &mut notes));
        self.look_for_skills(&catalog);
        self.now().catalog = catalog;
        Ok(notes)
    }

    /// Looks at skills again.
    pub(super) fn look_for_skills(&self, catalog: &Catalog) {
        let plugins = catalog.plugins.iter().map(PluginSkills::of).collect();
        self.shelf.look_at(Places::of(catalog, &self.world, &self.options(), plugins));
    }

    /// The title of the session, if somebody gave it one since it runs.
    pub(super) fn title(&self) -> Option<String> {
        self.now().title.clone()
    }

    /// Gives the session a title.
    pub(super) fn set_title(&self, title: &str) -> Result<(), SessionError> {
        self.now().title = Some(title.to_owned());
        self.note_down(json!({ "type": "custom-title", "customTitle": title, "sessionId": self.session }))
    }

    /// Writes the title again: readers look for it at the end of a long conversation.
    pub(super) fn repeat_title(&self) {
        if let Some(title) = self.title() {
            // It is written down already.
            let _ = self.set_title(&title);
        }
    }

    /// Writes a line that is no part of the conversation.
    pub(super) fn note_down(&self, entry: Value) -> Result<(), SessionError> {
        let Some(path) = &self.transcript else { return Ok(()) };
        session::append_aside(path, &entry, self.mirror.as_ref())
    }
}

fn append(file: &Path, lines: &str) -> std::io::Result<()> {
    use std::io::Write;
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::OpenOptions::new().append(true).create(true).open(file)?.write_all(lines.as_bytes())
}

fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !name.is_empty() && name.chars().all(plain) && !name.starts_with(|c: char| c.is_ascii_digit())
}

/// As one word of a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests;
