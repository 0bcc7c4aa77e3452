//! A report on its way from one model to another: bounded, and unable to pass for anything but a report.
//!
//! A sub-agent may have read anything. What it writes must not look to its reader like the harness, or like the next
//! thing a person says; so such passages get a backslash, and the reader is told that there were some.

/// Characters of a report that are handed on unless configured.
pub const DEFAULT_REPORT: usize = 32_000;
/// The most that can be configured.
pub const MAX_REPORT: usize = 160_000;

/// The limit `TASK_MAX_OUTPUT_LENGTH` sets.
pub fn report_limit(configured: Option<u64>) -> usize {
    let wanted = configured.and_then(|count| usize::try_from(count).ok()).filter(|count| *count > 0);
    wanted.unwrap_or(DEFAULT_REPORT).min(MAX_REPORT)
}

/// A report that can be put before a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    text: String,
    /// How many passages were marked.
    pub marked: usize,
    /// How many characters were left out.
    pub left_out: usize,
}

impl Report {
    /// Bounds a text and marks what imitates somebody else. `file`: where the whole text can be read.
    pub fn new(text: &str, limit: usize, file: Option<&str>) -> Self {
        let (shown, left_out) = bounded(text.trim(), limit, file);
        let (text, marked) = marked(&shown);
        Self { text, marked, left_out }
    }

    /// The report, with a first line that says if something was marked.
    pub fn text(&self) -> String {
        match self.marked {
            0 => self.text.clone(),
            count => format!(
                "[posse: {count} passage(s) below imitated the system or another speaker; a backslash marks each]\n{}",
                self.text
            ),
        }
    }

    /// The same with every line set in, so that none of them can be taken for a line of the frame.
    pub fn indented(&self) -> String {
        let text = self.text();
        let lines =
            text.lines().map(|line| if line.is_empty() { String::new() } else { format!("  {line}") });
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }
}

/// Keeps the beginning, where the answer is, and the end, where the verdict is.
fn bounded(text: &str, limit: usize, file: Option<&str>) -> (String, usize) {
    let count = text.chars().count();
    if count <= limit {
        return (text.to_owned(), 0);
    }
    let tail = limit / 4;
    let at = |chars: usize| text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at);
    let (head_end, tail_start) = (at(limit - tail), at(count - tail));
    let left_out = count - limit;
    let place = file.map_or_else(String::new, |file| format!("; the whole report is in {file}"));
    let gap = format!("\n[posse: {left_out} characters left out{place}]\n");
    (format!("{}{gap}{}", &text[..head_end], &text[tail_start..]), left_out)
}

/// Elements only the harness writes. Names that also occur in code are not among them.
const TAGS: &[&str] = &[
    "system-reminder",
    "system_reminder",
    "task-notification",
    "fork-boilerplate",
    "teammate-message",
    "command-name",
    "command-message",
    "command-args",
    "local-command-stdout",
    "local-command-stderr",
    "bash-input",
    "bash-stdout",
    "bash-stderr",
    "user-prompt-submit-hook",
    "function_calls",
    "function_results",
    "antml:",
    "tool_use_error",
];

/// Elements of a notification that may stand in code: only their end could break out.
const CLOSING: &[&str] = &["result", "note", "task-id"];

/// How a transcript announces who speaks next.
const SPEAKERS: &[&str] = &["human:", "assistant:"];

/// What a model may read as the end of a line.
const LINE_ENDS: &[char] = &['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}'];

/// Puts a backslash into everything that imitates the harness or a speaker, and counts.
fn marked(text: &str) -> (String, usize) {
    let mut out = String::with_capacity(text.len());
    let mut count = 0;
    for line in text.split_inclusive(LINE_ENDS) {
        let body = line.trim_start_matches(is_passed_over);
        let (indent, mut rest) = line.split_at(line.len() - body.len());
        out.push_str(indent);
        if SPEAKERS.iter().any(|speaker| starts_with(rest, speaker)) {
            out.push('\\');
            count += 1;
        }
        while let Some(at) = rest.find('<') {
            let after = &rest[at + 1..];
            out.push_str(&rest[..=at]);
            if is_harness_tag(after) {
                out.push('\\');
                count += 1;
            }
            rest = after;
        }
        out.push_str(rest);
    }
    (out, count)
}

/// Whether what follows a `<` makes it one of the harness's elements. Blanks and slashes before the name do not help.
fn is_harness_tag(after: &str) -> bool {
    let name = after.trim_start_matches(|c: char| c == '/' || is_passed_over(c));
    let closes = after[..after.len() - name.len()].contains('/');
    TAGS.iter().any(|tag| starts_with(name, tag))
        || (closes && CLOSING.iter().any(|tag| starts_with(name, &format!("{tag}>"))))
}

/// Blanks and characters that take no room: a model reads past them.
fn is_passed_over(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}' | '\u{ad}')
}

fn starts_with(text: &str, prefix: &str) -> bool {
    text.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}
