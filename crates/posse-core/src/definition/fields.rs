//! The one table of fields an agent can have. It feeds the parser, "did you mean", the docs page and the wizard.

use crate::frontmatter::Shape;

/// Names a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)] // The table below says what each is.
pub enum FieldId {
    Name,
    Description,
    Tools,
    DisallowedTools,
    Model,
    Effort,
    PermissionMode,
    Color,
    MaxTurns,
    Budget,
    Background,
    InitialPrompt,
    Memory,
    Isolation,
    Hooks,
    McpServers,
    Skills,
    RequiredMcpServers,
    OmitClaudeMd,
    ForkContext,
    CriticalSystemReminder,
    AutoCompactWindow,
    Observer,
    ObserverMessage,
}

/// One row of the table.
#[derive(Debug)]
pub struct Field {
    /// Which field.
    pub id: FieldId,
    /// Its key in frontmatter and JSON. Case counts.
    pub name: &'static str,
    /// How its value is written.
    pub shape: Shape,
    /// What it takes, a few words.
    pub takes: &'static str,
    /// What it does, one sentence.
    pub does: &'static str,
    /// What holds when it is left out.
    pub default: &'static str,
    /// A line one could paste.
    pub example: &'static str,
    /// Whether a plugin's agent may set it.
    pub in_plugins: bool,
    /// What people write when they mean this field. Not honoured: only suggested.
    pub mistaken_for: &'static [&'static str],
}

