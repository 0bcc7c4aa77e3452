//! The table of built-in tools. One row per tool feeds the pool, the lint, the listing and the docs.

/// Whether sub-agents get a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subagents {
    /// Like the main agent.
    Yes,
    /// Only if the agent works in plan mode.
    InPlanMode,
    /// Never, even if listed: the tool talks to the person at the main thread or steers it.
    No,
}

/// What posse knows of a tool without running it.
#[derive(Debug, PartialEq, Eq)]
pub struct ToolFacts {
    /// The name on the wire.
    pub name: &'static str,
    /// Older names that mean the same tool everywhere: lists, rules, hooks, calls.
    pub aliases: &'static [&'static str],
    /// Leaves files, processes and the outside world as they are.
    pub read_only: bool,
    /// Whether sub-agents get it.
    pub subagents: Subagents,
    /// Whether an agent that runs in the background keeps it.
    pub background: bool,
    /// What it is for, a few words.
    pub purpose: &'static str,
}

const fn tool(name: &'static str, purpose: &'static str) -> ToolFacts {
    ToolFacts { name, aliases: &[], read_only: true, subagents: Subagents::Yes, background: true, purpose }
}

impl ToolFacts {
    const fn writes(self) -> Self {
        Self { read_only: false, ..self }
    }

    const fn not_in_background(self) -> Self {
        Self { background: false, ..self }
    }

    const fn main_only(self) -> Self {
        Self { subagents: Subagents::No, background: false, ..self }
    }

    const fn in_plan_mode(self) -> Self {
        Self { subagents: Subagents::InPlanMode, ..self }
    }

    const fn aka(self, aliases: &'static [&'static str]) -> Self {
        Self { aliases, ..self }
    }
}

/// Every built-in tool, in the order they are offered.
pub static ALL: &[ToolFacts] = &[
    tool("Agent", "start another agent").writes().aka(&["Task"]),
    tool("AskUserQuestion", "ask the person a question").main_only(),
    tool("Bash", "run shell commands").writes(),
    tool("Edit", "replace text in a file").writes(),
    tool("EnterPlanMode", "switch to planning").main_only(),
    tool("EnterWorktree", "work in a separate copy of the repository").writes(),
    tool("ExitPlanMode", "present a plan for approval").in_plan_mode(),
    tool("ExitWorktree", "leave the separate copy").writes(),
    tool("Glob", "find files by name"),
    tool("Grep", "search file contents"),
    tool("NotebookEdit", "edit a notebook cell").writes(),
    tool("Read", "read a file"),
    tool("SendMessage", "write to another agent").writes(),
    tool("Skill", "load a skill"),
    tool("TaskCreate", "add to the task list").not_in_background(),
    tool("TaskGet", "look at a task").not_in_background(),
    tool("TaskList", "list the tasks").not_in_background(),
    tool("TaskOutput", "read the output of background work")
        .main_only()
        .aka(&["AgentOutputTool", "BashOutput"]),
    tool("TaskStop", "stop background work").writes().aka(&["KillShell", "KillBash"]),
    tool("TaskUpdate", "change a task").not_in_background(),
    tool("TodoWrite", "keep a to-do list"),
    tool("ToolSearch", "find tools that are not listed"),
    tool("WebFetch", "fetch a web page"),
    tool("WebSearch", "search the web"),
    tool("Write", "write a file").writes(),
];

/// Finds a tool by its name or an older name of it. Case counts.
pub fn find(name: &str) -> Option<&'static ToolFacts> {
    ALL.iter().find(|tool| tool.name == name || tool.aliases.contains(&name))
}

/// Why a name is not a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotATool {
    /// It was once; the text says what to use instead.
    Retired(&'static str),
    /// Right but for its case.
    Case(&'static str),
    /// Another system's name for a tool posse has.
    Foreign(&'static str),
    /// A tool of the system posse is compatible with, which posse does not have.
    Elsewhere,
    /// Perhaps a slip for this one.
    Misspelt(&'static str),
    /// Nothing known comes close.
    Unknown,
}

const RETIRED: &[(&str, &str)] = &[
    ("LS", "use Glob, or Bash with `ls`"),
    ("MultiEdit", "Edit does the same"),
    ("NotebookRead", "Read reads notebooks"),
    ("SlashCommand", "Skill runs commands"),
    ("TodoRead", "the to-do list is always in view; TodoWrite changes it"),
];

const FOREIGN: &[(&str, &str)] = &[
    ("codebase", "Grep"),
    ("create_file", "Write"),
    ("editfiles", "Edit"),
    ("edit/editfiles", "Edit"),
    ("edit_file", "Edit"),
    ("execute", "Bash"),
    ("fetch", "WebFetch"),
    ("file_search", "Glob"),
    ("list_dir", "Glob"),
    ("read_file", "Read"),
    ("replace", "Edit"),
    ("run_command", "Bash"),
    ("runcommands", "Bash"),
    ("run_shell_command", "Bash"),
    ("runinterminal", "Bash"),
    ("search", "Grep"),
    ("search_file_content", "Grep"),
    ("shell", "Bash"),
    ("terminal", "Bash"),
    ("view", "Read"),
    ("web_fetch", "WebFetch"),
    ("web_search", "WebSearch"),
    ("write_file", "Write"),
];

const ELSEWHERE: &[&str] = &[
    "Artifact",
    "Brief",
    "Computer",
    "CronCreate",
    "CronDelete",
    "CronList",
    "EndConversation",
    "LSP",
    "ListAgents",
    "ListMcpResourcesTool",
    "Monitor",
    "PowerShell",
    "PushNotification",
    "ReadMcpResourceTool",
    "RemoteTrigger",
    "ReportFindings",
    "ScheduleWakeup",
    "WaitForMcpServers",
    "Workflow",
];

/// Explains a name that [`find`] does not know.
pub fn why_not_a_tool(name: &str) -> NotATool {
    if let Some((_, instead)) = RETIRED.iter().find(|(retired, _)| *retired == name) {
        return NotATool::Retired(instead);
    }
    if ELSEWHERE.contains(&name) {
        return NotATool::Elsewhere;
    }
    if let Some(tool) = ALL.iter().find(|tool| tool.name.eq_ignore_ascii_case(name)) {
        return NotATool::Case(tool.name);
    }
    let lower = name.to_ascii_lowercase();
    if let Some((_, ours)) = FOREIGN.iter().find(|(foreign, _)| *foreign == lower) {
        return NotATool::Foreign(ours);
    }
    match crate::suggest::closest(name, ALL.iter().map(|tool| tool.name)) {
        Some(close) => NotATool::Misspelt(close),
        None => NotATool::Unknown,
    }
}
