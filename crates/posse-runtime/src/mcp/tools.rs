//! What servers offer, as tools of a run.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::{BoxFuture, join_all};
use posse_core::mcp::full_name;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{CallOptions, Facts, Lease, McpError, Progress, ToolFact, output};
use crate::tool::{AnyTool, Tool, ToolCx, ToolOutput, ToolSpec};

/// A tool of a server.
pub struct McpTool {
    name: Box<str>,
    fact: ToolFact,
    always_load: bool,
    lease: Arc<Lease>,
}

/// The tools of a server that is known. They hold the lease.
pub fn tools_of(lease: &Arc<Lease>, facts: &Facts) -> Vec<Arc<McpTool>> {
    let tool = |fact: &ToolFact| {
        let name = full_name(lease.name(), &fact.name)?;
        // A server knows its tools better than whoever configured it.
        let always_load = fact.always_load.unwrap_or(lease.config().always_load);
        Some(Arc::new(McpTool { name, fact: fact.clone(), always_load, lease: Arc::clone(lease) }))
    };
    facts.tools.iter().filter_map(tool).collect()
}

impl McpTool {
    /// The server it belongs to.
    pub fn server(&self) -> &str {
        self.lease.name()
    }

    /// What the server says of it.
    pub fn fact(&self) -> &ToolFact {
        &self.fact
    }
}

impl AnyTool for McpTool {
    fn name(&self) -> &str {
        &self.name
    }

    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: self.name.clone(),
            description: self.fact.description.clone(),
            input_schema: self.fact.input_schema.clone(),
        }
    }

    /// A server that says its tool only reads is believed as far as this goes: what runs beside what. Permission is
    /// another question.
    fn runs_alone(&self, _input: &Value) -> bool {
        self.fact.read_only != Some(true)
    }

    fn can_wait(&self) -> bool {
        !self.always_load
    }

    fn run<'a>(&'a self, input: Value, cx: &'a ToolCx) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let input = match input {
                Value::Object(input) => input,
                Value::Null => serde_json::Map::new(),
                other => {
                    let text = format!("InputValidationError: {} takes an object, not {other}", self.name);
                    return ToolOutput::error(text);
                }
            };
            let pace = Pace::default();
            let hear = |progress: Progress| {
                if pace.is_time() {
                    cx.progress.tell(progress.words());
                }
            };
            let options = CallOptions { stop: cx.stop.clone(), progress: Some(&hear), call: &cx.call };
            match self.lease.call(&self.fact.name, input, options).await {
                Ok(result) => {
                    let longest = self.fact.longest_result;
                    output::of_call(result, self.lease.limits(), longest, cx).await
                }
                Err(error) => ToolOutput::error(error.to_string()),
            }
        })
    }
}

/// How often a call may tell of itself. A server could say a thousand times a second how far it is.
#[derive(Default)]
struct Pace(Mutex<Option<Instant>>);

impl Pace {
    const BETWEEN: Duration = Duration::from_secs(1);

    fn is_time(&self) -> bool {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_time = last.is_none_or(|last| last.elapsed() >= Self::BETWEEN);
        if is_time {
            *last = Some(Instant::now());
        }
        is_time
    }
}

/// Lists what servers have to read.
pub struct ListMcpResources {
    leases: Arc<[Arc<Lease>]>,
}

impl ListMcpResources {
    /// For these servers.
    pub fn new(leases: impl Into<Arc<[Arc<Lease>]>>) -> Self {
        Self { leases: leases.into() }
    }
}

/// What [`ListMcpResources`] takes.
#[derive(Deserialize, JsonSchema)]
pub struct ListInput {
    /// Only this server's.
    #[serde(default)]
    server: Option<String>,
}

impl Tool for ListMcpResources {
    const NAME: &'static str = "ListMcpResourcesTool";
    type Input = ListInput;

    fn description(&self) -> String {
        "Lists the resources of MCP servers: addresses that ReadMcpResourceTool can read.".to_owned()
    }

    fn runs_alone(&self, _input: &Self::Input) -> bool {
        false
    }

    fn can_wait(&self) -> bool {
        true
    }

