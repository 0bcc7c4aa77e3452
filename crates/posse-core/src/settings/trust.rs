//! What a folder may not bring before somebody trusts it.
//!
//! The line runs here: files of a folder may always take away, and may set what cannot run, redirect or widen
//! anything. The rest waits. Refuses to know who trusts which folder.

use super::SetIn;
use crate::hooks::{HookGroup, HookHandler, HookKind};
use crate::node::Node;
use crate::text::Location;

/// Whether somebody said that the folder's own files may do more than take away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FolderTrust {
    /// Somebody did.
    Trusted,
    /// Nobody did.
    Untrusted,
}

/// Something written that does not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ignored {
    /// What kind of thing.
    pub kind: IgnoredKind,
    /// What exactly, in a few words.
    pub text: Box<str>,
    /// Who wrote it.
    pub by: SetIn,
    /// Where in that file.
    pub location: Option<Location>,
    /// Why it does not count.
    pub why: WhyIgnored,
}

/// Kinds of things that may not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IgnoredKind {
    /// A permission rule.
    Rule,
    /// A hook.
    Hook,
    /// A working folder.
    Directory,
    /// An environment variable.
    Environment,
    /// A permission mode.
    Mode,
    /// Something that loosens the sandbox.
    Sandbox,
    /// A switch that takes protection away.
    Switch,
    /// A plugin that is switched on or off, or an option of one.
    Plugin,
    /// A server of tools.
    Server,
}

impl IgnoredKind {
    /// All kinds, in the order of reports.
    pub const ALL: [Self; 9] = [
        Self::Rule,
        Self::Hook,
        Self::Directory,
        Self::Environment,
        Self::Mode,
        Self::Sandbox,
        Self::Switch,
        Self::Plugin,
        Self::Server,
    ];

    /// What so many of them are called.
    pub fn counted(self, count: usize) -> String {
        let (one, many) = match self {
            Self::Rule => ("allow rule", "allow rules"),
            Self::Hook => ("hook", "hooks"),
            Self::Directory => ("working folder", "working folders"),
            Self::Environment => ("environment variable", "environment variables"),
            Self::Mode => ("permission mode", "permission modes"),
            Self::Sandbox => ("sandbox setting", "sandbox settings"),
            Self::Switch => ("switch", "switches"),
            Self::Plugin => ("plugin setting", "plugin settings"),
            Self::Server => ("MCP server", "MCP servers"),
        };
        format!("{count} {}", if count == 1 { one } else { many })
    }
}

/// Why something does not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WhyIgnored {
    /// It is a folder's and the folder is not trusted.
    Untrusted,
    /// The administrator lets only his own count.
    ManagedOnly(SetIn),
    /// Hooks are switched off.
    HooksOff(SetIn),
    /// The administrator lets only plugins bring it.
    PluginsOnly(SetIn),
    /// It would be a folder's yes to what came with the folder.
    OwnYes,
}

/// Whether a key of a folder's file waits for trust, and as what.
pub(super) fn needed(name: &str, node: &Node) -> Option<IgnoredKind> {
    let says = |value: bool| node.as_bool() == Some(value);
    let (kind, widens) = match name {
        "permissions.allow" => (IgnoredKind::Rule, true),
        "permissions.additionalDirectories" => (IgnoredKind::Directory, true),
        "permissions.defaultMode" => {
            let wide = matches!(node.as_text(), Some("acceptEdits" | "auto" | "bypassPermissions"));
            (IgnoredKind::Mode, wide)
        }
        "hooks" => (IgnoredKind::Hook, true),
        // The user's own hooks may be what protects the user from this very folder.
        "disableAllHooks" => (IgnoredKind::Switch, says(true)),
        "allowedHttpHookUrls" | "httpHookAllowedEnvVars" => (IgnoredKind::Switch, true),
        // Switched off, too: a plugin's hooks may be what protects the user. An option may be what a hook runs.
        "enabledPlugins" | "pluginConfigs" => (IgnoredKind::Plugin, true),
        // A folder cannot say yes to its own servers, nor widen a list of those that are allowed.
        "enableAllProjectMcpServers" => (IgnoredKind::Switch, says(true)),
        "enabledMcpjsonServers" | "allowedMcpServers" => (IgnoredKind::Switch, true),
        "mcpServers" => (IgnoredKind::Server, true),
        "sandbox.enabled" | "sandbox.failIfUnavailable" => (IgnoredKind::Sandbox, says(false)),
        "sandbox.autoAllowBashIfSandboxed"
        | "sandbox.allowUnsandboxedCommands"
        | "sandbox.network.allowLocalBinding"
        | "sandbox.network.allowAllUnixSockets" => (IgnoredKind::Sandbox, says(true)),
        "sandbox.readOnlyAgents" => (IgnoredKind::Sandbox, node.as_text() == Some("off")),
        "sandbox.excludedCommands"
        | "sandbox.network.allowedDomains"
        | "sandbox.network.allowUnixSockets"
        | "sandbox.filesystem.allowWrite"
        | "sandbox.filesystem.allowRead" => (IgnoredKind::Sandbox, true),
        _ => return None,
    };
    widens.then_some(kind)
}

