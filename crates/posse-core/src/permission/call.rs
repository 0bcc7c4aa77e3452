//! A tool call as rules see it: what kind of thing it would do, and to what.

use serde_json::Value;

use crate::tools;

/// A call to be judged.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The tool, by its current name.
    pub tool: &'a str,
    /// What it is given.
    pub input: &'a Value,
}

/// What a call would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Deed<'a> {
    /// Run a command line.
    Command(&'a str),
    /// Look at these paths.
    Look(Vec<&'a str>),
    /// Change this path; none if the call does not say which.
    Change(Option<&'a str>),
    /// Get a page from this host.
    Fetch(Option<String>),
    /// Start an agent.
    Agent(Option<&'a str>),
    /// Use a skill.
    Skill(&'a str),
    /// Something that touches nothing but the run itself.
    Harmless,
    /// Anything else.
    Other,
}

impl<'a> Call<'a> {
    /// A call by the name the model used.
    pub fn new(name: &'a str, input: &'a Value) -> Self {
        Self { tool: tools::find(name).map_or(name, |tool| tool.name), input }
    }

    fn text(&self, key: &str) -> Option<&'a str> {
        self.input.get(key).and_then(Value::as_str)
    }

    pub(super) fn deed(&self) -> Deed<'a> {
        match self.tool {
            "Bash" => Deed::Command(self.text("command").unwrap_or_default()),
            "Read" => Deed::Look(self.text("file_path").into_iter().collect()),
            "Grep" => Deed::Look(vec![self.text("path").unwrap_or(".")]),
            "Glob" => Deed::Look(self.glob_places()),
            "Edit" | "Write" => Deed::Change(self.text("file_path")),
            "NotebookEdit" => Deed::Change(self.text("notebook_path")),
            "WebFetch" => Deed::Fetch(self.text("url").and_then(host)),
            "Agent" => Deed::Agent(self.text("subagent_type")),
            "Skill" => Deed::Skill(self.text("skill").or_else(|| self.text("command")).unwrap_or_default()),
            "WebSearch" => Deed::Other,
            // Judged by whoever answers the questions they ask.
            "AskUserQuestion" | "EnterPlanMode" | "ExitPlanMode" | "SendMessage" | "StructuredOutput"
            | "TaskStop" => Deed::Harmless,
            // A new copy of the repository costs nobody anything, and leaving it loses nothing. Another's place is
            // looked at like any other.
            "EnterWorktree" => self.text("path").map_or(Deed::Harmless, |path| Deed::Look(vec![path])),
            "ExitWorktree" => Deed::Harmless,
            other if tools::find(other).is_some_and(|tool| tool.read_only) => Deed::Harmless,
            _ => Deed::Other,
        }
    }

    /// A pattern can lead elsewhere than the folder it starts in.
    fn glob_places(&self) -> Vec<&'a str> {
        let mut places = vec![self.text("path").unwrap_or(".")];
        if let Some(pattern) = self.text("pattern") {
            let fixed = pattern.find(['*', '?', '[', '{']).map_or(pattern, |at| &pattern[..at]);
            let is_plain = !pattern.starts_with(['/', '~']) && !pattern.contains("..");
            if !is_plain {
                places.push(if fixed.is_empty() || pattern.contains("..") { "/" } else { fixed });
            }
        }
        places
    }

    /// A top-level value of the input, as rules compare it.
    pub(super) fn parameter(&self, name: &str) -> Option<String> {
        match self.input.get(name)? {
            Value::String(text) => Some(text.clone()),
            Value::Bool(on) => Some(on.to_string()),
            Value::Number(number) => Some(number.to_string()),
            Value::Null | Value::Array(_) | Value::Object(_) => None,
        }
    }
}

/// The host of an address, lower-case, as far as text tells. Userinfo is not part of it.
fn host(url: &str) -> Option<String> {
    let url = url.trim();
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#', '\\']).next()?;
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let host = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next()?,
        None => host.split(':').next()?,
    };
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    (!host.is_empty()).then_some(host)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn hosts() {
        for (url, expected) in [
            ("https://Example.com/x", Some("example.com")),
            ("https://user:pw@evil.com:8080/?q=@example.com", Some("evil.com")),
            ("https://example.com@evil.com/", Some("evil.com")),
            ("https://evil.com\\@example.com", Some("evil.com")),
            ("http://[::1]:80/", Some("::1")),
            ("example.com", Some("example.com")),
            ("https://example.com.", Some("example.com")),
            ("https:///x", None),
        ] {
            assert_eq!(host(url).as_deref(), expected, "{url}");
        }
    }

    #[test]
    fn a_glob_that_leads_elsewhere_is_seen_there() {
        let places = |input: Value| match Call::new("Glob", &input).deed() {
            Deed::Look(places) => places.join(" "),
            other => format!("{other:?}"),
        };
        assert_eq!(places(json!({"pattern": "**/*.rs"})), ".");
        assert_eq!(places(json!({"pattern": "/etc/*"})), ". /etc/");
        assert_eq!(places(json!({"pattern": "a/../../*"})), ". /");
        assert_eq!(places(json!({"pattern": "*", "path": "/x"})), "/x");
    }
}
