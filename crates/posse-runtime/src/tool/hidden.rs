//! Files that searches pass over, because a rule keeps them from being read. Knows no rules; somebody who does is asked
//! once for each search.

use std::path::Path;
use std::sync::Arc;

/// Whether a search passes a file over.
pub type Filter = Arc<dyn Fn(&Path) -> bool + Send + Sync>;

/// Where to ask what is hidden now.
#[derive(Clone, Default)]
pub struct Hidden(Option<Source>);

type Source = Arc<dyn Fn() -> Option<Filter> + Send + Sync>;

impl Hidden {
    /// Asks this one.
    pub fn new(source: impl Fn() -> Option<Filter> + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(source)))
    }

    /// What is hidden now; nothing if nothing is.
    pub fn now(&self) -> Option<Filter> {
        self.0.as_ref().and_then(|source| source())
    }
}

impl std::fmt::Debug for Hidden {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_some() { "Hidden(..)" } else { "Hidden" })
    }
}
