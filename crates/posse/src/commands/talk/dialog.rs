//! Questions that tools and rules have for the person: shown, answered, handed back.

use std::io;
use std::path::Path;

use posse_runtime::ask::{Answers, Ask, PermissionAnswer, PermissionAsk, Question, QuestionAnswer};
use posse_runtime::tool::ToolCx;

use super::console::Console;
use crate::render::ask::{self, Reply};

/// Puts one question before the person and hands back the answer. A question that is withdrawn meanwhile goes.
pub(super) async fn serve(console: &mut Console<'_>, ask: Ask, cx: &ToolCx) -> io::Result<()> {
    console.lines.forget_typed();
    match ask {
        Ask::Permission(mut pending) => {
            let question = pending.ask.clone();
            let answer = tokio::select! {
                biased;
                () = pending.withdrawn() => None,
                answer = permission(console, &question, cx) => Some(answer?),
            };
            match answer {
                Some(answer) => pending.answer(answer),
                None => withdrawn(console)?,
            }
        }
        Ask::Question(mut pending) => {
            let questions = pending.ask.questions.clone();
            let answer = tokio::select! {
                biased;
                () = pending.withdrawn() => None,
                answer = answers(console, &questions) => Some(answer?),
            };
            match answer {
                Some(answer) => pending.answer(answer),
                None => withdrawn(console)?,
            }
        }
    }
    Ok(())
}

fn withdrawn(console: &mut Console<'_>) -> io::Result<()> {
    let text = format!("\n{}\n", console.style().dim("(this is not asked any more)"));
    console.say(&text)
}

/// May it?
async fn permission(
    console: &mut Console<'_>,
    ask: &PermissionAsk,
    cx: &ToolCx,
) -> io::Result<PermissionAnswer> {
    let style = console.style();
    let is_plan = &*ask.tool == "ExitPlanMode";
    let text = if is_plan {
        ask::plan(ask, style)
    } else {
        let old = ask.input["file_path"].as_str().and_then(|file| content(&cx.resolve(file)));
        ask::permission(ask, old.as_deref(), style)
    };
    console.say(&text)?;
    loop {
        let line = console.read("? ").await?.unwrap_or_default();
        let reply = if is_plan {
            ask::plan_reply(&line, &ask.suggestions)
        } else {
            ask::permission_reply(&line, &ask.suggestions)
        };
        match reply {
            Reply::Answer(answer) => return Ok(answer),
            Reply::No if is_plan => {
                let feedback = console.read("What should change? ").await?.unwrap_or_default();
                return Ok(ask::plan_refusal(&feedback));
            }
            Reply::No => {
                let reason = console.read("Why not, for the agent (Enter for nothing)? ").await?;
                return Ok(ask::refusal(&reason.unwrap_or_default()));
            }
            Reply::Unclear => console.say("That is none of the answers above.\n")?,
        }
    }
}

/// What a file holds. Only of files: reading from a pipe could take for ever.
fn content(path: &Path) -> Option<String> {
    path.metadata().ok().filter(std::fs::Metadata::is_file)?;
    Some(String::from_utf8_lossy(&std::fs::read(path).ok()?).into_owned())
}

/// Which of these? A question without an answer ends the asking: whoever does not want to answer says so once.
async fn answers(console: &mut Console<'_>, questions: &[Question]) -> io::Result<QuestionAnswer> {
    let mut answers = Answers::new();
    for question in questions {
        let text = ask::question(question, console.style());
        console.say(&text)?;
        let answer = loop {
            let line = console.read("? ").await?.unwrap_or_default();
            match ask::question_reply(&line, question) {
                Ok(answer) => break answer,
                Err(hint) => console.say(&format!("{hint}\n"))?,
            }
        };
        match answer {
            Some(answer) => answers.insert(question.question.clone(), answer),
            None if answers.is_empty() => {
                return Ok(QuestionAnswer::Declined("they would rather not say".to_owned()));
            }
            None => break,
        };
    }
    Ok(QuestionAnswer::Answered(answers))
}

/// Whether the person trusts a folder whose files want to have a say in what runs here. `wishes` are what they would
/// do, one line each.
pub(super) async fn confirm_trust(
    console: &mut Console<'_>,
    folder: &Path,
    wishes: &[String],
) -> io::Result<bool> {
    let text = ask::trust(folder, wishes, console.style());
    console.say(&text)?;
    console.lines.forget_typed();
    let line = console.read("Do you trust it? [y/N] ").await?.unwrap_or_default();
    Ok(matches!(line.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}

#[cfg(test)]
mod tests;
