//! What can be typed. The doc comments here are the help texts.

mod acp;
mod host;
mod plugin;
mod run;
mod serve;

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use posse_runtime::catalog::{CatalogOptions, SettingSources};

pub use acp::AcpArgs;
pub use host::{HostArgs, InputFormat, ThinkingArg};
pub use plugin::{ConfigArg, MarketplaceCommand, PluginArgs, PluginCommand, ScopeArgs};
pub use run::{
    AuthorityArgs, EffortArg, ModelArgs, OutputFormat, PermissionPrompts, PromptArgs, RunArgs, SessionArgs,
};
pub use serve::ServeArgs;

/// Run AI agents that are defined as Markdown files.
///
/// An agent is one file, such as .claude/agents/reviewer.md: a short header that says what it is called, when to use
/// it and what it may do, then its instructions. posse reads the agents, settings and plugins you already have from
/// Claude Code.
///
/// Talk to it in this folder: posse. Give it one task: posse -p "explain this project". Or watch it work, without a
/// key: posse demo.
#[derive(Debug, Parser)]
#[command(name = "posse", version, propagate_version = true, max_term_width = 100)]
#[command(args_conflicts_with_subcommands = true)]
#[command(
    after_help = "Exit codes: 0 fine; 1 problems found, or the run ended with an error; 2 the command line was \
                        wrong; 130 interrupted."
)]
pub struct Args {
    /// When to use colours; NO_COLOR in the environment switches them off too
    #[arg(long, value_name = "WHEN", global = true, default_value = "auto")]
    pub color: When,
    /// Print the version of the protocol for programs, as they ask for it
    #[arg(short = 'v', hide = true)]
    pub protocol_version: bool,
    #[command(subcommand)]
    pub command: Option<Command>,
    #[command(flatten)]
    pub run: RunArgs,
}

/// When to do something that depends on who reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum When {
    /// If the output is a terminal
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List the agents there are, and show single ones
    ///
    /// Without a sub-command: list.
    Agents(AgentsArgs),
    /// List the skills and commands there are, and show single ones
    ///
    /// A skill is a folder with a SKILL.md in .claude/skills, a command a file in .claude/commands. Without a
    /// sub-command: list.
    Skills(SkillsArgs),
    /// Check agent files and say what is wrong, where, and how to mend it
    ///
    /// Without a path, everything posse would load here is checked: project, user, plugins, settings and flags. With
    /// paths, only those files and folders.
    ///
    /// Errors are agents that do not load or cannot be started, and hooks and servers of theirs that are lost. Warnings are things that load, but not as written.
    /// Notes are worth knowing.
    Lint(LintArgs),
    /// Show what an agent would be when started: tools, model, permissions, and who set each
    ///
    /// The tool pool is shown step by step: what is in it and why, what is not and why not. Use --parent and
    /// --background to see the same agent started by another one, or in the background.
    Explain(ExplainArgs),
    /// Watch an agent find and mend a bug in a small project, with real tools and a rehearsed model
    ///
    /// No key needed. The sample project lies in a temporary folder and is removed afterwards.
    Demo(DemoArgs),
    /// List the conversations of this folder, newest first
    Sessions {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show the agents of a session as a tree: who started whom, how each ended, and what it took
    ///
    /// Everything is read from transcripts: tokens and cost are those of the conversations. An agent whose process is
    /// gone before it ended is shown as crashed.
    Runs(RunsArgs),
    /// Show the worktrees of agents, take their work over, or remove them
    ///
    /// An agent with `isolation: worktree` works in a checkout of its own. If it left anything there, the checkout is
    /// kept until you merge or drop it. Without a sub-command: list.
    Worktrees(WorktreesArgs),
    /// Show every setting in force, who set it, and what it overrode
    ///
    /// Values add up from the user's, the project's and the administrator's files; what does not count is shown with
    /// the reason. Values of variables that look like secrets are not shown.
    Config(ConfigArgs),
    /// Trust a folder: let its allow rules, hooks and MCP servers count
    ///
    /// Shows what that makes count, then records it where other tools look too. Without a path: this repository, or
    /// the working directory. Rules that deny or ask always count.
    Trust(TrustArgs),
    /// Install plugins, switch them on and off, update and check them
    ///
    /// Plugins come from marketplaces: folders or git repositories with a list of plugins. What is installed is pinned by
    /// a digest of its content; an update that may do more than before shows the difference and asks. Without a
    /// sub-command: list.
    #[command(alias = "plugins")]
    Plugin(PluginArgs),
    /// Configure servers that bring tools (MCP), see how they are, and log in to them
    ///
    /// Without a sub-command: list.
    Mcp(McpArgs),
    /// Be an agent for an editor that speaks the Agent Client Protocol, such as Zed, on standard input and output
    ///
    /// The editor starts this by itself and opens sessions in the folders it has open. Flags hold for every session; rules,
    /// hooks, agents and the sandbox are those of each session's folder.
    Acp(Box<AcpArgs>),
    /// Say what works here and what does not, with what to do about it
    ///
    /// Exit code 0 if nothing is broken, 1 otherwise.
    Doctor(DoctorArgs),
    /// Print a completion script for a shell
    ///
    /// For example, for bash: posse completions bash > ~/.local/share/bash-completion/completions/posse
    Completions {
        /// Which shell
        shell: Shell,
    },
}

