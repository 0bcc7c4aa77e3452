//! The decision.

use crate::shell::{self, Run, Script};
use crate::tools::{Limit, Scope};

use super::call::{Call, Deed};
use super::command::{CommandPattern, Fit};
use super::folders::protected_by;
use super::path::PathIndexBuilder;
use super::rule::{Rule, RuleSet};
use super::{Behavior, Folders, Mode, Paths, Place, RuleSource};

mod commands;
mod fence;

use commands::{has_harmless_variables, is_sink};

/// What a call is judged by.
#[derive(Clone, Copy)]
pub struct Situation<'a> {
    /// The rules that count.
    pub rules: &'a RuleSet,
    /// The mode.
    pub mode: Mode,
    /// What the agent's own tool list says of this tool: every limit must hold.
    pub limits: &'a [Limit],
    /// The folders of the run.
    pub folders: &'a Folders,
    /// Where paths lead.
    pub paths: &'a dyn Paths,
    /// What hooks said before.
    pub hook: Option<HookSays>,
    /// Whether commands run where they can do no harm, and the settings take that for a yes.
    pub contained: bool,
}

/// What hooks decided about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookSays {
    /// No need to ask; rules that deny or ask still count.
    Allow,
    /// Ask.
    Ask,
}

/// What is to happen to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ruling {
    /// It runs.
    Allow,
    /// Somebody must say yes.
    Ask,
    /// A model judges it; doubt asks.
    Judge,
    /// It does not run.
    Deny,
}

/// A ruling and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The ruling.
    pub ruling: Ruling,
    /// Why.
    pub reason: Reason,
}

/// Why a call was decided as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// A rule fits.
    Rule {
        /// What it says.
        behavior: Behavior,
        /// As written.
        text: Box<str>,
        /// Who wrote it.
        from: Box<str>,
    },
    /// A rule may fit; that is only known when the command runs.
    MayFit {
        /// As written.
        text: Box<str>,
        /// The part of the command.
        part: Box<str>,
    },
    /// The mode.
    Mode(Mode),
    /// It only looks, or touches nothing but the run itself.
    Looks,
    /// It runs where it can do no harm.
    Contained,
    /// A hook.
    Hook,
    /// A place outside the working directories.
    Outside(Box<str>),
    /// A place that steers other things.
    Protected {
        /// The path.
        path: Box<str>,
        /// Why it is.
        why: &'static str,
    },
    /// The checkout that the run was moved out of.
    Fenced {
        /// What would reach it.
        what: Box<str>,
        /// The place, or none if it is only known when the command runs.
        path: Option<Box<str>>,
        /// Where the run works instead.
        own: Box<str>,
    },
    /// A part of the command that cannot be judged.
    Doubt {
        /// The part.
        part: Box<str>,
        /// What is wrong with it.
        why: &'static str,
    },
    /// Nothing allows this part of the command.
    Uncovered(Box<str>),
    /// Nothing allows the call.
    Open,
    /// The agent's own tool list does not go so far.
    Limit {
        /// The tool.
        tool: Box<str>,
        /// What is allowed of it.
        allowed: Box<str>,
    },
}

impl Reason {
    fn rule(rule: &Rule) -> Self {
        Self::Rule { behavior: rule.behavior, text: rule.text.clone(), from: rule.source.label.clone() }
    }

