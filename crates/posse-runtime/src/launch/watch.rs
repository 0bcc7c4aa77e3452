//! What changes on disk while a session runs: files that hooks asked for, and the settings, whose rules count as soon
//! as they change unless a hook objects.
//!
//! The system only says that something happened somewhere; what it was is found by looking at the few files that
//! matter. So nothing depends on how an editor saves or how a system words its events.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use posse_core::event::{Delta, What};
use posse_core::hooks::occasion::{ConfigSource, FileChange};
use posse_core::hooks::{HookEvent, Merged, Occasion};
use posse_core::settings::Layer;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;

use super::Launched;
use super::live::Live;
use crate::authority::{RunHooks, Wish};
use crate::catalog::settings_places;
use crate::run::Event;

/// How long after the last event of a burst the burst is over.
const QUIET: Duration = Duration::from_millis(50);
/// A burst that never ends is looked at all the same.
const LONGEST_BURST: Duration = Duration::from_secs(1);

/// When a file was written last, and how long it is; `None` if it is not there.
type Stamp = Option<(SystemTime, u64)>;

impl Launched {
    /// Watches for as long as the session lives.
    pub(super) fn watch(&mut self) {
        let (sender, changes) = unbounded_channel();
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            // Looking at a file is an event, too.
            if !matches!(&event, Ok(event) if matches!(event.kind, EventKind::Access(_))) {
                let _ = sender.send(());
            }
        });
        let watcher = match watcher {
            Ok(watcher) => watcher,
            Err(error) => {
                self.notes.push(format!("changes of files and settings will not be noticed: {error}"));
                return;
            }
        };
        let (wisher, wishes) = unbounded_channel();
        self.hooks.watched_by(wisher);
        let mut watch = Watch {
            hooks: self.hooks.clone(),
            live: Arc::clone(&self.live),
            events: self.run.observers(),
            watcher,
            covered: BTreeSet::new(),
            cwd: self.cx.cwd.get(),
            asked_for: Vec::new(),
            files: BTreeMap::new(),
            settings: BTreeMap::new(),
        };
        watch.settings = watch.read_settings();
        watch.choose_files();
        watch.cover();
        let mut tasks = JoinSet::new();
        tasks.spawn(watch.run(changes, wishes));
        self.watching = tasks;
    }
}

/// Somebody who looks at files again when something has happened.
struct Watch {
    hooks: RunHooks,
    live: Arc<Live>,
    events: UnboundedSender<Event>,
    watcher: RecommendedWatcher,
    /// Folders that are watched.
    covered: BTreeSet<PathBuf>,
    /// Where the names that hooks are configured for are looked for.
    cwd: PathBuf,
    /// What hooks asked for in their answers.
    asked_for: Vec<PathBuf>,
    files: BTreeMap<PathBuf, Stamp>,
    settings: BTreeMap<PathBuf, (Layer, Option<Vec<u8>>)>,
}

impl Watch {
    async fn run(mut self, mut changes: UnboundedReceiver<()>, mut wishes: UnboundedReceiver<Wish>) {
        loop {
            tokio::select! {
                biased;
                Some(wish) = wishes.recv() => self.take(wish),
                Some(()) = changes.recv() => {
                    let burst = async {
                        while let Ok(Some(())) = tokio::time::timeout(QUIET, changes.recv()).await {}
                    };
                    let _ = tokio::time::timeout(LONGEST_BURST, burst).await;
                    self.look().await;
                }
                else => return,
            }
        }
    }

    fn take(&mut self, wish: Wish) {
        match wish {
            Wish::Paths(paths) => self.asked_for = paths,
            Wish::Moved(cwd) => self.cwd = cwd,
        }
        self.choose_files();
        self.cover();
    }

    /// What is watched for FileChanged hooks, each file as it is now. Of a folder, the files right in it.
    fn choose_files(&mut self) {
        let names = self.hooks.hooks().watched_names();
        let named = names.iter().map(|name| self.cwd.join(name));
        let mut files = BTreeMap::new();
        for path in named.chain(self.asked_for.iter().cloned()) {
            for file in members(path) {
                let known = self.files.get(&file).copied();
                let stamp = known.unwrap_or_else(|| stamp(&file));
                files.insert(file, stamp);
            }
        }
        self.files = files;
    }

    fn read_settings(&self) -> BTreeMap<PathBuf, (Layer, Option<Vec<u8>>)> {
        let places = settings_places(&self.live.catalog().layout, &self.live.options());
        places.into_iter().map(|(layer, path)| (path.clone(), (layer, std::fs::read(&path).ok()))).collect()
    }

