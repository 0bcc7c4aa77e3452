//! The fields of a JSON answer, one by one.

use std::time::Duration;

use serde_json::{Map, Value};

use super::{Answer, Block, RequestDecision, Verdict};
use crate::hooks::HookEvent;
use crate::hooks::facts::Objection;
use crate::hooks::occasion::ElicitationAction;

type Object = Map<String, Value>;

/// `{"async": true}` and how long it may go on; told in milliseconds.
pub(super) fn detached(object: &Object) -> Option<Option<Duration>> {
    (object.get("async") == Some(&Value::Bool(true)))
        .then(|| object.get("asyncTimeout").and_then(Value::as_u64).map(Duration::from_millis))
}

impl Answer {
    /// Takes over what an object says. Returns whether it is an answer to this event at all.
    pub(super) fn take(&mut self, event: HookEvent, object: &Object) -> bool {
        if let Some(timeout) = detached(object) {
            self.detached = Some(timeout);
            return true;
        }
        let specific = match object.get("hookSpecificOutput") {
            None | Some(Value::Null) => None,
            Some(Value::Object(specific)) => Some(specific),
            Some(_) => {
                self.errors.push("`hookSpecificOutput` must be an object; the output is ignored".to_owned());
                return false;
            }
        };
        if let Some(specific) = specific {
            let named = specific.get("hookEventName").and_then(Value::as_str);
            if named != Some(event.name()) {
                let named = named.unwrap_or("nothing");
                self.errors.push(format!(
                    "`hookEventName` says {named} where it must say {}; the output is ignored",
                    event.name()
                ));
                return false;
            }
        }
        self.universal(event, object);
        if let Some(specific) = specific {
            for name in event.facts().outputs {
                if let Some(value) = specific.get(*name).filter(|value| !value.is_null()) {
                    self.specific(event, name, value, specific);
                }
            }
        }
        if event == HookEvent::WorktreeCreate && self.worktree_path.is_none() && self.block.is_none() {
            self.block = Some(Block { reason: "no `worktreePath` was answered".to_owned(), by_exit: true });
        }
        true
    }

    fn universal(&mut self, event: HookEvent, object: &Object) {
        let reason = self.text(object, "reason");
        self.system_message = self.text(object, "systemMessage");
        self.terminal_sequence = self.text(object, "terminalSequence");
        let stop_reason = self.text(object, "stopReason");
        if self.switch(object, "continue") == Some(false) {
            self.stop = Some(stop_reason.unwrap_or_default());
        }
        match self.text(object, "decision").as_deref() {
            None => {}
            Some("approve") if event == HookEvent::PreToolUse => {
                self.permission = Some((Verdict::Allow, reason));
            }
            Some("approve") => {}
            Some("block") => self.objects(event, reason),
            Some(other) => self.errors.push(format!("`decision` is `block` or nothing, not `{other}`")),
        }
    }

    fn objects(&mut self, event: HookEvent, reason: Option<String>) {
        match event.facts().objection {
            Objection::Blocks | Objection::AnyFailureBlocks | Objection::TellsModel => {
                let reason = reason.unwrap_or_else(|| "no reason given".to_owned());
                self.block = Some(Block { reason, by_exit: false });
            }
            Objection::ShownOnly => {
                let reason = reason.map_or_else(String::new, |reason| format!(": {reason}"));
                self.errors.push(format!("nothing can be blocked here{reason}"));
            }
            Objection::Ignored => {}
        }
    }

    fn specific(&mut self, event: HookEvent, name: &str, value: &Value, object: &Object) {
        match name {
            "additionalContext" => self.context = self.text(object, name).filter(|text| !text.is_empty()),
            "classifierContext" => self.classifier_context = self.text(object, name),
            "permissionDecision" => self.permission_decision(event, object),
            // Read with the decision it belongs to.
            "permissionDecisionReason" | "content" => {}
            "updatedInput" if value.is_object() => self.updated_input = Some(value.clone()),
            "updatedInput" => self.wrong(name, "an object"),
            "updatedToolOutput" => self.updated_output = Some(value.clone()),
            "updatedMCPToolOutput" => self.updated_mcp_output = Some(value.clone()),
            "decision" => self.request_decision(value),
            "initialUserMessage" => self.initial_user_message = self.text(object, name),
            "sessionTitle" => self.session_title = self.text(object, name),
            "suppressOriginalPrompt" => {
                self.suppress_original_prompt = self.switch(object, name) == Some(true);
            }
            "reloadSkills" => self.reload_skills = self.switch(object, name) == Some(true),
            "retry" => self.retry = self.switch(object, name) == Some(true),
            "watchPaths" => self.watch_paths(value),
            "worktreePath" => self.worktree_path = self.text(object, name).filter(|path| !path.is_empty()),
            "action" => match value.as_str().and_then(ElicitationAction::parse) {
                Some(action) => self.elicitation = Some((action, object.get("content").cloned())),
                None => self.wrong(name, "accept, decline or cancel"),
            },
            "displayContent" => self.display_content = self.text(object, name),
            // A row of the table names a field that nobody reads; a test holds that there is none.
            _ => self.errors.push(format!("`{name}` is not read")),
        }
    }

    fn permission_decision(&mut self, event: HookEvent, object: &Object) {
        let reason = self.text(object, "permissionDecisionReason");
        let verdict = match object.get("permissionDecision").and_then(Value::as_str) {
            Some("allow") => Verdict::Allow,
            Some("deny") => Verdict::Deny,
            Some("ask") => Verdict::Ask,
            Some("defer") if event == HookEvent::PreToolUse => Verdict::Defer,
            _ => return self.wrong("permissionDecision", "allow, deny, ask or defer"),
        };
        self.permission = Some((verdict, reason));
    }

    fn request_decision(&mut self, value: &Value) {
        let Some(decision) = value.as_object() else { return self.wrong("decision", "an object") };
        self.request = match decision.get("behavior").and_then(Value::as_str) {
            Some("allow") => Some(RequestDecision::Allow {
                updated_input: decision.get("updatedInput").filter(|input| input.is_object()).cloned(),
                updated_permissions: decision.get("updatedPermissions").filter(|v| !v.is_null()).cloned(),
            }),
            Some("deny") => Some(RequestDecision::Deny {
                message: self.text(decision, "message"),
                interrupt: self.switch(decision, "interrupt") == Some(true),
            }),
            _ => return self.wrong("decision.behavior", "allow or deny"),
        };
    }

    fn watch_paths(&mut self, value: &Value) {
        let Some(paths) = value.as_array() else { return self.wrong("watchPaths", "a list of paths") };
        self.watch_paths = Some(paths.iter().filter_map(Value::as_str).map(str::to_owned).collect());
    }

    fn text(&mut self, object: &Object, name: &str) -> Option<String> {
        match object.get(name)? {
            Value::String(text) => Some(text.clone()),
            Value::Null => None,
            _ => {
                self.wrong(name, "text");
                None
            }
        }
    }

    fn switch(&mut self, object: &Object, name: &str) -> Option<bool> {
        match object.get(name)? {
            Value::Bool(on) => Some(*on),
            Value::Null => None,
            _ => {
                self.wrong(name, "true or false");
                None
            }
        }
    }

    fn wrong(&mut self, name: &str, takes: &str) {
        self.errors.push(format!("`{name}` must be {takes}; it is ignored"));
    }
}
