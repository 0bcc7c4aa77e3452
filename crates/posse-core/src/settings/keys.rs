//! The one table of settings. It feeds the check of every file, "did you mean", `posse config` and the docs page.
//!
//! Knows how each key is written, who may set it and how layers combine. Refuses to know what a value brings about.

use crate::budget;
use crate::node::{Node, Value};

/// How a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Text.
    Text,
    /// True or false.
    Flag,
    /// A whole number, zero or more.
    Count,
    /// Dollars: a number, zero or more.
    Dollars,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// The word `disable`, or true.
    Disable,
    /// A list of texts.
    Texts,
    /// Permission rules: a list, though a lone text or the object form of older versions is read too.
    Rules,
    /// Hooks by event; their own reader looks closer.
    Hooks,
    /// An object whose members are keys of this table.
    Group,
    /// An object of names and plain values.
    Values,
    /// An object of names and true or false.
    Flags,
    /// Any object.
    Object,
    /// Any list.
    List,
    /// Anything of these.
    Either(&'static [Shape]),
    /// Anything: posse only knows that the key exists.
    Any,
}

impl Shape {
    /// Whether a value is written so.
    pub fn accepts(self, node: &Node) -> bool {
        match self {
            Self::Text => node.as_text().is_some(),
            Self::Flag => node.as_bool().is_some(),
            Self::Count => matches!(&node.value, Value::Number(number) if number.parse::<u64>().is_ok()),
            Self::Dollars => {
                matches!(&node.value, Value::Number(number) if budget::parse_dollars(number).is_some())
            }
            Self::Choice(words) => node.as_text().is_some_and(|word| words.contains(&word)),
            // `false` and nothing switch nothing off; both are seen.
            Self::Disable => match &node.value {
                Value::Text(word) => &**word == "disable",
                Value::Bool(_) | Value::Null => true,
                Value::Number(_) | Value::List(_) | Value::Map(_) => false,
            },
            Self::Rules => !matches!(node.value, Value::Bool(_) | Value::Number(_)),
            Self::Hooks | Self::Any => true,
            Self::Texts | Self::List => node.as_list().is_some(),
            Self::Group | Self::Values | Self::Flags | Self::Object => node.as_map().is_some(),
            Self::Either(shapes) => shapes.iter().any(|shape| shape.accepts(node)),
        }
    }

    /// What it takes, for messages and docs.
    pub fn takes(self) -> String {
        match self {
            Self::Text => "text".into(),
            Self::Flag => "true or false".into(),
            Self::Count => "a whole number".into(),
            Self::Dollars => "a number of dollars".into(),
            Self::Choice(words) => format!("one of {}", words.join(", ")),
            Self::Disable => "\"disable\"".into(),
            Self::Texts => "a list of texts".into(),
            Self::Rules => "a list of rules".into(),
            Self::Hooks => "an object of events and hooks".into(),
            Self::Group | Self::Object => "an object".into(),
            Self::Values => "an object of names and values".into(),
            Self::Flags => "an object of names and true or false".into(),
            Self::List => "a list".into(),
            Self::Either(shapes) => {
                shapes.iter().map(|shape| shape.takes()).collect::<Vec<_>>().join(", or ")
            }
            Self::Any => "anything".into(),
        }
    }
}

/// Whose word counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setters {
    /// Every layer's.
    Anyone,
    /// Not that of files that come with a folder.
    NotProject,
    /// The administrator's alone.
    Managed,
}

/// What happens when several layers set a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Merging {
    /// The strongest layer wins.
    Override,
    /// All of them count.
    AddUp,
    /// The smallest counts.
    Least,
    /// Name by name, the strongest layer wins.
    ByName,
}

impl Merging {
    /// A few words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Override => "strongest wins",
            Self::AddUp => "add up",
            Self::Least => "smallest wins",
            Self::ByName => "by name",
        }
    }
}

