//! The flags of programs that start posse and stay at the other end: the SDKs and their like.

use std::path::PathBuf;

use clap::ValueEnum;
use clap::builder::NonEmptyStringValueParser;
use posse_runtime::model::Thinking;
use posse_runtime::world::Env;

/// What such programs say.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "For programs that start posse")]
pub struct HostArgs {
    /// How prompts come: as text, or as lines of JSON for as long as the session runs
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub input_format: InputFormat,
    /// With stream-json as input: show each prompt again once it is taken up, with its id
    #[arg(long)]
    pub replay_user_messages: bool,
    /// With --resume: go on behind this entry of the conversation
    #[arg(long, value_name = "UUID", value_parser = NonEmptyStringValueParser::new())]
    pub resume_session_at: Option<String>,
    /// With --resume-session-at: refuse unless exactly the turn that this prompt began is dropped by it
    #[arg(long, value_name = "UUID", value_parser = NonEmptyStringValueParser::new())]
    pub resume_drops_turn: Option<String>,
    /// Features of the provider to ask for
    #[arg(long, value_name = "LIST", value_delimiter = ',', num_args = 1..)]
    pub betas: Vec<String>,
    /// Tokens the model is told to make do with for a whole task
    #[arg(long, value_name = "TOKENS")]
    pub task_budget: Option<u64>,
    /// Whether the model thinks before it answers
    #[arg(long, value_name = "HOW")]
    pub thinking: Option<ThinkingArg>,
    /// How many tokens it may think
    #[arg(long, value_name = "TOKENS")]
    pub max_thinking_tokens: Option<u32>,
    /// How thoughts are shown: summarized or omitted
    #[arg(long, value_name = "HOW")]
    pub thinking_display: Option<String>,
    /// Write every line of the transcript to standard output, too
    #[arg(long)]
    pub session_mirror: bool,
    /// A plugin folder whose servers of tools are left out
    #[arg(long, value_name = "DIR", hide = true)]
    pub plugin_dir_no_mcp: Vec<PathBuf>,
    #[arg(long, value_name = "JSON", hide = true)]
    pub managed_settings: Option<String>,
    #[arg(long, hide = true)]
    pub managed_settings_in_initialize: bool,
    #[arg(long, hide = true)]
    pub await_initialize: bool,
    #[arg(long, value_name = "DIR", hide = true)]
    pub project_config_root: Option<PathBuf>,
    #[arg(long, value_name = "FILE", hide = true)]
    pub debug_file: Option<PathBuf>,
    #[arg(long, hide = true)]
    pub debug_to_stderr: bool,
    #[arg(long, value_name = "LIST", hide = true)]
    pub channels: Option<String>,
    #[arg(long, value_name = "NAME", hide = true)]
    pub workload: Option<String>,
    #[arg(long, value_name = "URL", hide = true)]
    pub sdk_url: Option<String>,
}

impl HostArgs {
    /// How much to think. What is typed wins over the environment.
    pub fn thoughts(&self, env: &Env) -> Thinking {
        let usual = || env.number("MAX_THINKING_TOKENS").and_then(|tokens| u32::try_from(tokens).ok());
        let tokens = self.max_thinking_tokens.or_else(|| usual().filter(|_| self.thinking.is_none()));
        match (tokens, self.thinking) {
            (Some(0), _) | (_, Some(ThinkingArg::Disabled)) => Thinking::Disabled,
            (Some(tokens), _) => Thinking::Budget(tokens),
            (None, Some(ThinkingArg::Adaptive | ThinkingArg::Enabled)) => Thinking::Adaptive,
            (None, None) => Thinking::Default,
        }
    }

    /// What is accepted and changes nothing, for whoever gave it.
    pub fn without_effect(&self) -> Vec<String> {
        let given = [("--channels", self.channels.is_some()), ("--sdk-url", self.sdk_url.is_some())];
        let given = given.into_iter().filter(|(_, given)| *given);
        given.map(|(flag, _)| format!("{flag} has no effect in posse")).collect()
    }
}

/// Formats of what comes in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum InputFormat {
    /// A task, to the end of the input
    #[default]
    Text,
    /// One JSON object per line
    StreamJson,
}

/// Whether to think.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ThinkingArg {
    /// As much as the task needs
    Adaptive,
    /// The same
    Enabled,
    /// Not at all
    Disabled,
}
