//! posse's own repair, for headers the reference gives up on: take the header apart field by field and read each the
//! way its author must have meant it.
//!
//! A known key at the margin begins a field. What follows a description up to the next known key belongs to the
//! description, whatever it looks like, except comments right above that key. The first of two equal keys counts: a
//! second `name:` in a broken header is more likely an example in somebody's prose, and inside prose stays part of it.

use super::{Shape, Vocabulary, is_printable, quoted};
use crate::diagnostic::{Edit, Fix, Problem, Rule, Safety, Severity};
use crate::node::{Entry, Node, Value};
use crate::text::{self, Span};
use crate::yaml;

/// What could be read.
pub(super) struct Salvaged {
    pub(super) entries: Vec<Entry>,
    pub(super) problems: Vec<Problem>,
    /// Where the prompt begins, if it begins inside what was taken for the header: the fence was never closed.
    pub(super) body: Option<usize>,
}

/// One field with all its lines.
struct Chunk<'t> {
    /// Empty for text that belongs to no field.
    key: &'t str,
    shape: Option<Shape>,
    /// The whole field, from its key to before the next field.
    span: Span,
    /// What follows the colon.
    value: Span,
}

/// Reads a header field by field; `None` if it has no field an agent would need.
pub(super) fn read(yaml: &str, vocabulary: Vocabulary) -> Option<Salvaged> {
    let mut chunks = chunks(yaml, vocabulary);
    let mut entries: Vec<Entry> = Vec::new();
    let mut problems = Vec::new();
    let body = chunks.last().and_then(|last| misplaced_body(yaml, last, &mut problems));
    if body.is_some() {
        chunks.pop();
    }
    let mut below_field = false;
    for chunk in chunks {
        let before = problems.len();
        let read = read_chunk(yaml, &chunk, &mut problems);
        // Below text of no field it stays: without it, that text would end the header and begin the prompt.
        let is_removable = read.len() == 1 && below_field;
        below_field = !chunk.key.is_empty();
        for entry in read {
            if !entries.iter().any(|earlier| earlier.key == entry.key) {
                entries.push(entry);
                continue;
            }
            let text =
                format!("a second `{}`; in a header that needed repair the first one counts", entry.key);
            let mut problem = Problem::at(Rule::DuplicateKey, entry.key_span, text);
            // Once the header is mended the last one would count, so this one has to go, whatever else it lacks.
            if is_removable {
                problems.truncate(before);
                problem = problem.fix(Fix::safe("remove the second one", chunk.span, ""));
            }
            problems.push(problem);
        }
    }
    let is_agent = entries.iter().any(|entry| matches!(&*entry.key, "name" | "description"));
    is_agent.then_some(Salvaged { entries, problems, body })
}

/// Whether a field is the prompt, put into the header under a name of its own.
fn is_prompt_field(yaml: &str, chunk: &Chunk<'_>) -> bool {
    const MEANT: [&str; 6] =
        ["instructions", "prompt", "system_prompt", "systemPrompt", "system-prompt", "body"];
    let first_line = yaml[chunk.value.range()].lines().next().unwrap_or_default().trim();
    MEANT.contains(&chunk.key) && (first_line.is_empty() || is_block_header(first_line))
}

/// Text at the end of a header that was never closed is the prompt, with or without a key before it.
fn misplaced_body(yaml: &str, last: &Chunk<'_>, problems: &mut Vec<Problem>) -> Option<usize> {
    let is_prompt = is_prompt_field(yaml, last);
    if !last.key.is_empty() && !is_prompt {
        return None;
    }
    let line = text::line_at(yaml, last.span.start as usize);
    let (start, replaced) = (last.span.start as usize, if is_prompt { line.len() } else { 0 });
    let said = "the frontmatter is not closed before this text; it is taken as the beginning of the prompt";
    let closing = if is_prompt { "---" } else { "---\n" };
    problems.push(
        Problem::at(Rule::UnclosedFrontmatter, Span::new(start, start + line.len()), said)
            .severity(Severity::Warning)
            .hint("put a line `---` between the last field and the prompt")
            .fix(Fix::safe("close the frontmatter here", Span::new(start, start + replaced), closing)),
    );
    Some(start + replaced)
}

