//! The flags of `posse mcp serve`.

use posse_core::permission::Mode;

use super::SourceArgs;
use super::run::{parse_dollars, parse_mode};

/// `posse mcp serve`.
#[derive(Debug, clap::Args)]
pub struct ServeArgs {
    /// Which of posse's tools to offer: a comma list, default for all, empty for none; agents keep theirs
    #[arg(long, value_name = "LIST")]
    pub tools: Option<String>,
    /// Offer agents, and no tools
    #[arg(long, conflicts_with_all = ["tools", "no_agents"])]
    pub agents_only: bool,
    /// Offer tools, and no agents
    #[arg(long)]
    pub no_agents: bool,
    /// The model of agents that name none: an alias (sonnet, opus, haiku), an id, openai:NAME, or rehearsal:FILE
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,
    /// The model to turn to when that one is overloaded
    #[arg(long, value_name = "MODEL")]
    pub fallback_model: Option<String>,
    /// Start no more work when this many dollars are spent, by all agents together
    #[arg(long, value_name = "USD", value_parser = parse_dollars, allow_negative_numbers = true)]
    pub max_budget_usd: Option<f64>,
    /// Tools that may be used without asking
    #[arg(long, alias = "allowedTools", value_name = "LIST", num_args = 1..)]
    pub allowed_tools: Vec<String>,
    /// Tools that may not be used
    #[arg(long, alias = "disallowedTools", value_name = "LIST", num_args = 1..)]
    pub disallowed_tools: Vec<String>,
    /// How actions are approved: default, acceptEdits, plan, dontAsk, auto, bypassPermissions
    #[arg(long, value_name = "MODE", value_parser = parse_mode)]
    pub permission_mode: Option<Mode>,
    /// Approve everything; only where nothing can be broken
    #[arg(long, conflicts_with = "permission_mode")]
    pub dangerously_skip_permissions: bool,
    /// Write nothing down
    #[arg(long)]
    pub no_session_persistence: bool,
    #[command(flatten)]
    pub sources: SourceArgs,
}
