//! Where the header begins and ends.
//!
//! The reference closes at the first `---` anywhere, even inside a value. posse closes at the first *line* that begins
//! with `---`, and only if there is none at one in mid-line: a dash in a description does not cut the file in half.

use crate::diagnostic::{Fix, Problem, Rule};
use crate::text::{self, Span};

/// A header longer than this is not searched for its end.
pub const MAX_HEADER: usize = 64 * 1024;

const FENCE: &str = "---";
const BOM: char = '\u{feff}';

pub(super) struct Fence {
    pub(super) yaml: Span,
    pub(super) body: Span,
}

pub(super) enum Found {
    None,
    Unusable,
    Fence(Fence),
}

pub(super) fn find(text: &str, problems: &mut Vec<Problem>) -> Found {
    let content = text.strip_prefix(BOM).unwrap_or(text);
    let start = text.len() - content.len();
    let Some(first_line) = opening_line(content) else {
        return if misplaced(content, start, problems) { Found::Unusable } else { Found::None };
    };
    if start > 0 {
        let bom = Span::new(0, start);
        problems.push(
            Problem::at(Rule::ByteOrderMark, bom, "the file begins with a byte order mark")
                .hint("save it as UTF-8 without BOM")
                .fix(Fix::safe("remove the byte order mark", bom, "")),
        );
    }
    let yaml_start = start + first_line;
    let window = window(text, yaml_start);
    if let Some(close) = closing_line(window) {
        return Found::Fence(fence(text, yaml_start, yaml_start + close));
    }
    if let Some(close) = window.find(FENCE) {
        let at = yaml_start + close;
        problems.push(
            Problem::at(
                Rule::MidlineFence,
                Span::new(at, at + FENCE.len()),
                "this `---` closes the frontmatter",
            )
            .hint("put the closing `---` on a line of its own"),
        );
        return Found::Fence(fence(text, yaml_start, at));
    }
    if !looks_like_fields(window) {
        return Found::None;
    }
    let limit = if window.len() < text.len() - yaml_start { " within 64 KiB" } else { "" };
    problems.push(
        Problem::at(
            Rule::UnclosedFrontmatter,
            Span::new(start, start + FENCE.len()),
            format!("this `---` is never closed{limit}"),
        )
        .hint("end the frontmatter with a line that is just `---`"),
    );
    Found::Unusable
}

fn fence(text: &str, yaml_start: usize, close: usize) -> Fence {
    Fence { yaml: Span::new(yaml_start, close), body: Span::new(close + FENCE.len(), text.len()) }
}

/// The length of the opening line with its break, if the text opens with `---` and nothing but white space behind it.
fn opening_line(text: &str) -> Option<usize> {
    let rest = text.strip_prefix(FENCE)?;
    let end = rest.find('\n')?;
    rest[..end].trim().is_empty().then_some(FENCE.len() + end + 1)
}

fn window(text: &str, start: usize) -> &str {
    let mut end = (start + MAX_HEADER).min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[start..end]
}

fn closing_line(window: &str) -> Option<usize> {
    if window.starts_with(FENCE) {
        return Some(0);
    }
    window.find("\n---").map(|at| at + 1)
}

/// A file that has its header one line too late, or indented, was meant as an agent and deserves an answer.
fn misplaced(content: &str, start: usize, problems: &mut Vec<Problem>) -> bool {
    let trimmed = content.trim_start();
    let skipped = content.len() - trimmed.len();
    let Some(opening) = opening_line(trimmed) else { return false };
    if skipped == 0 || !looks_like_fields(window(trimmed, opening)) {
        return false;
    }
    let lead = Span::new(start, start + skipped);
    problems.push(
        Problem::at(
            Rule::FrontmatterNotFirst,
            Span::new(start + skipped, start + skipped + FENCE.len()),
            "the frontmatter does not start at the very beginning of the file, so it is not read",
        )
        .hint("delete what stands before the opening `---`")
        .fix(Fix::likely("remove the white space before the frontmatter", lead, "")),
    );
    true
}

/// Whether the next lines name what every agent has.
fn looks_like_fields(window: &str) -> bool {
    text::lines_with_offsets(window)
        .take(30)
        .any(|(_, line)| line.starts_with("name:") || line.starts_with("description:"))
}
