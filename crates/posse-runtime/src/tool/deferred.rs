//! Tools whose schemas are kept back until somebody asks for them: a hundred schemas in every request would cost more
//! than the few that are ever used. Knows which there are and which have been asked for, not what they do.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::ToolSpec;

/// The deferred tools of a run, shared by the tool that finds them and the driver that offers them.
#[derive(Clone, Debug, Default)]
pub struct Deferred(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    specs: Arc<[ToolSpec]>,
    loaded: BTreeSet<Box<str>>,
}

impl Deferred {
    /// These tools, none of them loaded.
    pub fn new(specs: Vec<ToolSpec>) -> Self {
        Self(Arc::new(Mutex::new(Inner { specs: specs.into(), loaded: BTreeSet::new() })))
    }

    /// The same tools for somebody else, none of them loaded.
    pub fn fresh(&self) -> Self {
        let specs = Arc::clone(&self.lock().specs);
        Self(Arc::new(Mutex::new(Inner { specs, loaded: BTreeSet::new() })))
    }

    /// Replaces the tools, as when a server connects or goes. What was loaded and still exists stays loaded.
    pub fn set(&self, specs: Vec<ToolSpec>) {
        let mut inner = self.lock();
        inner.loaded.retain(|name| specs.iter().any(|spec| spec.name == *name));
        inner.specs = specs.into();
    }

    /// All of them.
    pub fn specs(&self) -> Vec<ToolSpec> {
        self.lock().specs.to_vec()
    }

    /// Those that have been asked for, in the order of the list: what the driver offers from now on.
    pub fn loaded(&self) -> Vec<ToolSpec> {
        let inner = self.lock();
        inner.specs.iter().filter(|spec| inner.loaded.contains(&spec.name)).cloned().collect()
    }

    /// Names of those nobody has asked for yet: what the model is told exists.
    pub fn waiting(&self) -> Vec<Box<str>> {
        let inner = self.lock();
        let waiting = inner.specs.iter().filter(|spec| !inner.loaded.contains(&spec.name));
        waiting.map(|spec| spec.name.clone()).collect()
    }

    /// Marks tools as asked for. Names that are not in the list are ignored.
    pub fn load<'a>(&self, names: impl IntoIterator<Item = &'a str>) {
        let mut inner = self.lock();
        for name in names {
            if inner.specs.iter().any(|spec| &*spec.name == name) {
                inner.loaded.insert(name.into());
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
