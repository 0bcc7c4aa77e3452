//! What a host says and asks about servers of tools: which there are, how they are, calls it makes itself.
//!
//! Knows the words of the protocol for it. Refuses to know how servers are reached and who may use them.

use std::time::Duration;

use posse_core::mcp::full_name;
use posse_core::permission::{Behavior, Mode};
use posse_runtime::launch::Reins;
use posse_runtime::mcp::{
    DirectCall, Greeted, PROTOCOL, Reset, Servers, State, Status, ToolFact, read_given,
};
use serde_json::{Map, Value, json};

use super::control::{Handled, done, refused};
use super::incoming::Request;

/// What holds for the tools of a server, by their full names.
type ToolRules = Vec<(Box<str>, Behavior)>;

/// What a host says of its servers when it greets.
#[derive(Clone, Debug, Default)]
pub(super) struct Brought {
    /// Its own servers, as `--mcp-config` would name them.
    pub(super) configs: Vec<String>,
    /// What holds for their tools.
    pub(super) rules: Vec<(String, ToolRules)>,
    /// What they said when it greeted them.
    pub(super) greeted: Vec<(String, Greeted)>,
    /// What became of each of those greetings, if it told of any.
    pub(super) parked: Option<Map<String, Value>>,
    /// Whether it answers questions of servers, as far as it says so.
    pub(super) elicits: bool,
}

impl Brought {
    pub(super) fn read(body: &Map<String, Value>) -> Self {
        let names = body.get("sdkMcpServers").and_then(Value::as_array).into_iter().flatten();
        let names: Vec<&str> = names.filter_map(Value::as_str).collect();
        let settings = |name: &str| body.get("sdkMcpServerConfigs").and_then(|all| all.get(name));
        let config = |name: &&str| {
            let mut config = json!({ "type": "sdk", "name": name });
            if let Some(timeout) =
                settings(name).and_then(|one| one.get("timeout")).filter(|one| one.is_u64())
            {
                config["timeout"] = timeout.clone();
            }
            json!({ "mcpServers": { *name: config } }).to_string()
        };
        let rules = |name: &&str| {
            let rules = settings(name).map(|one| tool_rules(name, one)).unwrap_or_default();
            (!rules.is_empty()).then(|| ((*name).to_owned(), rules))
        };
        let dialogs = body.get("supportedDialogKinds").and_then(Value::as_array);
        let mut brought = Self {
            configs: names.iter().map(config).collect(),
            rules: names.iter().filter_map(rules).collect(),
            elicits: dialogs.is_some_and(|kinds| kinds.contains(&"elicitation".into())),
            ..Self::default()
        };
        if let Some(manifests) = body.get("sdkMcpServerManifests").filter(|_| !names.is_empty()) {
            brought.park(&names, manifests);
        }
        brought
    }

    /// Takes what servers said when the host greeted them, as far as it can be used.
    fn park(&mut self, names: &[&str], manifests: &Value) {
        let mut parked = Map::new();
        for name in names {
            let fate = match manifests.as_object().map(|all| all.get(*name)) {
                Some(None) => continue,
                None => "malformed",
                Some(Some(manifest)) => match greeted(manifest) {
                    Ok(greeted) => {
                        self.greeted.push(((*name).to_owned(), greeted));
                        "parked"
                    }
                    Err(fate) => fate,
                },
            };
            parked.insert((*name).to_owned(), fate.into());
        }
        self.parked = Some(parked);
    }
}

/// What a server said at a greeting, or the word for why it is of no use.
fn greeted(manifest: &Value) -> Result<Greeted, &'static str> {
    let initialize =
        manifest.get("initializeResult").filter(|result| result.is_object()).ok_or("malformed")?;
    let version = initialize.get("protocolVersion").and_then(Value::as_str).ok_or("malformed")?;
    let tools = manifest.get("toolsListResult");
    let is_whole =
        |list: &Value| list.get("tools").is_some_and(Value::is_array) && list.get("nextCursor").is_none();
    if tools.is_some_and(|list| !is_whole(list)) {
        return Err("malformed");
    }
    if version != PROTOCOL {
        return Err("protocol_version_mismatch");
    }
    Ok(Greeted { initialize: initialize.clone(), tools: tools.cloned() })
}

