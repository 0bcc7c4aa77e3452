//! Commands that can do no more than a [`Profile`] allows, held by the kernel.
//!
//! The profile is data; [`Support`] is what the machine offers; a [`Sandbox`] is a decision how to hold the one with
//! the other, and a list of what cannot be held. It wraps a command: posse starts itself once more, gives up its rights
//! (`confine`) and becomes the command. Nothing here decides who gets which profile, and nothing here ever runs a
//! command without its sandbox: what cannot be confined is refused.
//!
//! Landlock and seccomp do it without another program. Where the profile takes something away *inside* what it grants,
//! `bwrap` adds private mounts if it is there.

pub mod asked;
mod bwrap;
pub mod confine;
mod exits;
#[cfg(target_os = "linux")]
mod landlock;
mod order;
#[cfg(target_os = "linux")]
mod privileges;
mod probe;
mod profile;
mod proxy;
mod resolve;
#[cfg(target_os = "linux")]
mod seccomp;
mod told;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

pub use self::exits::{Exits, LEAVE, asks_to_leave};
pub use self::order::WORD;
pub use self::probe::{Bwrap, Support};
pub use self::profile::{HostPattern, Network, PROTECTED_IN_HOME, PROTECTED_IN_PROJECTS, Profile};
pub use self::proxy::Proxy;

use self::bwrap::Mounts;
use self::order::{Order, Reach};
use self::resolve::Resolved;

/// The version of Landlock from which files cannot be emptied without a right to write them.
const GUARDS_FILES: u8 = 3;
/// From which it has rules for TCP.
const GUARDS_TCP: u8 = 4;
/// From which it has rules for requests to devices.
const GUARDS_DEVICES: u8 = 5;
/// From which it keeps signals in.
const GUARDS_SIGNALS: u8 = 6;

/// Why there is no sandbox.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// This machine cannot hold the profile. Whoever asked decides what to do without.
    #[error("the sandbox is not available: {0}")]
    Unavailable(String),
    /// The profile names a folder that cannot be used.
    #[error("the sandbox cannot be set up: {path}: {source}")]
    Folder {
        /// The folder.
        path: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// A command cannot be wrapped.
    #[error("the command was not run, because it could not be confined: {0}")]
    Wrap(String),
}

/// A way to confine commands.
#[derive(Debug)]
pub struct Sandbox {
    scratch: PathBuf,
    network: Network,
    order: Order,
    /// With `bwrap`: where it is, and its arguments.
    mounts: Option<(PathBuf, Vec<OsString>)>,
    posse: PathBuf,
    proxy: Option<u16>,
    exits: Exits,
    weaknesses: Vec<String>,
    costs: Vec<String>,
}

/// A command to run instead of another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrapped {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// What to set in its environment, over what is there.
    pub env: Vec<(String, OsString)>,
}

impl Sandbox {
    /// Decides how to hold a profile. `posse` is the program that confines itself: this one.
    pub fn new(profile: Profile, support: &Support, posse: impl Into<PathBuf>) -> Result<Self, SandboxError> {
        Self::plan(profile, support, posse.into(), true)
    }

    /// What [`Sandbox::new`] would come to, without making anything on the disk: to be looked at, not to be used.
    pub fn foresee(profile: Profile, support: &Support) -> Result<Self, SandboxError> {
        Self::plan(profile, support, PathBuf::new(), false)
    }

    fn plan(
        profile: Profile,
        support: &Support,
        posse: PathBuf,
        may_make: bool,
    ) -> Result<Self, SandboxError> {
        let how = choose(&profile, support)?;
        let with_mounts = matches!(how, How::Mounts { .. });
        let Resolved { writable, protected, unreadable, scratch, mut weaknesses } =
            resolve::resolve(&profile, with_mounts, may_make)?;
        let read_only = profile.is_read_only();
        let mut order = Order {
            landlock: support.landlock >= GUARDS_FILES,
            writable,
            protected,
            unreadable,
            read_only,
            freeze_metadata: read_only && !with_mounts,
            private_dev: with_mounts,
            reach: match profile.network {
                Network::Open => Reach::Anybody,
                // Until there is a proxy, a list of hosts is an empty one.
                Network::Closed | Network::Only(_) => Reach::Nobody,
            },
            local_sockets: profile.local_sockets,
        };
        weaknesses.extend(known_weaknesses(&profile, support, &order));
        let costs = known_costs(&order);
        let mounts = match how {
            How::Kernel => None,
            How::Mounts { path, own_user } => {
                let mounts = Mounts {
                    writable: order.writable.clone(),
                    protected: std::mem::take(&mut order.protected),
                    unreadable: std::mem::take(&mut order.unreadable),
                    own_processes: support.landlock < GUARDS_SIGNALS,
                    own_user,
                };
                Some((path, mounts.arguments()))
            }
        };
        let network = profile.network;
        let exits = Exits::default();
        Ok(Self { scratch, network, order, mounts, posse, proxy: None, exits, weaknesses, costs })
    }

    /// The same, with a proxy at this port of this machine. Only [`Network::Only`] uses it.
    pub fn with_proxy(mut self, port: u16) -> Self {
        if let Network::Only(_) = self.network {
            self.order.reach = Reach::Port(port);
            self.proxy = Some(port);
        }
        self
    }

    /// The folder a confined command may always write: its `TMPDIR`.
    pub fn scratch(&self) -> &Path {
        &self.scratch
    }

    /// What a command may do although the profile would not have it: in words.
    pub fn weaknesses(&self) -> &[String] {
        &self.weaknesses
    }

