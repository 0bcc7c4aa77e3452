//! What this machine offers to confine a command with, and why not more, in words a person can act on.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::world::World;
use crate::world::process::command;

/// How long a trial of another program may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// What there is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Support {
    /// The version of Landlock, as far as it makes a difference to us; zero is none.
    pub landlock: u8,
    /// Whether system calls can be filtered.
    pub seccomp: bool,
    /// The program `bwrap`, which makes private mounts.
    pub bwrap: Bwrap,
}

/// The state of `bwrap`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bwrap {
    /// Nobody has looked.
    NotTried,
    /// It is not installed.
    Missing,
    /// It is there and works.
    Works {
        /// Where it is.
        path: PathBuf,
        /// What it calls itself.
        version: String,
        /// Whether it needs a user namespace of its own to work.
        own_user: bool,
    },
    /// It is there and may not do what it does: a container, or a system without user namespaces.
    Refused {
        /// Where it is.
        path: PathBuf,
        /// What it said.
        reason: String,
    },
}

impl Support {
    /// What the kernel offers. Takes microseconds.
    pub fn of_kernel() -> Self {
        Self { landlock: landlock(), seccomp: seccomp(), bwrap: Bwrap::NotTried }
    }

    /// What kernel and machine offer. Starts `bwrap` to see whether it may work here.
    pub async fn probe(world: &World) -> Self {
        let mut support = Self::of_kernel();
        if cfg!(target_os = "linux") {
            support.bwrap = bwrap(world).await;
        }
        support
    }

    /// A line for each means: its name, whether it can be used, and what is to be said of it.
    pub fn report(&self) -> Vec<(&'static str, bool, String)> {
        let landlock = match self.landlock {
            0 => "not in this kernel, or not switched on (Linux 5.13, `lsm=landlock,…`)".to_owned(),
            old @ 1..3 => format!("version {old}: too old to keep files from being emptied (Linux 6.2)"),
            3 => "version 3: no rules for the network (Linux 6.7), none for signals (Linux 6.12)".to_owned(),
            some @ 4..6 => format!("version {some}: no rules for signals (Linux 6.12)"),
            new => format!("version {new}"),
        };
        let seccomp = if self.seccomp { "filters system calls" } else { "not in this kernel" };
        let bwrap = match &self.bwrap {
            Bwrap::NotTried => "not tried".to_owned(),
            Bwrap::Missing => {
                "not installed; it protects files inside writable folders (package bubblewrap)".to_owned()
            }
            Bwrap::Works { path, version, .. } => format!("{version} at {}", path.display()),
            Bwrap::Refused { path, reason } => format!("{} does not work here: {reason}", path.display()),
        };
        vec![
            ("landlock", self.landlock >= 3, landlock),
            ("seccomp", self.seccomp, seccomp.to_owned()),
            ("bubblewrap", matches!(self.bwrap, Bwrap::Works { .. }), bwrap),
        ]
    }
}

#[cfg(target_os = "linux")]
fn landlock() -> u8 {
    super::landlock::version()
}

#[cfg(not(target_os = "linux"))]
fn landlock() -> u8 {
    0
}

fn seccomp() -> bool {
    let known = cfg!(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")));
    // The line is there if the kernel can, whatever is in force.
    let status = || std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    known && status().lines().any(|line| line.starts_with("Seccomp:"))
}

async fn bwrap(world: &World) -> Bwrap {
    let folders = world.env.get("PATH").unwrap_or("/usr/local/bin:/usr/bin:/bin").split(':');
    let mut places =
        folders.filter(|folder| folder.starts_with('/')).map(|folder| Path::new(folder).join("bwrap"));
    let Some(path) = places.find(|path| path.is_file()) else { return Bwrap::Missing };
    let version = match run(&path, &["--version"]).await {
        Ok(version) => version,
        Err(reason) => return Bwrap::Refused { path, reason },
    };
    let trial = ["--ro-bind", "/", "/", "--dev", "/dev", "--unshare-ipc", "--", "/bin/sh", "-c", ":"];
    let Err(reason) = run(&path, &trial).await else {
        return Bwrap::Works { path, version, own_user: false };
    };
    let own_user = [&["--unshare-user"], &trial[..]].concat();
    match run(&path, &own_user).await {
        Ok(_) => Bwrap::Works { path, version, own_user: true },
        Err(_) => Bwrap::Refused { path, reason },
    }
}

/// Runs a program to its end; what it printed, or why it failed.
async fn run(path: &Path, args: &[&str]) -> Result<String, String> {
    let mut command = command(path, Path::new("/"));
    let output = tokio::time::timeout(PATIENCE, command.args(args).output()).await;
    let output = output.map_err(|_| "it does not end".to_owned())?.map_err(|error| error.to_string())?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}