/// `posse mcp`.
#[derive(Debug, clap::Args)]
pub struct McpArgs {
    /// Print JSON
    #[arg(long, global = true)]
    pub json: bool,
    #[command(subcommand)]
    pub command: Option<McpCommand>,
}

/// What to do with servers.
#[derive(Debug, Subcommand)]
pub enum McpCommand {
    /// List the servers that are configured here, reach those that may be used, and say how they are
    List,
    /// Show one server: how it is reached, who configured it, what it offers
    Get {
        /// Its name
        name: String,
    },
    /// Write a server down: a program with its arguments, or an address
    ///
    /// For example: posse mcp add notes -e TOKEN=abc -- npx -y notes-server; or with --transport http, a name and an
    /// address.
    Add {
        /// What to call it
        name: String,
        /// The program, or the address
        #[arg(value_name = "COMMAND_OR_URL")]
        target: String,
        /// Arguments of the program
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
        /// How to reach it
        #[arg(long, short, default_value = "stdio")]
        transport: TransportArg,
        /// A variable for the program: NAME=VALUE
        #[arg(long, short, value_name = "NAME=VALUE")]
        env: Vec<String>,
        /// A header for the address: "Name: value"
        #[arg(long, short = 'H', value_name = "NAME: VALUE")]
        header: Vec<String>,
        /// Who gets it
        #[arg(long, short, default_value = "local")]
        scope: ServerScopeArg,
    },
    /// Write a server down as it would stand in .mcp.json
    AddJson {
        /// What to call it
        name: String,
        /// For example {"command": "npx", "args": ["-y", "notes-server"]}
        #[arg(value_name = "JSON")]
        config: String,
        /// Who gets it
        #[arg(long, short, default_value = "local")]
        scope: ServerScopeArg,
    },
    /// Take a server out of the file it is written in
    Remove {
        /// Its name
        name: String,
        /// Only there; default: wherever you wrote it
        #[arg(long, short)]
        scope: Option<ServerScopeArg>,
    },
    /// Say yes to a server in this project
    ///
    /// Servers of .mcp.json come with the folder and run only with your yes, and only in a folder you trust.
    Enable {
        /// Its name
        name: String,
    },
    /// Say no to a server in this project
    Disable {
        /// Its name
        name: String,
    },
    /// Log in to a server at an address, through the browser
    Login {
        /// Its name
        name: String,
    },
    /// Forget the login to a server
    Logout {
        /// Its name
        name: String,
    },
    /// Be a server: offer posse's tools and agents to another program, on standard input and output
    ///
    /// There is one tool per agent, called agent_NAME. Rules, hooks and the sandbox hold as in any session; what would be
    /// asked is asked through the program at the other end if it can (elicitation), and refused otherwise.
    Serve(Box<ServeArgs>),
}

/// How a server is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TransportArg {
    /// A program that is started
    Stdio,
    /// An address, by streamable HTTP
    Http,
    /// An address, by the older event stream
    Sse,
}

/// Who gets a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ServerScopeArg {
    /// You, in this project
    Local,
    /// Everybody who has this project: .mcp.json
    Project,
    /// You, everywhere
    User,
}

