//! Permission rules, read and put in order so that a call finds those that fit without trying all.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::call::{Call, Deed};
use super::command::{CommandPattern, Fit, Text};
use super::path::{PathIndex, PathIndexBuilder};
use super::{Behavior, Place};
use crate::shell::{Run, Word};
use crate::tools::{self, McpPattern, ToolPattern};

/// Where a rule comes from, and what its paths are relative to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleSource {
    /// For people: a file, a flag, "this session".
    pub label: Box<str>,
    /// What `/x` in a rule starts at.
    pub base: PathBuf,
    /// What `x` in a rule starts at.
    pub cwd: PathBuf,
    /// What `~/x` in a rule starts at.
    pub home: Option<PathBuf>,
}

impl RuleSource {
    /// A source.
    pub fn new(label: &str, base: impl Into<PathBuf>, cwd: impl Into<PathBuf>, home: Option<&str>) -> Self {
        Self { label: label.into(), base: base.into(), cwd: cwd.into(), home: home.map(PathBuf::from) }
    }
}

/// One rule.
#[derive(Clone, Debug)]
pub struct Rule {
    /// What it says.
    pub behavior: Behavior,
    /// As written.
    pub text: Box<str>,
    /// Who wrote it.
    pub source: Arc<RuleSource>,
    what: What,
}

/// What a rule is about.
#[derive(Clone, Debug)]
enum What {
    /// `*`.
    Everything,
    /// `Bash`.
    Tool(Box<str>),
    /// `Web*`, `mcp__*__delete`: the pieces between the stars.
    Names(Box<str>),
    /// `mcp__server`, `mcp__server__tool`.
    Mcp(McpPattern),
    /// `Bash(git diff:*)`.
    Command(CommandPattern),
    /// `Edit(src/**)`.
    Path { tool: &'static str, pattern: Box<str> },
    /// `WebFetch(domain:example.com)`.
    Domain(Box<str>),
    /// `Agent(reviewer)`.
    Agent(Box<str>),
    /// `Skill(name)`, `Skill(name:*)`.
    Skill { name: Box<str>, open_end: bool },
    /// `WebSearch(x)`: nothing is known of what is inside. Such a rule takes the whole tool away, but gives nothing.
    Unread(Box<str>),
    /// `Agent(model:opus)`.
    Parameter { tool: Box<str>, name: Box<str>, value: Box<str> },
}

/// Inputs of `Agent` that a rule may name; anything else before a colon belongs to an agent's name.
const AGENT_INPUTS: &[&str] = &[
    "cwd",
    "description",
    "effort",
    "isolation",
    "mode",
    "model",
    "name",
    "prompt",
    "run_in_background",
    "subagent_type",
    "team_name",
];
/// Inputs of `Bash` that a rule may name; anything else before a colon belongs to a command.
const BASH_INPUTS: &[&str] = &["dangerouslyDisableSandbox", "run_in_background"];
/// Tools whose rules speak of paths that are changed.
const CHANGERS: [&str; 3] = ["Edit", "NotebookEdit", "Write"];
/// Tools whose rules speak of paths.
const FILE_TOOLS: &[&str] = &["Edit", "Glob", "Grep", "NotebookEdit", "Read", "Write"];

impl Rule {
    /// Reads a rule. Every text is some rule; one that fits nothing is reported where settings are read.
    pub fn parse(behavior: Behavior, text: &str, source: &Arc<RuleSource>) -> Self {
        let text = text.trim();
        // Whoever wants something kept from happening means the tool, however its name is spelt.
        let meant = if behavior == Behavior::Allow { None } else { in_right_case(text) };
        let what = What::parse(meant.as_deref().unwrap_or(text));
        Self { behavior, text: text.into(), source: Arc::clone(source), what }
    }
}

impl What {
    fn parse(text: &str) -> Self {
        let (name, inside) = match text.split_once('(') {
            Some((name, rest)) if !name.trim().is_empty() => {
                (name.trim(), Some(rest.strip_suffix(')').unwrap_or(rest).trim()))
            }
            Some(_) | None => (text, None),
        };
        let inside = inside.filter(|inside| !inside.is_empty() && *inside != "*");
        match inside {
            None => Self::of_name(name),
            Some(inside) => Self::scoped(tools::find(name).map_or(name, |tool| tool.name), inside),
        }
    }

    fn of_name(name: &str) -> Self {
        if name == "*" {
            return Self::Everything;
        }
        // A star may stand for the tools of a server that is named; anything wider is a pattern for names.
        let of_a_server = |name: &str| {
            let (server, tool) = name.strip_prefix("mcp__")?.split_once("__")?;
            Some(!server.is_empty() && !server.contains('*') && !tool.trim_end_matches('*').contains('*'))
        };
        if name.contains('*') && of_a_server(name) != Some(true) {
            let of_servers = name.starts_with("mcp__").then(|| McpPattern::spelled(name));
            return Self::Names(of_servers.as_deref().unwrap_or(name).into());
        }
        match ToolPattern::parse(name) {
            ToolPattern::All => Self::Everything,
            ToolPattern::Mcp(pattern) => Self::Mcp(pattern),
            ToolPattern::Tool { name, scope: _ } => Self::Tool(name),
        }
    }

