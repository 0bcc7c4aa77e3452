//! AskUserQuestion: a choice put before the user. How it is shown is the frontend's; here is what may be asked and
//! what comes back.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::blocking::INTERRUPTED;
use crate::ask::{Desk, Question, QuestionAnswer, QuestionAsk};
use crate::tool::{Tool, ToolCx, ToolOutput};

/// Longest label of a question, in characters.
const MAX_HEADER: usize = 12;

/// A call.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct AskUserQuestionInput {
    /// One to four questions.
    #[schemars(length(min = 1, max = 4))]
    questions: Vec<Question>,
}

/// The tool. By default it has nobody to ask.
#[derive(Clone, Debug, Default)]
pub struct AskUserQuestion {
    desk: Desk,
}

impl AskUserQuestion {
    /// Asks at this desk.
    pub fn new(desk: Desk) -> Self {
        Self { desk }
    }
}

impl Tool for AskUserQuestion {
    const NAME: &'static str = "AskUserQuestion";
    type Input = AskUserQuestionInput;

    fn description(&self) -> String {
        "Asks the user to choose, when the work cannot go on well without it: an unclear wish, a decision of taste, \
         one way or another. Not for what you can find out or decide yourself, nor to ask whether to go on.\n\
         - Up to four questions at once, each with two to four options; the user can always write an own answer, so \
         add no \"Other\".\n\
         - If you recommend an option, put it first and add \"(Recommended)\" to its label.\n\
         - `multiSelect` is for options that do not exclude each other."
            .into()
    }

    fn runs_alone(&self, _: &Self::Input) -> bool {
        true
    }

    async fn run(&self, input: Self::Input, cx: &ToolCx) -> ToolOutput {
        let AskUserQuestionInput { questions } = input;
        if let Some(problem) = problem(&questions) {
            return ToolOutput::error(problem);
        }
        let ask = QuestionAsk { questions: questions.clone(), call: cx.call.clone() };
        let answer = tokio::select! {
            answer = self.desk.question(ask) => answer,
            () = cx.stop.cancelled() => return ToolOutput::error(INTERRUPTED),
        };
        match answer {
            QuestionAnswer::Answered(answers) => {
                let mut text = String::from("The user answered:");
                for question in &questions {
                    let answer = answers.get(&question.question).map_or("(no answer)", String::as_str);
                    text.push_str(&format!("\n- {} → {answer}", question.question));
                }
                ToolOutput::text(text).with(json!({ "questions": questions, "answers": answers }))
            }
            QuestionAnswer::Declined(reason) => {
                ToolOutput::error(format!("The user did not answer: {reason}"))
            }
            QuestionAnswer::Nobody => ToolOutput::error(
                "Nobody can be asked in this session. Decide yourself, and say in your answer what you decided and why.",
            ),
        }
    }
}

/// What is wrong with the questions, if anything.
fn problem(questions: &[Question]) -> Option<String> {
    if !(1..=4).contains(&questions.len()) {
        return Some(format!("Ask one to four questions, not {}.", questions.len()));
    }
    let mut asked = BTreeSet::new();
    for Question { question, header, options, multi_select: _ } in questions {
        if question.trim().is_empty() {
            return Some("A question has no text.".into());
        }
        if !asked.insert(question.as_str()) {
            return Some(format!("The question {question:?} is asked twice."));
        }
        if header.chars().count() > MAX_HEADER {
            return Some(format!("The header {header:?} is longer than {MAX_HEADER} characters."));
        }
        if !(2..=4).contains(&options.len()) {
            return Some(format!("{question:?} has {} options; give two to four.", options.len()));
        }
        let labels: BTreeSet<&str> = options.iter().map(|option| option.label.trim()).collect();
        if labels.len() < options.len() || labels.contains("") {
            return Some(format!("The options of {question:?} need labels that differ."));
        }
    }
    None
}

#[cfg(test)]
mod tests;