    /// One kind in one word, as programs read it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Rule { .. } | Self::MayFit { .. } => "rule",
            Self::Mode(_) => "mode",
            Self::Hook => "hook",
            Self::Outside(_) | Self::Fenced { .. } => "workingDir",
            Self::Protected { .. } => "safetyCheck",
            Self::Doubt { .. } | Self::Uncovered(_) => "subcommandResults",
            Self::Looks | Self::Contained | Self::Open | Self::Limit { .. } => "other",
        }
    }

    /// The place it is about, if it is about one.
    pub fn place(&self) -> Option<&str> {
        match self {
            Self::Outside(path) | Self::Protected { path, .. } | Self::Fenced { path: Some(path), .. } => {
                Some(path)
            }
            Self::Rule { .. }
            | Self::MayFit { .. }
            | Self::Mode(_)
            | Self::Hook
            | Self::Fenced { path: None, .. }
            | Self::Doubt { .. }
            | Self::Uncovered(_)
            | Self::Looks
            | Self::Contained
            | Self::Open
            | Self::Limit { .. } => None,
        }
    }
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Rule { behavior, text, from } => {
                write!(f, "the {} rule `{text}` in {from}", behavior.word())
            }
            Self::MayFit { text, part } => {
                write!(f, "whether the rule `{text}` fits `{part}` is only known when it runs")
            }
            Self::Mode(mode) => write!(f, "permission mode {}", mode.name()),
            Self::Looks => f.write_str("it only looks"),
            Self::Contained => f.write_str("it runs in the sandbox"),
            Self::Hook => f.write_str("a PreToolUse hook"),
            Self::Outside(path) => write!(f, "{path} is outside the working directories"),
            Self::Protected { path, why } => write!(f, "{path} is protected: {why}"),
            Self::Fenced { what, path: Some(path), own } => write!(
                f,
                "{what} reaches {path} in the main checkout, and this agent works in a worktree of its own, {own}: use \
                 the same path below that"
            ),
            Self::Fenced { what, path: None, own } => write!(
                f,
                "where {what} leads is only known when it runs, and this agent may not leave its worktree {own}: \
                 write the path out, or run it where you are"
            ),
            Self::Doubt { part, why } => write!(f, "`{part}` cannot be judged: {why}"),
            Self::Uncovered(part) => write!(f, "no rule allows `{part}`"),
            Self::Open => f.write_str("no rule allows it"),
            Self::Limit { tool, allowed } => write!(f, "this agent may use {tool} only as {allowed}"),
        }
    }
}

/// Decides on a call. A deny wins over everything, then an ask, then what allows.
pub fn decide(call: &Call<'_>, at: &Situation<'_>) -> Decision {
    let deed = call.deed();
    let script = match &deed {
        Deed::Command(line) => Some(shell::parse(line)),
        _ => None,
    };
    let judged = Judged { call, deed: &deed, script: script.as_ref(), at };
    if let Some(reason) = judged.beyond_limits().or_else(|| judged.over_the_fence()) {
        return Decision { ruling: Ruling::Deny, reason };
    }
    if let Some(rule) = judged.rule_against(Behavior::Deny) {
        return Decision { ruling: Ruling::Deny, reason: Reason::rule(rule) };
    }
    // What planning rules out is not for anybody to be asked about.
    let planning = judged.planning();
    if let Some(refusal) = planning.as_ref().filter(|decision| decision.ruling == Ruling::Deny) {
        return refusal.clone();
    }
    if let Some(rule) = judged.rule_against(Behavior::Ask) {
        return judged.ask(Reason::rule(rule));
    }
    if at.hook == Some(HookSays::Ask) {
        return judged.ask(Reason::Hook);
    }
    if at.mode == Mode::BypassPermissions
        && let Some(reason) = judged.may_be_denied()
        && judged.allowance().is_err()
        && at.hook != Some(HookSays::Allow)
    {
        // A limit holds also where nothing else is asked: what may be beyond it is.
        return Decision { ruling: Ruling::Ask, reason };
    }
    if at.mode == Mode::BypassPermissions {
        return Decision { ruling: Ruling::Allow, reason: Reason::Mode(at.mode) };
    }
    if let Some(decision) = planning {
        return decision;
    }
    match judged.allowance() {
        Ok(reason) => Decision { ruling: Ruling::Allow, reason },
        Err(_) if at.hook == Some(HookSays::Allow) => {
            Decision { ruling: Ruling::Allow, reason: Reason::Hook }
        }
        Err(reason) => judged.left_open(reason),
    }
}

/// Whether a rule speaks of a call, as the `if` of a hook means it: a doubt counts as a yes, so that nothing slips past
/// whoever watches.
pub fn concerns(rule: &str, call: &Call<'_>, folders: &Folders, paths: &dyn Paths) -> bool {
    let source = std::sync::Arc::new(RuleSource {
        label: Box::default(),
        base: folders.cwd.clone(),
        cwd: folders.cwd.clone(),
        home: folders.home.clone(),
    });
    let rules = RuleSet::new(vec![Rule::parse(Behavior::Deny, rule, &source)]);
    let deed = call.deed();
    let script = match &deed {
        Deed::Command(line) => Some(shell::parse(line)),
        _ => None,
    };
    let mode = Mode::Default;
    let at = Situation { rules: &rules, mode, limits: &[], folders, paths, hook: None, contained: false };
    let judged = Judged { call, deed: &deed, script: script.as_ref(), at: &at };
    if judged.rule_against(Behavior::Deny).is_some() {
        return true;
    }
    let may_fit = |run: &Run| rules.about_run(Behavior::Deny, run).0 != Fit::No;
    script.is_some_and(|script| {
        rules.speaks_of_commands(Behavior::Deny)
            && (!script.doubts.is_empty() || script.runs.iter().any(may_fit))
    })
}