fn chunks<'t>(yaml: &'t str, vocabulary: Vocabulary) -> Vec<Chunk<'t>> {
    let lines: Vec<_> = text::lines_with_offsets(yaml).filter(|(_, line)| !line.trim().is_empty()).collect();
    let mut chunks: Vec<Chunk<'t>> = Vec::new();
    // Where the comments begin that stand right above the current line, and the first line below it that is none.
    let (mut comments, mut below) = (None, 0);
    for (index, &(at, line)) in lines.iter().enumerate() {
        while below <= index || lines.get(below).is_some_and(|(_, line)| line.starts_with('#')) {
            below += 1;
        }
        let open = chunks.last().map(|chunk| chunk.shape);
        // A field behind a tab is a field, except where the one above it may hold something nested or go on.
        let tabs = line.len() - line.trim_start_matches('\t').len();
        let is_field = |line| key_of(line, vocabulary).is_some_and(|key| vocabulary(key).is_some());
        let flat = matches!(open, Some(Some(Shape::Word | Shape::List)));
        let lead = if flat && is_field(&line[tabs..]) { tabs } else { 0 };
        let line = &line[lead..];
        // Inside prose, a key that stood above already is text.
        let in_prose = open == Some(Some(Shape::Prose));
        let is_text = |key: &str| in_prose && chunks.iter().any(|chunk| chunk.key == key);
        let above_field =
            lines.get(below).and_then(|(_, next)| key_of(next, vocabulary)).is_some_and(|key| {
                // Several headings in a row need more than any word with a colon to be comments.
                !is_text(key) && (below == index + 1 || vocabulary(key).is_some())
            });
        let is_prompt = is_heading(line) && open.is_some() && !above_field;
        let has_begun = |chunk: &Chunk<'_>| chunk.key.is_empty() || is_prompt_field(yaml, chunk);
        if is_prompt && chunks.last().is_some_and(has_begun) {
            // The heading stands inside the prompt.
            break;
        }
        let start = if is_prompt { Some(("", None)) } else { field_start(line, open, vocabulary) };
        let Some((key, shape)) = start.filter(|(key, _)| key.is_empty() || !is_text(key)) else {
            comments = if line.starts_with('#') { comments.or(Some(at)) } else { None };
            continue;
        };
        let end = comments.take().unwrap_or(at);
        if let Some(open) = chunks.last_mut() {
            close(open, end);
        }
        let colon = if key.is_empty() { 0 } else { line[key.len()..].find(':').unwrap_or_default() + 1 };
        chunks.push(Chunk {
            key,
            shape,
            span: Span::new(at, yaml.len()),
            value: Span::new(at + lead + key.len() + colon, yaml.len()),
        });
        // Whatever looks like a field below the first heading is an example in the prompt.
        if is_prompt {
            break;
        }
    }
    if let (Some(last), Some(comments)) = (chunks.last_mut(), comments) {
        close(last, comments);
    }
    chunks
}

/// A Markdown heading: a comment to YAML, but in a header that is broken anyway the beginning of the prompt.
fn is_heading(line: &str) -> bool {
    let level = line.len() - line.trim_start_matches('#').len();
    (1..=6).contains(&level) && line[level..].starts_with(' ') && line[level..].trim().len() > 1
}

/// Whether a line begins a field: its key and shape. `open` is the shape of the field above it.
fn field_start(
    line: &str,
    open: Option<Option<Shape>>,
    vocabulary: Vocabulary,
) -> Option<(&str, Option<Shape>)> {
    // Inside prose, and inside something unknown, only a known key is a new field.
    let in_text = matches!(open, Some(None | Some(Shape::Prose)));
    match key_of(line, vocabulary) {
        Some(key) if vocabulary(key).is_some() => Some((key, vocabulary(key))),
        Some(key) if !in_text => Some((key, None)),
        Some(_) => None,
        None if in_text => None,
        // Above the first field: `"name": x` is YAML, if nothing posse looks for; the rest is reported as lost.
        None if open.is_none() => (!line.starts_with('#')).then_some(("", None)),
        // A list or a word does not go on at the margin, except with a dash, a bracket or a comment.
        None => (!line.starts_with([' ', '\t', '-', ']', '}', '#'])).then_some(("", None)),
    }
}

