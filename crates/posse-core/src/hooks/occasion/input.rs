//! The input of a handler, as JSON.

use serde_json::{Map, Value, json};

use super::{Common, ModelSwitch, Occasion, Stopping, TaskFacts, ToolUse};

impl Occasion {
    /// What a handler reads: the common fields, then those of the event.
    pub fn input(&self, common: &Common) -> Value {
        let mut fields = Fields(Map::new());
        fields.common(self, common);
        match self {
            Self::PreToolUse { .. }
            | Self::PostToolUse { .. }
            | Self::PostToolUseFailure { .. }
            | Self::PermissionRequest { .. }
            | Self::PermissionDenied { .. }
            | Self::PostToolBatch { .. } => fields.about_tools(self),
            Self::UserPromptSubmit { .. }
            | Self::UserPromptExpansion { .. }
            | Self::Notification { .. }
            | Self::MessageDisplay { .. }
            | Self::Elicitation { .. }
            | Self::ElicitationResult { .. } => fields.about_talk(self),
            Self::SubagentStart { .. }
            | Self::SubagentStop { .. }
            | Self::Stop(_)
            | Self::StopFailure { .. }
            | Self::TeammateIdle { .. }
            | Self::TaskCreated(_)
            | Self::TaskCompleted(_) => fields.about_agents(self),
            Self::SessionStart { .. }
            | Self::SessionEnd { .. }
            | Self::Setup { .. }
            | Self::PreCompact { .. }
            | Self::PostCompact { .. }
            | Self::PreModelSwitch(_)
            | Self::PostModelSwitch(_) => fields.about_the_session(self),
            Self::ConfigChange { .. }
            | Self::WorktreeCreate { .. }
            | Self::WorktreeRemove { .. }
            | Self::InstructionsLoaded { .. }
            | Self::CwdChanged { .. }
            | Self::FileChanged { .. }
            | Self::DirectoryAdded { .. } => fields.about_files(self),
        }
        Value::Object(fields.0)
    }
}

struct Fields(Map<String, Value>);

impl Fields {
    fn put(&mut self, name: &str, value: impl Into<Value>) {
        self.0.insert(name.to_owned(), value.into());
    }

