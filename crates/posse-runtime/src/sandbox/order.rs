//! What the confining process is told to do, and how it is told: the wire between `Sandbox::wrap` and `confine`.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The word by which posse is asked to confine itself and become another program.
pub const WORD: &str = "__confine";

/// What to hold. Everything is decided; the confining process only obeys, or refuses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Order {
    /// Whether Landlock guards the files. Without it, mounts do.
    pub(super) landlock: bool,
    /// Folders to be written, without links on their way.
    pub(super) writable: Vec<PathBuf>,
    /// What not to write in them; empty if mounts take care of it.
    pub(super) protected: Vec<PathBuf>,
    /// What not to read; empty if mounts take care of it.
    pub(super) unreadable: Vec<PathBuf>,
    /// Whether nothing outside the scratch folder may change. Root keeps no right to write then.
    pub(super) read_only: bool,
    /// Whether owners, permissions, times and attributes are frozen everywhere. Landlock does not guard them.
    pub(super) freeze_metadata: bool,
    /// Whether `/dev` is the sandbox's own.
    pub(super) private_dev: bool,
    /// Whom to reach.
    pub(super) reach: Reach,
    /// Whether sockets of this machine are allowed.
    pub(super) local_sockets: bool,
}

/// Whom a confined process may reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Reach {
    /// Anybody.
    Anybody,
    /// Nobody.
    Nobody,
    /// Whoever listens at this TCP port: posse's proxy.
    Port(u16),
}