fn close(chunk: &mut Chunk<'_>, at: usize) {
    chunk.span = Span::new(chunk.span.start as usize, at);
    chunk.value = Span::new(chunk.value.start as usize, at);
}

/// The key a line begins with. A known key needs no blank behind its colon.
fn key_of(line: &str, vocabulary: Vocabulary) -> Option<&str> {
    let end =
        line.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))).unwrap_or(line.len());
    let key = &line[..end];
    let rest = line[end..].trim_start_matches(' ').strip_prefix(':')?;
    let is_field = rest.is_empty() || rest.starts_with([' ', '\t']) || vocabulary(key).is_some();
    (is_field && key.starts_with(|c: char| c.is_ascii_alphabetic())).then_some(key)
}

fn read_chunk(yaml: &str, chunk: &Chunk<'_>, problems: &mut Vec<Problem>) -> Vec<Entry> {
    let source = &yaml[chunk.span.range()];
    // A lone line takes a tab before its key for white space; in the header it stands in, nothing does.
    if !source.starts_with('\t')
        && let Some(entries) = parse_alone(source, chunk.span.start as usize, chunk.shape)
    {
        return entries;
    }
    if let Some((entries, problem)) = without_tabs(source, chunk) {
        problems.push(problem);
        return entries;
    }
    let raw = &yaml[chunk.value.range()];
    let text = raw.trim();
    let key_length = if chunk.key.is_empty() { text::line_at(source, 0).len() } else { chunk.key.len() };
    let key_span = Span::new(chunk.span.start as usize, chunk.span.start as usize + key_length);
    let value_at = chunk.value.start as usize + (raw.len() - raw.trim_start().len());
    let span = Span::new(value_at, value_at + text.len());
    let whole = Span::new(chunk.value.start as usize, chunk.value.start as usize + raw.trim_end().len());
    // Blanks on the lines below would become part of a block.
    let padded = raw[raw.trim_end().len()..].contains([' ', '\t']);
    let entry = |value| vec![Entry { key: chunk.key.into(), key_span, node: Node { span, value } }];
    match chunk.shape {
        Some(Shape::Prose) => {
            let (prose, rule) = prose(raw);
            let (place, end) = if padded { (chunk.value, "\n") } else { (whole, "") };
            let fix = Fix::safe("write the text as a block", place, block(&prose) + end);
            problems.push(prose_problem(rule, chunk.value.start as usize, raw, chunk.key).fix(fix));
            entry(Value::Text(prose.into()))
        }
        // Brackets on one line are text, as the reference would read them if this were the only broken line.
        Some(Shape::Word) if !text.starts_with(['{', '[']) || !text.contains('\n') => {
            let first_line = text.lines().next().unwrap_or_default().trim();
            let (word, rule) = unquote(first_line);
            let said = format!("`{}` is not valid YAML; it is read as {word:?}", chunk.key);
            let mut fix = Fix::safe("put the value in quotes", whole, format!(" {}", quoted(word)));
            if first_line.len() < text.len() {
                // The lines below it would go, and nobody knows yet what they are.
                fix.safety = Safety::Unsafe;
            }
            problems.push(Problem::at(rule.unwrap_or(Rule::FieldRepaired), span, said).fix(fix));
            entry(Value::Text(word.into()))
        }
        Some(Shape::List) => {
            let items = list_items(yaml, chunk.value);
            let words: Vec<String> = items.iter().filter_map(|item| item.as_text().map(quoted)).collect();
            let fix = Fix::safe("write it as a list in brackets", whole, format!(" [{}]", words.join(", ")));
            let said =
                format!("`{}` is not a valid YAML list; it is read as [{}]", chunk.key, words.join(", "));
            problems.push(Problem::at(Rule::FieldRepaired, span, said).fix(fix));
            entry(Value::List(items))
        }
        Some(Shape::Word | Shape::Tree) | None => {
            let said = match chunk.key {
                "" => "text that belongs to no field is ignored".to_owned(),
                key => format!("`{key}` is not valid YAML and is ignored{}", yaml_words(source)),
            };
            let hint = match chunk.shape {
                None => "text for the agent belongs below the closing `---`, not in the frontmatter",
                Some(_) => "check the indentation and quotes of the lines below this key",
            };
            problems.push(Problem::at(Rule::FieldLost, key_span, said).hint(hint));
            Vec::new()
        }
    }
}

