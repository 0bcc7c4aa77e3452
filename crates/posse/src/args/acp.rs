//! The flags of `posse acp`.

use super::{AuthorityArgs, ModelArgs, PromptArgs, RunArgs, SessionArgs, SourceArgs};

/// `posse acp`.
#[derive(Debug, clap::Args)]
pub struct AcpArgs {
    #[command(flatten)]
    pub model: ModelArgs,
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
        let AcpArgs { model, no_session_persistence, prompting, authority, sources } = args;
        let session = SessionArgs { no_session_persistence, ..SessionArgs::default() };
        Self { model, prompting, authority, session, sources, ..Self::default() }
    }
}
