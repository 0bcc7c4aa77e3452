//! A run for people: what is said, which tools run, what they answer, as it happens.

use std::path::Path;

use posse_core::event::{Delta, Fact, Outcome, TaskNews, What};
use posse_core::message::{ToolAnswer, ToolCall};
use posse_runtime::run::{Event, Mark};
use serde_json::Value;
use unicode_width::UnicodeWidthStr;

use super::listing::cut;
use super::style::{Style, plain};

/// Draws events as lines.
pub struct Transcript {
    style: Style,
    width: usize,
    /// Whether the cursor stands behind text of the model's.
    in_text: bool,
    /// The call whose line was drawn last, if nothing was drawn since.
    last_call: Option<Box<str>>,
    /// Whether to draw what other agents do, too: then, the folder below which paths are shown short.
    with_agents: Option<String>,
}

/// Lines of a tool's answer that are shown.
const SHOWN: usize = 6;

impl Transcript {
    /// Draws for a terminal of this width.
    pub fn new(style: Style, width: usize) -> Self {
        Self { style, width, in_text: false, last_call: None, with_agents: None }
    }

    /// Draws a line for every call of other agents, too; paths below `folder` are shown short.
    #[must_use]
    pub fn with_agents(self, folder: &Path) -> Self {
        Self { with_agents: Some(format!("{}/", folder.display())), ..self }
    }

    /// Of other agents only their comings and goings are drawn, what they have to say to the user, and their calls if
    /// somebody wants to see them.
    fn agent(&mut self, mark: &Mark, what: &What) -> String {
        let who = plain(&format!("{} ({})", mark.kind, mark.task));
        match what {
            What::Delta(Delta::Task(TaskNews::Started { background, .. })) => {
                let how = if *background { "in the background" } else { "at work" };
                self.line(&self.style.dim(&format!("{who}: {how}")))
            }
            What::Delta(Delta::Task(TaskNews::SentToBackground)) => {
                self.line(&self.style.dim(&format!("{who}: goes on in the background")))
            }
            What::Delta(Delta::Task(TaskNews::Ended { status, tool_uses, duration_ms, .. })) => {
                #[allow(clippy::cast_precision_loss)] // Nobody waits for 2^52 milliseconds.
                let seconds = *duration_ms as f64 / 1_000.0;
                self.line(
                    &self.style.dim(&format!("{who}: {status}, {tool_uses} tool calls, {seconds:.1} s")),
                )
            }
            What::Delta(Delta::Note(text)) => self.line(&self.style.dim(&plain(&format!("{who}: {text}")))),
            What::Fact(Fact::Answered { call, answer }) if self.with_agents.is_some() => {
                self.agents_call(mark, call, answer)
            }
            What::Delta(_) | What::Fact(_) => String::new(),
        }
    }

    /// A call of another agent, with the last line of what came of it: commands say there how it went.
    fn agents_call(&mut self, mark: &Mark, call: &ToolCall, answer: &ToolAnswer) -> String {
        self.last_call = None;
        let lead = format!("  {} ● {}  ", mark.kind, call.name);
        let room = self.width.saturating_sub(lead.width());
        let about = plain(summary(&call.input).lines().next().unwrap_or_default());
        let folder = self.with_agents.as_deref().unwrap_or_default();
        let about = about.strip_prefix(folder).unwrap_or(&about);
        let (who, name) = (plain(&mark.kind), plain(&call.name));
        let mut out = self.line(&format!(
            "  {} {} {}  {}",
            self.style.hint(&who),
            self.style.good("●"),
            self.style.bold(&name),
            self.style.dim(&cut(about, room))
        ));
        let text = answer.plain();
        let last = text.lines().rfind(|line| !line.trim().is_empty()).filter(|_| &*call.name == "Bash");
        if let Some(last) = last {
            let line = cut(&plain(last), self.width.saturating_sub(6));
            let line = if answer.is_error { self.style.error(&line) } else { self.style.dim(&line) };
            out.push_str(&format!("    {} {line}\n", self.style.dim("│")));
        }
        out
    }

