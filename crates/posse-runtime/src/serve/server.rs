//! Our side of the protocol: what there is, and calls. Each call is a task of its own that always has an end and leaves an
//! answer, also if it crashes.

use std::borrow::Cow;
use std::sync::Arc;

use posse_core::delegation::{Report, report_limit};
use posse_core::message::{Content, ToolAnswer, ToolCall};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomRequest, CustomResult,
    ErrorCode, Implementation, JsonObject, ListToolsResult, PaginatedRequestParams, ProtocolVersion,
    ServerCapabilities, ServerConfig,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::{ErrorData, ServerHandler};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::offers::{Behind, Offers};
use super::progress::{Flush, Watched};
use crate::run::{Errand, Errands};
use crate::tool::builtin::agent::Agent;
use crate::world::Ids;

/// What a server is made of.
pub(super) struct Parts {
    pub(super) offers: Offers,
    pub(super) version: &'static str,
    pub(super) errands: Errands,
    pub(super) ids: Arc<Ids>,
    pub(super) watched: Watched,
    /// Asks for everything that is to be told of calls to be told.
    pub(super) flush: UnboundedSender<Flush>,
    /// For people.
    pub(super) say: UnboundedSender<String>,
    /// Cancelled when nobody is there any more.
    pub(super) gone: CancellationToken,
    /// Cancelled when calls must end.
    pub(super) over: CancellationToken,
}

/// Answers a client.
pub(super) struct Server {
    parts: Parts,
    calls: TaskTracker,
}

impl Server {
    pub(super) fn new(parts: Parts) -> Self {
        Self { parts, calls: TaskTracker::new() }
    }

    /// The calls under way.
    pub(super) fn calls(&self) -> TaskTracker {
        self.calls.clone()
    }

    /// Does a call under its own id.
    async fn done(&self, call: ToolCall, stop: CancellationToken) -> ToolAnswer {
        let (errands, id, name) = (self.parts.errands.clone(), call.id.clone(), call.name.clone());
        let over = self.parts.over.child_token();
        let call = async move {
            let stopped = async {
                stop.cancelled().await;
                over.cancel();
                std::future::pending().await
            };
            tokio::select! {
                done = errands.call(call, over.clone()) => done,
                never = stopped => never,
            }
        };
        let done = self.calls.spawn(call).await;
        let Ok(Errand { mut answer, remarks, notes }) = done else {
            return ToolAnswer::error(id, format!("{name} crashed; this is a bug in posse."));
        };
        answer.content.extend(remarks.into_iter().map(Content::Text));
        for note in notes {
            let _ = self.parts.say.send(note);
        }
        answer
    }

    async fn run_agent(
        &self,
        agent: &str,
        arguments: &JsonObject,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResult, ErrorData> {
        let input = agent_input(agent, arguments)?;
        let id: Box<str> = format!("mcp_{}", self.parts.ids.hex16()).into();
        let token = context.meta.get_progress_token();
        let watch = token.map(|token| self.parts.watched.watch(&id, token));
        let call = ToolCall { id, name: Agent::NAME.into(), input };
        let answer = self.done(call, context.ct.clone()).await;
        if let Some(watch) = watch {
            // Nothing is told of a call after its answer.
            self.flushed().await;
            drop(watch);
        }
        Ok(agent_result(answer))
    }

    /// Waits until everything that has happened is told, unless nobody is there to be told.
    async fn flushed(&self) {
        let (told, wait) = oneshot::channel();
        if self.parts.flush.send(told).is_ok() {
            tokio::select! {
                _ = wait => {}
                () = self.parts.gone.cancelled() => {}
            }
        }
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("posse", self.parts.version))
            .with_instructions(self.parts.offers.instructions.clone())
    }

    /// The newest version has no questions of a server in the middle of a call, and questions are how a person says yes.
    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(ProtocolVersion::known_up_to(&ProtocolVersion::V_2025_11_25))
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.parts.offers.listed.clone()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let result = match self.parts.offers.get(&request.name) {
            None => {
                let text = format!("there is no tool called `{}`", request.name);
                return Err(ErrorData::invalid_params(text, None));
            }
            Some(Behind::Agent(name)) => self.run_agent(name, &arguments, &context).await?,
            Some(Behind::Tool) => {
                let id = format!("mcp_{}", self.parts.ids.hex16()).into();
                let call = ToolCall { id, name: (*request.name).into(), input: Value::Object(arguments) };
                tool_result(self.done(call, context.ct.clone()).await)
            }
        };
        Ok(result.into())
    }

    /// What is no request of the protocol, or one whose parameters do not fit.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        const KNOWN: [&str; 5] = ["initialize", "ping", "tools/list", "tools/call", "completion/complete"];
        if KNOWN.contains(&request.method.as_str()) {
            let text = format!("the parameters of `{}` cannot be understood", request.method);
            return Err(ErrorData::invalid_params(text, None));
        }
        let text = format!("there is no method `{}`", request.method);
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, text, None))
    }
}

