//! The flags of a run.

use std::path::PathBuf;

use clap::ValueEnum;
use posse_core::definition::EffortLevel;
use posse_core::permission::Mode;

use super::{HostArgs, SourceArgs};

/// Who works, how hard, and how much at most.
#[derive(Debug, Default, clap::Args)]
pub struct ModelArgs {
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
    /// End after this many requests to the model
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), allow_negative_numbers = true)]
    pub max_turns: Option<u32>,
    /// End when this many dollars are spent
    #[arg(long, value_name = "USD", value_parser = parse_dollars, allow_negative_numbers = true)]
    pub max_budget_usd: Option<f64>,
}

/// A task to run.
#[derive(Debug, Default, clap::Args)]
pub struct RunArgs {
    /// The task, or how the conversation begins; with -p, what comes on standard input is put below it
    pub prompt: Option<String>,
    /// Answer and end, without a conversation
    #[arg(short, long)]
    pub print: bool,
    /// How to print: the answer as text, one JSON object, or one JSON object per event
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub output_format: OutputFormat,
    /// Say more: with text, every tool call on standard error
    #[arg(long)]
    pub verbose: bool,
    /// Say what happens and when, on standard error: requests, retries, tools, with their times
    #[arg(long)]
    pub debug: bool,
    /// With stream-json: also the model's raw events, as they come
    #[arg(long)]
    pub include_partial_messages: bool,
    /// With stream-json: also what hooks do
    #[arg(long)]
    pub include_hook_events: bool,
    /// Run the Setup hooks first
    #[arg(long, conflicts_with_all = ["init_only", "maintenance"])]
    pub init: bool,
    /// Run the Setup and SessionStart hooks, and end
    #[arg(long, conflicts_with = "maintenance")]
    pub init_only: bool,
    /// Run the Setup hooks for maintenance first
    #[arg(long)]
    pub maintenance: bool,
    #[command(flatten)]
    pub model: ModelArgs,
    /// The answer must fit this JSON Schema
    #[arg(long, value_name = "SCHEMA", value_parser = parse_json)]
    pub json_schema: Option<serde_json::Value>,
    /// Write every request and reply to a file that rehearsal:FILE can replay
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    #[command(flatten)]
    pub prompting: PromptArgs,
    #[command(flatten)]
    pub authority: AuthorityArgs,
    #[command(flatten)]
    pub session: SessionArgs,
    #[command(flatten)]
    pub sources: SourceArgs,
    #[command(flatten)]
    pub host: HostArgs,
}

/// What the agent is told.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "What the agent is told")]
pub struct PromptArgs {
    /// Instead of the default system prompt
    #[arg(long, value_name = "TEXT", conflicts_with = "system_prompt_file")]
    pub system_prompt: Option<String>,
    /// The same from a file
    #[arg(long, value_name = "FILE")]
    pub system_prompt_file: Option<PathBuf>,
    /// Behind the system prompt
    #[arg(long, value_name = "TEXT", conflicts_with = "append_system_prompt_file")]
    pub append_system_prompt: Option<String>,
    /// The same from a file
    #[arg(long, value_name = "FILE")]
    pub append_system_prompt_file: Option<PathBuf>,
}

/// What the agent may do.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "What the agent may do")]
pub struct AuthorityArgs {
    /// Which built-in tools there are: a comma list, default for all, empty for none
    #[arg(long, value_name = "LIST")]
    pub tools: Option<String>,
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
    /// Let the mode bypassPermissions be switched to later
    #[arg(long)]
    pub allow_dangerously_skip_permissions: bool,
    /// Whether anybody is asked: host asks whoever is there, none refuses whatever would be asked
    #[arg(long, value_name = "WHO", default_value = "host")]
    pub permission_prompts: PermissionPrompts,
    /// Who answers questions for permission: an MCP tool (mcp__server__tool), or stdio for the program at the other end
    #[arg(long, value_name = "TOOL")]
    pub permission_prompt_tool: Option<String>,
}

/// Which conversation.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Which conversation")]
pub struct SessionArgs {
    /// Go on with the last conversation of this folder
    #[arg(short, long = "continue", conflicts_with = "resume")]
    pub continue_last: bool,
    /// Go on with this conversation, by id or title
    #[arg(short, long, value_name = "ID")]
    pub resume: Option<String>,
    /// Go on with a copy; the original stays as it is
    #[arg(long)]
    pub fork_session: bool,
    /// The id of the new conversation, a UUID
    #[arg(long, value_name = "UUID", value_parser = parse_uuid)]
    pub session_id: Option<String>,
    /// Work in a worktree of its own, made or taken into use again, with this name or one that is made up
    #[arg(short, long, value_name = "NAME", num_args = 0..=1)]
    pub worktree: Option<Option<String>>,
    /// Write nothing down
    #[arg(long)]
    pub no_session_persistence: bool,
}

/// Formats of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// The answer
    #[default]
    Text,
    /// One JSON object at the end
    Json,
    /// One JSON object per line, as things happen
    StreamJson,
}

/// Who is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum PermissionPrompts {
    /// Whoever is there
    #[default]
    Host,
    /// Nobody
    None,
}

/// Levels of effort.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[allow(missing_docs)]
pub enum EffortArg {
    Low,
    Medium,
    High,
    #[value(name = "xhigh")]
    XHigh,
    Max,
}

impl From<EffortArg> for EffortLevel {
    fn from(level: EffortArg) -> Self {
        match level {
            EffortArg::Low => Self::Low,
            EffortArg::Medium => Self::Medium,
            EffortArg::High => Self::High,
            EffortArg::XHigh => Self::XHigh,
            EffortArg::Max => Self::Max,
        }
    }
}

pub(super) fn parse_dollars(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(amount) if amount > 0.0 && amount.is_finite() => Ok(amount),
        Ok(_) | Err(_) => Err("an amount of dollars above 0, such as 0.50".into()),
    }
}

fn parse_json(text: &str) -> Result<serde_json::Value, String> {
    serde_json::from_str(text).map_err(|error| format!("not JSON: {error}"))
}

pub(super) fn parse_mode(name: &str) -> Result<Mode, String> {
    let choosable = Mode::ALL.into_iter().filter(|mode| *mode != Mode::Bubble);
    let names: Vec<&str> = choosable.map(Mode::name).collect();
    match Mode::parse(name) {
        Some(Mode::Bubble) => {
            Err(format!("bubble is for agents that others start; one of {}", names.join(", ")))
        }
        Some(mode) => Ok(mode),
        None => Err(format!("one of {}", names.join(", "))),
    }
}

fn parse_uuid(text: &str) -> Result<String, String> {
    let groups: Vec<usize> = text.split('-').map(str::len).collect();
    let hex = text.chars().all(|c| c == '-' || c.is_ascii_hexdigit());
    if hex && groups == [8, 4, 4, 4, 12] { Ok(text.to_ascii_lowercase()) } else { Err("not a UUID".into()) }
}
