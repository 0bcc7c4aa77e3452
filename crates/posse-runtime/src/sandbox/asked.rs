//! What settings ask of a sandbox, as a profile; and what of it cannot be had, in words. Looks whether paths exist and
//! touches nothing.

use std::path::{Path, PathBuf};

use posse_core::settings::{Layer, SandboxSettings, Set, SetIn};

use super::{Exits, HostPattern, Network, Profile};

/// Where a run stands.
#[derive(Clone, Copy, Debug)]
pub struct Ground<'a> {
    /// The working directories.
    pub roots: &'a [PathBuf],
    /// Where the session began.
    pub cwd: &'a Path,
    /// The home folder.
    pub home: Option<&'a Path>,
    /// The scratch folder.
    pub scratch: &'a Path,
}

/// Whether a switch is on.
pub fn is_on(set: Option<&Set<bool>>) -> bool {
    set.is_some_and(|set| set.value)
}

/// What commands may do: those of a run that only reads, or of one that works in its folders. Without `enabled`, the
/// lists of the settings do not count.
pub fn profile(
    settings: &SandboxSettings,
    reader: bool,
    ground: Ground<'_>,
    notes: &mut Vec<String>,
) -> Profile {
    let mut profile = if reader {
        Profile::read_only(ground.scratch)
    } else {
        Profile::workspace(ground.roots.to_vec(), ground.scratch)
    };
    if !is_on(settings.enabled.as_ref()) {
        return profile;
    }
    let mut lists = Lists { ground, notes };
    if !reader {
        profile.writable.extend(lists.existing("allowWrite", &settings.allow_write));
        if let Some(home) = ground.home {
            profile = profile.with_home(home);
        }
        // Also what does not exist yet: it must not come to be.
        profile.protected.extend(lists.all("denyWrite", &settings.deny_write));
    }
    profile.unreadable.extend(lists.existing("denyRead", &settings.deny_read));
    notes.extend(beyond_us(settings));
    profile.local_sockets = is_on(settings.allow_all_unix_sockets.as_ref());
    profile.with_network(network(settings))
}

/// The ways out that settings leave. Whoever only reads has none.
pub fn exits(settings: &SandboxSettings, reader: bool) -> Exits {
    if reader {
        return Exits::default();
    }
    let on_request = settings.allow_unsandboxed.as_ref().is_none_or(|set| set.value);
    Exits::new(settings.excluded_commands.iter().map(|text| &**text), on_request)
}

/// Hosts that are never reached, not even if they are allowed.
pub fn denied_hosts(settings: &SandboxSettings) -> Vec<HostPattern> {
    patterns(&settings.denied_domains)
}

/// What a relative path in a settings file starts at: the folder that the file belongs to.
pub fn folder_of(by: &SetIn, cwd: &Path) -> PathBuf {
    let up = |steps: usize| by.file.ancestors().nth(steps).map(Path::to_owned);
    let found = match by.layer {
        Layer::Project | Layer::Local => up(2),
        Layer::User | Layer::Managed => up(1),
        Layer::Flag => None,
    };
    found.filter(|path| path.is_absolute()).unwrap_or_else(|| cwd.to_owned())
}

struct Lists<'a> {
    ground: Ground<'a>,
    notes: &'a mut Vec<String>,
}

impl Lists<'_> {
    fn existing(&mut self, list: &str, entries: &[(Box<str>, SetIn)]) -> Vec<PathBuf> {
        let mut paths = self.all(list, entries);
        paths.retain(|path| path.exists());
        paths
    }

    fn all(&mut self, list: &str, entries: &[(Box<str>, SetIn)]) -> Vec<PathBuf> {
        let path = |(text, by): &(Box<str>, SetIn)| {
            let path = self.path(text, by);
            if !path.exists() {
                let why = if text.contains(['*', '?', '[']) {
                    "is taken to the letter and does not exist"
                } else {
                    "does not exist"
                };
                let file = by.file.display();
                self.notes.push(format!("{file}: sandbox.filesystem.{list}: {} {why}", path.display()));
            }
            path
        };
        entries.iter().map(path).collect()
    }

    fn path(&self, text: &str, by: &SetIn) -> PathBuf {
        let rest = text.strip_prefix("~/").or_else(|| (text == "~").then_some(""));
        match (rest, self.ground.home) {
            (Some(""), Some(home)) => home.to_owned(),
            (Some(rest), Some(home)) => home.join(rest),
            // `//x` is how permission rules write `/x`.
            _ if text.starts_with("//") => PathBuf::from(&text[1..]),
            _ => match text.strip_prefix("./").unwrap_or(text) {
                "" | "." => folder_of(by, self.ground.cwd),
                text => folder_of(by, self.ground.cwd).join(text),
            },
        }
    }
}

/// What is asked for and cannot be had.
fn beyond_us(settings: &SandboxSettings) -> Vec<String> {
    let mut found = Vec::new();
    if !settings.allow_read.is_empty() && !settings.deny_read.is_empty() {
        found.push("sandbox.filesystem.allowRead: all of what denyRead names stays unreadable".to_owned());
    }
    if !settings.allow_unix_sockets.is_empty() && !is_on(settings.allow_all_unix_sockets.as_ref()) {
        let text = "sandbox.network.allowUnixSockets: single sockets cannot be allowed; allowAllUnixSockets allows all";
        found.push(text.to_owned());
    }
    if is_on(settings.allow_local_binding.as_ref()) && !matches!(network(settings), Network::Open) {
        found.push(
            "sandbox.network.allowLocalBinding: commands cannot listen while hosts are limited".to_owned(),
        );
    }
    for host in settings.allowed_domains.iter().chain(&settings.denied_domains) {
        if host.contains(['/', ' ']) || host.trim().is_empty() {
            found.push(format!(
                "sandbox.network: `{host}` is not a host; write it as example.org or *.example.org"
            ));
        }
    }
    found
}

/// With a sandbox, the hosts that settings name, and no others.
fn network(settings: &SandboxSettings) -> Network {
    let hosts = patterns(&settings.allowed_domains);
    if settings.allowed_domains.iter().any(|domain| &**domain == "*") && settings.denied_domains.is_empty() {
        Network::Open
    } else if hosts.is_empty() {
        Network::Closed
    } else {
        Network::Only(hosts)
    }
}

fn patterns(domains: &[Box<str>]) -> Vec<HostPattern> {
    domains.iter().map(|domain| HostPattern::new(domain)).collect()
}

#[cfg(test)]
mod tests;
