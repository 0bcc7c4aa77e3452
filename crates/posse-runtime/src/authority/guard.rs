//! The way from a call to a verdict: hooks, the decision, a second opinion, a person.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use posse_core::event::{Because, Denial, Outcome};
use posse_core::hooks::answer::{RequestDecision, Verdict as HookVerdict};
use posse_core::hooks::occasion::{DirectorySource, ToolUse};
use posse_core::hooks::{HookEvent, Merged, Occasion};
use posse_core::message::ToolCall;
use posse_core::permission::{
    Call, Decision, Folders, HookSays, Mode, Reason, RuleSet, Ruling, Situation, Update, decide, suggestions,
};
use posse_core::tools::{Capability, Limit};
use posse_core::turn::Verdict;
use serde_json::Value;

use super::judge::{self, Judgement, Matter};
use super::{Authority, Claim, RealPaths, RunHooks, Territory};
use crate::ask::{Desk, Grounds, PermissionAnswer, PermissionAsk, SharedMode, Suggestion};
use crate::hooks::Judge;
use crate::sandbox::Sandbox;
use crate::tool::TurnTerms;

/// What the model reads of a call that a person stopped it for.
const REJECTED: &str = "The user does not want this call and has stopped you here: nothing of it was done. Wait for what \
                        they say next.";

/// Judges the calls of one run.
#[derive(Clone)]
pub struct Guard {
    /// The session's rules and folders.
    pub authority: Arc<Authority>,
    /// How actions of this run are approved.
    pub mode: SharedMode,
    /// What the agent's own tool list allows; limits on arguments are judged with the rules.
    pub capability: Capability,
    /// Where a person can be asked.
    pub desk: Desk,
    /// Who is asked in the mode `auto`.
    pub judge: Option<Arc<dyn Judge>>,
    /// The hooks of this run.
    pub hooks: RunHooks,
    /// The agent's name, if it is not the main one.
    pub agent: Option<String>,
    /// Where this run works, if not where the session does: its worktree.
    pub territory: Territory,
    /// What may be read besides the working directories.
    pub readable: Vec<PathBuf>,
    /// What may be written besides: the agent's memory.
    pub writable: Vec<PathBuf>,
    /// The home folder.
    pub home: Option<PathBuf>,
    /// The sandbox of commands, if the settings take running in it for a yes. A command that runs outside of it is judged
    /// like any other.
    pub contained: Option<Arc<Sandbox>>,
    /// What a skill asked for until the turn ends.
    pub terms: TurnTerms,
}

/// What came of a call, with everything else that must happen because of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Authorized {
    /// May it run?
    pub verdict: Verdict,
    /// What the model is told besides.
    pub mail: Vec<String>,
    /// What the user is told.
    pub notes: Vec<String>,
    /// How the turn ends with it, if it does.
    pub stop: Option<Outcome>,
    /// The mode from now on, if it changed.
    pub mode: Option<Mode>,
}

/// A call on its way.
struct Case<'a> {
    call: &'a ToolCall,
    /// What it would run with by now.
    input: Value,
    is_changed: bool,
    cwd: &'a Path,
    words: &'a [String],
    /// Why a hook wants a person to look at it.
    asked_because: Option<String>,
    found: Authorized,
}

impl Guard {
    /// A guard with nobody to ask, for a run that may use every tool as far as the rules go.
    pub fn new(authority: Arc<Authority>, mode: SharedMode, hooks: RunHooks) -> Self {
        Self {
            authority,
            mode,
            capability: Capability::everything(),
            desk: Desk::default(),
            judge: None,
            hooks,
            agent: None,
            territory: Territory::default(),
            readable: Vec::new(),
            writable: Vec::new(),
            home: None,
            contained: None,
            terms: TurnTerms::default(),
        }
    }

    /// Judges a call. `words` is what the user said; `alone` says whether the call, with this input, must run alone.
    pub async fn authorize(
        &self,
        call: &ToolCall,
        cwd: &Path,
        words: &[String],
        alone: impl Fn(&Value) -> bool + Send,
    ) -> Authorized {
        let mut case = Case::of(call, cwd, words);
        let answer = match self.before(&mut case).await {
            Ok(hook) => self.after_hooks(&mut case, hook).await,
            Err(why) => Err(why),
        };
        case.found.verdict = match answer {
            Ok(()) => {
                let alone = alone(&case.input);
                Verdict::Allow { alone, input: case.is_changed.then_some(case.input) }
            }
            Err(why) => Verdict::Deny(why),
        };
        case.found
    }

