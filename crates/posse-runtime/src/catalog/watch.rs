//! Noticing that definitions have changed.
//!
//! The folders that hold agents are watched, and for those that do not exist yet the nearest folder that does, so that
//! the first agent of a project is noticed too. Bursts of events (an editor's save is several) become one.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};

use super::Catalog;

/// How long after the last event of a burst the burst is over.
const QUIET: Duration = Duration::from_millis(50);

/// Why watching is not possible.
#[derive(Debug, thiserror::Error)]
#[error("cannot watch {}: {source}", path.display())]
pub struct WatchError {
    /// What was to be watched.
    pub path: PathBuf,
    /// The system's reason.
    #[source]
    pub source: notify::Error,
}

/// Watches the places a catalog was read from. Dropped, it stops.
pub struct Watcher {
    changes: Receiver<notify::Result<Event>>,
    // Held for its threads: events stop when it is dropped.
    _watcher: RecommendedWatcher,
}

impl Watcher {
    /// Starts to watch.
    pub fn start(catalog: &Catalog) -> Result<Self, WatchError> {
        let (sender, changes) = channel();
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| WatchError { path, source }
        };
        let mut watcher = notify::recommended_watcher(sender).map_err(failed(&catalog.layout.cwd))?;
        for (path, mode) in places(catalog) {
            watcher.watch(&path, mode.into()).map_err(failed(&path))?;
        }
        Ok(Self { changes, _watcher: watcher })
    }

    /// Waits for a change and for the burst to end; `false` if there was none in time.
    pub fn wait(&self, at_most: Duration) -> bool {
        loop {
            match self.changes.recv_timeout(at_most) {
                Ok(event) if !is_change(&event) => {}
                Ok(_) => break,
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return false,
            }
        }
        while self.changes.recv_timeout(QUIET).is_ok() {}
        true
    }
}

/// Reading the files is an event too, and not one to react to.
fn is_change(event: &notify::Result<Event>) -> bool {
    match event {
        Ok(event) => !matches!(event.kind, EventKind::Access(_)),
        // An overflow means that something was missed.
        Err(_) => true,
    }
}

/// What to watch: existing folders with all below them, else the nearest folder above, alone.
fn places(catalog: &Catalog) -> BTreeSet<(PathBuf, Mode)> {
    let folders = catalog.layout.agent_folders.iter().map(|folder| folder.path.clone());
    let plugins = catalog.plugins.iter().map(|plugin| plugin.path.join("agents"));
    let settings = [Some(catalog.layout.cwd.join(".claude")), catalog.layout.user.clone()];
    let mut places: BTreeSet<(PathBuf, Mode)> = BTreeSet::new();
    for folder in folders.chain(plugins) {
        if folder.is_dir() {
            places.insert((folder, Mode::Deep));
        } else if let Some(above) = folder.ancestors().skip(1).take(2).find(|above| above.is_dir()) {
            places.insert((above.to_owned(), Mode::Flat));
        }
    }
    places.extend(settings.into_iter().flatten().filter(|path| path.is_dir()).map(|path| (path, Mode::Flat)));
    places
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Mode {
    Deep,
    Flat,
}

impl From<Mode> for RecursiveMode {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Deep => Self::Recursive,
            Mode::Flat => Self::NonRecursive,
        }
    }
}
