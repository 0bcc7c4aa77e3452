//! Whether a group of hooks is meant: a matcher against the tool, agent type or source at hand.
//!
//! Knows names and patterns. Refuses to know what is done with a match.

use super::HookEvent;

/// Steps a pattern with look-around may take on one name. Names are short; what needs more is a trap.
const MOST_STEPS: usize = 50_000;
/// A pattern may be compiled to this many bytes.
const LARGEST: usize = 1 << 20;

/// A matcher, ready to be asked.
#[derive(Clone, Debug)]
pub struct Matcher {
    form: Form,
    /// What it is compared with are tools, and one of them has two names.
    for_tools: bool,
}

#[derive(Clone, Debug)]
enum Form {
    All,
    Names(Vec<Box<str>>),
    Pattern(Box<fancy_regex::Regex>),
}

/// A matcher that is no valid pattern. It matches nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the matcher is not a valid pattern: {0}")]
pub struct BadMatcher(String);

impl Matcher {
    /// Reads a matcher as written for an event. Events without one take everything, whatever is written.
    pub fn new(event: HookEvent, written: Option<&str>) -> Result<Self, BadMatcher> {
        let form = match written {
            None | Some("" | "*") => Form::All,
            Some(_) if event.facts().matched.is_none() => Form::All,
            Some(text) if text.chars().all(|c| is_plain(event, c)) => Form::Names(names(event, text)),
            Some(text) => Form::Pattern(Box::new(compile(text)?)),
        };
        Ok(Self { form, for_tools: event.is_about_a_tool() })
    }

    /// Whether it takes everything.
    pub fn is_for_all(&self) -> bool {
        matches!(self.form, Form::All)
    }

    /// Whether it takes what the event is about. `None`, when there is nothing to compare with, is taken by those
    /// that take everything.
    pub fn takes(&self, subject: Option<&str>) -> bool {
        let Some(name) = subject else { return self.is_for_all() };
        let takes_other = || other_name(name).is_some_and(|other| self.takes_name(other));
        self.takes_name(name) || self.for_tools && takes_other()
    }

    fn takes_name(&self, name: &str) -> bool {
        match &self.form {
            Form::All => true,
            Form::Names(names) => names.iter().any(|known| **known == *name),
            // A pattern that takes too many steps is a pattern that does not match.
            Form::Pattern(pattern) => pattern.is_match(name).unwrap_or(false),
        }
    }
}

/// The file names a `FileChanged` matcher asks to be watched: its alternatives, where they are plain names.
pub fn watched_names(matcher: &str) -> Vec<&str> {
    let is_name = |part: &&str| !part.is_empty() && !part.contains(['*', '(', '[', '^', '$', '\\', '+', '?']);
    matcher.split('|').map(str::trim).filter(is_name).collect()
}

/// The tool that starts agents had another name once, and hooks are written with either.
fn other_name(name: &str) -> Option<&'static str> {
    match name {
        "Agent" => Some("Task"),
        "Task" => Some("Agent"),
        _ => None,
    }
}

/// Whether a character leaves a matcher a list of names.
fn is_plain(event: HookEvent, c: char) -> bool {
    let is_word = c.is_ascii_alphanumeric() || matches!(c, '_' | '|');
    // In names of files and of errors the others mean themselves.
    let is_narrow = matches!(event, HookEvent::FileChanged | HookEvent::StopFailure);
    is_word || !is_narrow && matches!(c, '-' | ',' | ' ' | '\t')
}

fn names(event: HookEvent, text: &str) -> Vec<Box<str>> {
    let separators: &[char] = match event {
        HookEvent::FileChanged | HookEvent::StopFailure => &['|'],
        _ => &['|', ','],
    };
    text.split(separators).map(str::trim).filter(|name| !name.is_empty()).map(Box::from).collect()
}

fn compile(text: &str) -> Result<fancy_regex::Regex, BadMatcher> {
    let built =
        fancy_regex::RegexBuilder::new(text).backtrack_limit(MOST_STEPS).delegate_size_limit(LARGEST).build();
    built.map_err(|error| BadMatcher(first_line(&error.to_string())))
}

fn first_line(text: &str) -> String {
    // The last line of a drawn error is the one that says what is wrong.
    let said = text.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    said.strip_prefix("error: ").unwrap_or(said).to_owned()
}

#[cfg(test)]
mod tests;