/// What a host says of the tools of a server. Only of one at an address it can say that a tool needs no asking; of its
/// own it says so with rules.
fn tool_rules(server: &str, config: &Value) -> ToolRules {
    let is_remote = matches!(config.get("type").and_then(Value::as_str), Some("http" | "sse"));
    let rule = |entry: &Value| {
        let tool = full_name(server, entry.get("name")?.as_str()?)?;
        let behavior = match entry.get("permission_policy")?.as_str() {
            Some("always_deny") => Behavior::Deny,
            Some("always_allow") if is_remote => Behavior::Allow,
            Some("always_allow") => return None,
            Some(_) | None => Behavior::Ask,
        };
        Some((tool, behavior))
    };
    config.get("tools").and_then(Value::as_array).into_iter().flatten().filter_map(rule).collect()
}

/// How the servers are, in short.
pub(super) fn listed(servers: &Servers) -> Value {
    let status = |one: &Status| json!({ "name": one.name, "status": one.state.word(), "source": one.source });
    counting(servers.status()).iter().map(status).collect()
}

/// Of several that have one name, the one that counts: the others are listed to say why they do not.
fn counting(all: Vec<Status>) -> Vec<Status> {
    let mut kept: Vec<Status> = Vec::new();
    for one in all {
        match kept.iter_mut().find(|other| other.name == one.name) {
            None => kept.push(one),
            Some(other) if other.state == State::Disabled && one.state != State::Disabled => *other = one,
            Some(_) => {}
        }
    }
    kept
}

pub(super) fn status(reins: &Reins) -> Handled {
    done(json!({ "mcpServers": all_in_full(reins) }))
}

/// Everything that is known of every server.
pub(super) fn all_in_full(reins: &Reins) -> Vec<Value> {
    let all = reins.servers.as_ref().map(Servers::status).unwrap_or_default();
    counting(all).iter().map(in_full).collect()
}

fn in_full(status: &Status) -> Value {
    let Status { name, state, tools: _, error, source, scope, config, facts } = status;
    let mut value = json!({ "name": name, "status": state.word() });
    let is_there = match state {
        State::Connected | State::Pending => true,
        State::Failed | State::NeedsAuth | State::Disabled => false,
    };
    if let Some(facts) = facts.as_ref().filter(|_| is_there) {
        value["serverInfo"] = json!({ "name": facts.server, "version": facts.version });
    }
    let texts = [("error", error.as_deref()), ("scope", *scope), ("source", *source)];
    for (key, text) in texts.into_iter().filter_map(|(key, text)| Some((key, text?))) {
        value[key] = json!(text);
    }
    if let Some(config) = config {
        value["config"] = config.shown();
        value["transport"] = json!(config.transport_word());
    }
    if let Some(facts) = facts.as_ref().filter(|_| is_there) {
        value["tools"] = facts.tools.iter().map(tool).collect();
    }
    value
}

fn tool(fact: &ToolFact) -> Value {
    let hints =
        [("readOnly", fact.read_only), ("destructive", fact.destructive), ("openWorld", fact.open_world)];
    let said: Map<String, Value> =
        hints.into_iter().filter_map(|(key, said)| Some((key.to_owned(), said?.into()))).collect();
    let mut value = json!({ "name": fact.name });
    if !fact.description.is_empty() {
        value["description"] = json!(fact.description);
    }
    if !said.is_empty() {
        value["annotations"] = Value::Object(said);
    }
    value
}

/// Does something with the servers, beside the turn.
fn with_servers<F>(reins: &Reins, work: impl FnOnce(Servers) -> F) -> Handled
where
    F: Future<Output = Result<Option<Value>, String>> + Send + 'static,
{
    let Some(servers) = reins.servers.clone() else { return refused("there are no servers here") };
    let work = work(servers);
    Handled::Later(Box::pin(async move { work.await.map_err(Into::into) }))
}

fn name_of(request: &Request) -> String {
    request.text("serverName").unwrap_or_default().to_owned()
}

pub(super) fn reconnect(request: &Request, reins: &Reins) -> Handled {
    let name = name_of(request);
    with_servers(reins, async move |servers: Servers| {
        servers.reconnect(&name).await.map(|()| None).map_err(|error| error.to_string())
    })
}

pub(super) fn toggle(request: &Request, reins: &Reins) -> Handled {
    let (name, on) = (name_of(request), request.is_on("enabled"));
    with_servers(reins, async move |servers: Servers| {
        servers.switch(&name, on).await.map(|()| None).map_err(|error| error.to_string())
    })
}