    /// What to print for an event.
    pub fn event(&mut self, event: &Event) -> String {
        if let Some(mark) = &event.from {
            return self.agent(mark, &event.what);
        }
        match &event.what {
            What::Delta(Delta::Text(text)) => {
                // A blank line sets what is said apart from what was done.
                let lead = if std::mem::replace(&mut self.in_text, true) { "" } else { "\n" };
                let clean = text.chars().filter(|c| *c == '\n' || !c.is_control());
                lead.chars().chain(clean).collect()
            }
            What::Delta(Delta::Retry { attempt, of, delay, failure }) => {
                let text = format!(
                    "{} — trying again ({attempt}/{of}) in {:.1} s",
                    failure.message,
                    delay.as_secs_f64()
                );
                self.line(&self.style.hint(&plain(&text)))
            }
            What::Delta(Delta::Compacting) => {
                self.line(&self.style.dim("the conversation is long; summarising it"))
            }
            What::Delta(Delta::Discarded) => {
                self.line(&self.style.dim("(that answer broke off; asking again)"))
            }
            What::Fact(Fact::Replied(_)) => self.end_text(),
            // Of calls that run side by side only the first is drawn now; the others come with their answers.
            What::Delta(Delta::ToolRunning(call)) if self.last_call.is_none() => self.call(call),
            What::Delta(Delta::ToolRunning(_)) => String::new(),
            What::Delta(Delta::ToolProgress { call, text, .. }) if self.last_call.as_ref() == Some(call) => {
                let text = cut(&plain(text), self.width.saturating_sub(4));
                self.line(&format!("  {} {}", self.style.dim("│"), self.style.dim(&text)))
            }
            What::Delta(Delta::ToolProgress { .. }) => String::new(),
            What::Fact(Fact::Answered { call, answer }) => self.answer(call, answer),
            What::Fact(Fact::Denied { .. } | Fact::Said(_) | Fact::Compacted { .. }) => String::new(),
            What::Fact(Fact::Finished(outcome)) => match outcome {
                Outcome::Answer { .. } => self.end_text(),
                Outcome::Cancelled { .. } => self.line(&self.style.hint("interrupted")),
                Outcome::OutOfTurns(_)
                | Outcome::OutOfTries(_)
                | Outcome::OutOfBudget(_)
                | Outcome::Exhausted { .. }
                | Outcome::Stalled(_)
                | Outcome::Failed(_) => self.end_text(),
                Outcome::Deferred(call) => {
                    self.line(&self.style.hint(&plain(&format!("a hook put {} off", call.name))))
                }
                Outcome::Blocked(why) | Outcome::Stopped(why) => {
                    self.line(&self.style.hint(&plain(&format!("stopped by a hook: {why}"))))
                }
            },
            What::Delta(Delta::Note(text)) => self.line(&self.style.dim(&plain(text))),
            What::Delta(Delta::ModeChanged(mode)) => {
                self.line(&self.style.dim(&format!("permission mode: {}", mode.name())))
            }
            What::Delta(
                Delta::Requesting
                | Delta::Thinking(_)
                | Delta::ToolStart { .. }
                | Delta::Block(_)
                | Delta::Raw(_)
                | Delta::Hook(_)
                | Delta::Task(_),
            ) => String::new(),
        }
    }

    fn line(&mut self, text: &str) -> String {
        format!("{}{text}\n", self.end_text())
    }

    fn end_text(&mut self) -> String {
        if std::mem::take(&mut self.in_text) { "\n".to_owned() } else { String::new() }
    }

    fn call(&mut self, call: &ToolCall) -> String {
        self.last_call = Some(call.id.clone());
        let about = plain(&summary(&call.input));
        let room = self.width.saturating_sub(call.name.len() + 6);
        let (dot, name) = (self.style.good("●"), self.style.bold(&plain(&call.name)));
        let about = self.style.dim(&cut(&about, room));
        self.line(&format!("{dot} {name}  {about}"))
    }

    fn answer(&mut self, call: &ToolCall, answer: &ToolAnswer) -> String {
        let text = told(answer);
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        let mut out =
            if self.last_call.as_ref() == Some(&call.id) { self.end_text() } else { self.call(call) };
        self.last_call = None;
        // What the model is told of planning is not for the person who wanted it.
        let lines = if &*call.name == "EnterPlanMode" { &lines[..lines.len().min(1)] } else { &lines[..] };
        for line in lines.iter().take(SHOWN) {
            let line = cut(&plain(line), self.width.saturating_sub(4));
            let line = if answer.is_error { self.style.error(&line) } else { self.style.dim(&line) };
            out.push_str(&format!("  {} {line}\n", self.style.dim("│")));
        }
        if lines.len() > SHOWN {
            out.push_str(&format!(
                "  {} {}\n",
                self.style.dim("│"),
                self.style.dim(&format!("… {} more lines", lines.len() - SHOWN))
            ));
        }
        out
    }
}

/// What a person is shown of an answer: of another agent what it said, not what the model is told of it.
fn told(answer: &ToolAnswer) -> String {
    let structured = answer.structured.as_ref().filter(|value| value.get("agentId").is_some());
    let text = |key: &str| structured.and_then(|value| value.pointer(key)?.as_str());
    match text("/status") {
        Some("completed") => text("/content/0/text").unwrap_or_default().to_owned(),
        Some("async_launched") => String::new(),
        Some(_) | None => answer.plain(),
    }
}

/// The part of an input that says most.
fn summary(input: &Value) -> String {
    const TELLING: [&str; 8] =
        ["command", "file_path", "notebook_path", "pattern", "url", "query", "description", "prompt"];
    let telling = TELLING.iter().find_map(|key| input.get(key)?.as_str());
    // What a person is asked stands below, whole.
    let asked = || input.pointer("/questions/0/question")?.as_str();
    let planned = || input.get("plan")?.as_str()?.lines().next();
    let telling = telling.or_else(asked).or_else(planned);
    let nothing = input.is_null() || input.as_object().is_some_and(serde_json::Map::is_empty);
    telling.map_or_else(|| if nothing { String::new() } else { input.to_string() }, str::to_owned)
}