/// Whether every part of a command line fits one of these patterns.
pub fn all_fit(patterns: &[Box<str>], line: &str) -> bool {
    let patterns: Vec<CommandPattern> = patterns.iter().map(|text| CommandPattern::parse(text)).collect();
    if patterns.is_empty() {
        return false;
    }
    let script = shell::parse(line);
    let fits = |run: &Run| patterns.iter().any(|pattern| pattern.fits(&run.words) == Fit::Yes);
    script.doubts.is_empty() && !script.runs.is_empty() && script.runs.iter().all(fits)
}

/// A call with what was found out about it.
struct Judged<'a> {
    call: &'a Call<'a>,
    deed: &'a Deed<'a>,
    script: Option<&'a Script>,
    at: &'a Situation<'a>,
}

impl<'a> Judged<'a> {
    fn rules(&self) -> &'a RuleSet {
        self.at.rules
    }

    fn place(&self, path: &str) -> Place {
        self.at.folders.place(path, self.at.paths)
    }

    /// Places a word may name, seen from wherever the command may be by then; `None` if that cannot be known.
    fn places(&self, run: &Run, path: &str) -> Option<Vec<Place>> {
        let mut places = vec![self.place(path)];
        if !path.starts_with(['/', '~']) {
            for folder in &run.folders {
                let folder = self.place(folder.known()?);
                places.push(self.at.folders.place_in(&folder.real, path, self.at.paths));
            }
        }
        Some(places)
    }

    /// A rule that takes the call away or puts it to somebody.
    fn rule_against(&self, behavior: Behavior) -> Option<&'a Rule> {
        let rules = self.rules();
        let tool = self.call.tool;
        let about =
            rules.about_tool(behavior, tool).or_else(|| rules.about_call(behavior, self.call, self.deed));
        about.or_else(|| match self.deed {
            Deed::Command(line) => rules
                .about_line(behavior, line)
                .or_else(|| self.script?.runs.iter().find_map(|run| self.run_rule_against(behavior, run))),
            Deed::Look(paths) => {
                paths.iter().find_map(|path| rules.about_place(behavior, tool, false, &self.place(path)))
            }
            Deed::Change(Some(path)) => {
                let place = self.place(path);
                // What may not be read may not be changed either: an answer to an edit shows the text around it.
                rules
                    .about_place(behavior, tool, true, &place)
                    .or_else(|| rules.about_place(behavior, "Read", false, &place))
            }
            Deed::Change(None)
            | Deed::Fetch(_)
            | Deed::Agent(_)
            | Deed::Skill(_)
            | Deed::Harmless
            | Deed::Other => None,
        })
    }

    /// What the agent's own list forbids.
    fn beyond_limits(&self) -> Option<Reason> {
        let broken = self.at.limits.iter().find(|limit| !self.keeps(limit))?;
        let allowed: Vec<String> = broken.any_of.iter().map(|scope| self.describe(scope)).collect();
        Some(Reason::Limit { tool: self.call.tool.into(), allowed: allowed.join(" or ").into() })
    }

    fn describe(&self, scope: &Scope) -> String {
        let tool = self.call.tool;
        match scope {
            Scope::Agents(agents) => format!("{tool}({})", agents.join(", ")),
            Scope::Argument(argument) => format!("{tool}({argument})"),
            Scope::MemoryFolder(_) => format!("{tool} in its memory folder"),
        }
    }

    /// Whether one of a limit's scopes covers the call.
    fn keeps(&self, limit: &Limit) -> bool {
        match self.deed {
            Deed::Command(line) => self.keeps_commands(limit, line),
            Deed::Look(paths) => paths.iter().all(|path| self.keeps_place(limit, path)),
            Deed::Change(path) => path.is_some_and(|path| self.keeps_place(limit, path)),
            Deed::Agent(agent) => {
                let name = agent.unwrap_or("general-purpose");
                let named = |scope: &Scope| matches!(scope, Scope::Agents(names) if names.iter().any(|one| &**one == name));
                limit.any_of.iter().any(named)
            }
            Deed::Fetch(_) | Deed::Skill(_) | Deed::Harmless | Deed::Other => {
                let source = std::sync::Arc::new(RuleSource::new("", "/", "/", None));
                let rules = limit.any_of.iter().filter_map(|scope| match scope {
                    Scope::Argument(argument) => {
                        let text = format!("{}({argument})", self.call.tool);
                        Some(Rule::parse(Behavior::Allow, &text, &source))
                    }
                    Scope::Agents(_) | Scope::MemoryFolder(_) => None,
                });
                let rules = RuleSet::new(rules.collect());
                rules.about_call(Behavior::Allow, self.call, self.deed).is_some()
                    || rules.about_tool(Behavior::Allow, self.call.tool).is_some()
            }
        }
    }

    fn keeps_commands(&self, limit: &Limit, line: &str) -> bool {
        let patterns: Vec<CommandPattern> = limit
            .any_of
            .iter()
            .filter_map(|scope| match scope {
                Scope::Argument(argument) => Some(CommandPattern::parse(argument)),
                Scope::Agents(_) | Scope::MemoryFolder(_) => None,
            })
            .collect();
        if patterns.iter().any(|pattern| pattern.is_exactly(line)) {
            return true;
        }
        let Some(script) = self.script else { return false };
        let fits = |run: &Run| {
            has_harmless_variables(run)
                && run.redirects.iter().all(|redirect| !redirect.writes || is_sink(&redirect.file))
                && patterns.iter().any(|pattern| pattern.fits(&run.words) == Fit::Yes)
        };
        script.doubts.is_empty() && !script.runs.is_empty() && script.runs.iter().all(fits)
    }

    fn keeps_place(&self, limit: &Limit, path: &str) -> bool {
        let folders = self.at.folders;
        let place = self.place(path);
        let source = RuleSource {
            label: Box::default(),
            base: folders.roots.first().cloned().unwrap_or_else(|| folders.cwd.clone()),
            cwd: folders.roots.first().cloned().unwrap_or_else(|| folders.cwd.clone()),
            home: folders.home.clone(),
        };
        let mut patterns = PathIndexBuilder::default();
        for scope in &limit.any_of {
            match scope {
                Scope::Argument(argument) => {
                    patterns.add(0, argument, &source);
                }
                Scope::MemoryFolder(_) if folders.is_own(&place) => return true,
                Scope::MemoryFolder(_) | Scope::Agents(_) => {}
            }
        }
        let patterns = patterns.build();
        place.views().all(|view| patterns.find(view).is_some())
    }

    /// What planning forbids: changing anything. Commands that do more than look are left to a person.
    fn planning(&self) -> Option<Decision> {
        if self.at.mode != Mode::Plan {
            return None;
        }
        let reason = Reason::Mode(Mode::Plan);
        match self.deed {
            Deed::Change(Some(path)) if self.at.folders.is_own(&self.place(path)) => None,
            Deed::Change(_) => Some(Decision { ruling: Ruling::Deny, reason }),
            Deed::Command(_) if self.only_looks().is_err() => Some(Decision { ruling: Ruling::Ask, reason }),
            Deed::Other if self.call.tool != "WebSearch" => Some(Decision { ruling: Ruling::Ask, reason }),
            Deed::Command(_)
            | Deed::Look(_)
            | Deed::Fetch(_)
            | Deed::Agent(_)
            | Deed::Skill(_)
            | Deed::Harmless
            | Deed::Other => None,
        }
    }

    /// Why the call may run without asking, or why not.
    fn allowance(&self) -> Result<Reason, Reason> {
        let rules = self.rules();
        match self.deed {
            Deed::Command(line) => self.command_allowance(line),
            Deed::Look(paths) => {
                let mut reason = Reason::Looks;
                for path in paths {
                    reason = self.look_allowance(path)?;
                }
                Ok(reason)
            }
            Deed::Change(path) => self.change_allowance(*path, self.call.tool),
            Deed::Agent(_) | Deed::Harmless => Ok(Reason::Looks),
            Deed::Fetch(_) | Deed::Skill(_) | Deed::Other => rules
                .about_tool(Behavior::Allow, self.call.tool)
                .or_else(|| rules.about_call(Behavior::Allow, self.call, self.deed))
                .map(Reason::rule)
                .ok_or(Reason::Open),
        }
    }

    fn look_allowance(&self, path: &str) -> Result<Reason, Reason> {
        self.place_allowance(&self.place(path))
    }

    /// A command does what a tool would do; who takes the tool away does not want that done by a command.
    fn tool_is_free(&self, tools: &[&str]) -> Result<(), Reason> {
        if !matches!(self.deed, Deed::Command(_)) {
            return Ok(());
        }
        let against = |tool: &&str| {
            let rules = self.rules();
            rules.about_tool(Behavior::Deny, tool).or_else(|| rules.about_tool(Behavior::Ask, tool))
        };
        match tools.iter().find_map(against) {
            Some(rule) => Err(Reason::rule(rule)),
            None => Ok(()),
        }
    }

    fn place_allowance(&self, place: &Place) -> Result<Reason, Reason> {
        self.tool_is_free(&["Read"])?;
        if self.at.folders.may_read(place) || self.at.folders.is_own(place) {
            return Ok(Reason::Looks);
        }
        let rules = self.rules();
        rules
            .about_tool(Behavior::Allow, "Read")
            .or_else(|| rules.about_place(Behavior::Allow, self.call.tool, false, place))
            .map(Reason::rule)
            .ok_or_else(|| Reason::Outside(place.named.display().to_string().into()))
    }

    fn change_allowance(&self, path: Option<&str>, tool: &str) -> Result<Reason, Reason> {
        let Some(path) = path else {
            return self.rules().about_tool(Behavior::Allow, tool).map(Reason::rule).ok_or(Reason::Open);
        };
        self.changed_place_allowance(&self.place(path), tool)
    }

    fn changed_place_allowance(&self, place: &Place, tool: &str) -> Result<Reason, Reason> {
        self.tool_is_free(&["Edit", "Write"])?;
        let rules = self.rules();
        if self.at.folders.is_own(place) {
            return Ok(Reason::Looks);
        }
        // A rule that names what is protected may open it; one that merely covers it may not.
        let rule = rules.about_place(Behavior::Allow, tool, true, place);
        if let Some((name, why)) = protected_by(place)
            && !rule.is_some_and(|rule| rule.text.contains(&*name))
        {
            return Err(Reason::Protected { path: place.named.display().to_string().into(), why });
        }
        if let Some(rule) = rule {
            return Ok(Reason::rule(rule));
        }
        let bare =
            rules.about_tool(Behavior::Allow, tool).or_else(|| rules.about_tool(Behavior::Allow, "Edit"));
        if !self.at.folders.holds(place) {
            let outside = Reason::Outside(place.named.display().to_string().into());
            return bare.map(Reason::rule).ok_or(outside);
        }
        match self.at.mode {
            Mode::AcceptEdits | Mode::Auto => Ok(Reason::Mode(self.at.mode)),
            Mode::Plan | Mode::DontAsk | Mode::Default | Mode::Bubble | Mode::BypassPermissions => {
                bare.map(Reason::rule).ok_or(Reason::Open)
            }
        }
    }

    /// Puts a call to somebody, or refuses it where nobody may be asked.
    fn ask(&self, reason: Reason) -> Decision {
        let ruling = if self.at.mode == Mode::DontAsk { Ruling::Deny } else { Ruling::Ask };
        Decision { ruling, reason }
    }

    /// What no rule decided is the mode's to decide.
    fn left_open(&self, reason: Reason) -> Decision {
        // What steers other tools, or what a rule wants asked or kept back, is not for a model to wave through.
        let is_for_people =
            matches!(reason, Reason::Protected { .. } | Reason::Rule { .. } | Reason::MayFit { .. });
        let ruling = match self.at.mode {
            Mode::DontAsk => Ruling::Deny,
            Mode::Auto if !is_for_people => Ruling::Judge,
            Mode::Auto | Mode::Plan | Mode::Default | Mode::Bubble | Mode::AcceptEdits => Ruling::Ask,
            Mode::BypassPermissions => Ruling::Allow,
        };
        Decision { ruling, reason }
    }
}
