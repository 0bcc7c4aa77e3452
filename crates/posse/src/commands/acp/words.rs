//! What is said between an editor and posse, in posse's own words.
//!
//! Everything here but `protocol` speaks these, so that a new release of the protocol's crate is a matter of one room.
//! Plain data; knows nothing of how it travels.

use std::path::PathBuf;

use posse_core::permission::Mode;
use posse_runtime::launch::CommandFact;
use serde_json::Value;

/// What an editor says of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Abilities {
    /// It shows notices.
    pub(super) notices: bool,
    /// It shows that a conversation is summarised.
    pub(super) compaction: bool,
    /// It can put a form before a person.
    pub(super) forms: bool,
}

/// What a session is opened with.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Opening {
    /// Where it works.
    pub(super) cwd: PathBuf,
    /// Where it may work, too.
    pub(super) more_dirs: Vec<PathBuf>,
    /// Servers of tools that the editor brings: names, and each as it would stand in `.mcp.json`.
    pub(super) servers: Vec<(String, Value)>,
}

/// What an editor learns of a session that was opened.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Opened {
    /// The session.
    pub(super) id: String,
    /// How actions are approved, and how they could be.
    pub(super) modes: Modes,
    /// What can be chosen.
    pub(super) settings: Vec<Setting>,
}

/// How actions are approved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Modes {
    /// Now.
    pub(super) current: Mode,
    /// The ways that are open.
    pub(super) open: Vec<Mode>,
}

/// Something that can be chosen in a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Setting {
    /// What it is called on the wire.
    pub(super) id: &'static str,
    /// What it is called.
    pub(super) name: &'static str,
    /// What kind of thing it is.
    pub(super) about: About,
    /// What is chosen.
    pub(super) current: String,
    /// What can be.
    pub(super) choices: Vec<Named>,
}

/// What a setting is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum About {
    /// How actions are approved.
    Mode,
    /// Who answers.
    Model,
}

/// Something to choose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Named {
    /// What it is called on the wire.
    pub(super) id: String,
    /// What it is called.
    pub(super) name: String,
    /// What it means.
    pub(super) description: String,
}

/// A conversation on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Listed {
    /// Its id.
    pub(super) id: String,
    /// Where it was held.
    pub(super) cwd: PathBuf,
    /// How it begins, or what it was called.
    pub(super) title: String,
    /// When it was last written to.
    pub(super) updated: String,
}

/// A part of a list of conversations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ListedPage {
    /// The conversations.
    pub(super) sessions: Vec<Listed>,
    /// Where the next part begins.
    pub(super) next: Option<String>,
}

/// A part of what a person says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// Text.
    Text(String),
    /// A picture, as base64.
    Image {
        /// For example `image/png`.
        media_type: String,
        /// Base64.
        data: String,
    },
    /// A sound, which no model here hears.
    Audio {
        /// For example `audio/wav`.
        media_type: String,
    },
    /// Something to be looked up.
    Link {
        /// What it is called.
        name: String,
        /// Where it is.
        uri: String,
    },
    /// A text that was brought along.
    TextResource {
        /// Where it is from.
        uri: String,
        /// What it says.
        text: String,
    },
    /// Bytes that were brought along.
    BlobResource {
        /// Where they are from.
        uri: String,
        /// What they are.
        media_type: Option<String>,
        /// Base64.
        data: String,
    },
}

/// Why a turn is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// The answer is given.
    EndTurn,
    /// The answer was too long.
    MaxTokens,
    /// There were too many requests to the model.
    MaxRequests,
    /// It will not be answered.
    Refusal,
    /// It was stopped.
    Cancelled,
}

/// Why something is not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    /// What kind of reason it is.
    pub(super) kind: RefusalKind,
    /// In words.
    pub(super) why: String,
}

/// Kinds of reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RefusalKind {
    /// It cannot be asked for like this.
    Params,
    /// There is no such session.
    NoSession,
    /// It cannot be asked for now.
    Busy,
    /// The provider wants to know who asks.
    Auth,
    /// It went wrong.
    Failed,
}

impl Refusal {
    /// A refusal of this kind.
    pub(super) fn new(kind: RefusalKind, why: impl Into<String>) -> Self {
        Self { kind, why: why.into() }
    }

    /// There is no such session here.
    pub(super) fn no_session(id: &str) -> Self {
        Self::new(RefusalKind::NoSession, format!("there is no open session {id}"))
    }
}

