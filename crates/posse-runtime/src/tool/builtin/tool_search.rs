//! ToolSearch: finds tools whose schemas were kept back, and hands them over. Ranks names and descriptions; whether a
//! tool may then be used is decided elsewhere.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::tool::lenient;
use crate::tool::{Deferred, Tool, ToolCx, ToolOutput, ToolSpec};

/// Tools shown if the call does not say.
const DEFAULT_RESULTS: u64 = 5;

/// A call.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct ToolSearchInput {
    /// `select:Name,Other`, or keywords; `+word` must be in the name
    query: String,
    /// Default 5
    #[serde(default, deserialize_with = "lenient::number")]
    max_results: Option<u64>,
}

/// The tool.
#[derive(Clone, Debug, Default)]
pub struct ToolSearch {
    deferred: Deferred,
}

impl ToolSearch {
    /// Searches these.
    pub fn new(deferred: Deferred) -> Self {
        Self { deferred }
    }
}

impl Tool for ToolSearch {
    const NAME: &'static str = "ToolSearch";
    type Input = ToolSearchInput;

    fn description(&self) -> String {
        let mut text = String::from(
            "Loads tools that are known by name only; once its definition stands in the answer, a tool can be called.",
        );
        // All of them, also those that are loaded: the text must not change from request to request, or nothing of
        // it can be cached.
        let names: Vec<String> = self.deferred.specs().iter().map(|spec| spec.name.to_string()).collect();
        if !names.is_empty() {
            text.push_str(&format!(" There are: {}", names.join(", ")));
        }
        text
    }

    fn runs_alone(&self, _: &Self::Input) -> bool {
        false
    }

    async fn run(&self, input: Self::Input, _: &ToolCx) -> ToolOutput {
        let specs = self.deferred.specs();
        let query = input.query.trim();
        let limit =
            usize::try_from(input.max_results.unwrap_or(DEFAULT_RESULTS)).unwrap_or(usize::MAX).max(1);
        let (found, missing) = match query.strip_prefix("select:") {
            Some(names) => select(names, &specs),
            None => (ranked(query, &specs, limit), Vec::new()),
        };
        let names: Vec<&str> = found.iter().map(|spec| &*spec.name).collect();
        self.deferred.load(names.iter().copied());
        let structured = json!({ "matches": names, "query": query, "total_deferred_tools": specs.len() });
        let mut text = String::new();
        if !found.is_empty() {
            text.push_str("<functions>\n");
            for spec in &found {
                text.push_str(&format!("<function>{}</function>\n", definition(spec)));
            }
            text.push_str("</functions>");
        } else if missing.is_empty() {
            text.push_str("No matching tools. Try other words, or select:Name with a name you were given.");
        }
        if !missing.is_empty() {
            let gap = if text.is_empty() { "" } else { "\n\n" };
            text.push_str(&format!("{gap}There are no such deferred tools: {}", missing.join(", ")));
        }
        let output = if found.is_empty() && !missing.is_empty() {
            ToolOutput::error(text)
        } else {
            ToolOutput::text(text)
        };
        output.with(structured)
    }
}

/// A tool as the model knows tools.
fn definition(spec: &ToolSpec) -> serde_json::Value {
    let ToolSpec { name, description, input_schema } = spec;
    json!({ "description": description, "name": name, "parameters": input_schema })
}

/// Tools by name, in the order asked for; upper and lower case do not matter. And names that are not there.
fn select<'a>(names: &str, specs: &'a [ToolSpec]) -> (Vec<&'a ToolSpec>, Vec<String>) {
    let (mut found, mut missing): (Vec<&ToolSpec>, Vec<String>) = (Vec::new(), Vec::new());
    for name in names.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        let same = |spec: &&ToolSpec| spec.name.eq_ignore_ascii_case(name);
        match specs.iter().find(|spec| &*spec.name == name).or_else(|| specs.iter().find(same)) {
            Some(spec) if found.iter().any(|known| known.name == spec.name) => {}
            Some(spec) => found.push(spec),
            None => missing.push(name.to_owned()),
        }
    }
    (found, missing)
}

/// The best matches of a query, best first; equals in the order of the list.
fn ranked<'a>(query: &str, specs: &'a [ToolSpec], limit: usize) -> Vec<&'a ToolSpec> {
    // A name is a query, too, and can only mean one tool.
    if let Some(spec) = specs.iter().find(|spec| spec.name.eq_ignore_ascii_case(query)) {
        return vec![spec];
    }
    let query = query.to_lowercase();
    let (required, wished): (Vec<&str>, Vec<&str>) =
        query.split_whitespace().partition(|word| word.len() > 1 && word.starts_with('+'));
    let required: Vec<&str> = required.iter().map(|word| word.trim_start_matches('+')).collect();
    let mut found: Vec<(usize, &ToolSpec)> = specs
        .iter()
        .filter_map(|spec| {
            let (name, parts) = (spec.name.to_lowercase(), parts(&spec.name));
            let description = spec.description.to_lowercase();
            if !required.iter().all(|word| name.contains(word)) {
                return None;
            }
            let score = |words: &[&str]| {
                words.iter().map(|word| score(word, &name, &parts, &description)).sum::<usize>()
            };
            let total = score(&required) + score(&wished);
            (total > 0).then_some((total, spec))
        })
        .collect();
    found.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    found.into_iter().take(limit).map(|(_, spec)| spec).collect()
}

/// How well a word fits: best as a part of the name, then inside one, then in the description.
fn score(word: &str, name: &str, parts: &[String], description: &str) -> usize {
    let in_name = if parts.iter().any(|part| part == word) {
        10
    } else if name.contains(word) {
        5
    } else {
        0
    };
    let mut words = description.split(|c: char| !c.is_alphanumeric());
    let in_description = if words.any(|known| known == word) {
        2
    } else {
        usize::from(word.chars().count() > 2 && description.contains(word))
    };
    in_name + in_description
}

/// The words of a name: `mcp__github__createIssue` has `mcp`, `github`, `create`, `issue`.
fn parts(name: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut was_lower = false;
    for c in name.chars() {
        let starts_word = c.is_uppercase() && was_lower;
        was_lower = c.is_lowercase() || c.is_ascii_digit();
        if !c.is_alphanumeric() || starts_word {
            parts.push(String::new());
        }
        if let Some(part) = parts.last_mut().filter(|_| c.is_alphanumeric()) {
            part.extend(c.to_lowercase());
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

#[cfg(test)]
mod tests;
