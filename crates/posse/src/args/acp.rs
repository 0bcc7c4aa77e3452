//! The flags of `posse acp`.

use super::run::parse_dollars;
use super::{AuthorityArgs, EffortArg, PromptArgs, RunArgs, SessionArgs, SourceArgs};

/// `posse acp`.
#[derive(Debug, clap::Args)]
pub struct AcpArgs {
    /// The model: an alias (sonnet, opus, haiku), an id, openai:NAME, or rehearsal:FILE
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,
    /// The model to turn to when that one is overloaded
    #[arg(long, value_name = "MODEL")]
    pub fallback_model: Option<String>,
    /// Run as this agent
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// How hard the model tries
    #[arg(long, value_name = "LEVEL")]
    pub effort: Option<EffortArg>,
    /// End a turn after this many requests to the model
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), allow_negative_numbers = true)]
    pub max_turns: Option<u32>,
    /// End a session's work when it has spent this many dollars
    #[arg(long, value_name = "USD", value_parser = parse_dollars, allow_negative_numbers = true)]
    pub max_budget_usd: Option<f64>,
    /// Write nothing down; such sessions cannot be loaded again
    #[arg(long)]
    pub no_session_persistence: bool,
    #[command(flatten)]
    pub prompting: PromptArgs,
    #[command(flatten)]
    pub authority: AuthorityArgs,
    #[command(flatten)]
    pub sources: SourceArgs,
}

impl From<AcpArgs> for RunArgs {
    fn from(args: AcpArgs) -> Self {
        let AcpArgs {
            model,
            fallback_model,
            agent,
            effort,
            max_turns,
            max_budget_usd,
            no_session_persistence,
            prompting,
            authority,
            sources,
        } = args;
        let session = SessionArgs { no_session_persistence, ..SessionArgs::default() };
        Self {
            model,
            fallback_model,
            agent,
            effort,
            max_turns,
            max_budget_usd,
            prompting,
            authority,
            session,
            sources,
            ..Self::default()
        }
    }
}
