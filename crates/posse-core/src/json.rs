//! JSON to [`Node`], with positions. Comments and trailing commas are understood and reported.

use std::borrow::Cow;

use jsonc_parser::ast;
use jsonc_parser::common::Ranged;

use crate::diagnostic::{Problem, Rule};
use crate::node::{self, Entry, Node, Value};
use crate::text::Span;

/// Deeper files are refused: the tree is built by recursion.
const MAX_DEPTH: usize = 64;

/// Reads a JSON text. An empty text is nothing, not an error: an empty settings file says nothing.
pub fn parse(text: &str) -> (Option<Node>, Vec<Problem>) {
    let content = text.strip_prefix('\u{feff}').unwrap_or(text);
    let skipped = text.len() - content.len();
    if let Some(at) = too_deep(content) {
        let problem = Problem::at(Rule::JsonSyntax, Span::point(skipped + at), "nested too deeply");
        return (None, vec![problem.hint(format!("at most {MAX_DEPTH} levels"))]);
    }
    match parse_as(content, skipped, &strict()) {
        Ok(root) => root,
        Err(strict_problem) => match parse_as(content, skipped, &relaxed()) {
            Ok((root, mut problems)) => {
                let span = strict_problem.span.unwrap_or_default();
                problems.push(
                    Problem::at(Rule::JsonComment, span, "a comment or a trailing comma: not strict JSON")
                        .hint("posse reads it, other tools drop the whole file"),
                );
                (root, problems)
            }
            Err(problem) => (None, vec![problem]),
        },
    }
}

/// A text in which half a character (`\\ud83d` without its other half) is replaced by U+FFFD. Programs that cut texts
/// write such halves, and most readers take them; ours do not.
pub fn with_whole_characters(text: &str) -> Cow<'_, str> {
    let mut whole = String::new();
    let mut kept = 0;
    let mut at = 0;
    while let Some(found) = text.get(at..).and_then(|rest| rest.find('\\')) {
        let escape = at + found;
        at = match half(text, escape) {
            None => text[escape + 1..].chars().next().map_or(text.len(), |next| escape + 1 + next.len_utf8()),
            Some(Half::First) if half(text, escape + ESCAPE) == Some(Half::Second) => escape + 2 * ESCAPE,
            Some(Half::First | Half::Second) => {
                whole.push_str(&text[kept..escape]);
                whole.push_str("\\ufffd");
                kept = escape + ESCAPE;
                kept
            }
        };
    }
    if kept == 0 {
        return Cow::Borrowed(text);
    }
    whole.push_str(&text[kept..]);
    Cow::Owned(whole)
}

/// Bytes of an escaped character: a backslash, `u`, and four digits.
const ESCAPE: usize = 6;

#[derive(PartialEq)]
enum Half {
    First,
    Second,
}

/// Which half of a character is escaped at a place, if one is.
fn half(text: &str, at: usize) -> Option<Half> {
    let digits = text.get(at..at + ESCAPE)?.strip_prefix("\\u")?;
    match u16::from_str_radix(digits, 16).ok()? {
        0xD800..=0xDBFF => Some(Half::First),
        0xDC00..=0xDFFF => Some(Half::Second),
        _ => None,
    }
}

fn strict() -> jsonc_parser::ParseOptions {
    jsonc_parser::ParseOptions {
        allow_comments: false,
        allow_trailing_commas: false,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    }
}

fn relaxed() -> jsonc_parser::ParseOptions {
    jsonc_parser::ParseOptions { allow_comments: true, allow_trailing_commas: true, ..strict() }
}

type Read = (Option<Node>, Vec<Problem>);

fn parse_as(text: &str, skipped: usize, options: &jsonc_parser::ParseOptions) -> Result<Read, Problem> {
    let collect = jsonc_parser::CollectOptions::default();
    let parsed = jsonc_parser::parse_to_ast(text, &collect, options).map_err(|error| {
        let at = skipped + error.range().start;
        Problem::at(Rule::JsonSyntax, Span::point(at), format!("not valid JSON: {}", error.kind()))
    })?;
    let mut problems = Vec::new();
    let root = parsed.value.map(|value| convert(value, skipped, &mut problems));
    Ok((root, problems))
}

fn convert(value: ast::Value<'_>, skipped: usize, problems: &mut Vec<Problem>) -> Node {
    let range = value.range();
    let span = Span::new(range.start + skipped, range.end + skipped);
    let value = match value {
        ast::Value::NullKeyword(_) => Value::Null,
        ast::Value::BooleanLit(lit) => Value::Bool(lit.value),
        ast::Value::NumberLit(lit) => Value::Number(lit.value.into()),
        ast::Value::StringLit(lit) => Value::Text(lit.value.into()),
        ast::Value::Array(array) => {
            Value::List(array.elements.into_iter().map(|item| convert(item, skipped, problems)).collect())
        }
        ast::Value::Object(object) => {
            let entries = object.properties.into_iter().map(|property| {
                let range = property.name.range();
                Entry {
                    key: property.name.into_string().into(),
                    key_span: Span::new(range.start + skipped, range.end + skipped),
                    node: convert(property.value, skipped, problems),
                }
            });
            let entries = entries.collect();
            let (entries, lost) = node::drop_duplicates(entries);
            problems.extend(lost.into_iter().map(|span| {
                Problem::at(Rule::DuplicateKey, span, "this key stands again below; the last one counts")
            }));
            Value::Map(entries)
        }
    };
    Node { span, value }
}

/// Where the brackets outside strings and comments first nest too deeply.
fn too_deep(text: &str) -> Option<usize> {
    let (mut depth, mut at) = (0usize, 0);
    while let Some(found) = text[at..].find(['{', '[', '}', ']', '"', '/']) {
        at += found;
        let rest = &text[at..];
        let length = match rest.as_bytes()[0] {
            b'{' | b'[' if depth == MAX_DEPTH => return Some(at),
            b'{' | b'[' => {
                depth += 1;
                1
            }
            b'"' => string_length(rest),
            b'/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            b'/' if rest.starts_with("/*") => rest[2..].find("*/").map_or(rest.len(), |end| end + 4),
            b'/' => 1,
            _ => {
                depth = depth.saturating_sub(1);
                1
            }
        };
        at += length;
    }
    None
}

fn string_length(text: &str) -> usize {
    let mut escaped = false;
    let end = text.bytes().skip(1).position(|byte| {
        let closes = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        closes
    });
    end.map_or(text.len(), |end| end + 2)
}

#[cfg(test)]
mod tests;
