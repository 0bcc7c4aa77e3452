//! What settings say about the sandbox. Refuses to know how a sandbox is made.

use super::{Set, SetIn};
use crate::node::Node;

/// Whether agents without writing tools get a disk they cannot write (`sandbox.readOnlyAgents`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReadOnlyAgents {
    /// Where the system can.
    #[default]
    Enforce,
    /// And where it cannot, such an agent is not started.
    Require,
    /// No.
    Off,
}

impl ReadOnlyAgents {
    /// The word in settings.
    pub fn word(self) -> &'static str {
        match self {
            Self::Enforce => "enforce",
            Self::Require => "require",
            Self::Off => "off",
        }
    }

    fn parse(word: &str) -> Option<Self> {
        [Self::Enforce, Self::Require, Self::Off].into_iter().find(|one| one.word() == word)
    }
}

/// Everything under `sandbox`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SandboxSettings {
    /// `enabled`.
    pub enabled: Option<Set<bool>>,
    /// `failIfUnavailable`.
    pub fail_if_unavailable: Option<Set<bool>>,
    /// `autoAllowBashIfSandboxed`.
    pub auto_allow_bash: Option<Set<bool>>,
    /// `allowUnsandboxedCommands`.
    pub allow_unsandboxed: Option<Set<bool>>,
    /// `excludedCommands`.
    pub excluded_commands: Vec<Box<str>>,
    /// `network.allowedDomains`.
    pub allowed_domains: Vec<Box<str>>,
    /// `network.deniedDomains`.
    pub denied_domains: Vec<Box<str>>,
    /// `network.allowLocalBinding`.
    pub allow_local_binding: Option<Set<bool>>,
    /// `network.allowUnixSockets`.
    pub allow_unix_sockets: Vec<Box<str>>,
    /// `network.allowAllUnixSockets`.
    pub allow_all_unix_sockets: Option<Set<bool>>,
    /// `network.allowManagedDomainsOnly` (administrator only).
    pub managed_domains_only: Option<SetIn>,
    /// `filesystem.allowWrite`.
    pub allow_write: Vec<(Box<str>, SetIn)>,
    /// `filesystem.denyWrite`.
    pub deny_write: Vec<(Box<str>, SetIn)>,
    /// `filesystem.denyRead`.
    pub deny_read: Vec<(Box<str>, SetIn)>,
    /// `filesystem.allowRead`.
    pub allow_read: Vec<(Box<str>, SetIn)>,
    /// `filesystem.allowManagedReadPathsOnly` (administrator only).
    pub managed_read_paths_only: Option<SetIn>,
    /// `readOnlyAgents`.
    pub read_only_agents: Option<Set<ReadOnlyAgents>>,
}

impl SandboxSettings {
    /// Takes over one key; the table has seen to its shape. `name` is what follows `sandbox.`.
    pub(super) fn apply(&mut self, name: &str, node: &Node, by: &SetIn) {
        let flag = || node.as_bool().map(|value| Set { value, by: by.clone() });
        let paths = || super::texts(node).into_iter().map(|text| (text, by.clone()));
        match name {
            "enabled" => self.enabled = flag(),
            "failIfUnavailable" => self.fail_if_unavailable = flag(),
            "autoAllowBashIfSandboxed" => self.auto_allow_bash = flag(),
            "allowUnsandboxedCommands" => self.allow_unsandboxed = flag(),
            "excludedCommands" => self.excluded_commands.extend(super::texts(node)),
            "network.allowedDomains" => self.allowed_domains.extend(super::texts(node)),
            "network.deniedDomains" => self.denied_domains.extend(super::texts(node)),
            "network.allowLocalBinding" => self.allow_local_binding = flag(),
            "network.allowUnixSockets" => self.allow_unix_sockets.extend(super::texts(node)),
            "network.allowAllUnixSockets" => self.allow_all_unix_sockets = flag(),
            "filesystem.allowWrite" => self.allow_write.extend(paths()),
            "filesystem.denyWrite" => self.deny_write.extend(paths()),
            "filesystem.denyRead" => self.deny_read.extend(paths()),
            "filesystem.allowRead" => self.allow_read.extend(paths()),
            "readOnlyAgents" => {
                let word = node.as_text().and_then(ReadOnlyAgents::parse);
                self.read_only_agents = word.map(|value| Set { value, by: by.clone() });
            }
            _ => {}
        }
    }
}