    /// What the PreToolUse hooks say; an error is a refusal.
    async fn before(&self, case: &mut Case<'_>) -> Result<Option<HookSays>, Denial> {
        if !self.hooks.hears(HookEvent::PreToolUse) {
            return Ok(None);
        }
        let merged = self.hooks.fire(&Occasion::PreToolUse { tool: case.tool_use() }, case.cwd).await;
        case.take_notes(&merged);
        case.found.mail.extend(merged.context.iter().cloned());
        if let Some(why) = &merged.stop {
            case.found.stop = Some(Outcome::Stopped(why.clone()));
            return Err(by_hook(merged.objection().unwrap_or_else(|| why.clone())));
        }
        if merged.is_blocked() {
            let why = merged.objection();
            let why = why.unwrap_or_else(|| format!("PreToolUse:{} hook error: denied", case.call.name));
            return Err(by_hook(why));
        }
        if let Some(input) = merged.updated_input {
            case.input = input;
            case.is_changed = true;
        }
        match merged.permission {
            Some((HookVerdict::Allow, _)) => Ok(Some(HookSays::Allow)),
            Some((HookVerdict::Ask, why)) => {
                case.asked_because = why;
                Ok(Some(HookSays::Ask))
            }
            Some((HookVerdict::Defer, why)) => {
                let why = why.unwrap_or_else(|| "a hook put the call off".into());
                let call = ToolCall { input: case.input.clone(), ..case.call.clone() };
                case.found.stop = Some(Outcome::Deferred(call));
                Err(by_hook(why))
            }
            // Blocked above.
            Some((HookVerdict::Deny, _)) | None => Ok(None),
        }
    }

    async fn after_hooks(&self, case: &mut Case<'_>, hook: Option<HookSays>) -> Result<(), Denial> {
        let decision = self.decide(case, hook);
        match decision.ruling {
            Ruling::Allow => Ok(()),
            Ruling::Deny => Err(refusal(&case.call.name, &decision)),
            Ruling::Judge => self.second_opinion(case, decision).await,
            Ruling::Ask => self.ask(case, decision, None).await,
        }
    }

    fn decide(&self, case: &Case<'_>, hook: Option<HookSays>) -> Decision {
        self.with_situation(case, hook, decide)
    }

    fn with_situation<T>(
        &self,
        case: &Case<'_>,
        hook: Option<HookSays>,
        with: impl FnOnce(&Call<'_>, &Situation<'_>) -> T,
    ) -> T {
        let call = Call::new(&case.call.name, &case.input);
        let rules = self.rules(call.tool);
        let folders = self.folders(case.cwd);
        let none: &[Limit] = &[];
        let limits = self.capability.grant(call.tool).map_or(none, |grant| &grant.limits);
        let situation = Situation {
            rules: &rules,
            mode: self.authority.mode_for(call.tool, self.mode.current()),
            limits,
            folders: &folders,
            paths: &RealPaths,
            hook,
            contained: self.is_contained(&call),
        };
        with(&call, &situation)
    }

    /// The session's rules, with what skills allow besides: only where others than the administrator may allow anything.
    fn rules(&self, tool: &str) -> Arc<RuleSet> {
        let rules = self.authority.rules();
        let mut more = if self.authority.takes_leave() { self.terms.rules() } else { Vec::new() };
        if tool == "Skill" {
            more.extend(self.terms.standing().iter().cloned());
        }
        more.extend(self.authority.tool_rules(tool));
        if more.is_empty() { rules } else { Arc::new(rules.with(more)) }
    }

    fn is_contained(&self, call: &Call<'_>) -> bool {
        call.tool == "Bash"
            && self.contained.as_ref().is_some_and(|sandbox| sandbox.confines_call(call.input))
    }

    /// The folders of the run as they are now.
    pub fn folders(&self, cwd: &Path) -> Folders {
        let claim = self.territory.claim();
        let Claim { roots, fenced } =
            claim.unwrap_or_else(|| Claim { roots: self.authority.roots().to_vec(), ..Claim::default() });
        Folders {
            cwd: cwd.to_owned(),
            roots,
            readable: self.readable.clone(),
            writable: self.writable.clone(),
            fenced,
            home: self.home.clone(),
        }
    }

