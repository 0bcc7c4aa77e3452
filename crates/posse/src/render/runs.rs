//! The agents of a session as a tree, for people and for programs: values in, text out.

use posse_core::message::Usage;
use posse_runtime::session::{Node, Status, Work};
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;

use super::listing::{cut, pad};
use super::style::{Style, plain};

/// One line of the tree, before its columns are as wide as they have to be.
struct Row<'n> {
    /// The branches of the tree up to here.
    lead: String,
    node: &'n Node,
    /// What it took, column by column.
    cells: [String; 7],
}

const HEADS: [&str; 7] = ["status", "turns", "tools", "in", "out", "cached", "cost"];

/// The tree of a session with what each agent took, and the sum.
pub fn tree(root: &Node, style: Style, width: usize) -> String {
    let mut rows = Vec::new();
    collect(root, "", "", &mut rows);
    let total = root.total();
    let sum = cells("total", &total);
    let widths: Vec<usize> = (0..HEADS.len())
        .map(|at| {
            let cells = rows.iter().map(|row| row.cells[at].width());
            cells.chain([HEADS[at].width(), sum[at].width()]).max().unwrap_or_default()
        })
        .collect();
    let times = |work: &Work| duration(work.duration_ms);
    let time = rows.iter().map(|row| times(&row.node.work).width()).max().unwrap_or_default().max(4);
    // Two blanks between columns; whatever is left is for who it was.
    let taken: usize = widths.iter().map(|width| width + 2).sum::<usize>() + time + 2;
    let labels: Vec<usize> = rows.iter().map(|row| row.lead.width() + label(row.node).width()).collect();
    let room = labels.iter().copied().max().unwrap_or_default().min(width.saturating_sub(taken)).max(24);
    let line = |cells: &[String; 7], last: &str| {
        let (first, rest) = (pad(&cells[0], widths[0]), cells.iter().zip(&widths).skip(1));
        let rest: String = rest.map(|(cell, width)| format!("  {cell:>width$}")).collect();
        (first, format!("{rest}  {last:>time$}"))
    };
    let mut text = String::new();
    let (first, rest) = line(&HEADS.map(str::to_owned), "time");
    text.push_str(&format!("{}\n", style.dim(&format!("{}  {first}{rest}", pad("agent", room)))));
    for row in &rows {
        let (status, rest) = line(&row.cells, &times(&row.node.work));
        let who = who(row, room, style);
        text.push_str(&format!("{who}  {}{rest}\n", paint(row.node.status, &status, style)));
    }
    if rows.len() > 1 {
        let (first, rest) = line(&sum, &times(&total));
        text.push_str(&format!("{}\n", style.bold(&format!("{}  {first}{rest}", pad("", room)))));
    }
    text.push_str(&notes(root, &rows, style));
    text
}

fn collect<'n>(node: &'n Node, lead: &str, below: &str, rows: &mut Vec<Row<'n>>) {
    rows.push(Row { lead: lead.to_owned(), node, cells: cells(node.status.word(), &node.work) });
    let last = node.children.len().saturating_sub(1);
    for (place, child) in node.children.iter().enumerate() {
        let (branch, trunk) = if place == last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        collect(child, &format!("{below}{branch}"), &format!("{below}{trunk}"), rows);
    }
}

/// Everything about an agent but its time.
fn cells(first: &str, work: &Work) -> [String; 7] {
    let Usage { input, output, cache_read, cache_write, .. } = work.usage;
    [
        first.to_owned(),
        work.turns.to_string(),
        work.tool_calls.to_string(),
        tokens(input),
        tokens(output),
        tokens(cache_read + cache_write),
        format!("${:.4}", work.cost),
    ]
}

/// Who an agent is, in one line.
fn label(node: &Node) -> String {
    let name = node.name.as_ref().map(|name| format!(" {name}")).unwrap_or_default();
    let task = if node.task.is_empty() { String::new() } else { format!("  {}", node.task) };
    let place = if node.in_background { " &" } else { "" };
    plain(&format!("{}{name}{place}{task}", node.kind))
}

