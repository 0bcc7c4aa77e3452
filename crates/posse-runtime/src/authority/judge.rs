//! A second opinion: in the mode `auto`, what no rule decides is judged by a small model.
//!
//! It sees what would be done and what the user said, never what a tool printed: a page or a file cannot talk it into
//! anything. Only a clear yes allows; an error, a doubt or silence asks.

use std::time::Duration;

use posse_core::prompt;
use serde_json::Value;

use crate::hooks::Judge;

/// How long a second opinion may take before it is none.
const PATIENCE: Duration = Duration::from_secs(60);

/// What is to be judged.
#[derive(Clone, Debug)]
pub(super) struct Matter<'a> {
    /// The tool.
    pub(super) tool: &'a str,
    /// What it would be given.
    pub(super) input: &'a Value,
    /// Where it would work.
    pub(super) cwd: &'a str,
    /// What the user said, oldest first.
    pub(super) words: &'a [String],
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Judgement {
    /// A clear yes.
    Fine,
    /// Anything else, and why.
    Ask(String),
}

/// Has a call judged.
pub(super) async fn judge(judge: &dyn Judge, matter: &Matter<'_>) -> Judgement {
    let question = prompt::judge_call(matter.tool, matter.input, matter.cwd, matter.words);
    let answer = judge.ask(&question, None, PATIENCE);
    match tokio::time::timeout(PATIENCE, answer).await {
        Ok(Ok(answer)) => read(&answer),
        Ok(Err(error)) => Judgement::Ask(format!("the model that judges could not be asked: {error}")),
        Err(_) => Judgement::Ask("the model that judges did not answer in time".into()),
    }
}

/// The last line of the form `VERDICT: ALLOW` or `VERDICT: ASK reason` counts; two that differ are a doubt.
fn read(answer: &str) -> Judgement {
    let verdicts: Vec<&str> =
        answer.lines().filter_map(|line| line.trim().strip_prefix("VERDICT:")).map(str::trim).collect();
    match verdicts.as_slice() {
        ["ALLOW"] => Judgement::Fine,
        [one] => {
            let why = one.strip_prefix("ASK").unwrap_or_default().trim_start_matches([':', ' ', '-']).trim();
            let why = if why.is_empty() { "the model that judges is not sure" } else { why };
            Judgement::Ask(why.to_owned())
        }
        _ => Judgement::Ask("the model that judges gave no clear answer".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_clear_yes_allows() {
        for (answer, fine) in [
            ("VERDICT: ALLOW", true),
            ("It reads a file.\nVERDICT: ALLOW\n", true),
            ("VERDICT: ASK it deletes files", false),
            ("VERDICT: ALLOW\nVERDICT: ASK", false),
            ("VERDICT: ALLOW\nVERDICT: ALLOW", false),
            ("VERDICT: ALLOWED", false),
            ("ALLOW", false),
            ("", false),
            ("VERDICT:", false),
        ] {
            assert_eq!(read(answer) == Judgement::Fine, fine, "{answer}");
        }
        assert_eq!(read("VERDICT: ASK: it deletes"), Judgement::Ask("it deletes".into()));
    }
}