    /// What it may not do although it should.
    pub fn costs(&self) -> &[String] {
        &self.costs
    }

    /// Whether nothing but the scratch folder changes.
    pub fn is_read_only(&self) -> bool {
        self.order.read_only
    }

    /// Whether private mounts are part of it.
    pub fn uses_mounts(&self) -> bool {
        self.mounts.is_some()
    }

    /// The confined form of a command. `program` is a path: it is run under its file name.
    pub fn wrap<A: AsRef<OsStr>>(
        &self,
        program: &Path,
        args: impl IntoIterator<Item = A>,
    ) -> Result<Wrapped, SandboxError> {
        let order =
            serde_json::to_string(&self.order).map_err(|error| SandboxError::Wrap(error.to_string()))?;
        let mut confined: Vec<OsString> = vec![WORD.into(), order.into(), "--".into(), program.into()];
        confined.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        let env = self.env();
        Ok(match &self.mounts {
            None => Wrapped { program: self.posse.clone(), args: confined, env },
            Some((bwrap, mounts)) => {
                let posse = std::iter::once(self.posse.clone().into_os_string());
                let args = mounts.iter().cloned().chain(posse).chain(confined).collect();
                Wrapped { program: bwrap.clone(), args, env }
            }
        })
    }

    fn env(&self) -> Vec<(String, OsString)> {
        let mut env: Vec<(String, OsString)> =
            ["TMPDIR", "TMP", "TEMP"].map(|name| (name.to_owned(), self.scratch.clone().into())).to_vec();
        if self.order.read_only {
            // Else `git status` tries to write its index.
            env.push(("GIT_OPTIONAL_LOCKS".to_owned(), "0".into()));
        }
        if let Some(port) = self.proxy {
            let proxy = format!("http://127.0.0.1:{port}");
            for name in ["http_proxy", "https_proxy", "all_proxy"] {
                env.push((name.to_owned(), proxy.clone().into()));
                env.push((name.to_ascii_uppercase(), proxy.clone().into()));
            }
            env.extend(["no_proxy", "NO_PROXY"].map(|name| (name.to_owned(), OsString::new())));
        }
        env
    }
}

enum How {
    /// Landlock and seccomp alone.
    Kernel,
    /// Private mounts as well.
    Mounts { path: PathBuf, own_user: bool },
}

fn choose(profile: &Profile, support: &Support) -> Result<How, SandboxError> {
    let unavailable = |text: &str| Err(SandboxError::Unavailable(text.to_owned()));
    if !cfg!(target_os = "linux") {
        return unavailable("there is none for this system yet");
    }
    if !support.seccomp {
        return unavailable("this kernel does not filter system calls (seccomp)");
    }
    if matches!(profile.network, Network::Only(_)) && support.landlock < GUARDS_TCP {
        return unavailable("a list of hosts needs a newer kernel (Landlock 4, Linux 6.7)");
    }
    let takes_away = !profile.unreadable.is_empty() || !profile.protected.is_empty();
    let guarded = support.landlock >= GUARDS_FILES;
    match &support.bwrap {
        Bwrap::Works { path, own_user, .. } if takes_away || !guarded => {
            Ok(How::Mounts { path: path.clone(), own_user: *own_user })
        }
        Bwrap::Works { .. } | Bwrap::NotTried | Bwrap::Missing | Bwrap::Refused { .. } if guarded => {
            Ok(How::Kernel)
        }
        Bwrap::Works { .. } | Bwrap::NotTried | Bwrap::Missing => {
            unavailable("this kernel has no Landlock (Linux 6.2), and bubblewrap is not installed")
        }
        Bwrap::Refused { reason, .. } => unavailable(&format!(
            "this kernel has no Landlock (Linux 6.2), and bubblewrap does not work: {reason}"
        )),
    }
}

/// What follows from the means at hand. `order` still has all there is to protect.
fn known_weaknesses(profile: &Profile, support: &Support, order: &Order) -> Vec<String> {
    let mut found = Vec::new();
    let mut add = |applies: bool, text: &str| {
        if applies {
            found.push(text.to_owned());
        }
    };
    let mounts = order.private_dev;
    add(
        !mounts && !order.unreadable.is_empty(),
        "without bubblewrap the names in unreadable folders can be listed, and new files beside them cannot be read",
    );
    add(
        !mounts && !profile.is_read_only(),
        "without bubblewrap permissions, owners and times of the user's files can be changed everywhere",
    );
    add(
        order.landlock && !mounts && support.landlock < GUARDS_SIGNALS,
        "this kernel lets a command send signals to other processes of the user (Linux 6.12 does not)",
    );
    add(
        order.landlock && !mounts && support.landlock < GUARDS_DEVICES,
        "this kernel lets a command send requests to every device it can read (Linux 6.10 does not)",
    );
    add(
        matches!(profile.network, Network::Only(_)),
        "a command can reach other hosts at the very port the proxy has on this machine",
    );
    add(
        profile.local_sockets,
        "a command can ask other programs of the user to act for it, by their sockets",
    );
    found
}

/// What is refused with it, for want of better means.
fn known_costs(order: &Order) -> Vec<String> {
    let mut found = Vec::new();
    if !order.private_dev && !order.protected.is_empty() {
        let text = "without bubblewrap nothing new can be made in the folders that lead to a protected file, \
                    such as the top of the project and its .git";
        found.push(text.to_owned());
    }
    if order.freeze_metadata {
        found.push("permissions and times cannot be changed in the scratch folder either".to_owned());
    }
    found
}

#[cfg(test)]
mod tests;