    fn scoped(tool: &str, inside: &str) -> Self {
        let parameter = inside.split_once(':').map(|(name, value)| (name.trim(), value.trim()));
        match (tool, parameter) {
            ("Bash", Some((name, value))) if BASH_INPUTS.contains(&name) => {
                Self::parameter(tool, name, value)
            }
            ("Bash", _) => Self::Command(CommandPattern::parse(inside)),
            ("WebFetch", Some(("domain", domain))) => Self::Domain(domain.to_ascii_lowercase().into()),
            ("Agent", Some((name, value))) if AGENT_INPUTS.contains(&name) => {
                Self::parameter(tool, name, value)
            }
            ("Agent", _) => Self::Agent(inside.into()),
            ("Skill", _) => {
                let head = inside.strip_suffix(":*").or_else(|| inside.strip_suffix(" *"));
                Self::Skill { name: head.unwrap_or(inside).into(), open_end: head.is_some() }
            }
            _ => match (FILE_TOOLS.iter().find(|known| **known == tool), parameter) {
                (Some(tool), _) => Self::Path { tool, pattern: inside.into() },
                (None, Some((name, value))) => Self::parameter(tool, name, value),
                (None, None) => Self::Unread(tool.into()),
            },
        }
    }

    fn parameter(tool: &str, name: &str, value: &str) -> Self {
        Self::Parameter { tool: tool.into(), name: name.into(), value: value.into() }
    }
}

/// Rules of one behaviour, by what a call can be found by.
#[derive(Clone, Debug, Default)]
struct Index {
    everything: Option<usize>,
    tools: HashMap<Box<str>, usize>,
    by_name: Vec<usize>,
    programs: HashMap<Box<str>, Vec<usize>>,
    open_programs: Vec<usize>,
    /// By tool name: rules about agents, skills, domains and inputs.
    special: HashMap<Box<str>, Vec<usize>>,
    paths: HashMap<&'static str, PathIndex>,
}

/// All rules that count, ready to be asked.
#[derive(Clone, Debug, Default)]
pub struct RuleSet {
    rules: Vec<Rule>,
    allow: Index,
    ask: Index,
    deny: Index,
}

impl RuleSet {
    /// Puts rules in order.
    pub fn new(rules: Vec<Rule>) -> Self {
        let [allow, ask, deny] =
            [Behavior::Allow, Behavior::Ask, Behavior::Deny].map(|behavior| Index::new(&rules, behavior));
        Self { rules, allow, ask, deny }
    }

    /// The rules, in the order they were given.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The same with more rules.
    pub fn with(&self, more: impl IntoIterator<Item = Rule>) -> Self {
        Self::new(self.rules.iter().cloned().chain(more).collect())
    }

    /// The same without the rules for which `drop` holds.
    pub fn without(&self, drop: impl Fn(&Rule) -> bool) -> Self {
        Self::new(self.rules.iter().filter(|rule| !drop(rule)).cloned().collect())
    }

    fn index(&self, behavior: Behavior) -> &Index {
        match behavior {
            Behavior::Allow => &self.allow,
            Behavior::Ask => &self.ask,
            Behavior::Deny => &self.deny,
        }
    }

    fn rule(&self, at: Option<usize>) -> Option<&Rule> {
        at.and_then(|at| self.rules.get(at))
    }

    /// A rule about the tool as such, whatever it is given.
    pub(super) fn about_tool(&self, behavior: Behavior, tool: &str) -> Option<&Rule> {
        let index = self.index(behavior);
        let named = index.tools.get(tool).copied().or(index.everything);
        // A star in a name takes away or asks; to allow, a tool has to be named.
        let by_name = || {
            index.by_name.iter().copied().find(|at| match &self.rules[*at].what {
                What::Mcp(pattern) => pattern.matches(tool),
                What::Names(glob) => behavior != Behavior::Allow && star_match(glob, tool),
                What::Everything
                | What::Tool(_)
                | What::Command(_)
                | What::Path { .. }
                | What::Domain(_)
                | What::Agent(_)
                | What::Skill { .. }
                | What::Unread(_)
                | What::Parameter { .. } => false,
            })
        };
        self.rule(named.or_else(by_name))
    }

