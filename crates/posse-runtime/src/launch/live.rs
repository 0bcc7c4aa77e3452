//! What a session goes by that may change while it runs: its settings, what the host adds to them, its title.
//!
//! Knows which settings can count at once, and says which cannot. Refuses to know who asks for a change.

mod counting;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use posse_core::definition::AgentDefinition;
use posse_core::permission::{Destination, Update};
use posse_core::settings::{self, Layer, Settings, SettingsFile};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc::UnboundedSender;

use super::{LaunchRequest, powers};
use crate::authority::{Authority, Reloaded};
use crate::catalog::{Catalog, CatalogOptions, LoadError, Plugin};
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
    /// Everything as it was read last, with the settings that count.
    catalog: Arc<Catalog>,
    /// The settings files as they count.
    files: Vec<SettingsFile>,
    /// What folders and variables were settled with.
    settled: Arc<Catalog>,
    /// What hooks were settled with.
    hooked: Arc<Catalog>,
    /// The settings files as they were at the start: their hooks are those of the session.
    first: Vec<SettingsFile>,
    /// What the host has added to the flags.
    overlay: Map<String, Value>,
    /// Settings files whose change is let through and has not been read yet.
    let_through: BTreeSet<PathBuf>,
    /// Variables that commands are told of.
    exported: BTreeSet<String>,
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
        // A conversation that follows another begins with what the host has added to that.
        let overlay = request.catalog.overlay.as_deref().and_then(|text| serde_json::from_str(text).ok());
        let catalog = beginning.catalog;
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
                catalog: Arc::clone(catalog),
                files: catalog.settings_files.clone(),
                settled: Arc::clone(catalog),
                hooked: Arc::clone(catalog),
                first: catalog.settings_files.clone(),
                overlay: overlay.unwrap_or_default(),
                let_through: BTreeSet::new(),
                exported: BTreeSet::new(),
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

    /// What the hooks of the session were made of.
    pub(super) fn hooked(&self) -> Arc<Catalog> {
        Arc::clone(&self.now().hooked)
    }

    /// The change of a file does not count.
    pub(super) fn hold(&self, path: &Path) {
        self.now().let_through.remove(path);
    }

    /// It does, as soon as it has been read.
    pub(super) fn let_through(&self, path: PathBuf) {
        self.now().let_through.insert(path);
    }

    fn load(&self, options: &CatalogOptions) -> Result<Catalog, String> {
        let loaded = Catalog::load(&self.world, options);
        let catalog = loaded.and_then(|catalog| catalog.check().map(|()| catalog));
        catalog.map_err(|error| match &error {
            LoadError::Settings(found) | LoadError::Agents(found) | LoadError::Unreadable(found) => {
                let first = found.first().map(|one| one.text.to_string()).unwrap_or_default();
                format!("{error}: {first}")
            }
            LoadError::Parent(_) | LoadError::Forbidden { .. } => error.to_string(),
        })
    }

    /// Lets count what was read: of settings files the changes that are let through. Says what stays as it was.
    fn adopt(&self, mut fresh: Catalog) -> (Arc<Catalog>, Vec<String>) {
        let mut now = self.now();
        let let_through = std::mem::take(&mut now.let_through);
        let files = counting::counting(&now.files, &fresh.settings_files, |path| let_through.contains(path));
        let lost: Vec<SettingsFile> =
            fresh.settings_files.drain(..).filter(|file| file.root.is_none()).collect();
        let notes = lost
            .iter()
            .map(|file| format!("{} cannot be understood; its rules from before stay", file.file.display()));
        let notes = notes.collect();
        fresh.settings = settings::merge(&files, fresh.trust.of_folder()).0;
        let is_lost = |file: &SettingsFile| lost.iter().any(|other| other.file == file.file);
        fresh.settings_files = files.iter().filter(|file| !is_lost(file)).chain(&lost).cloned().collect();
        now.files = files;
        now.catalog = Arc::new(fresh);
        (Arc::clone(&now.catalog), notes)
    }

    /// The rules of the settings as they are now. Of a file that cannot be understood the old ones stay: half of a
    /// file must not be taken for the absence of its limits. Says what stays.
    pub(super) fn reload_rules(&self) -> Result<Vec<String>, String> {
        let catalog = self
            .load(&self.options())
            .map_err(|error| format!("the settings have changed, but {error}; the rules from before stay"))?;
        let (catalog, notes) = self.adopt(catalog);
        self.take_rules(&catalog);
        Ok(notes)
    }

    fn take_rules(&self, catalog: &Catalog) {
        let request = self.now().request.clone();
        self.authority.reload(Reloaded {
            rules: powers::rules(&request, catalog, &self.world),
            managed_only: catalog.settings.managed_rules_only.is_some(),
            bypass_disabled: catalog.settings.bypass_disabled.is_some(),
            auto_disabled: catalog.settings.auto_disabled.is_some(),
        });
    }

    /// Adds to the settings of the flags: each key takes the place of what was added under it before, `null` takes it
    /// out. An error is why nothing has changed.
    pub(super) fn add_flags(&self, patch: &Map<String, Value>) -> Result<Resettled, String> {
        let (mut options, mut overlay) = {
            let now = self.now();
            (now.request.catalog.clone(), now.overlay.clone())
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
        Ok(self.resettle(catalog))
    }

    /// Writes to a settings file, and lets it count.
    pub(super) fn write(&self, layer: Layer, patch: &Map<String, Value>) -> Result<Resettled, String> {
        let options = self.options();
        // A limit that cannot be read would keep every session from starting: it is not written in the first place.
        let said: Map<String, Value> = patch
            .iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        self.load(&CatalogOptions { overlay: Some(Value::Object(said).to_string()), ..options.clone() })?;
        let written = self.authority.write_settings(layer, patch)?;
        self.let_through(written);
        let catalog = self.load(&options)?;
        Ok(self.resettle(catalog))
    }

    /// Lets settings count as far as they can while the session runs.
    fn resettle(&self, catalog: Catalog) -> Resettled {
        let (catalog, mut notes) = self.adopt(catalog);
        let before = std::mem::replace(&mut self.now().settled, Arc::clone(&catalog));
        self.take_rules(&catalog);
        self.take_folders(&before, &catalog);
        self.take_hooks(&catalog, None, &mut notes);
        self.take_env(&before, &catalog, &mut notes);
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

    /// Hooks of flags are the host's own; those of files count from the next session on, when somebody can look at them,
    /// and those of plugins when plugins are loaded again. Who may run at all counts at once.
    fn take_hooks(&self, catalog: &Catalog, plugins: Option<&[Plugin]>, notes: &mut Vec<String>) {
        let (before, first) = {
            let now = self.now();
            (Arc::clone(&now.hooked), now.first.clone())
        };
        let files = counting::counting(&first, &catalog.settings_files, |_| false);
        let mut mixed = catalog.clone();
        mixed.settings.hooks = settings::merge(&files, catalog.trust.of_folder()).0.hooks;
        mixed.plugins = plugins.unwrap_or(&before.plugins).to_vec();
        let is_same = |one: &Settings, other: &Settings| {
            one.hooks == other.hooks
                && one.hooks_off == other.hooks_off
                && one.managed_hooks_only == other.managed_hooks_only
                && one.managed_leave_only == other.managed_leave_only
                && one.plugin_only.hooks == other.plugin_only.hooks
                && one.hook_urls == other.hook_urls
                && one.hook_env == other.hook_env
        };
        if plugins.is_none() && is_same(&before.settings, &mixed.settings) {
            return;
        }
        self.hooks.resettle(&powers::hooks(&mixed, self.agent.as_ref(), notes));
        self.now().hooked = Arc::new(mixed);
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
        let mut exported = BTreeSet::new();
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
            if ours.is_some() && ours != old.as_deref() && !self.now().exported.contains(name) {
                notes.push(format!("the environment's own {name} stays"));
                continue;
            }
            exported.insert(name.to_owned());
            lines.push_str(&match new {
                Some(value) => format!("export {name}={}\n", quoted(&value)),
                None => format!("unset {name}\n"),
            });
        }
        if lines.is_empty() {
            return;
        }
        let written = self.env_file.as_deref().is_some_and(|file| append(file, &lines).is_ok());
        if written {
            self.now().exported.append(&mut exported);
        }
        notes.push(if written {
            "`env` has changed: it counts for commands that are started from now on".to_owned()
        } else {
            "`env` has changed; it counts with the next session".to_owned()
        });
    }

    /// Looks at plugins again, with some more, and lets count what can: skills, commands and hooks.
    pub(super) fn reload_plugins(&self, more: &[PathBuf]) -> Result<Vec<String>, String> {
        let mut options = self.options();
        for path in more.iter().filter(|path| !options.plugin_dirs.contains(path)).collect::<Vec<_>>() {
            options.plugin_dirs.push(path.clone());
        }
        let catalog = self.load(&options)?;
        self.now().request.catalog = options;
        let (catalog, mut notes) = self.adopt(catalog);
        self.take_rules(&catalog);
        self.take_hooks(&catalog, Some(&catalog.plugins), &mut notes);
        self.look_for_skills(&catalog);
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

/// Adds lines to a file that is for this user alone: values of variables may be secret.
fn append(file: &Path, lines: &str) -> std::io::Result<()> {
    use std::io::Write;
    let mut folders = std::fs::DirBuilder::new();
    let mut options = std::fs::OpenOptions::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
        folders.mode(0o700);
        options.mode(0o600);
    }
    if let Some(folder) = file.parent() {
        folders.recursive(true).create(folder)?;
    }
    let mut file = options.append(true).create(true).open(file)?;
    // A hook may have made it, as everybody may read it.
    #[cfg(unix)]
    file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    file.write_all(lines.as_bytes())
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