fn parse_alone(source: &str, base: usize, shape: Option<Shape>) -> Option<Vec<Entry>> {
    let document = yaml::parse(source).ok()?;
    let Value::Map(mut entries) = document.root.value else { return None };
    let is_single = entries.len() == 1;
    let value = &entries.first()?.node;
    let suits = match shape {
        // What looks like further fields is the continuation of the prose.
        Some(Shape::Prose) => is_single && value.scalar_text().is_some(),
        // `{{name}}` is a template, and text to the reference's repair, too.
        Some(Shape::Word) => is_single && !source[value.span.range()].starts_with('{'),
        Some(Shape::List | Shape::Tree) => is_single,
        None => true,
    };
    for entry in &mut entries {
        entry.key_span = Span::new(entry.key_span.start as usize + base, entry.key_span.end as usize + base);
        entry.node.map_spans(&|span| Span::new(span.start as usize + base, span.end as usize + base));
    }
    suits.then_some(entries)
}

/// Tabs in front of list items: plain to a reader, forbidden by YAML.
fn without_tabs(source: &str, chunk: &Chunk<'_>) -> Option<(Vec<Entry>, Problem)> {
    let base = chunk.span.start as usize;
    let mut edits = Vec::new();
    let mut spaced = String::with_capacity(source.len());
    for (at, line) in text::lines_with_offsets(source) {
        let indent = line.len() - line.trim_start_matches([' ', '\t']).len();
        if line[..indent].contains('\t') {
            let spaces = line[..indent].replace('\t', "  ");
            spaced.push_str(&spaces);
            spaced.push_str(&line[indent..]);
            edits.push(Edit { span: Span::new(base + at, base + at + indent), text: spaces });
        } else {
            spaced.push_str(line);
        }
        spaced.push('\n');
    }
    let first = edits.first()?.span;
    let mut entries = parse_alone(&spaced, 0, chunk.shape)?;
    // Columns moved by a few; the field's own span is true and close enough for the values below it.
    let whole = Span::new(base, base + source.trim_end().len());
    for entry in &mut entries {
        entry.key_span = Span::new(base, base + chunk.key.len());
        entry.node.map_spans(&|_| whole);
    }
    let fix = Fix { title: "replace the tabs by spaces".into(), safety: Safety::Safe, edits };
    let problem =
        Problem::at(Rule::TabIndent, first, "indented with a tab; YAML allows only spaces").fix(fix);
    Some((entries, problem))
}

/// The text of a description as its author saw it, and what was wrong with it.
fn prose(raw: &str) -> (String, Rule) {
    let mut lines = raw.lines();
    let first = lines.next().unwrap_or_default().trim();
    let first = if is_block_header(first) { "" } else { first };
    let rest: Vec<&str> = lines.collect();
    let indent = rest
        .iter()
        .filter(|line| !line.trim().is_empty())
        .map(|line| line.len() - line.trim_start_matches([' ', '\t']).len())
        .min()
        .unwrap_or_default();
    let rule = if indent == 0 && rest.iter().any(|line| !line.trim().is_empty()) {
        Rule::UnindentedText
    } else if first.contains(": ") || rest.iter().any(|line| line.contains(": ")) {
        Rule::UnquotedColon
    } else {
        Rule::FieldRepaired
    };
    let mut text = first.to_owned();
    for line in rest {
        text.push('\n');
        text.push_str(line.get(indent..).unwrap_or_default().trim_end());
    }
    let (word, quote_rule) = unquote(text.trim());
    let escaped = word.len() + 2 == text.trim().len() && text.trim().starts_with('"');
    let word = if escaped { word.replace("\\\"", "\"") } else { word.to_owned() };
    (word, quote_rule.unwrap_or(rule))
}