/// One row of the table.
#[derive(Debug)]
pub struct Key {
    /// The key; `.` leads into objects.
    pub name: &'static str,
    /// How its value is written.
    pub shape: Shape,
    /// Who may set it.
    pub setters: Setters,
    /// Whether posse acts on it; otherwise it only knows that the key is no mistake.
    pub used: bool,
    /// What it does, one sentence.
    pub does: &'static str,
}

impl Key {
    /// How layers combine.
    pub fn merging(&self) -> Merging {
        if self.name.starts_with("budget.") {
            return Merging::Least;
        }
        match self.shape {
            Shape::Texts | Shape::Rules | Shape::Hooks | Shape::List => Merging::AddUp,
            Shape::Group | Shape::Values | Shape::Flags | Shape::Object => Merging::ByName,
            Shape::Text
            | Shape::Flag
            | Shape::Count
            | Shape::Dollars
            | Shape::Choice(_)
            | Shape::Disable
            | Shape::Either(_)
            | Shape::Any => Merging::Override,
        }
    }
}

const fn used(name: &'static str, shape: Shape, does: &'static str) -> Key {
    Key { name, shape, setters: Setters::Anyone, used: true, does }
}

const fn known(name: &'static str, shape: Shape, does: &'static str) -> Key {
    Key { used: false, ..used(name, shape, does) }
}

impl Key {
    const fn managed(self) -> Self {
        Self { setters: Setters::Managed, ..self }
    }

    const fn not_project(self) -> Self {
        Self { setters: Setters::NotProject, ..self }
    }
}

/// The words `permissions.defaultMode` takes; `manual` is another word for `default`.
const MODES: &[&str] =
    &["plan", "dontAsk", "default", "bubble", "acceptEdits", "auto", "bypassPermissions", "manual"];
const EFFORTS: &[&str] = &["low", "medium", "high", "xhigh", "max"];
const ON_OR_LIST: Shape = Shape::Either(&[Shape::Flag, Shape::List]);

/// The row of a key, if posse knows it.
pub fn find(name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.name == name)
}