/// The input of the Agent tool.
fn agent_input(agent: &str, arguments: &JsonObject) -> Result<Value, ErrorData> {
    let text = |key: &str| match arguments.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.as_str())),
        Some(_) => Err(ErrorData::invalid_params(format!("`{key}` must be a text"), None)),
    };
    if let Some(other) = arguments.keys().find(|key| !matches!(key.as_str(), "prompt" | "description")) {
        return Err(ErrorData::invalid_params(format!("there is no argument `{other}`"), None));
    }
    let prompt = text("prompt")?.filter(|prompt| !prompt.trim().is_empty());
    let prompt =
        prompt.ok_or_else(|| ErrorData::invalid_params("`prompt` is missing: the whole task", None))?;
    let description = text("description")?.map(str::trim).filter(|text| !text.is_empty());
    let description = description.map_or_else(|| in_few_words(prompt), str::to_owned);
    Ok(json!({
        "subagent_type": agent,
        "prompt": prompt,
        "description": description,
        "run_in_background": false,
    }))
}

/// A task as people see it in lists.
fn in_few_words(prompt: &str) -> String {
    const WORDS: usize = 6;
    const LETTERS: usize = 60;
    let words: Vec<&str> = prompt.split_whitespace().take(WORDS).collect();
    words.join(" ").chars().take(LETTERS).collect()
}

fn blocks(content: Vec<Content>) -> Vec<ContentBlock> {
    let block = |part: Content| match part {
        Content::Text(text) => ContentBlock::text(text),
        Content::Media(media) if media.kind() == "image" => ContentBlock::image(media.data, media.media_type),
        Content::Media(media) => {
            ContentBlock::text(format!("[{}, which cannot be shown here]", media.media_type))
        }
    };
    content.into_iter().map(block).collect()
}

fn tool_result(answer: ToolAnswer) -> CallToolResult {
    let content = blocks(answer.content);
    if answer.is_error { CallToolResult::error(content) } else { CallToolResult::success(content) }
}

/// The report of an agent: for models framed as another's words, for programs with what it took.
fn agent_result(mut answer: ToolAnswer) -> CallToolResult {
    let facts = answer.structured.take().filter(|facts| facts["status"] == "completed");
    let mut note = None;
    if let Some(Content::Text(text)) = answer.content.first_mut() {
        *text = without_address(text);
        note = first_note(text).map(str::to_owned);
    }
    let mut result = tool_result(answer);
    result.structured_content = facts.map(|facts| structured(&facts, note));
    result
}

/// What posse says before a report: that it is not a whole one.
fn first_note(text: &str) -> Option<&str> {
    let (first, _) = text.split_once("\n\n")?;
    let note = first.strip_prefix("[posse: ")?.strip_suffix(']')?;
    // The report itself stands below its frame.
    (!note.contains('\n')).then_some(note)
}

/// Nobody outside can write to the agent: the line that says how is left out.
fn without_address(text: &str) -> String {
    let (report, trailer) = text.rsplit_once("\n\n").unwrap_or(("", text));
    let lines: Vec<&str> = trailer.lines().filter(|line| !line.starts_with("agentId: ")).collect();
    format!("{report}\n\n{}", lines.join("\n")).trim_start().to_owned()
}

/// Many clients show their model this and not the text, so that the report is in it, too.
fn structured(facts: &Value, note: Option<String>) -> Value {
    const TOLD: [(&str, &str); 9] = [
        ("agentId", "agentId"),
        ("agentType", "agentType"),
        ("model", "resolvedModel"),
        ("durationMs", "totalDurationMs"),
        ("totalTokens", "totalTokens"),
        ("toolUses", "totalToolUseCount"),
        ("usage", "usage"),
        ("worktreePath", "worktreePath"),
        ("worktreeBranch", "worktreeBranch"),
    ];
    let said = facts.pointer("/content/0/text").and_then(Value::as_str).unwrap_or_default();
    let report = Report::new(said, report_limit(None), None).text();
    let mut told = Map::from_iter([("report".to_owned(), Value::from(report))]);
    let known = TOLD.into_iter().filter_map(|(name, key)| Some((name.to_owned(), facts.get(key)?.clone())));
    told.extend(known);
    told.extend(note.map(|note| ("note".to_owned(), Value::from(note))));
    Value::Object(told)
}

#[cfg(test)]
mod tests;