pub(super) fn set(request: &Request, reins: &Reins, given: &mut Option<Map<String, Value>>) -> Handled {
    let Some(servers) = request.body.get("servers").and_then(Value::as_object).cloned() else {
        return refused("`servers` is a mapping from names to configurations");
    };
    let before = given.replace(servers.clone()).unwrap_or_default();
    let reins = reins.clone();
    Handled::Later(Box::pin(async move {
        let reset = give(&reins, &servers, before.keys()).await;
        Ok(Some(json!({ "added": reset.added, "removed": reset.removed, "errors": reset.errors })))
    }))
}

/// Gives the session other servers, and what holds for their tools.
async fn give<'n>(
    reins: &Reins,
    servers: &Map<String, Value>,
    before: impl Iterator<Item = &'n String>,
) -> Reset {
    let Some(all) = &reins.servers else { return Reset::default() };
    // What holds for a tool holds before it can be called.
    before.for_each(|name| reins.set_tool_rules(name, &[]));
    for (name, config) in servers {
        reins.set_tool_rules(name, &tool_rules(name, config));
    }
    let reset = all.give(read_given(servers)).await;
    // What was refused may have the name of a server that the host has no say in. What came and cannot be reached may be
    // reached later, and keeps its rules.
    let refused = reset.errors.keys().filter(|name| !reset.added.contains(name));
    reset.removed.iter().chain(refused).for_each(|name| reins.set_tool_rules(name, &[]));
    reset
}

/// Makes a new session have what the host said of servers to the one before.
pub(super) async fn renew(
    reins: &Reins,
    brought: &Brought,
    given: Option<&Map<String, Value>>,
    switched_off: &[Box<str>],
) {
    apply_rules(reins, brought);
    if let Some(given) = given {
        give(reins, given, std::iter::empty()).await;
    }
    let Some(servers) = &reins.servers else { return };
    for name in switched_off {
        // One that is not there any more is off, too.
        let _ = servers.switch(name, false).await;
    }
}

/// What the host said of the tools of its servers when it greeted.
pub(super) fn apply_rules(reins: &Reins, brought: &Brought) {
    brought.rules.iter().for_each(|(server, rules)| reins.set_tool_rules(server, rules));
}

pub(super) fn call(request: &Request, reins: &Reins) -> Handled {
    let unsupported = ["input_files", "output_files", "expires_at"];
    if let Some(key) = unsupported.into_iter().find(|key| request.body.contains_key(*key)) {
        return refused(format!("The tool did not run: posse does not know `{key}`"));
    }
    // Whoever wants a check would not have the call without one.
    if request.body.get("check_permissions").is_some_and(|wish| *wish != Value::Bool(false)) {
        return refused("The tool did not run: posse cannot check permissions of calls by the host");
    }
    let Some(tool) = request.text("tool").map(str::to_owned) else { return refused("`tool` is missing") };
    let input = request.body.get("arguments").and_then(Value::as_object).cloned().unwrap_or_default();
    let as_it_is = request.is_on("result_not_for_model");
    let limit = request.body.get("timeout_ms").and_then(Value::as_u64);
    let limit = limit.map(|limit| Duration::from_millis(limit.clamp(1_000, 600_000)));
    let cx = reins.context(&request.id);
    with_servers(reins, async move |servers: Servers| {
        let call = DirectCall { tool: &tool, input, as_it_is, limit };
        servers.call_directly(call, &cx).await.map(Some)
    })
}

pub(super) fn read_resource(request: &Request, reins: &Reins) -> Handled {
    let (name, uri) = (name_of(request), request.text("uri").unwrap_or_default().to_owned());
    with_servers(reins, async move |servers: Servers| servers.read_directly(&name, &uri).await.map(Some))
}

pub(super) fn set_mode(request: &Request, reins: &Reins) -> Handled {
    let name = name_of(request);
    let mode = match request.body.get("mode") {
        None | Some(Value::Null) => None,
        Some(Value::String(mode)) if mode == "default" => Some(Mode::Default),
        Some(Value::String(mode)) if mode == "auto" => Some(Mode::Auto),
        Some(other) => return refused(format!("a server's mode is default, auto or null, not {other}")),
    };
    reins.set_server_mode(&name, mode);
    let known =
        reins.servers.as_ref().is_some_and(|all| all.configured().iter().any(|one| *one.name == *name));
    if known {
        done(json!({}))
    } else {
        done(json!({ "warning": format!("no server is called {name} now") }))
    }
}

#[cfg(test)]
mod tests;