/// Something an editor is told about a session.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Update {
    /// A person said this, earlier.
    User(Piece),
    /// The agent says this.
    Text(String),
    /// The agent thinks this.
    Thought(String),
    /// The agent uses a tool.
    NewCall(Box<Call>),
    /// There is more to say of that.
    Call(Box<Call>),
    /// What is to be done, all of it.
    Plan(Vec<Step>),
    /// What can be typed after a slash.
    Commands(Vec<CommandFact>),
    /// Actions are approved like this from now on.
    Mode(Mode),
    /// What is chosen now.
    Settings(Vec<Setting>),
    /// What the session is about.
    Title(String),
    /// How full the model's window is, and what was spent.
    Usage {
        /// Tokens in it.
        used: u64,
        /// Tokens that fit.
        size: u64,
        /// Dollars.
        cost: f64,
    },
    /// Something a person should know; the model does not see it.
    Notice(String),
    /// The conversation is being summarised, by number, and how far that is.
    Compaction(u32, Progress),
}

/// The use of a tool. What is nothing has not changed.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Call {
    /// Which.
    pub(super) id: String,
    /// The tool.
    pub(super) tool: Option<String>,
    /// On one line.
    pub(super) title: Option<String>,
    /// What kind of thing it does.
    pub(super) kind: Option<Kind>,
    /// How far it is.
    pub(super) progress: Option<Progress>,
    /// What there is to see.
    pub(super) shown: Option<Vec<Shown>>,
    /// Which files it is about.
    pub(super) places: Option<Vec<Place>>,
    /// What it was called with.
    pub(super) input: Option<Value>,
    /// What came of it, for programs.
    pub(super) output: Option<Value>,
    /// Whose it is, if not the main agent's.
    pub(super) agent: Option<Agent>,
}

/// An agent that another one started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Agent {
    /// The call that started it.
    pub(super) parent: String,
    /// Its id.
    pub(super) id: String,
    /// What kind of agent.
    pub(super) kind: String,
}

/// What a tool does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// It reads.
    Read,
    /// It changes files.
    Edit,
    /// It searches.
    Search,
    /// It runs commands.
    Execute,
    /// It thinks, or has others think.
    Think,
    /// It gets something from elsewhere.
    Fetch,
    /// It changes how actions are approved.
    Mode,
    /// Something else.
    Other,
}

/// How far something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// It is to come.
    Pending,
    /// It is under way.
    Running,
    /// It is done.
    Done,
    /// It went wrong.
    Failed,
}

/// Something to see of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    /// Text, as Markdown.
    Text(String),
    /// A picture, as base64.
    Image {
        /// For example `image/png`.
        media_type: String,
        /// Base64.
        data: String,
    },
    /// A change of a file.
    Diff {
        /// Which.
        path: PathBuf,
        /// What was there; nothing if the file is new.
        old: Option<String>,
        /// What is there now.
        new: String,
    },
}

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The file.
    pub(super) path: PathBuf,
    /// The line, from 1.
    pub(super) line: Option<u32>,
}

/// A step of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// What is to be done.
    pub(super) text: String,
    /// How far it is.
    pub(super) progress: Progress,
}

/// A question that is answered by choosing.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Choosing {
    /// The call it is about.
    pub(super) call: Call,
    /// What can be chosen.
    pub(super) options: Vec<Answer>,
}

/// An answer to choose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    /// What it is called on the wire.
    pub(super) id: String,
    /// What it says.
    pub(super) name: String,
    /// What it means.
    pub(super) meaning: Meaning,
}

/// What an answer means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// Yes, this once.
    Once,
    /// Yes, from now on.
    Always,
    /// No, this once.
    Reject,
    /// No, from now on.
    Never,
}

/// What was chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Chosen {
    /// This.
    Option(String),
    /// Nothing: the turn was stopped.
    Cancelled,
    /// The editor cannot ask.
    Nobody,
}

/// Several questions on one form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Form {
    /// What stands above it.
    pub(super) title: String,
    /// The call it is about.
    pub(super) call: String,
    /// The fields.
    pub(super) fields: Vec<Field>,
}

/// A field of a form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Field {
    /// What it is called on the wire.
    pub(super) id: String,
    /// What stands beside it.
    pub(super) title: String,
    /// What is asked.
    pub(super) question: String,
    /// What can be chosen; nothing to choose means that it is written.
    pub(super) choices: Vec<Named>,
    /// Whether several can be.
    pub(super) several: bool,
}

/// What came back of a form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Filled {
    /// What stands in each field.
    In(Vec<(String, Vec<String>)>),
    /// They would not.
    Declined,
    /// The turn was stopped.
    Cancelled,
    /// The editor cannot ask.
    Nobody,
}