    async fn run(&self, input: Self::Input, cx: &ToolCx) -> ToolOutput {
        let wanted = |lease: &&Arc<Lease>| input.server.as_deref().is_none_or(|name| name == lease.name());
        let asked: Vec<&Arc<Lease>> = self.leases.iter().filter(wanted).collect();
        if let (Some(name), true) = (&input.server, asked.is_empty()) {
            return unknown(name, &self.leases);
        }
        let listing = join_all(asked.iter().map(async |lease| match lease.facts().await {
            // Most servers have none, and need not be asked.
            Ok(facts) if !facts.resources => Ok(Vec::new()),
            Ok(_) => lease.resources().await,
            Err(error) => Err(error),
        }));
        let listed = tokio::select! {
            listed = listing => listed,
            () = cx.stop.cancelled() => return ToolOutput::error(McpError::Stopped.to_string()),
        };
        let (mut all, mut lines) = (Vec::new(), Vec::new());
        for answer in listed {
            match answer {
                Ok(some) => all.extend(some),
                Err(error) => lines.push(error.to_string()),
            }
        }
        let failed = all.is_empty() && !lines.is_empty();
        let shown = json!(all);
        if all.is_empty() && lines.is_empty() {
            lines.push("No server has resources.".to_owned());
        } else if !all.is_empty() {
            lines.insert(0, serde_json::to_string_pretty(&shown).unwrap_or_default());
        }
        let text = super::facts::cut(lines.join("\n"), 100_000);
        if failed { ToolOutput::error(text) } else { ToolOutput::text(text).with(shown) }
    }
}

/// Reads a resource of a server.
pub struct ReadMcpResource {
    leases: Arc<[Arc<Lease>]>,
}

impl ReadMcpResource {
    /// Of these servers.
    pub fn new(leases: impl Into<Arc<[Arc<Lease>]>>) -> Self {
        Self { leases: leases.into() }
    }
}

/// What [`ReadMcpResource`] takes.
#[derive(Deserialize, JsonSchema)]
pub struct ReadInput {
    /// The server.
    server: String,
    /// The address of the resource.
    uri: String,
}

impl Tool for ReadMcpResource {
    const NAME: &'static str = "ReadMcpResourceTool";
    type Input = ReadInput;

    fn description(&self) -> String {
        "Reads one resource of an MCP server, by its address.".to_owned()
    }

    fn runs_alone(&self, _input: &Self::Input) -> bool {
        false
    }

    fn can_wait(&self) -> bool {
        true
    }

    async fn run(&self, input: Self::Input, cx: &ToolCx) -> ToolOutput {
        read(&self.leases, &input.server, &input.uri, cx).await
    }
}

async fn read(leases: &[Arc<Lease>], server: &str, uri: &str, cx: &ToolCx) -> ToolOutput {
    let Some(lease) = leases.iter().find(|lease| lease.name() == server) else {
        return unknown(server, leases);
    };
    let options = CallOptions { stop: cx.stop.clone(), progress: None, call: &cx.call };
    match lease.read(uri, options).await {
        Ok(result) => output::of_resource(result, lease.limits(), cx).await,
        Err(error) => ToolOutput::error(error.to_string()),
    }
}

fn unknown(name: &str, leases: &[Arc<Lease>]) -> ToolOutput {
    let names: Vec<&str> = leases.iter().map(|lease| lease.name()).collect();
    let there = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    ToolOutput::error(format!("No MCP server is called {name}. There are: {there}"))
}

/// Reads what a person mentions as `@server:uri`; `None` if no server is meant.
pub async fn read_mention(leases: &[Arc<Lease>], mention: &str, cx: &ToolCx) -> Option<ToolOutput> {
    let mention = mention.strip_prefix('@').unwrap_or(mention);
    // Names may hold a colon, as those of plugins do: the longest that fits is meant.
    let fits =
        |lease: &&Arc<Lease>| mention.strip_prefix(lease.name()).is_some_and(|rest| rest.starts_with(':'));
    let lease = leases.iter().filter(fits).max_by_key(|lease| lease.name().len())?;
    let uri = &mention[lease.name().len() + 1..];
    Some(read(leases, lease.name(), uri, cx).await)
}
