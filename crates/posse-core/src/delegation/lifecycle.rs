//! Whether an agent runs in the foreground or in the background, decided once and with the reason.

/// The setting that makes the background the default.
pub const BACKGROUND_BY_DEFAULT_KEY: &str = "backgroundAgentsByDefault";
/// The variable that does the same; it wins over the setting.
pub const BACKGROUND_BY_DEFAULT_VARIABLE: &str = "CLAUDE_CODE_BACKGROUND_AGENTS_BY_DEFAULT";

/// Everything that speaks for or against the background.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reasons {
    /// The call's `run_in_background`.
    pub call: Option<bool>,
    /// The definition's `background`.
    pub definition: Option<bool>,
    /// The main agent only coordinates.
    pub coordinator: bool,
    /// Forks are the normal way to delegate.
    pub fork_mode: bool,
    /// The main agent must stay free to talk.
    pub assistant: bool,
    /// The main agent acts by itself.
    pub proactive: bool,
    /// The default is turned round.
    pub background_by_default: bool,
    /// Background tasks are disabled.
    pub disabled: bool,
    /// The caller is a teammate within this process: it would not outlive its own turn.
    pub teammate: bool,
}

/// What was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lifecycle {
    /// The caller waits.
    Foreground(Why),
    /// The caller goes on and is told.
    Background(Why),
}

impl Lifecycle {
    /// Whether the caller goes on.
    pub fn is_background(self) -> bool {
        match self {
            Self::Foreground(_) => false,
            Self::Background(_) => true,
        }
    }

    /// What decided.
    pub fn why(self) -> Why {
        match self {
            Self::Foreground(why) | Self::Background(why) => why,
        }
    }
}

/// What decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// Nothing was said.
    Default,
    /// Nothing was said, and the default is turned round.
    ChangedDefault,
    /// The call.
    Call,
    /// The definition.
    Definition,
    /// Coordinator mode.
    Coordinator,
    /// Fork mode.
    ForkMode,
    /// Assistant mode.
    Assistant,
    /// Proactive mode.
    Proactive,
    /// Background tasks are disabled.
    Disabled,
    /// The caller is a teammate.
    Teammate,
}

impl Why {
    /// The reason, to follow "because".
    pub fn words(self) -> &'static str {
        match self {
            Self::Default => "nothing else was said",
            Self::ChangedDefault => "the background is the default here",
            Self::Call => "the call says so",
            Self::Definition => "the agent's definition says so",
            Self::Coordinator => "coordinator mode is on",
            Self::ForkMode => "fork mode is on",
            Self::Assistant => "assistant mode is on",
            Self::Proactive => "proactive mode is on",
            Self::Disabled => "background tasks are disabled",
            Self::Teammate => "the caller is a teammate",
        }
    }
}

/// A teammate asked for an agent in the background.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotInTeammate {
    /// By the call.
    #[error(
        "A teammate cannot start agents in the background. Leave `run_in_background` out and wait for the result, or \
         ask the team lead to start the agent."
    )]
    Call,
    /// By the agent it chose.
    #[error(
        "This agent always runs in the background, and a teammate cannot start such agents. Use another agent, or ask \
         the team lead to start this one."
    )]
    Definition,
}

/// Decides. The vetoes come first, then whoever insists on the background, then the call, then the default.
pub fn should_run_async(reasons: Reasons) -> Result<Lifecycle, NotInTeammate> {
    let Reasons {
        call,
        definition,
        coordinator,
        fork_mode,
        assistant,
        proactive,
        background_by_default,
        disabled,
        teammate,
    } = reasons;
    if teammate {
        return match (call, definition) {
            (Some(true), _) => Err(NotInTeammate::Call),
            (Some(false) | None, Some(true)) => Err(NotInTeammate::Definition),
            (Some(false) | None, Some(false) | None) => Ok(Lifecycle::Foreground(Why::Teammate)),
        };
    }
    if disabled {
        return Ok(Lifecycle::Foreground(Why::Disabled));
    }
    let insisting = [
        (definition == Some(true), Why::Definition),
        (fork_mode, Why::ForkMode),
        (coordinator, Why::Coordinator),
        (assistant, Why::Assistant),
        (proactive, Why::Proactive),
        (call == Some(true), Why::Call),
    ];
    if let Some((_, why)) = insisting.into_iter().find(|(holds, _)| *holds) {
        return Ok(Lifecycle::Background(why));
    }
    Ok(match (call, definition) {
        (Some(_), _) => Lifecycle::Foreground(Why::Call),
        (None, Some(_)) => Lifecycle::Foreground(Why::Definition),
        (None, None) if background_by_default => Lifecycle::Background(Why::ChangedDefault),
        (None, None) => Lifecycle::Foreground(Why::Default),
    })
}