/// `posse runs`.
#[derive(Debug, clap::Args)]
pub struct RunsArgs {
    /// The session, by id or title; default: the last one of this folder
    pub session: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `posse worktrees`.
#[derive(Debug, clap::Args)]
pub struct WorktreesArgs {
    /// Print JSON
    #[arg(long, global = true)]
    pub json: bool,
    #[command(subcommand)]
    pub command: Option<WorktreesCommand>,
}

/// What to do with worktrees.
#[derive(Debug, Subcommand)]
pub enum WorktreesCommand {
    /// List worktrees, what is in them and whose they are, and what was saved of removed ones
    List,
    /// Show what an agent changed since its base: commits, changes and new files
    Diff {
        /// The worktree, or the start of its name
        name: String,
    },
    /// Merge the work in a worktree into the branch that is checked out here
    ///
    /// Changes that are not committed come along. If there would be conflicts, they are named and nothing is touched.
    /// Work that started from uncommitted changes comes back as uncommitted changes.
    Merge {
        /// The worktree, or the start of its name
        name: String,
        /// Make no commit: leave the changes in the checkout
        #[arg(long)]
        squash: bool,
    },
    /// Remove a worktree with its branch, after saving what is in it
    Drop {
        /// The worktree, or the start of its name
        name: String,
        /// Also if it holds repositories of its own, whose folder is moved away then, or is locked by another program
        #[arg(long)]
        force: bool,
    },
    /// Make a branch of something that was saved
    Restore {
        /// What `posse worktrees` lists as saved: NAME/TIME, or NAME if it was saved once
        #[arg(value_name = "REF")]
        saved: String,
    },
}

/// `posse config`.
#[derive(Debug, clap::Args)]
pub struct ConfigArgs {
    /// Only this setting, or those below it: model, permissions, env.PATH
    pub key: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub sources: SourceArgs,
}

/// `posse trust`.
#[derive(Debug, clap::Args)]
pub struct TrustArgs {
    /// The folder; default: this repository, or the working directory
    pub path: Option<PathBuf>,
    /// Take the trust back
    #[arg(long)]
    pub revoke: bool,
    /// Only show what would count
    #[arg(long, conflicts_with = "revoke")]
    pub show: bool,
    /// List the folders that are trusted
    #[arg(long, conflicts_with_all = ["path", "revoke", "show"])]
    pub list: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `posse doctor`.
#[derive(Debug, clap::Args)]
pub struct DoctorArgs {
    /// Do not touch the network
    #[arg(long)]
    pub offline: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub sources: SourceArgs,
}

/// `posse demo`.
#[derive(Debug, clap::Args)]
pub struct DemoArgs {
    /// Do not pause between steps
    #[arg(long)]
    pub fast: bool,
    /// Keep the sample project and say where it is
    #[arg(long)]
    pub keep: bool,
}

/// `posse agents`.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct AgentsArgs {
    #[command(subcommand)]
    pub command: Option<AgentsCommand>,
    #[command(flatten)]
    pub list: ListArgs,
}

/// What to do with agents.
#[derive(Debug, Subcommand)]
pub enum AgentsCommand {
    /// List agents by source, with what is shadowed and what could not be loaded
    List(ListArgs),
    /// Show one agent as written: every field, where it comes from, its prompt and its problems
    Show(ShowArgs),
    /// Print the fields an agent file can have
    Fields,
}

/// `posse skills`.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct SkillsArgs {
    #[command(subcommand)]
    pub command: Option<SkillsCommand>,
    #[command(flatten)]
    pub list: ListArgs,
}

/// What to do with skills.
#[derive(Debug, Subcommand)]
pub enum SkillsCommand {
    /// List skills and commands by source, with what is shadowed
    List(ListArgs),
    /// Show one as written: its fields, where it comes from, its text and its problems
    Show(ShowArgs),
}

/// `posse agents list`.
#[derive(Debug, clap::Args)]
pub struct ListArgs {
    /// Print JSON: active, shadowed (by what), what is wrong
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub sources: SourceArgs,
}

