//! The header of a Markdown file: where it begins and ends, and what it says, however carelessly it was typed.
//!
//! Three attempts, each only after the one before failed: strict YAML; the reference's repair (single lines are quoted,
//! see [`repair`]); posse's own (field by field, see [`salvage`]). Every repair leaves a [`Problem`] with a fix that
//! keeps the meaning. This room knows the shapes of fields from a [`Vocabulary`]; it refuses to know what they mean, so
//! agents, skills and commands share it.

mod fence;
mod repair;
mod salvage;

use crate::diagnostic::{Fix, Problem, Rule};
use crate::node::{Entry, Value};
use crate::text::Span;
use crate::yaml::{self, Document, YamlError};

pub use fence::MAX_HEADER;

/// How a field's value is written, as far as repairing it needs to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Text that may run over several lines.
    Prose,
    /// One short scalar.
    Word,
    /// Words, as a list or separated by commas.
    List,
    /// Anything nested.
    Tree,
}

/// Which keys a kind of file knows, and how their values are written.
pub type Vocabulary = fn(&str) -> Option<Shape>;

/// What a file's beginning turned out to be.
#[derive(Clone, Debug, PartialEq)]
pub enum Header {
    /// No frontmatter: the file is documentation.
    Absent,
    /// Meant as frontmatter, but unusable; the problems say why. The span is the text that follows it.
    Broken(Span),
    /// The fields in the order written, and the span of the text that follows, untrimmed.
    Found(Vec<Entry>, Span),
}

/// Reads the header of a file. Never fails, never panics; spans are bytes of `text`.
pub fn read(text: &str, vocabulary: Vocabulary) -> (Header, Vec<Problem>) {
    let mut problems = Vec::new();
    let fence = match fence::find(text, &mut problems) {
        fence::Found::None => return (Header::Absent, problems),
        fence::Found::Unusable => return (Header::Broken(Span::new(0, text.len())), problems),
        fence::Found::Fence(fence) => fence,
    };
    let yaml = &text[fence.yaml.range()];
    let base = fence.yaml.start as usize;
    let before = problems.len();
    let header = match read_yaml(yaml, vocabulary, &mut problems) {
        Content::Fields(entries) => Header::Found(entries, fence.body),
        Content::Unclosed(entries, body) => Header::Found(entries, Span::new(base + body, text.len())),
        Content::Nothing => Header::Absent,
        Content::Unusable => Header::Broken(fence.body),
    };
    for problem in &mut problems[before..] {
        shift_problem(problem, base);
    }
    let header = match header {
        Header::Found(mut entries, body) => {
            for entry in &mut entries {
                entry.key_span = shift(entry.key_span, base);
                entry.node.map_spans(&|span| shift(span, base));
            }
            Header::Found(entries, body)
        }
        other => other,
    };
    (header, problems)
}

enum Content {
    Fields(Vec<Entry>),
    /// Fields, and where the prompt begins inside what was taken for the header.
    Unclosed(Vec<Entry>, usize),
    Nothing,
    Unusable,
}

fn read_yaml(yaml: &str, vocabulary: Vocabulary, problems: &mut Vec<Problem>) -> Content {
    if let Some(document) = yaml::parse_plain(yaml) {
        return fields_of(document, problems).map_or(Content::Nothing, Content::Fields);
    }
    let error = match yaml::parse(yaml) {
        Ok(document) => {
            let is_text = matches!(document.root.value, Value::Text(_));
            return match fields_of(document, problems) {
                Some(entries) => Content::Fields(entries),
                // `name:reviewer` without the blank is one long word to YAML.
                None if is_text => salvage_or(yaml, vocabulary, problems, Content::Nothing),
                None => Content::Nothing,
            };
        }
        Err(YamlError::SeveralDocuments) => return Content::Nothing,
        Err(error) => error,
    };
    if let YamlError::TooComplex { at, limit } = error {
        problems.push(
            Problem::at(
                Rule::YamlTooComplex,
                Span::point(at),
                format!("the frontmatter is refused: {limit}"),
            )
            .hint("a header is a handful of short fields; aliases and deep nesting have no place in it"),
        );
        return Content::Unusable;
    }
    if let Some((document, mut repairs)) = repair::quote_lines(yaml)
        && let Some(entries) = fields_of(document, problems)
    {
        problems.append(&mut repairs);
        return Content::Fields(entries);
    }
    let YamlError::Syntax { at, message } = error else { return Content::Unusable };
    let count = problems.len();
    let content = salvage_or(yaml, vocabulary, problems, Content::Unusable);
    if matches!(content, Content::Unusable) && problems.len() == count {
        problems.push(
            Problem::at(Rule::YamlSyntax, Span::point(at), format!("not valid YAML: {message}"))
                .hint("write one `key: value` per line, with the value in quotes if it holds `: ` or ` #`"),
        );
    }
    content
}

fn salvage_or(
    yaml: &str,
    vocabulary: Vocabulary,
    problems: &mut Vec<Problem>,
    otherwise: Content,
) -> Content {
    match salvage::read(yaml, vocabulary) {
        Some(mut salvaged) => {
            problems.append(&mut salvaged.problems);
            match salvaged.body {
                Some(body) => Content::Unclosed(salvaged.entries, body),
                None => Content::Fields(salvaged.entries),
            }
        }
        None => otherwise,
    }
}

/// The entries of a mapping document, with what YAML itself did to it reported; `None` if it is no mapping.
fn fields_of(document: Document, problems: &mut Vec<Problem>) -> Option<Vec<Entry>> {
    let Document { root, duplicates, dropped } = document;
    let Value::Map(entries) = root.value else { return None };
    problems.extend(duplicates.into_iter().map(|span| {
        Problem::at(Rule::DuplicateKey, span, "this key stands again below; the last one counts")
            .hint("delete one of the two")
    }));
    problems.extend(dropped.into_iter().map(|span| {
        Problem::at(
            Rule::TextLost,
            span,
            "a word that begins with `!` or `&` is YAML syntax and is dropped here",
        )
        .hint("put the value in quotes")
    }));
    Some(entries)
}

fn shift(span: Span, by: usize) -> Span {
    Span::new(span.start as usize + by, span.end as usize + by)
}

fn shift_problem(problem: &mut Problem, by: usize) {
    problem.span = problem.span.map(|span| shift(span, by));
    if let Some(Fix { edits, .. }) = &mut problem.fix {
        edits.iter_mut().for_each(|edit| edit.span = shift(edit.span, by));
    }
}

/// Text as a double-quoted YAML scalar on one line.
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if !is_printable(c) => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Whether YAML allows a character to stand in the text as itself.
fn is_printable(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='~' | '\u{a0}'..='\u{fefe}' | '\u{ff00}'..='\u{fffd}' | '\u{10000}'..)
}

#[cfg(test)]
mod tests;