/// All fields, in the order of the docs.
pub static FIELDS: &[Field] = &[
    Field {
        id: FieldId::Name,
        name: "name",
        shape: Shape::Word,
        takes: "text",
        does: "What the agent is called; other agents and people start it by this name.",
        default: "required",
        example: "name: reviewer",
        in_plugins: true,
        mistaken_for: &["title", "id", "displayName", "agent"],
    },
    Field {
        id: FieldId::Description,
        name: "description",
        shape: Shape::Prose,
        takes: "text; the two characters `\\n` are a line break",
        does: "When to use the agent, written for the model that chooses.",
        default: "required",
        example: "description: \"Use after a change: reads the diff and reports defects.\"",
        in_plugins: true,
        mistaken_for: &["desc", "summary", "when-to-use", "when_to_use", "whenToUse", "purpose"],
    },
    Field {
        id: FieldId::Tools,
        name: "tools",
        shape: Shape::List,
        takes: "a list or comma-separated text of tools, `Tool(scope)`, `mcp__server`, `Agent(a, b)` or `*`",
        does: "The tools the agent may use; nothing else can be reached.",
        default: "all tools; `[]` means none",
        example: "tools: Read, Grep, Bash(git diff:*)",
        in_plugins: true,
        mistaken_for: &["allowed-tools", "allowedTools", "allowed_tools", "toolset", "capabilities"],
    },
    Field {
        id: FieldId::DisallowedTools,
        name: "disallowedTools",
        shape: Shape::List,
        takes: "like `tools`",
        does: "Tools taken away from what `tools` gives.",
        default: "none",
        example: "disallowedTools: Write, Edit",
        in_plugins: true,
        mistaken_for: &[
            "disallowed-tools",
            "disallowed_tools",
            "deniedTools",
            "denied-tools",
            "excludeTools",
        ],
    },
    Field {
        id: FieldId::Model,
        name: "model",
        shape: Shape::Word,
        takes: "`sonnet`, `opus`, `haiku`, `fable`, `inherit` or a model id",
        does: "The model the agent runs on.",
        default: "the parent's",
        example: "model: haiku",
        in_plugins: true,
        mistaken_for: &["models", "llm", "model_name", "preferred_model"],
    },
    Field {
        id: FieldId::Effort,
        name: "effort",
        shape: Shape::Word,
        takes: "`low`, `medium`, `high`, `xhigh`, `max` or a whole number",
        does: "How hard the model thinks.",
        default: "the parent's",
        example: "effort: high",
        in_plugins: true,
        mistaken_for: &["reasoning_effort", "reasoningEffort", "thinking", "thinkingLevel"],
    },
    Field {
        id: FieldId::PermissionMode,
        name: "permissionMode",
        shape: Shape::Word,
        takes: "`default`, `acceptEdits`, `plan`, `dontAsk`, `auto`, `bypassPermissions` or `bubble`",
        does: "How actions are approved; never wider than the parent's.",
        default: "the parent's",
        example: "permissionMode: plan",
        in_plugins: false,
        mistaken_for: &["permission-mode", "permission_mode", "permissions", "mode"],
    },
    Field {
        id: FieldId::Color,
        name: "color",
        shape: Shape::Word,
        takes: "`red`, `blue`, `green`, `yellow`, `purple`, `orange`, `pink` or `cyan`",
        does: "The colour the agent is shown in.",
        default: "the next free one",
        example: "color: cyan",
        in_plugins: true,
        mistaken_for: &["colour"],
    },
    Field {
        id: FieldId::MaxTurns,
        name: "maxTurns",
        shape: Shape::Word,
        takes: "a whole number above 0",
        does: "How many requests to the model the agent may make.",
        default: "no limit",
        example: "maxTurns: 20",
        in_plugins: true,
        mistaken_for: &["max_turns", "max-turns", "maxSteps", "max_iterations", "maxIterations"],
    },
    Field {
        id: FieldId::Budget,
        name: "budget",
        shape: Shape::Tree,
        takes: "a mapping of `tokens`, `usd`, `seconds` and `descendants` to numbers",
        does: "posse's own: what the agent and all it starts may use; before it runs out, the agent hands back what it has.",
        default: "no limit",
        example: "budget: {usd: 0.50, descendants: 4}",
        in_plugins: true,
        mistaken_for: &[
            "budgets",
            "maxBudget",
            "max_budget",
            "maxBudgetUsd",
            "max_budget_usd",
            "maxTokens",
            "max_tokens",
        ],
    },
    Field {
        id: FieldId::Background,
        name: "background",
        shape: Shape::Word,
        takes: "`true` or `false`",
        does: "Always runs in the background.",
        default: "false",
        example: "background: true",
        in_plugins: true,
        mistaken_for: &["run_in_background", "runInBackground", "async"],
    },
    Field {
        id: FieldId::InitialPrompt,
        name: "initialPrompt",
        shape: Shape::Prose,
        takes: "text",
        does: "Put before the user's first prompt when the agent is the main agent.",
        default: "none",
        example: "initialPrompt: Start by reading CONTRIBUTING.md.",
        in_plugins: true,
        mistaken_for: &["initial-prompt", "initial_prompt"],
    },
    Field {
        id: FieldId::Memory,
        name: "memory",
        shape: Shape::Word,
        takes: "`user`, `project` or `local`",
        does: "Gives the agent a folder of its own that outlives the run.",
        default: "none",
        example: "memory: project",
        in_plugins: true,
        mistaken_for: &[],
    },
    Field {
        id: FieldId::Isolation,
        name: "isolation",
        shape: Shape::Word,
        takes: "`worktree` or `remote`",
        does: "Works in its own copy of the repository, or on another machine.",
        default: "none",
        example: "isolation: worktree",
        in_plugins: true,
        mistaken_for: &["sandbox", "worktree"],
    },
    Field {
        id: FieldId::Hooks,
        name: "hooks",
        shape: Shape::Tree,
        takes: "a mapping of events to groups of handlers, as in settings",
        does: "Hooks that live exactly as long as the agent's run.",
        default: "none",
        example: "hooks: {PreToolUse: [{matcher: Bash, hooks: [{type: command, command: ./check.sh}]}]}",
        in_plugins: false,
        mistaken_for: &["hook"],
    },
    Field {
        id: FieldId::McpServers,
        name: "mcpServers",
        shape: Shape::Tree,
        takes: "a list of server names and `{name: config}` mappings",
        does: "MCP servers the agent has besides the session's.",
        default: "none",
        example: "mcpServers: [github]",
        in_plugins: false,
        mistaken_for: &["mcp-servers", "mcp_servers", "mcp", "mcpServer"],
    },
    Field {
        id: FieldId::Skills,
        name: "skills",
        shape: Shape::List,
        takes: "a list or comma-separated text of skills",
        does: "Skills whose full text the agent starts with.",
        default: "none",
        example: "skills: [release-notes]",
        in_plugins: true,
        mistaken_for: &["skill"],
    },
    Field {
        id: FieldId::RequiredMcpServers,
        name: "requiredMcpServers",
        shape: Shape::List,
        takes: "a list or comma-separated text of servers",
        does: "Hides the agent until these MCP servers are connected and offer tools.",
        default: "none",
        example: "requiredMcpServers: [github]",
        in_plugins: true,
        mistaken_for: &["required-mcp-servers", "required_mcp_servers", "requires"],
    },
    Field {
        id: FieldId::OmitClaudeMd,
        name: "omitClaudeMd",
        shape: Shape::Word,
        takes: "`true` or `false`",
        does: "Runs without the CLAUDE.md files (the administrator's stays).",
        default: "false",
        example: "omitClaudeMd: true",
        in_plugins: true,
        mistaken_for: &["omit-claude-md", "omit_claude_md"],
    },
    Field {
        id: FieldId::ForkContext,
        name: "forkContext",
        shape: Shape::Word,
        takes: "`true` or `false`",
        does: "Starts with the conversation of the agent that calls it.",
        default: "false",
        example: "forkContext: true",
        in_plugins: true,
        mistaken_for: &["fork-context", "fork_context"],
    },
    Field {
        id: FieldId::CriticalSystemReminder,
        name: "criticalSystemReminder",
        shape: Shape::Prose,
        takes: "text",
        does: "Repeated to the agent with every turn.",
        default: "none",
        example: "criticalSystemReminder: Never touch the migrations folder.",
        in_plugins: true,
        mistaken_for: &["critical-system-reminder", "critical_system_reminder"],
    },
    Field {
        id: FieldId::AutoCompactWindow,
        name: "autoCompactWindow",
        shape: Shape::Word,
        takes: "a whole number of tokens from 100000 to 1000000",
        does: "The context size at which the agent's conversation is compacted.",
        default: "the session's",
        example: "autoCompactWindow: 200000",
        in_plugins: true,
        mistaken_for: &["auto-compact-window", "auto_compact_window"],
    },
    Field {
        id: FieldId::Observer,
        name: "observer",
        shape: Shape::List,
        takes: "up to four agents, as a list or comma-separated text",
        does: "Agents that watch this one read-only and report.",
        default: "none",
        example: "observer: auditor",
        in_plugins: true,
        mistaken_for: &["observers"],
    },
    Field {
        id: FieldId::ObserverMessage,
        name: "observerMessage",
        shape: Shape::Prose,
        takes: "text",
        does: "Put below each digest the observers get.",
        default: "none",
        example: "observerMessage: Watch for secrets in output.",
        in_plugins: true,
        mistaken_for: &["observer-message", "observer_message"],
    },
];

/// Finds a field by its key.
pub fn find(name: &str) -> Option<&'static Field> {
    FIELDS.iter().find(|field| field.name == name)
}

/// The row of a field.
pub fn row(id: FieldId) -> &'static Field {
    // The table is in the order of the enum (a test holds it so).
    &FIELDS[id as usize]
}

/// What a reader of headers needs to know.
pub fn vocabulary(name: &str) -> Option<Shape> {
    // What people write for a field counts too, where it can be no word of a text: a misspelt `allowed-tools` must end
    // the description above it, or a limit would vanish in prose.
    let is_no_word = name.contains(['-', '_']) || name.contains(|c: char| c.is_ascii_uppercase());
    let meant = || FIELDS.iter().find(|field| is_no_word && field.mistaken_for.contains(&name));
    find(name).or_else(meant).map(|field| field.shape)
}

/// The field somebody probably meant.
pub fn meant_by(name: &str) -> Option<&'static Field> {
    let listed = FIELDS.iter().find(|field| field.mistaken_for.contains(&name));
    listed.or_else(|| find(crate::suggest::closest(name, FIELDS.iter().map(|field| field.name))?))
}