fn prose_problem(rule: Rule, raw_at: usize, raw: &str, key: &str) -> Problem {
    let mut lines = text::lines_with_offsets(raw).filter(|(_, line)| !line.trim().is_empty());
    // Text at the margin begins below the key's own line; everything else is wrong on the first line there is.
    let is_margin = rule == Rule::UnindentedText;
    let (at, line) = lines.find(|(at, _)| !is_margin || *at > 0).unwrap_or((0, raw));
    let lead = line.len() - line.trim_start().len();
    let (at, line) = (raw_at + at + lead, line.trim());
    let colon = if rule == Rule::UnquotedColon { line.find(": ") } else { None };
    let place = match colon {
        Some(colon) => Span::new(at + colon, at + colon + 1),
        None => Span::new(at, at + line.len()),
    };
    let said = match rule {
        Rule::UnindentedText => {
            format!(
                "text at the margin inside `{key}`: YAML expects a field here; it is taken as part of `{key}`"
            )
        }
        Rule::UnclosedQuote => {
            format!("the quote that opens `{key}` is never closed; the text is read without it")
        }
        Rule::UnquotedColon => "a `: ` inside an unquoted value: YAML takes it for another field".to_owned(),
        _ => format!("`{key}` is not valid YAML; it is read as plain text"),
    };
    let hint = match rule {
        Rule::UnindentedText => format!("write `{key}: |` and indent the text by two spaces"),
        _ => "put the value in quotes, or write it as an indented block after `|`".to_owned(),
    };
    Problem::at(rule, place, said).hint(hint)
}

fn is_block_header(text: &str) -> bool {
    let mut chars = text.chars();
    matches!(chars.next(), Some('|' | '>')) && chars.all(|c| matches!(c, '-' | '+' | '0'..='9'))
}

/// A text as the value part of a field: on one line in quotes, on several as a literal block.
fn block(text: &str) -> String {
    if !text.contains('\n') || text.contains(|c| c == '\r' || !is_printable(c)) {
        return format!(" {}", quoted(text));
    }
    let mut out = String::from(" |-");
    for line in text.lines() {
        out.push('\n');
        if !line.is_empty() {
            out.push_str("  ");
            out.push_str(line);
        }
    }
    out
}

/// Takes off the quotes around a word, or the one that was never closed.
fn unquote(text: &str) -> (&str, Option<Rule>) {
    for quote in ['"', '\''] {
        if let Some(rest) = text.strip_prefix(quote) {
            return match rest.strip_suffix(quote) {
                Some(inner) => (inner, None),
                // `"a" and b`: a quotation, not a quoted value.
                None if rest.contains(quote) => (text, None),
                None => (rest, Some(Rule::UnclosedQuote)),
            };
        }
    }
    (text, None)
}

/// The items of a list, whether in brackets, after dashes, or both; comments fall away.
fn list_items(yaml: &str, value: Span) -> Vec<Node> {
    let mut items = Vec::new();
    for (line_at, line) in text::lines_with_offsets(&yaml[value.range()]) {
        let mut at = value.start as usize + line_at;
        let trimmed = line.trim_start();
        at += line.len() - trimmed.len();
        if trimmed.starts_with('#') {
            continue;
        }
        let content = trimmed.strip_prefix("- ").unwrap_or(trimmed).trim_start_matches(['[', ' ', '\t']);
        at += trimmed.len() - content.len();
        let content = content.split(" #").next().unwrap_or(content).trim_end().trim_end_matches([']', ',']);
        for (offset, piece) in split_outside_parens(content) {
            let word = piece.trim();
            let word_at = at + offset + (piece.len() - piece.trim_start().len());
            let (bare, _) = unquote(word.trim_end_matches(']').trim_end());
            if !bare.is_empty() && bare != "-" {
                items.push(Node::text(Span::new(word_at, word_at + word.len()), bare));
            }
        }
    }
    items
}

fn split_outside_parens(text: &str) -> Vec<(usize, &str)> {
    let (mut pieces, mut depth, mut start) = (Vec::new(), 0usize, 0);
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                pieces.push((start, &text[start..at]));
                start = at + 1;
            }
            _ => {}
        }
    }
    pieces.push((start, &text[start..]));
    pieces
}

fn yaml_words(source: &str) -> String {
    match yaml::parse(source) {
        Err(yaml::YamlError::Syntax { message, .. }) => format!(" ({message})"),
        Ok(_) | Err(yaml::YamlError::TooComplex { .. } | yaml::YamlError::SeveralDocuments) => String::new(),
    }
}
