//! What a model is told of its sandbox: beforehand in a sentence or two, and again when a command fails because of it,
//! so that it does not look for a way around.

use super::{Network, Sandbox};

/// How programs say that the system refused something.
const REFUSALS: &[&str] = &[
    "permission denied",
    "operation not permitted",
    "read-only file system",
    "eacces",
    "eperm",
    "erofs",
    "permissionerror",
];
/// How they say that nobody can be reached.
const UNREACHED: &[&str] = &[
    "could not resolve host",
    "couldn't connect to server",
    "failed to connect",
    "name resolution",
    "network is unreachable",
    "name or service not known",
    "posse's sandbox:",
];

impl Sandbox {
    /// What commands of the run can do, for whoever writes them. The same for every run of its kind, because it stands
    /// before everything that a provider caches: no name of the scratch folder.
    pub fn told(&self) -> String {
        let aside = if self.order.read_only {
            String::new()
        } else {
            " What is run from there, such as .git/hooks and .claude, is protected.".to_owned()
        };
        let way_out = if self.can_be_left() {
            " If a command cannot work so, call it again with dangerouslyDisableSandbox; the user decides."
        } else {
            " There is no way around; say what could not be done."
        };
        format!("{}{aside}{way_out}", self.limits())
    }

    /// What they cannot, in short.
    fn limits(&self) -> String {
        let files = if self.order.read_only {
            "Commands are read-only here: the system lets them write only below $TMPDIR.".to_owned()
        } else {
            let folders = self.folders();
            format!(
                "Commands are confined here: the system lets them write only below {folders} and $TMPDIR."
            )
        };
        match &self.network {
            Network::Open => files,
            Network::Closed => format!("{files} They reach no network."),
            Network::Only(hosts) => {
                let hosts: Vec<String> = hosts.iter().cloned().map(String::from).collect();
                format!("{files} They reach only {}, through the proxy in HTTPS_PROXY.", hosts.join(", "))
            }
        }
    }

    fn folders(&self) -> String {
        let folders = self.order.writable.iter().filter(|path| **path != self.scratch);
        folders.map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
    }

    /// What to say of a failed command, if the sandbox may be why.
    pub fn on_failure(&self, printed: &str) -> Option<String> {
        let printed = printed.to_ascii_lowercase();
        let says = |signs: &[&str]| signs.iter().any(|sign| printed.contains(sign));
        let is_open = matches!(self.network, Network::Open);
        (says(REFUSALS) || !is_open && says(UNREACHED)).then(|| format!("[{}]", self.limits()))
    }
}
