//! Which files: rules for Landlock, which grants what is listed and denies the rest to this process and all it starts.
//!
//! Landlock grants whole trees and cannot take a part back. To leave a part out, the trees around it are granted one
//! by one; then nothing new can be made in the folders on the way to it, as that is a right on the folder and all below.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, NetPort, PathBeneath, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};

use super::order::{Order, Reach};

/// The newest rights we know; older kernels hold those they know.
const NEWEST: ABI = ABI::V9;
/// Devices that keep nothing.
const HARMLESS_DEVICES: &[&str] =
    &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];
/// Folders of devices, where they are the sandbox's own.
const PRIVATE_DEVICES: &[&str] = &["/dev/shm", "/dev/pts", "/dev/ptmx"];

/// The version of Landlock this kernel has, as far as it makes a difference. Zero is none.
pub(super) fn version() -> u8 {
    let holds = |abi: ABI| {
        let hard = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
        let files = hard.handle_access(AccessFs::from_all(abi));
        let files_and_net = if abi >= ABI::V4 {
            files.and_then(|rules| rules.handle_access(AccessNet::from_all(abi)))
        } else {
            files
        };
        if abi >= ABI::V6 {
            files_and_net.and_then(|rules| rules.scope(Scope::from_all(abi))).is_ok()
        } else {
            files_and_net.is_ok()
        }
    };
    let versions =
        [(ABI::V9, 9), (ABI::V6, 6), (ABI::V5, 5), (ABI::V4, 4), (ABI::V3, 3), (ABI::V2, 2), (ABI::V1, 1)];
    versions.into_iter().find(|(abi, _)| holds(*abi)).map_or(0, |(_, number)| number)
}

pub(super) fn restrict(order: &Order) -> Result<(), String> {
    let rules = begin(order).map_err(|error| format!("Landlock: {error}"))?;
    let mut rules = Rules { rules: Some(rules) };
    rules.reading(&order.unreadable)?;
    rules.writing(order)?;
    rules.devices(order)?;
    rules.network(order.reach)?;
    rules.enforce()
}

/// What is denied unless granted. What must be held is demanded; the rest is held as far as the kernel can.
fn begin(order: &Order) -> Result<RulesetCreated, RulesetError> {
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(ABI::V3))?;
    match order.reach {
        Reach::Port(_) => rules = rules.handle_access(AccessNet::from_all(ABI::V4))?,
        Reach::Anybody | Reach::Nobody => {}
    }
    let mut more = AccessFs::from_all(NEWEST);
    if order.local_sockets {
        more.remove(AccessFs::ResolveUnix);
    }
    let mut rules = rules.set_compatibility(CompatLevel::BestEffort).handle_access(more)?;
    let scope = if order.local_sockets { Scope::Signal.into() } else { Scope::from_all(NEWEST) };
    rules = rules.scope(scope)?;
    rules.create()
}

struct Rules {
    /// Taken and put back by every step, because a step consumes it.
    rules: Option<RulesetCreated>,
}

impl Rules {
    fn reading(&mut self, unreadable: &[PathBuf]) -> Result<(), String> {
        let read = AccessFs::from_read(NEWEST);
        if unreadable.is_empty() {
            return self.grant(Path::new("/"), read);
        }
        // Names stay visible: a folder that cannot be listed cannot be passed through by many programs either.
        self.grant(Path::new("/"), AccessFs::ReadDir.into())?;
        // A disk or the memory, read as a whole, would show every file.
        let whole = ["/dev", "/proc/kcore"].map(PathBuf::from);
        let holes: Vec<PathBuf> = unreadable.iter().cloned().chain(whole).collect();
        cover(Path::new("/"), &holes).iter().try_for_each(|path| self.grant(path, read))
    }

    fn writing(&mut self, order: &Order) -> Result<(), String> {
        let all =
            AccessFs::from_all(NEWEST) & !(AccessFs::IoctlDev | AccessFs::MakeChar | AccessFs::MakeBlock);
        let holes: Vec<PathBuf> = order.protected.iter().chain(&order.unreadable).cloned().collect();
        for root in &order.writable {
            cover(root, &holes).iter().try_for_each(|path| self.grant(path, all))?;
        }
        Ok(())
    }

    fn devices(&mut self, order: &Order) -> Result<(), String> {
        let access = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate | AccessFs::IoctlDev;
        for device in HARMLESS_DEVICES.iter().map(Path::new).filter(|device| device.exists()) {
            self.grant(device, access)?;
        }
        let own = PRIVATE_DEVICES.iter().filter(|_| order.private_dev);
        for path in own.filter_map(|path| Path::new(path).canonicalize().ok()) {
            self.grant(&path, AccessFs::from_all(NEWEST) & !(AccessFs::MakeChar | AccessFs::MakeBlock))?;
        }
        Ok(())
    }

    fn network(&mut self, reach: Reach) -> Result<(), String> {
        match reach {
            Reach::Port(port) => self.add(|rules| rules.add_rule(NetPort::new(port, AccessNet::ConnectTcp))),
            Reach::Anybody | Reach::Nobody => Ok(()),
        }
    }

    fn grant(&mut self, path: &Path, access: BitFlags<AccessFs>) -> Result<(), String> {
        let fd = match open(path) {
            Ok(fd) => fd,
            // It was there when the folder around it was listed; what is gone needs no rule.
            Err(rustix::io::Errno::NOENT) => return Ok(()),
            Err(error) => return Err(format!("{} cannot be opened: {error}", path.display())),
        };
        let is_dir = rustix::fs::fstat(&fd).is_ok_and(|stat| {
            rustix::fs::FileType::from_raw_mode(stat.st_mode) == rustix::fs::FileType::Directory
        });
        let access = if is_dir { access } else { access & AccessFs::from_file(NEWEST) };
        if access.is_empty() {
            return Ok(());
        }
        self.add(|rules| rules.add_rule(PathBeneath::new(fd, access)))
    }

    fn add(
        &mut self,
        rule: impl FnOnce(RulesetCreated) -> Result<RulesetCreated, RulesetError>,
    ) -> Result<(), String> {
        let rules = self.rules.take().ok_or("Landlock: a rule failed before")?;
        self.rules = Some(rule(rules).map_err(|error| format!("Landlock: {error}"))?);
        Ok(())
    }

    fn enforce(self) -> Result<(), String> {
        let rules = self.rules.ok_or("Landlock: a rule failed before")?;
        let status = rules.restrict_self().map_err(|error| format!("Landlock: {error}"))?;
        match status.ruleset {
            RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced => Ok(()),
            RulesetStatus::NotEnforced => Err("Landlock: the kernel does not enforce it".to_owned()),
        }
    }
}

/// Without following links: the paths were resolved when the sandbox was made, and a link that has come since is
/// somebody's attempt to be granted what it points to.
fn open(path: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)
}

/// The fewest paths that make up all of a tree but some parts.
fn cover(path: &Path, holes: &[PathBuf]) -> Vec<PathBuf> {
    if holes.iter().any(|hole| path.starts_with(hole)) {
        return Vec::new();
    }
    if !holes.iter().any(|hole| hole.starts_with(path)) {
        return vec![path.to_owned()];
    }
    let Ok(entries) = std::fs::read_dir(path) else { return Vec::new() };
    // A link is no place; what it leads to is judged where it is.
    let entries = entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_symlink()));
    let mut names: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    names.sort_unstable_by(|a, b| OsStr::cmp(a.as_os_str(), b.as_os_str()));
    names.iter().flat_map(|name| cover(name, holes)).collect()
}

#[cfg(test)]
mod tests;
