//! What a host can ask for while the session runs. One arm for each request; what takes long is done beside.

use futures_util::future::BoxFuture;
use posse_core::permission::Mode;
use posse_runtime::launch::Reins;
use posse_runtime::model::Thinking;
use posse_runtime::session::VERSION;
use posse_runtime::tool::RewindError;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::incoming::Request;
use super::initialize::Greeting;
use super::side::Side;
use super::{context, initialize, listings, naming, reading, servers};

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
    /// The answer behind everything that happened on the way to it.
    Behind(BoxFuture<'static, Answer>),
}

pub(super) fn done(answer: Value) -> Handled {
    Handled::Now(Ok(Some(answer)))
}

pub(super) fn acknowledged() -> Handled {
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
                self.choose_model(wanted, reins, stop.is_some())
            }
            "set_max_thinking_tokens" => self.set_thinking(request, reins),
            "mcp_status" => servers::status(reins),
            "mcp_reconnect" => servers::reconnect(request, reins),
            "mcp_toggle" => servers::toggle(request, reins),
            "mcp_set_servers" => servers::set(request, reins, &mut self.given_servers),
            "mcp_call" => servers::call(request, reins),
            "mcp_read_resource" => servers::read_resource(request, reins),
            "set_mcp_permission_mode_override" => servers::set_mode(request, reins),
            "mcp_message" => self.server_said(request),
            "get_context_usage" => {
                let full = request.text("detail") != Some("summary");
                done(self.fullness(reins).answer(full))
            }
            "rewind_files" => rewind(request, reins),
            "stop_task" => {
                let (id, reins) = (request.text("task_id").unwrap_or_default().to_owned(), reins.clone());
                Handled::Behind(Box::pin(async move {
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
            "apply_flag_settings" => self.apply_settings(request, reins, stop.is_some()),
            "update_settings" => self.update_settings(request, reins),
            "get_settings" => self.get_settings(reins),
            "list_permission_rules" => listings::permission_rules(self, reins),
            "get_hooks_listing" => listings::hooks(reins),
            "get_usage" => listings::usage(self),
            "reload_plugins" => self.reload_plugins(request, reins, stop.is_some()),
            "reload_skills" => self.reload_skills(reins),
            "reload_output_styles" => done(json!({ "available_output_styles": initialize::OUTPUT_STYLES })),
            "register_repo_root" => reading::register_root(request, reins),
            "read_file" => reading::read_file(request, reins),
            "seed_read_state" => reading::seed_read_state(request, reins),
            "file_suggestions" => reading::file_suggestions(request, reins),
            "get_task_output" => reading::task_output(request, reins),
            "set_cwd" => reading::set_cwd(request, reins),
            "rename_session" => self.rename(request, reins),
            "set_color" => naming::set_color(request, reins),
            "generate_session_title" => naming::make_title(request, reins),
            "side_question" => naming::side_question(request, reins),
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
        let listed = initialize::plugins(&request.body);
        let greeting = Greeting {
            state: self.states.word(),
            hooks: hooks.map(|_| applied),
            plugins: initialize::are_loaded(listed, self.lines.facts()),
            managed: None,
            token: self.token,
        };
        done(initialize::reply(self.lines.facts(), reins, greeting))
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
        if let Err(why) = reins.set_mode(mode) {
            let (why, code) = match mode {
                Mode::BypassPermissions => (
                    "Cannot set permission mode to bypassPermissions because the session was not launched with \
                     --allow-dangerously-skip-permissions"
                        .to_owned(),
                    "bypass_not_launched",
                ),
                _ => (format!("Cannot set permission mode: {why}"), "mode_not_open"),
            };
            return Handled::Now(Err(Refusal { why, code: Some(code) }));
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

    /// Goes on with another model, or with the one it began with: while a turn is under way from its next request on,
    /// otherwise with the next turn.
    pub(super) fn choose_model(&mut self, wanted: Option<String>, reins: &Reins, busy: bool) -> Handled {
        let resolved = match &wanted {
            Some(model) => reins.wire_id(model),
            None => self.first_model.clone(),
        };
        if self.replays {
            let text = format!("<local-command-stdout>Set model to {resolved}</local-command-stdout>");
            let mut line = self.lines.said(json!(text), None);
            line["isReplay"] = json!(true);
            self.after.push(line);
        }
        if !busy {
            self.wishes.model = Some(wanted);
            return done(json!({ "model": resolved }));
        }
        let (name, reins) = (wanted.unwrap_or_else(|| self.first_model.to_string()), reins.clone());
        // Whatever was wished for before is out of date.
        self.wishes.model = None;
        Handled::Later(Box::pin(async move {
            let (id, notes) = reins.switch_model(&name).await?;
            notes.into_iter().for_each(|note| reins.note(note));
            Ok(Some(json!({ "model": id })))
        }))
    }

    /// How much the model thinks and how that is shown, from the next request on. What is not said stays.
    fn set_thinking(&mut self, request: &Request, reins: &Reins) -> Handled {
        match request.body.get("max_thinking_tokens") {
            None => {}
            Some(tokens) => {
                let tokens = tokens.as_u64().map(|tokens| u32::try_from(tokens).unwrap_or(u32::MAX));
                reins.dials.set_thinking(match tokens {
                    None => self.first_thinking,
                    Some(0) => Thinking::Disabled,
                    Some(tokens) => Thinking::Budget(tokens),
                });
            }
        }
        match request.body.get("thinking_display") {
            None => acknowledged(),
            Some(Value::Null) => {
                reins.display.set(None);
                acknowledged()
            }
            Some(Value::String(how)) if matches!(how.as_str(), "summarized" | "omitted") => {
                reins.display.set(Some(how.clone()));
                acknowledged()
            }
            Some(other) => refused(format!("thinking_display cannot be {other} here")),
        }
    }

    /// How full the window is now.
    pub(super) fn fullness(&self, reins: &Reins) -> context::Fullness<'_> {
        context::Fullness::of(self.lines.facts(), reins, &self.tally, self.last_usage)
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