    /// Sees to it that changes of everything of interest are noticed: its folder, or the nearest one that is there.
    fn cover(&mut self) {
        let drop_ins = self.live.catalog().layout.managed.join("managed-settings.d/any");
        let paths = self.settings.keys().chain(self.files.keys()).chain(&self.asked_for).chain([&drop_ins]);
        let folder =
            |path: &Path| path.ancestors().skip(1).take(3).find(|above| above.is_dir()).map(Path::to_owned);
        let mut wanted: BTreeSet<PathBuf> = paths.filter_map(|path| folder(path)).collect();
        wanted.extend(self.asked_for.iter().filter(|path| path.is_dir()).cloned());
        for gone in self.covered.difference(&wanted) {
            let _ = self.watcher.unwatch(gone);
        }
        // What cannot be watched is tried again with the next change.
        self.covered = wanted
            .into_iter()
            .filter(|folder| {
                self.covered.contains(folder)
                    || self.watcher.watch(folder, RecursiveMode::NonRecursive).is_ok()
            })
            .collect();
    }

    async fn look(&mut self) {
        self.look_at_settings().await;
        self.look_at_files().await;
        self.cover();
    }

    async fn look_at_files(&mut self) {
        if !self.hooks.hears(HookEvent::FileChanged) {
            return;
        }
        let folders: Vec<PathBuf> = self.asked_for.iter().filter(|path| path.is_dir()).cloned().collect();
        for file in folders.into_iter().flat_map(members) {
            self.files.entry(file).or_default();
        }
        let mut happened = Vec::new();
        for (file, known) in &mut self.files {
            let now = stamp(file);
            let event = match (&*known, &now) {
                (None, Some(_)) => FileChange::Add,
                (Some(_), None) => FileChange::Unlink,
                (before, now) if before != now => FileChange::Change,
                _ => continue,
            };
            *known = now;
            happened.push(Occasion::FileChanged { file_path: file.display().to_string(), event });
        }
        for occasion in happened {
            let merged = self.hooks.fire(&occasion, &self.cwd).await;
            self.tell(&merged);
        }
    }

    async fn look_at_settings(&mut self) {
        let now = self.read_settings();
        let before = std::mem::replace(&mut self.settings, now);
        let content = |settings: &BTreeMap<PathBuf, (Layer, Option<Vec<u8>>)>, path: &Path| {
            settings.get(path).and_then(|(_, content)| content.clone())
        };
        let paths: BTreeMap<PathBuf, Layer> =
            before.iter().chain(&self.settings).map(|(path, (layer, _))| (path.clone(), *layer)).collect();
        let mut counts = false;
        for (path, layer) in paths {
            if content(&before, &path) == content(&self.settings, &path) {
                continue;
            }
            match self.objection(&path, layer).await {
                Some(why) => {
                    self.note(format!("the new {} does not count: {why}", path.display()));
                    self.live.hold(&path);
                }
                None => {
                    self.live.let_through(path);
                    counts = true;
                }
            }
        }
        if counts {
            self.reload();
        }
    }

    /// Why hooks will not have a change of settings, if they will not.
    async fn objection(&self, path: &Path, layer: Layer) -> Option<String> {
        if !self.hooks.hears(HookEvent::ConfigChange) {
            return None;
        }
        let source = match layer {
            Layer::User => ConfigSource::User,
            Layer::Project => ConfigSource::Project,
            Layer::Local | Layer::Flag => ConfigSource::Local,
            Layer::Managed => ConfigSource::Policy,
        };
        let occasion = Occasion::ConfigChange { source, file_path: Some(path.display().to_string()) };
        let merged = self.hooks.fire(&occasion, &self.cwd).await;
        self.tell(&merged);
        merged.is_blocked().then(|| merged.objection().unwrap_or_else(|| "a hook refused it".into()))
    }

    fn reload(&mut self) {
        match self.live.reload_rules() {
            Err(why) => self.note(why),
            Ok(notes) => {
                notes.into_iter().for_each(|note| self.note(note));
                self.note("the settings have changed; their rules count from now on".into());
            }
        }
    }

    fn tell(&self, merged: &Merged) {
        for note in merged.system_messages.iter().chain(&merged.errors) {
            self.note(note.clone());
        }
    }

    fn note(&self, text: String) {
        // Nobody listening is no reason to stop looking.
        let _ = self.events.send(Event { what: What::Delta(Delta::Note(text)), ids: Vec::new(), from: None });
    }
}

/// The file itself, or the files right in a folder.
fn members(path: PathBuf) -> Vec<PathBuf> {
    match std::fs::read_dir(&path) {
        Ok(entries) => {
            entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.is_file()).collect()
        }
        Err(_) => vec![path],
    }
}

fn stamp(path: &Path) -> Stamp {
    let metadata = path.metadata().ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}