    /// A rule about what a call is given, other than commands and paths.
    pub(super) fn about_call(&self, behavior: Behavior, call: &Call<'_>, deed: &Deed<'_>) -> Option<&Rule> {
        let candidates = self.index(behavior).special.get(call.tool)?;
        let fits = |at: &&usize| match (&self.rules[**at].what, deed) {
            (What::Domain(domain), Deed::Fetch(Some(host))) => is_in_domain(host, domain),
            (What::Agent(name), Deed::Agent(agent)) => {
                let agent = agent.map_or("general-purpose", |agent| agent);
                &**name == agent
            }
            (What::Skill { name, open_end }, Deed::Skill(skill)) => {
                let (skill, _) = skill.split_once(' ').unwrap_or((skill, ""));
                let skill = skill.trim_start_matches('/');
                &**name == skill
                    || (*open_end && skill.strip_prefix(&**name).is_some_and(|rest| rest.starts_with(':')))
            }
            (What::Parameter { name, value, .. }, _) => {
                behavior != Behavior::Allow
                    && call.parameter(name).is_some_and(|given| star_match(value, &given))
            }
            _ => false,
        };
        self.rule(candidates.iter().find(fits).copied())
    }

    /// A rule that is this very command line.
    pub(super) fn about_line(&self, behavior: Behavior, source: &str) -> Option<&Rule> {
        let index = self.index(behavior);
        let program = source.split_whitespace().next().unwrap_or_default();
        let near = index.programs.get(program).into_iter().flatten().chain(&index.open_programs);
        let exactly = |at: &&usize| match &self.rules[**at].what {
            What::Command(pattern) => pattern.is_exactly(source),
            _ => false,
        };
        self.rule(near.into_iter().find(exactly).copied())
    }

    /// The rule that fits a run best, and how well.
    pub(super) fn about_run(&self, behavior: Behavior, run: &Run) -> (Fit, Option<&Rule>) {
        let index = self.index(behavior);
        let mut best = self.about_words(index, &run.words);
        if behavior == Behavior::Allow {
            return best;
        }
        // What takes away sees more: the wrappers, and the program without its folder.
        let views = run.wrapped.iter().cloned().chain(bare_program(&run.words));
        for words in views.chain(run.wrapped.iter().filter_map(|words| bare_program(words))) {
            let found = self.about_words(index, &words);
            match (best.0, found.0) {
                (Fit::Yes, _) => break,
                (_, Fit::Yes) | (Fit::No, Fit::Maybe) => best = found,
                (Fit::Maybe | Fit::No, Fit::Maybe | Fit::No) => {}
            }
        }
        best
    }

    fn about_words(&self, index: &Index, words: &[Word]) -> (Fit, Option<&Rule>) {
        let Some(first) = words.first() else { return (Fit::No, None) };
        let near: &mut dyn Iterator<Item = &usize> = match first {
            Word::Known(program) => {
                &mut index.programs.get(program).into_iter().flatten().chain(&index.open_programs)
            }
            // A program that is not known may be any.
            Word::Open(_) => &mut index.programs.values().flatten().chain(&index.open_programs),
        };
        let text = Text::of(words);
        let mut maybe = None;
        for at in near {
            let What::Command(pattern) = &self.rules[*at].what else { continue };
            match pattern.fits_text(&text) {
                Fit::Yes => return (Fit::Yes, self.rule(Some(*at))),
                Fit::Maybe => maybe = maybe.or(Some(*at)),
                Fit::No => {}
            }
        }
        match maybe {
            Some(at) => (Fit::Maybe, self.rule(Some(at))),
            None => (Fit::No, None),
        }
    }

    /// Whether any rule keeps files from being read.
    pub fn denies_some_reading(&self) -> bool {
        self.speaks_of_reading(Behavior::Deny)
    }

    /// Whether a rule keeps this place from being read.
    pub fn denies_reading(&self, place: &Place) -> bool {
        self.about_place(Behavior::Deny, "Read", false, place).is_some()
    }

    /// Whether any rule of this behaviour speaks of commands.
    pub(super) fn speaks_of_commands(&self, behavior: Behavior) -> bool {
        let index = self.index(behavior);
        !index.programs.is_empty() || !index.open_programs.is_empty()
    }

    /// Whether any rule of this behaviour speaks of paths that are read.
    pub(super) fn speaks_of_reading(&self, behavior: Behavior) -> bool {
        self.index(behavior).paths.get("Read").is_some_and(|paths| !paths.is_empty())
    }

    /// Whether any rule of this behaviour speaks of paths that are changed.
    pub(super) fn speaks_of_changing(&self, behavior: Behavior) -> bool {
        let paths = &self.index(behavior).paths;
        CHANGERS.iter().any(|tool| paths.get(tool).is_some_and(|paths| !paths.is_empty()))
    }

    /// Some rule of this behaviour about paths that are read.
    pub(super) fn any_about_reading(&self, behavior: Behavior) -> Option<&Rule> {
        self.rules
            .iter()
            .find(|rule| rule.behavior == behavior && matches!(rule.what, What::Path { tool: "Read", .. }))
    }