    fn maybe(&mut self, name: &str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.put(name, value);
        }
    }

    fn text(&mut self, name: &str, value: &Option<String>) {
        self.maybe(name, value.as_deref());
    }

    fn common(&mut self, occasion: &Occasion, common: &Common) {
        let Common {
            session_id,
            transcript_path,
            cwd,
            prompt_id,
            permission_mode,
            effort,
            agent_id,
            agent_type,
        } = common;
        let facts = occasion.event().facts();
        self.put("session_id", session_id.as_str());
        self.put("transcript_path", transcript_path.as_str());
        self.put("cwd", cwd.as_str());
        self.text("prompt_id", prompt_id);
        if facts.in_turn {
            self.text("permission_mode", permission_mode);
        }
        self.text("agent_id", agent_id);
        self.text("agent_type", agent_type);
        if facts.around_tools {
            self.maybe("effort", effort.as_ref().map(|level| json!({ "level": level })));
        }
        self.put("hook_event_name", occasion.event().name());
    }

    fn tool(&mut self, tool: &ToolUse) {
        let ToolUse { name, input, id: _, mcp_server: _ } = tool;
        self.put("tool_name", name.as_str());
        self.put("tool_input", input.clone());
    }

    fn call(&mut self, tool: &ToolUse) {
        self.put("tool_use_id", tool.id.as_str());
        self.maybe("mcp_server", tool.mcp_server.clone());
    }

    fn about_tools(&mut self, occasion: &Occasion) {
        if let Some(tool) = occasion.tool() {
            self.tool(tool);
        }
        match occasion {
            Occasion::PreToolUse { tool } => self.call(tool),
            Occasion::PostToolUse { tool, tool_response, duration_ms } => {
                self.put("tool_response", tool_response.clone());
                self.call(tool);
                self.maybe("duration_ms", *duration_ms);
            }
            Occasion::PostToolUseFailure { tool, error, is_interrupt, duration_ms } => {
                self.call(tool);
                self.put("error", error.as_str());
                self.maybe("is_interrupt", *is_interrupt);
                self.maybe("duration_ms", *duration_ms);
            }
            Occasion::PermissionRequest { tool: _, permission_suggestions } => {
                self.maybe("permission_suggestions", permission_suggestions.clone());
            }
            Occasion::PermissionDenied { tool, reason } => {
                self.call(tool);
                self.put("reason", reason.as_str());
            }
            Occasion::PostToolBatch { calls } => {
                let calls = calls.iter().map(|(tool, response)| {
                    let mut fields = Self(Map::new());
                    fields.tool(tool);
                    fields.call(tool);
                    fields.put("tool_response", response.clone());
                    Value::Object(fields.0)
                });
                self.put("tool_calls", calls.collect::<Vec<Value>>());
            }
            _ => {}
        }
    }

    fn about_talk(&mut self, occasion: &Occasion) {
        match occasion {
            Occasion::UserPromptSubmit { prompt, source, session_title } => {
                self.put("prompt", prompt.as_str());
                self.text("source", source);
                self.text("session_title", session_title);
            }
            Occasion::UserPromptExpansion {
                expansion_type,
                command_name,
                command_args,
                command_source,
                prompt,
            } => {
                self.put("expansion_type", expansion_type.word());
                self.put("command_name", command_name.as_str());
                self.put("command_args", command_args.as_str());
                self.text("command_source", command_source);
                self.put("prompt", prompt.as_str());
            }
            Occasion::Notification { message, title, notification_type } => {
                self.put("message", message.as_str());
                self.text("title", title);
                self.put("notification_type", notification_type.as_str());
            }
            Occasion::MessageDisplay { turn_id, message_id, index, is_final, delta } => {
                self.put("turn_id", turn_id.as_str());
                self.put("message_id", message_id.as_str());
                self.put("index", *index);
                self.put("final", *is_final);
                self.put("delta", delta.as_str());
            }
            Occasion::Elicitation {
                mcp_server_name,
                message,
                mode,
                url,
                elicitation_id,
                requested_schema,
            } => {
                self.put("mcp_server_name", mcp_server_name.as_str());
                self.put("message", message.as_str());
                self.text("mode", mode);
                self.text("url", url);
                self.text("elicitation_id", elicitation_id);
                self.maybe("requested_schema", requested_schema.clone());
            }
            Occasion::ElicitationResult { mcp_server_name, action, content, mode, elicitation_id } => {
                self.put("mcp_server_name", mcp_server_name.as_str());
                self.put("action", action.word());
                self.maybe("content", content.clone());
                self.text("mode", mode);
                self.text("elicitation_id", elicitation_id);
            }
            _ => {}
        }
    }

    fn about_agents(&mut self, occasion: &Occasion) {
        match occasion {
            Occasion::SubagentStart { agent_id, agent_type } => {
                self.put("agent_id", agent_id.as_str());
                self.put("agent_type", agent_type.as_str());
            }
            Occasion::SubagentStop { agent_id, agent_type, agent_transcript_path, stopping } => {
                self.put("agent_id", agent_id.as_str());
                self.put("agent_type", agent_type.as_str());
                self.put("agent_transcript_path", agent_transcript_path.as_str());
                self.stopping(stopping);
            }
            Occasion::Stop(stopping) => self.stopping(stopping),
            Occasion::StopFailure { error, error_details, last_assistant_message } => {
                self.put("error", error.as_str());
                self.text("error_details", error_details);
                self.text("last_assistant_message", last_assistant_message);
            }
            Occasion::TeammateIdle { teammate_name, team_name } => {
                self.put("teammate_name", teammate_name.as_str());
                self.text("team_name", team_name);
            }
            Occasion::TaskCreated(task) | Occasion::TaskCompleted(task) => {
                let TaskFacts { id, subject, description, teammate_name, team_name } = task;
                self.put("task_id", id.as_str());
                self.put("task_subject", subject.as_str());
                self.text("task_description", description);
                self.text("teammate_name", teammate_name);
                self.text("team_name", team_name);
            }
            _ => {}
        }
    }

    fn stopping(&mut self, stopping: &Stopping) {
        let Stopping { stop_hook_active, last_assistant_message, background_tasks, session_crons } = stopping;
        self.put("stop_hook_active", *stop_hook_active);
        self.text("last_assistant_message", last_assistant_message);
        self.put("background_tasks", background_tasks.clone());
        self.put("session_crons", session_crons.clone());
    }

    fn about_the_session(&mut self, occasion: &Occasion) {
        match occasion {
            Occasion::SessionStart { source, model, session_title } => {
                self.put("source", source.word());
                self.text("model", model);
                self.text("session_title", session_title);
            }
            Occasion::SessionEnd { reason } => self.put("reason", reason.word()),
            Occasion::Setup { trigger } => self.put("trigger", trigger.word()),
            Occasion::PreCompact { trigger, custom_instructions } => {
                self.put("trigger", trigger.word());
                // Told also when there are none.
                self.put("custom_instructions", custom_instructions.clone());
            }
            Occasion::PostCompact { trigger, compact_summary } => {
                self.put("trigger", trigger.word());
                self.put("compact_summary", compact_summary.as_str());
            }
            Occasion::PreModelSwitch(switch) | Occasion::PostModelSwitch(switch) => {
                let ModelSwitch { from_model, to_model, requested_model, source, costs } = switch;
                self.put("from_model", from_model.as_str());
                self.put("to_model", to_model.as_str());
                self.put("requested_model", requested_model.as_str());
                self.put("source", source.as_str());
                self.0.extend(costs.clone());
            }
            _ => {}
        }
    }

    fn about_files(&mut self, occasion: &Occasion) {
        match occasion {
            Occasion::ConfigChange { source, file_path } => {
                self.put("source", source.word());
                self.text("file_path", file_path);
            }
            Occasion::WorktreeCreate { name } => self.put("name", name.as_str()),
            Occasion::WorktreeRemove { worktree_path } => self.put("worktree_path", worktree_path.as_str()),
            Occasion::InstructionsLoaded {
                file_path,
                memory_type,
                load_reason,
                globs,
                trigger_file_path,
                parent_file_path,
            } => {
                self.put("file_path", file_path.as_str());
                self.put("memory_type", memory_type.word());
                self.put("load_reason", load_reason.word());
                self.maybe("globs", globs.clone());
                self.text("trigger_file_path", trigger_file_path);
                self.text("parent_file_path", parent_file_path);
            }
            Occasion::CwdChanged { old_cwd, new_cwd } => {
                self.put("old_cwd", old_cwd.as_str());
                self.put("new_cwd", new_cwd.as_str());
            }
            Occasion::FileChanged { file_path, event } => {
                self.put("file_path", file_path.as_str());
                self.put("event", event.word());
            }
            Occasion::DirectoryAdded { directory, source } => {
                self.put("directory", directory.as_str());
                self.put("source", source.word());
            }
            _ => {}
        }
    }
}
