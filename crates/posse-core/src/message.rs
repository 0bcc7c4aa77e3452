//! What is said between an agent and its model.
//!
//! Blocks have the shape of the Messages API, because four formats share it and somebody else promises to keep it. A
//! block nobody here knows survives a round trip as [`Block::Other`].

pub mod json;

use serde_json::Value;

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// The person, or posse on behalf of a tool.
    User,
    /// The model.
    Assistant,
}

/// One message.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub blocks: Vec<Block>,
}

impl Message {
    /// A user's message of one text.
    pub fn user(text: impl Into<String>) -> Self {
        Self { role: Role::User, blocks: vec![Block::Text(text.into())] }
    }

    /// The tool calls in it, in order.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.blocks.iter().filter_map(|block| match block {
            Block::ToolUse(call) => Some(call),
            Block::Text(_)
            | Block::Thinking { .. }
            | Block::RedactedThinking(_)
            | Block::ToolResult(_)
            | Block::Media(_)
            | Block::Other(_) => None,
        })
    }

    /// All its text, blocks joined by line breaks.
    pub fn text(&self) -> String {
        let texts = self.blocks.iter().filter_map(|block| match block {
            Block::Text(text) => Some(text.as_str()),
            Block::Thinking { .. }
            | Block::RedactedThinking(_)
            | Block::ToolUse(_)
            | Block::ToolResult(_)
            | Block::Media(_)
            | Block::Other(_) => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }
}

/// A part of a message.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// Text.
    Text(String),
    /// What the model thought, with the signature that proves it.
    Thinking {
        /// The thought.
        text: String,
        /// Its signature.
        signature: String,
    },
    /// A thought that is kept secret.
    RedactedThinking(String),
    /// The model asks for a tool.
    ToolUse(ToolCall),
    /// What the tool answered.
    ToolResult(ToolAnswer),
    /// An image or a document.
    Media(Media),
    /// Anything else, as it came.
    Other(Value),
}

/// An image or a document, as base64.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Media {
    /// For example `image/png` or `application/pdf`.
    pub media_type: Box<str>,
    /// Base64.
    pub data: String,
}

impl Media {
    /// The block type it travels as.
    pub fn kind(&self) -> &'static str {
        if self.media_type.starts_with("image/") { "image" } else { "document" }
    }
}

/// A request of the model for a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    /// Names the call within its run.
    pub id: Box<str>,
    /// The tool.
    pub name: Box<str>,
    /// Its input; always an object from a model that behaves.
    pub input: Value,
}

/// What a tool hands back to the model. A failing tool is an answer, not an error of posse's.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolAnswer {
    /// The call it answers.
    pub id: Box<str>,
    /// What the model reads.
    pub content: Vec<Content>,
    /// Whether it failed.
    pub is_error: bool,
    /// The same for programs: the tool's structured result.
    pub structured: Option<Value>,
}

impl ToolAnswer {
    /// A plain answer.
    pub fn text(id: impl Into<Box<str>>, text: impl Into<String>) -> Self {
        Self { id: id.into(), content: vec![Content::Text(text.into())], is_error: false, structured: None }
    }

    /// An answer that says what went wrong.
    pub fn error(id: impl Into<Box<str>>, text: impl Into<String>) -> Self {
        Self { is_error: true, ..Self::text(id, text) }
    }

    /// Its text.
    pub fn plain(&self) -> String {
        let texts = self.content.iter().filter_map(|content| match content {
            Content::Text(text) => Some(text.as_str()),
            Content::Media(_) => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }
}

/// A part of a tool's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// Text.
    Text(String),
    /// An image or a document.
    Media(Media),
}

/// What a request cost in tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Read fresh.
    pub input: u64,
    /// Written.
    pub output: u64,
    /// Read from the cache.
    pub cache_read: u64,
    /// Written to the cache.
    pub cache_write: u64,
    /// Searches the provider made.
    pub web_searches: u64,
}

impl Usage {
    /// Everything the model read: what fills its window.
    pub fn context(&self) -> u64 {
        self.input + self.cache_read + self.cache_write
    }
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        let Self { input, output, cache_read, cache_write, web_searches } = other;
        self.input += input;
        self.output += output;
        self.cache_read += cache_read;
        self.cache_write += cache_write;
        self.web_searches += web_searches;
    }
}

/// Why a model stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// It was done.
    EndTurn,
    /// It wants tools.
    ToolUse,
    /// It reached the limit on its output.
    MaxTokens,
    /// It met a stop sequence.
    StopSequence,
    /// It pauses a long turn of server tools; ask again with what it said.
    PauseTurn,
    /// It will not.
    Refusal,
    /// It was not let finish.
    Aborted,
    /// Some other word.
    Other(Box<str>),
}

impl StopReason {
    /// The word on the wire.
    pub fn word(&self) -> &str {
        match self {
            Self::EndTurn => "end_turn",
            Self::ToolUse => "tool_use",
            Self::MaxTokens => "max_tokens",
            Self::StopSequence => "stop_sequence",
            Self::PauseTurn => "pause_turn",
            Self::Refusal => "refusal",
            Self::Aborted => "aborted",
            Self::Other(word) => word,
        }
    }

    /// Reads the word on the wire.
    pub fn parse(word: &str) -> Self {
        match word {
            "end_turn" => Self::EndTurn,
            "tool_use" => Self::ToolUse,
            "max_tokens" => Self::MaxTokens,
            "stop_sequence" => Self::StopSequence,
            "pause_turn" => Self::PauseTurn,
            "refusal" => Self::Refusal,
            other => Self::Other(other.into()),
        }
    }
}

/// A whole answer of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// The provider's id of it.
    pub id: Box<str>,
    /// The model that really answered.
    pub model: Box<str>,
    /// What it said.
    pub blocks: Vec<Block>,
    /// Why it stopped.
    pub stop: StopReason,
    /// What it cost.
    pub usage: Usage,
}
