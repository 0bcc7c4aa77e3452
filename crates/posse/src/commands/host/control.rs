//! What a host can ask for while the session runs. One arm for each request; what takes long is done beside.

use futures_util::future::BoxFuture;
use posse_core::permission::{Mode, Update};
use posse_runtime::launch::Reins;
use posse_runtime::model::Thinking;
use posse_runtime::session::VERSION;
use posse_runtime::tool::RewindError;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::incoming::Request;
use super::side::Side;
use super::{initialize, servers, sums};

/// An answer: with particulars or without, or why not, with a word for programs.
pub(super) type Answer = Result<Option<Value>, Refusal>;

/// Why something is not done.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) why: String,
    pub(super) code: Option<&'static str>,
}

impl From<String> for Refusal {
    fn from(why: String) -> Self {
        Self { why, code: None }
    }
}

/// What comes of a request.
pub(super) enum Handled {
    /// The answer.
    Now(Answer),
    /// The answer, when it is there.
    Later(BoxFuture<'static, Answer>),
}

pub(super) fn done(answer: Value) -> Handled {
    Handled::Now(Ok(Some(answer)))
}

fn acknowledged() -> Handled {
    Handled::Now(Ok(None))
}

pub(super) fn refused(why: impl Into<String>) -> Handled {
    Handled::Now(Err(why.into().into()))
}

impl Side {
    /// Does what the host asks for. `stop` ends the turn, if one is under way.
    pub(super) fn control(
        &mut self,
        request: &Request,
        reins: &Reins,
        stop: Option<&CancellationToken>,
    ) -> Handled {
        match request.subtype.as_str() {
            "initialize" => self.initialized_again(request, reins),
            "interrupt" => self.interrupt(request, reins, stop),
            "set_permission_mode" => self.set_mode(request, reins),
            "set_model" => {
                let wanted = request.text("model").filter(|model| *model != "default").map(str::to_owned);
                let resolved = match &wanted {
                    Some(model) => reins.wire_id(model),
                    None => self.first_model.clone(),
                };
                self.wishes.model = Some(wanted);
                done(json!({ "model": resolved }))
            }
            "set_max_thinking_tokens" => {
                let tokens = request.body.get("max_thinking_tokens").and_then(Value::as_u64);
                let tokens = tokens.map(|tokens| u32::try_from(tokens).unwrap_or(u32::MAX));
                self.wishes.thinking = Some(match tokens {
                    None => Thinking::Default,
                    Some(0) => Thinking::Disabled,
                    Some(tokens) => Thinking::Budget(tokens),
                });
                acknowledged()
            }
            "mcp_status" => servers::status(reins),
            "mcp_reconnect" => servers::reconnect(request, reins),
            "mcp_toggle" => servers::toggle(request, reins),
            "mcp_set_servers" => servers::set(request, reins, &mut self.given_servers),
            "mcp_call" => servers::call(request, reins),
            "mcp_read_resource" => servers::read_resource(request, reins),
            "set_mcp_permission_mode_override" => servers::set_mode(request, reins),
            "mcp_message" => self.server_said(request),
            "get_context_usage" => done(sums::context_usage(self.lines.facts(), self.context_tokens)),
            "rewind_files" => rewind(request, reins),
            "stop_task" => {
                let (id, reins) = (request.text("task_id").unwrap_or_default().to_owned(), reins.clone());
                Handled::Later(Box::pin(async move {
                    reins.stop_task(&id).await;
                    Ok(Some(json!({})))
                }))
            }
            "background_tasks" => {
                let sent = reins.to_background(request.text("tool_use_id"));
                done(json!({ "backgrounded": sent > 0 }))
            }
            "cancel_async_message" => {
                let uuid = request.text("message_uuid").unwrap_or_default();
                let cancelled = self.queue.cancel(uuid);
                if cancelled {
                    self.lifecycle(uuid, "cancelled");
                }
                done(json!({ "cancelled": cancelled }))
            }
            "apply_flag_settings" => self.apply_settings(request, reins),
            "list_models" => done(json!({ "models": initialize::models(reins) })),
            "get_session_cost" => done(json!({ "text": self.cost_text })),
            "get_binary_version" => done(json!({ "version": VERSION, "buildTime": null })),
            other => Handled::Now(Err(Refusal {
                why: format!("Unsupported control request subtype: {other}"),
                code: Some("unsupported_request"),
            })),
        }
    }

    fn initialized_again(&mut self, request: &Request, reins: &Reins) -> Handled {
        let hooks = request.body.get("hooks").filter(|hooks| !hooks.is_null());
        let mut notes = Vec::new();
        let callbacks = initialize::callbacks(hooks, &mut notes);
        let applied = reins.set_callbacks(callbacks);
        for note in notes {
            self.wire.say(self.lines.note(&note));
        }
        let state = self.states.word();
        done(initialize::reply(self.lines.facts(), reins, state, hooks.map(|_| applied)))
    }