    /// Whether a file that the user names in a prompt may be read for it: unless a rule, a limit or a fence is against
    /// it. That it lies outside of the working directories need not be asked, because it was named.
    pub fn may_show(&self, path: &Path, cwd: &Path) -> bool {
        let input = serde_json::json!({ "file_path": path.display().to_string() });
        let call = ToolCall { id: "mention".into(), name: "Read".into(), input };
        let decision = self.decide(&Case::of(&call, cwd, &[]), None);
        decision.ruling == Ruling::Allow || matches!(decision.reason, Reason::Outside(_))
    }

    /// In the mode `auto` a model judges; a doubt goes to a person, and without one it is a no that hooks hear of.
    async fn second_opinion(&self, case: &mut Case<'_>, decision: Decision) -> Result<(), Denial> {
        let doubt = match &self.judge {
            None => "no model can be asked for a second opinion".to_owned(),
            Some(judge) => {
                let cwd = case.cwd.display().to_string();
                let matter =
                    Matter { tool: &case.call.name, input: &case.input, cwd: &cwd, words: case.words };
                match judge::judge(&**judge, &matter).await {
                    Judgement::Fine => return Ok(()),
                    Judgement::Ask(why) => why,
                }
            }
        };
        let answer = self.ask(case, decision, Some(&doubt)).await;
        if answer.is_err() && self.hooks.hears(HookEvent::PermissionDenied) {
            let occasion = Occasion::PermissionDenied { tool: case.tool_use(), reason: doubt };
            let merged = self.hooks.fire(&occasion, case.cwd).await;
            case.take_notes(&merged);
            if merged.retry {
                return answer.map_err(|why| Denial {
                    message: format!("{why}\nA hook allows another try."),
                    because: why.because,
                });
            }
        }
        answer
    }

    /// Puts the call to hooks that answer for a person, then to the person.
    async fn ask(&self, case: &mut Case<'_>, decision: Decision, doubt: Option<&str>) -> Result<(), Denial> {
        let offers = self.with_situation(case, None, suggestions);
        if self.hooks.hears(HookEvent::PermissionRequest) {
            let occasion = Occasion::PermissionRequest {
                tool: case.tool_use(),
                permission_suggestions: Some(offers.iter().map(Update::to_json).collect()),
            };
            let merged = self.hooks.fire(&occasion, case.cwd).await;
            case.take_notes(&merged);
            if let Some(request) = merged.request {
                return self.take_request(case, request).await;
            }
        }
        let by_hook = case.asked_because.as_deref().filter(|_| decision.reason == Reason::Hook);
        let reason = doubt.or(by_hook).map_or_else(|| decision.reason.to_string(), str::to_owned);
        if !self.desk.is_staffed() {
            return Err(nobody(&case.call.name, &decision.reason, doubt));
        }
        self.notify(case).await;
        let ask = PermissionAsk {
            tool: case.call.name.clone(),
            input: case.input.clone(),
            title: format!("{} wants to use {}", self.agent.as_deref().unwrap_or("posse"), case.call.name),
            reason: Some(reason),
            grounds: Box::new(Grounds {
                kind: if doubt.is_some() { "classifier" } else { decision.reason.kind() },
                path: decision.reason.place().map(str::to_owned),
            }),
            suggestions: offers
                .iter()
                .map(|update| Suggestion { label: update.label(), update: update.to_json() })
                .collect(),
            agent: self.agent.clone(),
            agent_id: self.hooks.cx().common.agent_id.clone(),
            call: case.call.id.clone(),
        };
        match self.desk.permission(ask).await {
            PermissionAnswer::Allow { updated_input, updates } => {
                case.replace(updated_input);
                self.take_updates(case, &updates).await;
                Ok(())
            }
            PermissionAnswer::Deny { message, interrupt: false } => Err(message.into()),
            PermissionAnswer::Deny { message: _, interrupt: true } => {
                // What was said with it is for whoever asked, and comes with the next prompt.
                case.found.stop = Some(Outcome::Cancelled { in_tools: true });
                Err(REJECTED.to_owned().into())
            }
            PermissionAnswer::Nobody => Err(nobody(&case.call.name, &decision.reason, doubt)),
        }
    }

    /// Tells hooks that a person is being waited for.
    async fn notify(&self, case: &mut Case<'_>) {
        if !self.hooks.hears(HookEvent::Notification) {
            return;
        }
        let occasion = Occasion::Notification {
            message: format!("posse needs your permission to use {}", case.call.name),
            title: Some("Permission needed".into()),
            notification_type: "permission_prompt".into(),
        };
        let merged = self.hooks.fire(&occasion, case.cwd).await;
        case.take_notes(&merged);
    }

