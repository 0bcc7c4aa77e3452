//! Why something with plugins could not be done.

use std::io;
use std::path::PathBuf;

use posse_core::diagnostic::Diagnostic;

/// Why something with plugins could not be done. Nothing is half done.
#[derive(Debug, thiserror::Error)]
pub enum PluginError {
    /// There is no place for plugins.
    #[error("there is no home folder to keep plugins in")]
    NoHome,
    /// The disk.
    #[error("{}: {source}", path.display())]
    Io {
        /// What was touched.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A file that is not what it should be, and is left alone.
    #[error("{} cannot be understood, so it is left alone: {why}", file.display())]
    Broken {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// git said no.
    #[error("git {what} failed: {said}")]
    Git {
        /// The call.
        what: String,
        /// What it said.
        said: String,
    },
    /// No list of this name.
    #[error("there is no marketplace called `{name}`")]
    UnknownMarketplace {
        /// The name.
        name: String,
        /// Those there are.
        known: Vec<String>,
    },
    /// A list of this name is there already, from elsewhere.
    #[error("there is a marketplace called `{name}` already, from {from}")]
    KnownAlready {
        /// The name.
        name: String,
        /// Where it comes from.
        from: String,
    },
    /// No plugin of this name.
    #[error("no marketplace has a plugin called `{name}`")]
    UnknownPlugin {
        /// The name.
        name: String,
        /// One that looks like it.
        close: Option<String>,
    },
    /// Several lists have it.
    #[error("several marketplaces have a plugin called `{name}`")]
    Ambiguous {
        /// The name.
        name: String,
        /// The full names.
        ids: Vec<String>,
    },
    /// It is not installed.
    #[error("the plugin `{name}` is not installed")]
    NotInstalled {
        /// The name.
        name: String,
        /// Those that are.
        installed: Vec<String>,
    },
    /// No list of plugins is there.
    #[error("{} holds no marketplace", .0.display())]
    NotAMarketplace(PathBuf),
    /// Something posse does not do.
    #[error("{0}")]
    Unsupported(String),
    /// What is there cannot be used; the diagnostics say why.
    #[error("{what} cannot be used")]
    Invalid {
        /// What.
        what: String,
        /// Why.
        diagnostics: Vec<Diagnostic>,
    },
    /// Content that leaves its folder.
    #[error("`{0}` leads out of the plugin's folder")]
    LeadsOut(String),
    /// More than anybody's plugin.
    #[error("{0}")]
    TooMuch(String),
    /// An archive that cannot be read.
    #[error("{} is no archive that can be read: {why}", file.display())]
    Archive {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// An option that cannot be set so.
    #[error("{0}")]
    Option(String),
}

impl PluginError {
    /// For `map_err`.
    pub(super) fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, source }
    }
}