/// Whether a variable could run something, send something elsewhere or weaken a check.
///
/// A list of what is dangerous is never complete; but a list of what is harmless would take every `NODE_ENV` away.
pub fn env_needs_trust(name: &str) -> bool {
    const PREFIXES: &[&str] = &[
        "LD_",
        "DYLD_",
        "BASH_FUNC_",
        "GIT_",
        "SSH_",
        "SUDO_",
        "PYTHON",
        "PERL",
        "RUBY",
        "GEM_",
        "BUNDLE_",
        "NODE_",
        "NPM_",
        "YARN_",
        "PIP_",
        "CARGO_",
        "RUSTC",
        "JAVA_",
        "_JAVA",
        "JDK_",
        "MAVEN_",
        "GRADLE_",
        "GO",
        "DOTNET_",
        "OPENAI_",
        "AWS_",
        "GOOGLE_",
        "VERTEX_",
        "AZURE_",
        "OTEL_",
        "POSSE_",
        "DOCKER_",
        "KUBE",
        "SSL_",
        "CURL_",
    ];
    const NAMES: &[&str] = &[
        "PATH",
        "HOME",
        "SHELL",
        "ENV",
        "BASH_ENV",
        "ZDOTDIR",
        "IFS",
        "PS4",
        "CDPATH",
        "EDITOR",
        "VISUAL",
        "PAGER",
        "MANPAGER",
        "BROWSER",
        "LESSOPEN",
        "LESSCLOSE",
        "TMPDIR",
        "REQUESTS_CA_BUNDLE",
        "CLAUDE_CONFIG_DIR",
        "CLAUDE_ENV_FILE",
        "CLAUDE_CODE_SUBPROCESS_ENV_SCRUB",
        "MAKEFLAGS",
        "CC",
        "CXX",
        "CFLAGS",
        "LDFLAGS",
    ];
    const SUFFIXES: &[&str] =
        &["_PROXY", "_COMMAND", "_WRAPPER", "_PREFIX", "_TOKEN", "_KEY", "_URL", "_HELPER"];
    const HARMLESS: &[&str] = &["NODE_ENV"];
    let name = name.to_ascii_uppercase();
    let chooses_model = name.starts_with("ANTHROPIC_") && name.ends_with("MODEL");
    !chooses_model
        && !HARMLESS.contains(&&*name)
        && (name.starts_with("ANTHROPIC_")
            || NAMES.contains(&&*name)
            || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
            || SUFFIXES.iter().any(|suffix| name.ends_with(suffix)))
}

/// One entry of a list, for a person.
pub(super) fn words(key: &str, text: &str) -> String {
    if key == "permissions.additionalDirectories" { text.to_owned() } else { format!("{key}: {text}") }
}

/// A hook, for a person who decides whether it may run.
pub fn hook_words(group: &HookGroup, handler: &HookHandler) -> String {
    let what = match &handler.kind {
        HookKind::Command { command, args: None, .. } => command.to_string(),
        HookKind::Command { command, args: Some(args), .. } => {
            std::iter::once(&**command).chain(args.iter().map(|arg| &**arg)).collect::<Vec<_>>().join(" ")
        }
        HookKind::Http { url, .. } => format!("POST {url}"),
        HookKind::McpTool { server, tool, .. } => format!("the tool {tool} of {server}"),
        HookKind::Prompt { .. } => "a question to a model".into(),
        HookKind::Agent { .. } => "an agent that checks".into(),
    };
    match &group.matcher {
        Some(matcher) if !matcher.is_empty() => format!("{} ({matcher}): {what}", group.event.name()),
        _ => format!("{}: {what}", group.event.name()),
    }
}