    async fn take_request(&self, case: &mut Case<'_>, request: RequestDecision) -> Result<(), Denial> {
        match request {
            RequestDecision::Allow { updated_input, updated_permissions } => {
                case.replace(updated_input);
                let updates =
                    updated_permissions.as_ref().and_then(Value::as_array).cloned().unwrap_or_default();
                self.take_updates(case, &updates).await;
                Ok(())
            }
            RequestDecision::Deny { message, interrupt } => {
                if interrupt {
                    case.found.stop = Some(Outcome::Cancelled { in_tools: true });
                }
                let message = message
                    .unwrap_or_else(|| format!("Permission to use {} was denied by a hook.", case.call.name));
                Err(by_hook(message))
            }
        }
    }

    /// Carries out what somebody allowed for longer.
    async fn take_updates(&self, case: &mut Case<'_>, updates: &[Value]) {
        for update in updates {
            let update = match Update::from_json(update) {
                Ok(update) => update,
                Err(problem) => {
                    case.found.notes.push(format!("a permission update was left out: {problem}"));
                    continue;
                }
            };
            let applied = self.authority.apply(&update, case.cwd);
            case.found.notes.extend(applied.notes);
            self.folders_added(case, &applied.added).await;
            if let Some(mode) = applied.mode {
                self.mode.set(mode);
                case.found.mode = Some(mode);
            }
        }
    }
}

impl Guard {
    /// Tells hooks of folders that somebody has opened to the session.
    async fn folders_added(&self, case: &mut Case<'_>, folders: &[PathBuf]) {
        if !self.hooks.hears(HookEvent::DirectoryAdded) {
            return;
        }
        for folder in folders {
            let directory = folder.display().to_string();
            // Whoever answers a question is a person at a command, as far as the words for it go.
            let occasion = Occasion::DirectoryAdded { directory, source: DirectorySource::SlashCommand };
            let merged = self.hooks.fire(&occasion, case.cwd).await;
            case.take_notes(&merged);
        }
    }
}

impl<'a> Case<'a> {
    fn of(call: &'a ToolCall, cwd: &'a Path, words: &'a [String]) -> Self {
        let found = Authorized {
            verdict: Verdict::Deny(Denial::default()),
            mail: Vec::new(),
            notes: Vec::new(),
            stop: None,
            mode: None,
        };
        let input = call.input.clone();
        Self { call, input, is_changed: false, cwd, words, asked_because: None, found }
    }
}

impl Case<'_> {
    fn tool_use(&self) -> ToolUse {
        ToolUse {
            name: self.call.name.to_string(),
            input: self.input.clone(),
            id: self.call.id.to_string(),
            mcp_server: None,
        }
    }

    fn replace(&mut self, input: Option<Value>) {
        if let Some(input) = input
            && input != self.input
        {
            self.input = input;
            self.is_changed = true;
        }
    }

    fn take_notes(&mut self, merged: &Merged) {
        self.found.notes.extend(merged.system_messages.iter().chain(&merged.errors).cloned());
    }
}

/// A refusal by a hook, in its words.
fn by_hook(message: String) -> Denial {
    let because = Because { kind: Reason::Hook.kind(), reason: message.clone() };
    Denial { message, because: Some(because) }
}

/// What the model reads of a call that a rule or a limit refuses.
fn refusal(tool: &str, decision: &Decision) -> Denial {
    let message = match &decision.reason {
        Reason::Mode(Mode::Plan) => format!(
            "{tool} changes something, and this run is planning: look around, then present the plan with ExitPlanMode."
        ),
        reason => format!("Permission to use {tool} has been denied: {reason}."),
    };
    let because = Because { kind: decision.reason.kind(), reason: decision.reason.to_string() };
    Denial { message, because: Some(because) }
}

/// What the model reads where a yes was needed and nobody can give it.
fn nobody(tool: &str, reason: &Reason, doubt: Option<&str>) -> Denial {
    let kind = if doubt.is_some() { "classifier" } else { reason.kind() };
    let why = doubt.map_or_else(|| reason.to_string(), str::to_owned);
    let message = format!(
        "Claude requested permissions to use {tool}, but you haven't granted it yet. ({why}. Nobody can be asked here: \
         allow it with --allowedTools or a rule in the settings, or choose another --permission-mode.)"
    );
    Denial { message, because: Some(Because { kind, reason: why }) }
}