    fn interrupt(&mut self, request: &Request, reins: &Reins, stop: Option<&CancellationToken>) -> Handled {
        // The questions first: nobody shall answer what is not asked any more.
        self.wire.withdraw_asks();
        if let Some(stop) = stop {
            stop.cancel();
        }
        let mut answer = json!({});
        if request.is_on("cancel_queued") {
            let cancelled = self.queue.clear();
            cancelled.iter().for_each(|uuid| self.lifecycle(uuid, "cancelled"));
            answer["cancelled"] = json!(cancelled);
        }
        answer["still_queued"] = json!(self.queue.names());
        if self.declared.stops_tasks_itself {
            return done(answer);
        }
        let reins = reins.clone();
        Handled::Later(Box::pin(async move {
            reins.stop_agents().await;
            Ok(Some(answer))
        }))
    }

    fn set_mode(&mut self, request: &Request, reins: &Reins) -> Handled {
        let named = request.text("mode").and_then(|name| match name {
            "manual" => Some(Mode::Default),
            name => Mode::parse(name),
        });
        let Some(mode) = named.filter(|mode| *mode != Mode::Bubble) else {
            let names = Mode::ALL.into_iter().filter(|mode| *mode != Mode::Bubble).map(Mode::name);
            let names = names.collect::<Vec<_>>().join(", ");
            let why = format!("Cannot set permission mode: must be one of {names}");
            return Handled::Now(Err(Refusal { why, code: Some("invalid_mode") }));
        };
        if !reins.set_mode(mode) {
            let why = "Cannot set permission mode to bypassPermissions because the session was not launched with \
                       --allow-dangerously-skip-permissions";
            return Handled::Now(Err(Refusal { why: why.to_owned(), code: Some("bypass_not_launched") }));
        }
        self.after.push(self.lines.mode_changed(mode));
        done(json!({ "mode": mode.name() }))
    }

    fn server_said(&self, request: &Request) -> Handled {
        let server = request.text("server_name").unwrap_or_default();
        let message = request.body.get("message").cloned().unwrap_or_default();
        if self.wire.said_by_server(server, message) {
            acknowledged()
        } else {
            refused(format!("Server not found: {server}"))
        }
    }

    /// The settings that can be changed while the session runs; of the others the host is told that they were not.
    fn apply_settings(&mut self, request: &Request, reins: &Reins) -> Handled {
        let settings = request.body.get("settings").and_then(Value::as_object).cloned().unwrap_or_default();
        for (key, value) in settings {
            match (key.as_str(), &value) {
                ("model", Value::String(model)) => self.wishes.model = Some(Some(model.clone())),
                ("model", Value::Null) => self.wishes.model = Some(None),
                ("permissions", Value::Object(permissions)) => {
                    for behavior in ["allow", "deny", "ask"] {
                        let rules = permissions.get(behavior).and_then(Value::as_array);
                        self.add_rules(behavior, rules.into_iter().flatten(), reins);
                    }
                }
                (other, _) => {
                    let note = format!("the setting `{other}` was not changed: it only counts at the start");
                    self.wire.say(self.lines.note(&note));
                }
            }
        }
        acknowledged()
    }

    fn add_rules<'v>(&self, behavior: &str, rules: impl Iterator<Item = &'v Value>, reins: &Reins) {
        for rule in rules.filter_map(Value::as_str) {
            let (tool, content) = match rule.strip_suffix(')').and_then(|rule| rule.split_once('(')) {
                Some((tool, content)) => (tool, Some(content)),
                None => (rule, None),
            };
            let update = json!({
                "type": "addRules",
                "rules": [{ "toolName": tool, "ruleContent": content }],
                "behavior": behavior,
                "destination": "session",
            });
            if let Ok(update) = Update::from_json(&update) {
                for note in reins.apply(&update, &self.lines.facts().cwd).notes {
                    self.wire.say(self.lines.note(&note));
                }
            }
        }
    }
}

fn rewind(request: &Request, reins: &Reins) -> Handled {
    let id = request.text("user_message_id").unwrap_or_default();
    match reins.rewind(id, request.is_on("dry_run")) {
        Ok(rewound) => done(json!({
            "canRewind": true,
            "filesChanged": rewound.files,
            "insertions": rewound.insertions,
            "deletions": rewound.deletions,
        })),
        Err(error @ (RewindError::Off | RewindError::Unknown | RewindError::Io { .. })) => {
            refused(error.to_string())
        }
    }
}
