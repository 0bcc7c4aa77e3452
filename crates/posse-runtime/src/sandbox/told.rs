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
    /// What commands of the run can do, for whoever writes them.
    pub fn told(&self) -> String {
        let scratch = self.scratch.display();
        let mut text = if self.order.read_only {
            format!("Commands are read-only here: the system lets them write only below $TMPDIR ({scratch}).")
        } else {
            format!(
                "Commands are confined here: the system lets them write only below {} and $TMPDIR ({scratch}), and \
                 not to what is run from there, such as .git/hooks and .claude.",
                self.folders()
            )
        };
        text += &match &self.network {
            Network::Open => String::new(),
            Network::Closed => " They reach no network.".to_owned(),
            Network::Only(hosts) => {
                let hosts: Vec<String> = hosts.iter().cloned().map(String::from).collect();
                format!(" They reach only {}, through the proxy in HTTPS_PROXY.", hosts.join(", "))
            }
        };
        text += if self.can_be_left() {
            " If a command cannot work so, call it again with dangerouslyDisableSandbox; the user decides."
        } else {
            " There is no way around; say what could not be done."
        };
        text
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
        (says(REFUSALS) || !is_open && says(UNREACHED)).then(|| format!("[{}]", self.told()))
    }
}
