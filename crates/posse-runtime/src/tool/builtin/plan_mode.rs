//! EnterPlanMode and ExitPlanMode: into planning, and out of it with a person's yes. What planning forbids is decided
//! where calls are judged.

use posse_core::permission::Mode;
use posse_core::prompt;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::blocking::INTERRUPTED;
use crate::ask::{Desk, PermissionAnswer, PermissionAsk, SharedMode, Suggestion};
use crate::tool::lenient;
use crate::tool::{Tool, ToolCx, ToolOutput};

/// A call; there is nothing to say.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct EnterPlanModeInput {}

/// Into planning.
#[derive(Clone, Debug, Default)]
pub struct EnterPlanMode {
    mode: SharedMode,
}

impl EnterPlanMode {
    /// Changes this mode.
    pub fn new(mode: SharedMode) -> Self {
        Self { mode }
    }
}

impl Tool for EnterPlanMode {
    const NAME: &'static str = "EnterPlanMode";
    type Input = EnterPlanModeInput;

    fn description(&self) -> String {
        "Switches to plan mode: you look and think, change nothing, and then present a plan with ExitPlanMode for the \
         user to approve. Use it before work that is large, risky or open to several ways of doing it, where the user \
         would want a say first. Not for small or clear tasks, nor for questions."
            .into()
    }

    fn runs_alone(&self, _: &Self::Input) -> bool {
        true
    }

    async fn run(&self, _: Self::Input, _: &ToolCx) -> ToolOutput {
        self.mode.set(Mode::Plan);
        let text = format!("Switched to planning.\n{}", prompt::plan_mode(true, None));
        ToolOutput::text(text).with(json!({ "mode": Mode::Plan.name() }))
    }
}

/// A call.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExitPlanModeInput {
    /// The plan, as Markdown: what changes and why, where, in which order, and how it is checked.
    #[serde(default, deserialize_with = "lenient::text")]
    plan: Option<String>,
    /// Kinds of commands the plan needs, in words. They are shown with the plan; each is still judged when it comes.
    #[serde(default)]
    allowed_prompts: Vec<AllowedPrompt>,
}

/// A kind of command.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct AllowedPrompt {
    /// The tool: Bash.
    tool: String,
    /// What it would do: "run the tests".
    prompt: String,
}

/// Out of planning, with a person's yes.
#[derive(Clone, Debug, Default)]
pub struct ExitPlanMode {
    mode: SharedMode,
    desk: Desk,
}

impl ExitPlanMode {
    /// Changes this mode after asking at this desk.
    pub fn new(mode: SharedMode, desk: Desk) -> Self {
        Self { mode, desk }
    }

    fn ask(&self, plan: Option<&str>, prompts: &[AllowedPrompt], cx: &ToolCx) -> PermissionAsk {
        let mut input = json!({});
        if let Some(plan) = plan {
            input["plan"] = plan.into();
        }
        if !prompts.is_empty() {
            let shown = |prompt: &AllowedPrompt| json!({ "tool": prompt.tool, "prompt": prompt.prompt });
            input["allowedPrompts"] = prompts.iter().map(shown).collect();
        }
        PermissionAsk {
            tool: Self::NAME.into(),
            input,
            title: "The plan is ready. Carry it out?".into(),
            reason: None,
            grounds: Box::default(),
            suggestions: vec![Suggestion {
                label: "without asking about edits of files".into(),
                update: json!({
                    "type": "setMode", "mode": Mode::AcceptEdits.name(), "destination": "session",
                }),
            }],
            agent: None,
            agent_id: None,
            call: cx.call.clone(),
        }
    }

    fn approved(&self, plan: Option<String>, updated: Option<Value>, updates: &[Value]) -> ToolOutput {
        let set = |update: &Value| {
            (update["type"] == "setMode").then(|| update["mode"].as_str().and_then(Mode::parse)).flatten()
        };
        let mode = updates.iter().find_map(set).unwrap_or_else(|| self.mode.after_plan());
        self.mode.set(mode);
        let edited = updated.as_ref().and_then(|input| input["plan"].as_str());
        let edited = edited.filter(|edited| Some(*edited) != plan.as_deref()).map(str::to_owned);
        let mut text = String::from("The user approved the plan. Plan mode is off; carry the plan out now.");
        if let Some(edited) = &edited {
            text.push_str(&format!("\n\nThe user changed the plan. This is what was approved:\n\n{edited}"));
        }
        ToolOutput::text(text).with(json!({ "plan": edited.or(plan), "mode": mode.name() }))
    }
}

impl Tool for ExitPlanMode {
    const NAME: &'static str = "ExitPlanMode";
    type Input = ExitPlanModeInput;

    fn description(&self) -> String {
        "In plan mode: presents the plan to the user, who approves it or says what to change. Call it when the plan is \
         complete, with the whole plan in `plan`: the user sees that and nothing else. Only for work that changes \
         something; a question is answered in text."
            .into()
    }

    fn runs_alone(&self, _: &Self::Input) -> bool {
        true
    }

    async fn run(&self, input: Self::Input, cx: &ToolCx) -> ToolOutput {
        let ExitPlanModeInput { plan, allowed_prompts } = input;
        if self.mode.current() != Mode::Plan {
            return ToolOutput::error(
                "Plan mode is not on, so there is no plan to approve. Go on with the work.",
            );
        }
        let ask = self.ask(plan.as_deref(), &allowed_prompts, cx);
        let answer = tokio::select! {
            answer = self.desk.permission(ask) => answer,
            () = cx.stop.cancelled() => return ToolOutput::error(INTERRUPTED),
        };
        match answer {
            PermissionAnswer::Allow { updated_input, updates } => {
                self.approved(plan, updated_input, &updates)
            }
            PermissionAnswer::Deny { message, interrupt: _ } => {
                let why = if message.trim().is_empty() { "no reason was given" } else { message.trim() };
                ToolOutput::error(format!(
                    "The user did not approve the plan: {why}\nPlan mode stays on. Change the plan and present it again."
                ))
            }
            PermissionAnswer::Nobody => ToolOutput::error(
                "Nobody can approve a plan in this session, so plan mode stays on. Give the plan as your answer and stop.",
            ),
        }
    }
}

#[cfg(test)]
mod tests;