    /// A rule about a place that a tool looks at or changes.
    ///
    /// `Read` rules hold for every tool that looks, `Edit` rules for every tool that changes. To allow, a rule must fit
    /// both views of the place; to deny or ask, one is enough.
    pub(super) fn about_place(
        &self,
        behavior: Behavior,
        tool: &str,
        changes: bool,
        place: &Place,
    ) -> Option<&Rule> {
        let index = self.index(behavior);
        let kinds = match (changes, tool) {
            (false, "Grep" | "Glob") => vec![tool, "Read"],
            (false, _) => vec!["Read"],
            (true, "Write" | "NotebookEdit") => vec![tool, "Edit"],
            // A command may do what any of them does.
            (true, "Bash") if behavior != Behavior::Allow => CHANGERS.to_vec(),
            (true, _) => vec!["Edit"],
        };
        let find = |view: &Path| {
            kinds.iter().filter_map(|kind| index.paths.get(*kind)).find_map(|paths| paths.find(view))
        };
        let mut found = None;
        for view in place.views() {
            match (find(view), behavior) {
                (Some(at), Behavior::Ask | Behavior::Deny) => return self.rule(Some(at)),
                (Some(at), Behavior::Allow) => found = found.or(Some(at)),
                (None, Behavior::Allow) => return None,
                (None, Behavior::Ask | Behavior::Deny) => {}
            }
        }
        self.rule(found)
    }
}

impl Index {
    fn new(rules: &[Rule], behavior: Behavior) -> Self {
        let mut index = Self::default();
        let mut paths: HashMap<&'static str, PathIndexBuilder> = HashMap::new();
        for (at, rule) in rules.iter().enumerate().filter(|(_, rule)| rule.behavior == behavior) {
            match &rule.what {
                What::Everything => index.everything = index.everything.or(Some(at)),
                What::Tool(name) => {
                    index.tools.entry(name.clone()).or_insert(at);
                }
                What::Unread(_) if behavior == Behavior::Allow => {}
                What::Unread(name) => {
                    index.tools.entry(name.clone()).or_insert(at);
                }
                What::Names(_) | What::Mcp(_) => index.by_name.push(at),
                What::Command(pattern) => match &pattern.program {
                    Some(program) => index.programs.entry(program.clone()).or_default().push(at),
                    None => index.open_programs.push(at),
                },
                What::Path { tool, pattern } => {
                    let understood = paths.entry(tool).or_default().add(at, pattern, &rule.source);
                    if !understood && behavior != Behavior::Allow {
                        // What takes away and cannot be read takes away more, not less.
                        index.tools.entry((*tool).into()).or_insert(at);
                    }
                }
                What::Domain(_) => index.special.entry("WebFetch".into()).or_default().push(at),
                What::Agent(_) => index.special.entry("Agent".into()).or_default().push(at),
                What::Skill { .. } => index.special.entry("Skill".into()).or_default().push(at),
                What::Parameter { tool, .. } => index.special.entry(tool.clone()).or_default().push(at),
            }
        }
        index.paths = paths.into_iter().map(|(tool, builder)| (tool, builder.build())).collect();
        index
    }
}

/// A rule with the name of its tool in the right case, if it is not.
fn in_right_case(text: &str) -> Option<String> {
    let (name, rest) = text.split_at(text.find('(').unwrap_or(text.len()));
    let known = tools::ALL.iter().find(|tool| tool.name.eq_ignore_ascii_case(name.trim()))?;
    (known.name != name.trim()).then(|| format!("{}{rest}", known.name))
}

/// The words with the program's folder taken off, if it has one.
fn bare_program(words: &[Word]) -> Option<Vec<Word>> {
    let (_, name) = words.first()?.known()?.rsplit_once('/')?;
    let first = std::iter::once(Word::Known(name.into()));
    Some(first.chain(words[1..].iter().cloned()).collect())
}

fn is_in_domain(host: &str, domain: &str) -> bool {
    match domain.strip_prefix("*.") {
        Some(parent) => host == parent || host.strip_suffix(parent).is_some_and(|rest| rest.ends_with('.')),
        None => domain == "*" || host == domain,
    }
}

/// Whether a text fits a pattern in which a star stands for anything.
pub(super) fn star_match(pattern: &str, text: &str) -> bool {
    let mut pieces = pattern.split('*');
    let Some(mut rest) = text.strip_prefix(pieces.next().unwrap_or_default()) else { return false };
    let mut pieces: Vec<&str> = pieces.collect();
    let Some(last) = pieces.pop() else { return rest.is_empty() };
    for piece in pieces {
        match rest.find(piece) {
            Some(at) => rest = &rest[at + piece.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}
