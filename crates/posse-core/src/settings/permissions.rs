//! Permission rules as written in settings. A rule that denies is never lost for its form.

use super::{Report, SetIn};
use crate::diagnostic::{Problem, Rule};
use crate::node::{Node, Value};
use crate::permission::Behavior;
use crate::text::Location;
use crate::tools::{self, NotATool, Scope, ToolPattern, split_entries};

/// A permission rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PermissionRule {
    /// What it says of the calls it matches.
    pub behavior: Behavior,
    /// As written.
    pub text: Box<str>,
    /// What it means.
    pub pattern: ToolPattern,
    /// Who wrote it.
    pub by: SetIn,
    /// Where in that file.
    pub location: Option<Location>,
}

/// Reads the rules of one key: a list, one text, or the object form of older versions.
pub(super) fn read(behavior: Behavior, node: &Node, by: &SetIn, report: &mut Report) -> Vec<PermissionRule> {
    let mut reader = Reader { behavior, by, report };
    match &node.value {
        Value::List(items) => items.iter().filter_map(|item| reader.item(item)).collect(),
        Value::Text(text) => {
            let rules = split_entries(text);
            reader.read_as_list(node, rules.len());
            rules.into_iter().filter_map(|(_, rule)| reader.text(rule, node)).collect()
        }
        Value::Map(_) => {
            reader.read_as_list(node, 1);
            reader.item(node).into_iter().collect()
        }
        // The table lets neither number nor flag through.
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

struct Reader<'a> {
    behavior: Behavior,
    by: &'a SetIn,
    report: &'a mut Report,
}

impl Reader<'_> {
    fn key(&self) -> String {
        format!("`permissions.{}`", self.behavior.word())
    }

    /// What becomes of calls through a rule that matches none.
    fn nothing(&self) -> &'static str {
        match self.behavior {
            Behavior::Allow => "allows nothing",
            Behavior::Ask => "asks for nothing",
            Behavior::Deny => "denies nothing",
        }
    }

    fn read_as_list(&mut self, node: &Node, rules: usize) {
        let text = format!("{} takes a list of rules, not {}", self.key(), node.kind());
        let problem = Problem::at(Rule::InvalidSetting, node.span, text);
        self.report.problem(problem.hint(format!("read as a list of {rules}")));
    }

    /// A rule that looks like one and denies nothing is worse than none: its author relies on it.
    fn malformed(&mut self, problem: Problem) {
        match self.behavior {
            Behavior::Deny => self.report.refuse(problem),
            Behavior::Allow | Behavior::Ask => self.report.problem(problem),
        }
    }

    fn item(&mut self, item: &Node) -> Option<PermissionRule> {
        if let Some(text) = item.as_text() {
            return self.text(text, item);
        }
        let first = |keys: &[&str]| keys.iter().find_map(|key| item.text_of(key));
        let Some(tool) = first(&["toolName", "tool", "name"]) else {
            let text = format!("{} takes rules such as \"Bash(rm:*)\", not {}", self.key(), item.kind());
            self.malformed(Problem::at(Rule::InvalidSetting, item.span, text));
            return None;
        };
        let content = first(&["ruleContent", "specifier", "pattern", "agent", "content"]);
        // A condition that is not understood may make a denial broader, never a permission.
        let condition = item.as_map().unwrap_or_default().iter().find(|entry| entry.node.as_text().is_none());
        if let Some(odd) = condition.filter(|_| self.behavior != Behavior::Deny && content.is_none()) {
            let text = format!("a rule that cannot be understood {}", self.nothing());
            self.malformed(Problem::at(Rule::InvalidSetting, odd.node.span, text));
            return None;
        }
        let rule: Box<str> = match content {
            Some(content) => format!("{tool}({content})").into(),
            None => tool,
        };
        let text = "a rule as an object: the form of older versions";
        let problem = Problem::at(Rule::OldSpelling, item.span, text);
        self.report.problem(problem.hint(format!("write \"{rule}\"")));
        self.text(&rule, item)
    }

    fn text(&mut self, text: &str, node: &Node) -> Option<PermissionRule> {
        let text = text.trim();
        let at = |text: String| Problem::at(Rule::InvalidSetting, node.span, text);
        if text.is_empty() {
            self.report.problem(at(format!("an empty rule {}", self.nothing())));
            return None;
        }
        if ToolPattern::is_unbalanced(text) {
            let said = format!("unbalanced parentheses: the rule `{text}` {}", self.nothing());
            self.malformed(at(said).hint("write \"Tool\" or \"Tool(pattern)\""));
            return None;
        }
        let pattern = ToolPattern::parse(text);
        if let Some(problem) = self.doubt(&pattern, text, node) {
            self.report.problem(problem);
        }
        Some(PermissionRule {
            behavior: self.behavior,
            text: text.into(),
            pattern,
            by: self.by.clone(),
            location: Some(self.report.locate(node.span)),
        })
    }

    /// Rules that are kept as they are, although they match nothing.
    fn doubt(&self, pattern: &ToolPattern, text: &str, node: &Node) -> Option<Problem> {
        let at = |rule, said: String| Problem::at(rule, node.span, said);
        let ToolPattern::Tool { name, scope } = pattern else { return None };
        if let Some(Scope::Agents(agents)) = scope {
            let said = match agents.as_slice() {
                [one] if one.contains('*') && !one.contains(':') => {
                    format!("a rule names an agent by its whole name: `{text}` {}", self.nothing())
                }
                [_] => return None,
                _ => format!("a rule names one agent: `{text}` {}", self.nothing()),
            };
            return Some(at(Rule::InvalidSetting, said).hint("write a rule for each agent"));
        }
        // Names of tools may hold wildcards where a rule restricts.
        if tools::find(name).is_some() || (self.behavior != Behavior::Allow && name.contains('*')) {
            return None;
        }
        let said = format!("no tool is called `{name}`; the rule {}", self.nothing());
        match tools::why_not_a_tool(name) {
            // A rule for a tool that posse does not have is right where that tool is.
            NotATool::Elsewhere => None,
            NotATool::Retired(instead) => {
                let said = format!("`{name}` no longer exists; the rule {}", self.nothing());
                Some(at(Rule::RetiredTool, said).hint(instead))
            }
            NotATool::Case(ours) | NotATool::Foreign(ours) | NotATool::Misspelt(ours) => {
                Some(at(Rule::UnknownTool, said).hint(format!("did you mean `{ours}`?")))
            }
            NotATool::Unknown => Some(at(Rule::UnknownTool, said)),
        }
    }
}