/// All keys, in the order of the docs.
#[rustfmt::skip] // A table reads best as one.
pub static KEYS: &[Key] = &[
    // What may be done.
    used("permissions", Shape::Group, "What agents may do."),
    used("permissions.allow", Shape::Rules, "Calls that need no approval. A folder's own count only once it is trusted."),
    used("permissions.ask", Shape::Rules, "Calls that need approval even where something allows them."),
    used("permissions.deny", Shape::Rules, "Calls that never happen. A deny anywhere wins."),
    used("permissions.additionalDirectories", Shape::Texts, "More folders to work in. A folder's own count only once it is trusted."),
    used("permissions.defaultMode", Shape::Choice(MODES), "The mode a run starts in."),
    used("permissions.disableBypassPermissionsMode", Shape::Disable, "Forbids `bypassPermissions`."),
    used("permissions.disableAutoMode", Shape::Disable, "Forbids `auto`."),
    used("allowManagedPermissionRulesOnly", Shape::Flag, "Only the administrator's rules count.").managed(),
    // What may be used.
    used("budget", Shape::Group, "posse's own: what a run and all agents in it may use together. Before it runs out, each agent hands back what it has."),
    used("budget.tokens", Shape::Count, "Tokens read and written, cached ones too."),
    used("budget.usd", Shape::Dollars, "Dollars."),
    used("budget.seconds", Shape::Count, "Seconds at work."),
    used("budget.descendants", Shape::Count, "Agents started, and started by those."),
    // The sandbox.
    used("sandbox", Shape::Group, "Limits the system itself holds Bash to."),
    used("sandbox.enabled", Shape::Flag, "Whether Bash commands run in the sandbox."),
    used("sandbox.failIfUnavailable", Shape::Flag, "Refuse to start where there is no sandbox."),
    used("sandbox.autoAllowBashIfSandboxed", Shape::Flag, "Sandboxed commands need no approval."),
    used("sandbox.allowUnsandboxedCommands", Shape::Flag, "Whether a command may ask to run outside."),
    used("sandbox.excludedCommands", Shape::Texts, "Commands that run outside."),
    used("sandbox.readOnlyAgents", Shape::Choice(&["enforce", "require", "off"]), "posse's own: whether agents without writing tools get a disk they cannot write."),
    used("sandbox.network", Shape::Group, "What sandboxed commands reach."),
    used("sandbox.network.allowedDomains", Shape::Texts, "Domains they may reach."),
    used("sandbox.network.deniedDomains", Shape::Texts, "Domains they may not reach."),
    used("sandbox.network.allowLocalBinding", Shape::Flag, "Whether they may listen on local ports."),
    used("sandbox.network.allowUnixSockets", Shape::Texts, "Sockets they may use."),
    used("sandbox.network.allowAllUnixSockets", Shape::Flag, "Whether they may use every socket."),
    known("sandbox.network.allowMachLookup", Shape::Texts, "macOS services they may use."),
    known("sandbox.network.httpProxyPort", Shape::Count, "A proxy of your own."),
    known("sandbox.network.socksProxyPort", Shape::Count, "A SOCKS proxy of your own."),
    known("sandbox.network.tlsTerminate", Shape::Any, "Whether the proxy looks into TLS."),
    used("sandbox.network.allowManagedDomainsOnly", Shape::Flag, "Only the administrator's domains count.").managed(),
    used("sandbox.filesystem", Shape::Group, "What sandboxed commands read and write."),
    used("sandbox.filesystem.allowWrite", Shape::Texts, "Where they may write besides the working folders."),
    used("sandbox.filesystem.denyWrite", Shape::Texts, "Where they may not write."),
    used("sandbox.filesystem.denyRead", Shape::Texts, "What they may not read."),
    used("sandbox.filesystem.allowRead", Shape::Texts, "What they may read within what is denied."),
    used("sandbox.filesystem.allowManagedReadPathsOnly", Shape::Flag, "Only the administrator's readable paths count.").managed(),
    known("sandbox.enableWeakerNestedSandbox", Shape::Flag, "A weaker sandbox inside containers."),
    known("sandbox.enableWeakerNetworkIsolation", Shape::Flag, "A weaker network limit."),
    known("sandbox.ignoreViolations", Shape::Object, "Violations that are not reported."),
    known("sandbox.ripgrep", Shape::Object, "Which ripgrep to use."),
    known("sandbox.bwrapPath", Shape::Text, "Which bubblewrap to use."),
    known("sandbox.socatPath", Shape::Text, "Which socat to use."),
    known("sandbox.seccomp", Shape::Object, "Which seccomp filter to use."),
    known("sandbox.mode", Shape::Text, "How the sandbox decides."),
    // Hooks.
    used("hooks", Shape::Hooks, "Programs that run at events. A folder's own run only once it is trusted."),
    used("disableAllHooks", Shape::Flag, "Switches hooks off; the administrator's only if the administrator says so."),
    used("allowManagedHooksOnly", Shape::Flag, "Only the administrator's hooks run.").managed(),
    used("allowedHttpHookUrls", Shape::Texts, "Where http hooks may post; `*` stands for anything."),
    used("httpHookAllowedEnvVars", Shape::Texts, "Variables that http hooks may put into headers."),
    // Models and keys.
    used("model", Shape::Text, "The model."),
    used("availableModels", Shape::Texts, "The only models that may be used; others cannot add to the administrator's."),
    used("apiKeyHelper", Shape::Text, "A command that prints a key.").not_project(),
    known("modelOverrides", Shape::Object, "Other ids for models."),
    known("modelSettings", Shape::Object, "Settings by model."),
    known("modelPicker", Shape::Any, "Which models the picker shows."),
    known("enforceAvailableModels", Shape::Flag, "Hold the default to the list too."),
    known("fallbackModel", Shape::Any, "A model for when the first is overloaded."),
    known("advisorModel", Shape::Text, "A model that advises."),
    known("effortLevel", Shape::Choice(EFFORTS), "How hard the model thinks."),
    known("alwaysThinkingEnabled", Shape::Flag, "Think before every answer."),
    known("showThinkingSummaries", Shape::Flag, "Show summaries of the thinking."),
    known("fastMode", Shape::Flag, "Faster answers at a higher price."),
    known("fastModePerSessionOptIn", Shape::Flag, "Ask for the fast mode in every session."),
    known("awsAuthRefresh", Shape::Text, "A command that refreshes AWS credentials."),
    known("awsCredentialExport", Shape::Text, "A command that prints AWS credentials."),
    known("gcpAuthRefresh", Shape::Text, "A command that refreshes Google credentials."),
    known("otelHeadersHelper", Shape::Text, "A command that prints telemetry headers."),
    known("proxyAuthHelper", Shape::Text, "A command that prints a proxy's header."),
    known("forceLoginMethod", Shape::Text, "Which kind of account to log in with."),
    known("forceLoginOrgUUID", Shape::Any, "Which organisation to log in to."),
    // Agents, memory, conversations.
    used("agent", Shape::Text, "The agent a run starts as."),
    used("agents", Shape::Object, "posse's own: agents by name, written as for --agents."),
    used("env", Shape::Values, "Environment variables. Some need trust when a folder sets them."),
    used("autoMemoryEnabled", Shape::Flag, "Whether agents keep notes."),
    known("autoMemoryDirectory", Shape::Text, "Where notes are kept.").not_project(),
    known("autoDreamEnabled", Shape::Flag, "Tidy notes in the background."),
    used("cleanupPeriodDays", Shape::Count, "How long conversations are kept."),
    known("claudeMdExcludes", Shape::Texts, "CLAUDE.md files that are not read."),
    known("includeGitInstructions", Shape::Flag, "Whether the prompt explains git."),
    known("plansDirectory", Shape::Text, "Where plans are written."),
    known("outputStyle", Shape::Text, "How answers are written."),
    known("language", Shape::Text, "The language of answers."),
    known("teammateMode", Shape::Text, "How teammates are shown."),
    known("disableAgentView", Shape::Flag, "Switches the view of background sessions off."),
    known("autoCompactEnabled", Shape::Flag, "Summarise long conversations."),
    known("autoCompactWindow", Shape::Any, "When to summarise."),
    known("fileCheckpointingEnabled", Shape::Flag, "Keep copies of edited files."),
    known("worktree", Shape::Group, "How worktrees are made."),
    used("worktree.baseRef", Shape::Text, "What a new worktree starts from."),
    used("worktree.symlinkDirectories", Shape::Texts, "Folders that are linked into it."),
    used("worktree.sparsePaths", Shape::Texts, "The only paths that are checked out."),
    known("worktree.bgIsolation", Shape::Any, "Whether sessions in the background get one."),
    // Skills, plugins, MCP servers.
    used("enabledPlugins", Shape::Flags, "Plugins switched on or off, by `name@marketplace`."),
    used("pluginConfigs", Shape::Object, "Options of plugins."),
    used("strictPluginOnlyCustomization", ON_OR_LIST, "What only plugins and administrators may bring: agents, hooks, mcp, skills.").managed(),
    used("disableSideloadFlags", Shape::Flag, "Refuses --agents and --plugin-dir.").managed(),
    known("extraKnownMarketplaces", Shape::Object, "Marketplaces to offer."),
    known("strictKnownMarketplaces", Shape::Any, "The only marketplaces.").managed(),
    known("blockedMarketplaces", Shape::Any, "Marketplaces that are refused.").managed(),
    known("pluginSuggestionMarketplaces", Shape::List, "Marketplaces whose plugins are suggested.").managed(),
    known("pluginTrustMessage", Shape::Text, "A note shown before a plugin is installed.").managed(),
    known("disableCommandPluginSources", Shape::Flag, "Refuses plugins that a command brings.").managed(),
    known("skippedMarketplaces", Shape::List, "Marketplaces somebody declined."),
    known("skippedPlugins", Shape::List, "Plugins somebody declined."),
    known("skillOverrides", Shape::Object, "How single skills are offered."),
    used("skillListingBudgetFraction", Shape::Any, "How much of the context skills may fill."),
    used("skillListingMaxDescChars", Shape::Count, "How long a skill's description may be."),
    known("disableBundledSkills", Shape::Flag, "Switches built-in skills off."),
    used("disableSkillShellExecution", Shape::Flag, "Skills run no commands."),
    used("allowManagedMcpServersOnly", Shape::Flag, "Only the administrator's list of allowed MCP servers counts.").managed(),
    used("allowedMcpServers", Shape::List, "The only MCP servers."),
    used("deniedMcpServers", Shape::List, "MCP servers that are refused."),
    known("managedMcpServers", Shape::Object, "MCP servers of the administrator.").managed(),
    known("allowAllClaudeAiMcps", Shape::Flag, "Keep the account's connectors.").managed(),
    known("disableClaudeAiConnectors", Shape::Flag, "Drop the account's connectors."),
    used("enableAllProjectMcpServers", Shape::Flag, "Start every server of .mcp.json."),
    used("enabledMcpjsonServers", Shape::Texts, "Servers of .mcp.json to start."),
    used("disabledMcpjsonServers", Shape::Texts, "Servers of .mcp.json not to start."),
    known("channelsEnabled", Shape::Flag, "Allows channels.").managed(),
    known("allowedChannelPlugins", Shape::List, "Plugins that may open channels.").managed(),
    // Rules of the automatic mode.
    known("autoMode", Shape::Object, "How the automatic mode judges.").not_project(),
    known("disableAutoMode", Shape::Disable, "Forbids `auto`."),
    known("useAutoModeDuringPlan", Shape::Flag, "Judge while planning too."),
    known("skipDangerousModePermissionPrompt", Shape::Flag, "No warning before bypassing.").not_project(),
    known("skipAutoPermissionPrompt", Shape::Flag, "No question before the automatic mode.").not_project(),
    known("skipWebFetchPreflight", Shape::Flag, "No check of addresses before they are fetched."),
    known("skipWorkflowUsageWarning", Shape::Flag, "No warning before workflows."),
    known("disableWorkflows", Shape::Flag, "Switches workflows off."),
    known("enableWorkflows", Shape::Flag, "Switches workflows on."),
    known("workflowSizeGuideline", Shape::Any, "How large workflows may be."),
    known("workflowKeywordTriggerEnabled", Shape::Flag, "Start workflows by a word."),
    // Credits, git, files.
    known("includeCoAuthoredBy", Shape::Flag, "Credit in commits; older word for `attribution`."),
    known("attribution", Shape::Either(&[Shape::Flag, Shape::Object]), "Credit in commits and pull requests."),
    known("respectGitignore", Shape::Flag, "Leave ignored files out of the picker."),
    known("fileSuggestion", Shape::Object, "A command that suggests files."),
    known("prUrlTemplate", Shape::Text, "How links to pull requests are written."),
    known("defaultShell", Shape::Choice(&["bash", "powershell"]), "Which shell runs commands."),
    known("companyAnnouncements", Shape::Texts, "Notes shown at the start."),
    known("claudeMd", Shape::Text, "Instructions of the administrator.").managed(),
    // How the screen looks.
    known("statusLine", Shape::Object, "A command that prints a status line."),
    known("subagentStatusLine", Shape::Object, "A command that prints an agent's status line."),
    known("theme", Shape::Text, "Colours."),
    known("themes", Shape::Object, "Colours of your own."),
    known("tui", Shape::Text, "How the terminal is used."),
    known("viewMode", Shape::Text, "How much is shown."),
    known("verbose", Shape::Flag, "Show everything."),
    known("editorMode", Shape::Text, "Keys of the editor."),
    known("vimInsertModeRemaps", Shape::Object, "Keys of the vi mode."),
    known("spinnerTipsEnabled", Shape::Flag, "Tips while waiting."),
    known("spinnerTipsOverride", Shape::Object, "Tips of your own."),
    known("spinnerVerbs", Shape::Object, "Words while waiting."),
    known("terminalProgressBarEnabled", Shape::Flag, "A progress bar in the tab."),
    known("terminalTitleFromRename", Shape::Flag, "The session's name as title."),
    known("showTurnDuration", Shape::Flag, "How long a turn took."),
    known("showMessageTimestamps", Shape::Flag, "When a message came."),
    known("showClearContextOnPlanAccept", Shape::Flag, "Offer to clear the context after a plan."),
    known("prefersReducedMotion", Shape::Flag, "Less movement."),
    known("axScreenReader", Shape::Flag, "Output for screen readers."),
    known("syntaxHighlightingDisabled", Shape::Flag, "No colours in code."),
    known("emojiCompletionEnabled", Shape::Flag, "Complete emoji names."),
    known("promptSuggestionEnabled", Shape::Flag, "Suggest the next prompt."),
    known("autoScrollEnabled", Shape::Flag, "Follow the output."),
    known("wheelScrollAccelerationEnabled", Shape::Flag, "Scroll faster with the wheel."),
    known("awaySummaryEnabled", Shape::Flag, "A summary when you come back."),
    known("todoFeatureEnabled", Shape::Flag, "Show the to-do list."),
    known("prStatusFooterEnabled", Shape::Flag, "Show the pull request."),
    known("footerLinksRegexes", Shape::Any, "Links in the footer."),
    known("voiceEnabled", Shape::Flag, "Dictation."),
    known("voice", Shape::Any, "Dictation."),
    known("preferredNotifChannel", Shape::Text, "How to get your attention."),
    known("inputNeededNotifEnabled", Shape::Flag, "A push when something waits for you."),
    known("agentPushNotifEnabled", Shape::Flag, "A push when an agent wants one."),
    known("feedbackSurveyRate", Shape::Any, "How often to ask for feedback."),
    known("feedbackSurveyState", Shape::Any, "When feedback was asked for."),
    known("autoConnectIde", Shape::Flag, "Connect to the editor."),
    known("autoInstallIdeExtension", Shape::Flag, "Install the editor's extension."),
    known("externalEditorContext", Shape::Flag, "Show the answer in the editor."),
    known("claudeInChromeDefaultEnabled", Shape::Flag, "Use the browser."),
    // Elsewhere: the cloud, updates, deep links.
    known("remote", Shape::Any, "Cloud sessions."),
    known("remoteControlAtStartup", Shape::Flag, "Remote control from the start."),
    known("disableRemoteControl", Shape::Flag, "No remote control."),
    known("autoUploadSessions", Shape::Flag, "Upload sessions."),
    known("sshConfigs", Shape::List, "Machines to work on."),
    known("autoUpdates", Shape::Flag, "Update by itself."),
    known("autoUpdatesChannel", Shape::Text, "Which updates."),
    known("minimumVersion", Shape::Text, "The oldest version that may run."),
    known("requiredMinimumVersion", Shape::Text, "The oldest version that may run.").managed(),
    known("requiredMaximumVersion", Shape::Text, "The newest version that may run.").managed(),
    known("disableDeepLinkRegistration", Shape::Disable, "No links that open the program."),
    known("forceRemoteSettingsRefresh", Shape::Flag, "Wait for the server's settings.").managed(),
    known("policyHelper", Shape::Any, "A program that computes settings.").managed(),
    known("parentSettingsBehavior", Shape::Text, "How settings of a parent process count.").managed(),
    known("managedSourcesBehavior", Shape::Text, "How managed sources combine.").managed(),
    known("wslInheritsWindowsSettings", Shape::Flag, "Windows settings count under WSL.").managed(),
    used("mcpServers", Shape::Object, "MCP servers; those of a project need a yes, as in .mcp.json."),
    known("$schema", Shape::Text, "The schema, for editors."),
];