fn who(row: &Row<'_>, room: usize, style: Style) -> String {
    let shown = cut(&label(row.node), room.saturating_sub(row.lead.width()));
    let fill = " ".repeat(room.saturating_sub(row.lead.width() + shown.width()));
    let (kind, rest) = shown.split_at_checked(plain(&row.node.kind).len()).unwrap_or((&shown, ""));
    format!("{}{}{}{fill}", style.dim(&row.lead), style.bold(kind), style.dim(rest))
}

fn paint(status: Status, text: &str, style: Style) -> String {
    match status {
        Status::Completed => style.good(text),
        Status::Failed | Status::Unfinished => style.error(text),
        Status::Running => style.hint(text),
        Status::Killed => style.dim(text),
    }
}

/// What the signs in the tree mean, where they stand, and with which models.
fn notes(root: &Node, rows: &[Row<'_>], style: Style) -> String {
    let mut models: Vec<&str> = Vec::new();
    for model in rows.iter().flat_map(|row| &row.node.models) {
        if !models.contains(&&**model) {
            models.push(model);
        }
    }
    let mut notes = vec![plain(&format!("session {}; {}", root.id, models.join(", ")))];
    if rows.iter().any(|row| row.node.in_background) {
        notes.push("&: in the background".to_owned());
    }
    if rows.iter().any(|row| row.node.status == Status::Unfinished) {
        notes.push("crashed: its process is gone, and it did not finish".to_owned());
    }
    let damaged: usize = rows.iter().map(|row| row.node.unreadable).sum();
    if damaged > 0 {
        notes.push(format!("{damaged} lines of transcripts cannot be read and are not counted"));
    }
    notes.iter().map(|note| format!("{}\n", style.dim(note))).collect()
}

/// A number of tokens, short.
fn tokens(count: u64) -> String {
    let tenths = |unit: u64| format!("{}.{}", count / unit, count % unit * 10 / unit);
    match count {
        0..1_000 => count.to_string(),
        1_000..1_000_000 => format!("{}k", tenths(1_000)),
        1_000_000.. => format!("{}M", tenths(1_000_000)),
    }
}

/// A duration, short.
fn duration(milliseconds: u64) -> String {
    let seconds = milliseconds / 1_000;
    match seconds {
        0..60 => format!("{seconds}.{}s", milliseconds % 1_000 / 100),
        60..3_600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        3_600.. => format!("{}h{:02}m", seconds / 3_600, seconds / 60 % 60),
    }
}

/// `posse runs --json`.
pub fn json(root: &Node) -> Value {
    json!({ "session": root.id, "agents": node(root), "total": work(&root.total()) })
}

fn node(one: &Node) -> Value {
    let mut value = json!({
        "id": one.id,
        "type": one.kind,
        "name": one.name,
        "task": one.task,
        "status": one.status.word(),
        "background": one.in_background,
        "models": one.models,
    });
    if let (Some(value), Value::Object(work)) = (value.as_object_mut(), work(&one.work)) {
        value.extend(work);
    }
    value["began"] = json!(one.began.map(|at| at.to_string()));
    value["transcript"] = json!(one.transcript);
    value["unreadableLines"] = json!(one.unreadable);
    value["children"] = one.children.iter().map(node).collect();
    value
}

fn work(work: &Work) -> Value {
    json!({
        "turns": work.turns,
        "toolCalls": work.tool_calls,
        "usage": {
            "inputTokens": work.usage.input,
            "outputTokens": work.usage.output,
            "cacheReadInputTokens": work.usage.cache_read,
            "cacheCreationInputTokens": work.usage.cache_write,
        },
        "costUSD": work.cost,
        "durationMs": work.duration_ms,
    })
}

#[cfg(test)]
mod tests;