/// `posse agents show`.
#[derive(Debug, clap::Args)]
pub struct ShowArgs {
    /// Its name; case, blanks, - and _ do not count if the name stays unique
    pub name: String,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub sources: SourceArgs,
}

/// `posse lint`.
#[derive(Debug, clap::Args)]
pub struct LintArgs {
    /// Files, folders of agents or plugin folders; default: everything posse would load here
    pub paths: Vec<PathBuf>,
    /// How to print the problems
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: LintFormat,
    /// Mend what can be mended without changing any agent
    #[arg(long)]
    pub fix: bool,
    /// With --fix: also mend what changes an agent to what was probably meant
    #[arg(long, requires = "fix")]
    pub unsafe_fixes: bool,
    /// Warnings fail the command like errors
    #[arg(long)]
    pub strict: bool,
    /// Check again whenever something changes, until interrupted
    #[arg(long, conflicts_with = "fix")]
    pub watch: bool,
    #[command(flatten)]
    pub sources: SourceArgs,
}

/// Formats of `posse lint`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LintFormat {
    /// For people: the line with a mark under the problem
    Text,
    /// One JSON object
    Json,
    /// SARIF 2.1.0, for code hosts and editors
    Sarif,
}

/// `posse explain`.
#[derive(Debug, clap::Args)]
pub struct ExplainArgs {
    /// The agent
    pub name: String,
    /// As started in the background
    #[arg(long)]
    pub background: bool,
    /// The agent that starts it; several times for a chain, outermost first. Default: the main agent
    #[arg(long, value_name = "NAME")]
    pub parent: Vec<String>,
    /// As if the call asked for this model
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,
    /// As if the main agent ran in this mode
    #[arg(long, value_name = "MODE")]
    pub permission_mode: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub sources: SourceArgs,
}

/// Where agents come from.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Where agents come from")]
pub struct SourceArgs {
    /// Agents as JSON, or a file of JSON: {"name": {"description": …, "prompt": …}}
    #[arg(long, value_name = "JSON|FILE")]
    pub agents: Option<String>,
    /// Another folder whose .claude/agents counts like the project's
    #[arg(long, value_name = "DIR", num_args = 1..)]
    pub add_dir: Vec<PathBuf>,
    /// A plugin folder, a zip file of one, or a folder of plugins
    #[arg(long, value_name = "DIR")]
    pub plugin_dir: Vec<PathBuf>,
    /// Settings as JSON, or a file of JSON
    #[arg(long, value_name = "JSON|FILE")]
    pub settings: Option<String>,
    /// Which settings count: a comma list of user, project, local; empty for none
    #[arg(long, value_name = "LIST", value_parser = parse_sources)]
    pub setting_sources: Option<SettingSources>,
    /// MCP servers as JSON, or files of JSON
    #[arg(long, value_name = "JSON|FILE", num_args = 1..)]
    pub mcp_config: Vec<String>,
    /// No other MCP servers than those of --mcp-config
    #[arg(long)]
    pub strict_mcp_config: bool,
    /// Load no agents from files, as CLAUDE_CODE_SIMPLE=1 does
    #[arg(long)]
    pub bare: bool,
    /// Load no custom agents at all, not even the administrator's
    #[arg(long)]
    pub safe_mode: bool,
}

impl SourceArgs {
    /// The same, as the runtime wants it.
    pub fn options(&self) -> CatalogOptions {
        let Self { agents, add_dir, plugin_dir, settings, setting_sources, bare, safe_mode, .. } =
            self.clone();
        CatalogOptions {
            add_dirs: add_dir,
            agents,
            plugin_dirs: plugin_dir,
            plugin_dirs_without_servers: Vec::new(),
            settings,
            sources: setting_sources.unwrap_or_default(),
            bare,
            safe_mode,
            // These commands answer and end: they show what a headless run would load.
            headless: true,
            ..CatalogOptions::default()
        }
    }
}

fn parse_sources(list: &str) -> Result<SettingSources, String> {
    let mut sources = SettingSources { user: false, project: false, local: false };
    for name in list.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        match name {
            "user" => sources.user = true,
            "project" => sources.project = true,
            "local" => sources.local = true,
            other => return Err(format!("`{other}` is not one of user, project, local")),
        }
    }
    Ok(sources)
}
