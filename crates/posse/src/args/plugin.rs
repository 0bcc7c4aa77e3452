//! `posse plugin`: what can be typed.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};
use posse_runtime::plugins::Scope;

/// `posse plugin`.
#[derive(Debug, clap::Args)]
pub struct PluginArgs {
    /// Print JSON (list and validate)
    #[arg(long, global = true)]
    pub json: bool,
    #[command(subcommand)]
    pub command: Option<PluginCommand>,
}

/// What to do with plugins.
#[derive(Debug, Subcommand)]
pub enum PluginCommand {
    /// List what is installed: for whom, whether it is on, and whether its content is what was installed
    List,
    /// Install a plugin and switch it on; also brings back content that was changed
    Install {
        /// name@marketplace, or a name that only one marketplace has
        name: String,
        #[command(flatten)]
        scope: ScopeArgs,
        #[command(flatten)]
        config: ConfigArg,
        /// Accept what it may do beyond what is installed
        #[arg(long, short)]
        yes: bool,
    },
    /// Remove a plugin; what it kept in its data folder stays
    #[command(alias = "remove")]
    Uninstall {
        /// name@marketplace, or a name that is installed once
        name: String,
        #[command(flatten)]
        scope: ScopeArgs,
    },
    /// Switch a plugin on, and set its options
    Enable {
        /// name@marketplace, or a name that is installed once
        name: String,
        #[command(flatten)]
        scope: ScopeArgs,
        #[command(flatten)]
        config: ConfigArg,
    },
    /// Switch a plugin off
    Disable {
        /// name@marketplace, or a name that is installed once
        name: String,
        #[command(flatten)]
        scope: ScopeArgs,
    },
    /// Update plugins; where the new version may do more, the difference is shown and you are asked
    Update {
        /// name@marketplace, or a name that is installed once; default: all
        name: Option<String>,
        /// Accept what new versions may do
        #[arg(long, short)]
        yes: bool,
    },
    /// Check a plugin folder, a zip file of one, or a marketplace
    Validate {
        /// The folder or file
        #[arg(default_value = ".")]
        path: PathBuf,
        /// Warnings fail the command like errors
        #[arg(long)]
        strict: bool,
    },
    /// Add, list, update and remove marketplaces
    Marketplace {
        #[command(subcommand)]
        command: MarketplaceCommand,
    },
}

/// What to do with marketplaces.
#[derive(Debug, Subcommand)]
pub enum MarketplaceCommand {
    /// Add a marketplace: a folder, owner/repo on GitHub, or the address of a git repository (with #branch)
    Add {
        /// Where it is
        #[arg(value_name = "PATH|URL")]
        place: String,
    },
    /// List the marketplaces that are known, and their plugins
    List,
    /// Fetch marketplaces again; installed plugins stay as they are
    Update {
        /// Which; default: all
        name: Option<String>,
    },
    /// Forget a marketplace; plugins installed from it stay
    #[command(alias = "rm")]
    Remove {
        /// Which
        name: String,
    },
}

/// For whom.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct ScopeArgs {
    /// For whom: you everywhere, everybody in this project, or you in this project
    #[arg(long, short, value_name = "SCOPE")]
    pub scope: Option<ScopeArg>,
}

/// Scopes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ScopeArg {
    /// ~/.claude/settings.json
    User,
    /// .claude/settings.json
    Project,
    /// .claude/settings.local.json
    Local,
}

impl From<ScopeArg> for Scope {
    fn from(scope: ScopeArg) -> Self {
        match scope {
            ScopeArg::User => Self::User,
            ScopeArg::Project => Self::Project,
            ScopeArg::Local => Self::Local,
        }
    }
}

/// Options of a plugin.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct ConfigArg {
    /// Set an option of the plugin; several times for several
    #[arg(long, value_name = "KEY=VALUE")]
    pub config: Vec<String>,
    /// Set an option to what a file holds, or standard input (-): for secrets, which a command line would show
    #[arg(long, value_name = "KEY=FILE")]
    pub config_file: Vec<String>,
}
