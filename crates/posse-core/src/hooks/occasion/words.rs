//! The closed lists of words in the inputs of hooks.

macro_rules! words {
    ($($(#[$doc:meta])* $name:ident { $($variant:ident $word:literal,)* })*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            pub enum $name { $(#[doc = concat!("`", $word, "`")] $variant,)* }

            impl $name {
                /// All of them.
                pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

                /// The word on the wire.
                pub fn word(self) -> &'static str {
                    match self { $(Self::$variant => $word,)* }
                }
            }
        )*
    };
}

words! {
    /// How a session starts.
    SessionSource { Startup "startup", Resume "resume", Clear "clear", Compact "compact", Fork "fork", }
    /// Why a session ends.
    EndReason {
        Clear "clear", Resume "resume", Logout "logout", PromptInputExit "prompt_input_exit", Other "other",
    }
    /// Who asked for a conversation to be compacted.
    CompactTrigger { Manual "manual", Auto "auto", }
    /// What a set-up is for.
    SetupTrigger { Init "init", Maintenance "maintenance", }
    /// Which settings changed.
    ConfigSource {
        User "user_settings", Project "project_settings", Local "local_settings", Policy "policy_settings",
        Skills "skills",
    }
    /// Whose instructions they are.
    MemoryType { User "User", Project "Project", Local "Local", Managed "Managed", }
    /// Why instructions are loaded.
    LoadReason {
        SessionStart "session_start", NestedTraversal "nested_traversal", PathGlobMatch "path_glob_match",
        Include "include", Compact "compact",
    }
    /// What happened to a file.
    FileChange { Change "change", Add "add", Unlink "unlink", }
    /// What is expanded.
    ExpansionType { SlashCommand "slash_command", McpPrompt "mcp_prompt", }
    /// How a folder was added.
    DirectorySource { SlashCommand "slash_command", RegisterRepoRoot "register_repo_root", }
    /// What a person answered to an MCP server's question.
    ElicitationAction { Accept "accept", Decline "decline", Cancel "cancel", }
}

impl ElicitationAction {
    /// Finds an action by its word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|action| action.word() == word)
    }
}
