//! What an agent is told before anybody speaks: named parts, in an order that lets the provider's cache work.
//!
//! What never changes comes first, what changes from day to day last. Every part has a bound, so that no file can fill
//! the window by itself.

use crate::hooks::occasion::MemoryType;

/// The prompt of a main agent that has none of its own.
pub const DEFAULT: &str = include_str!("prompt/default.md");
/// The prompt of a sub-agent without a body.
pub const DEFAULT_SUBAGENT: &str = include_str!("prompt/subagent.md");
/// The prompt of an agent that checks something for a hook.
pub const VERIFIER: &str = include_str!("prompt/verifier.md");

/// The largest instruction file that is put into a conversation whole.
pub const MAX_INSTRUCTIONS: usize = 40_000;

/// Where the agent works.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    /// Working directory.
    pub cwd: String,
    /// Other folders that belong to the run.
    pub extra_dirs: Vec<String>,
    /// Whether it is a git repository.
    pub is_git: bool,
    /// Operating system and version.
    pub os: String,
    /// The user's shell.
    pub shell: String,
    /// The model that runs.
    pub model: String,
    /// Today.
    pub date: String,
}

/// The part about the environment.
pub fn environment(env: &Environment) -> String {
    let yes = if env.is_git { "yes" } else { "no" };
    let mut text = format!(
        "# Environment\n- Working directory: {}\n- Git repository: {yes}\n- Platform: {}\n- Shell: {}\n",
        env.cwd, env.os, env.shell
    );
    if !env.extra_dirs.is_empty() {
        text.push_str(&format!("- Also part of the workspace: {}\n", env.extra_dirs.join(", ")));
    }
    text.push_str(&format!("- Model: {}\n- Today's date: {}", env.model, env.date));
    text
}

/// A file of standing instructions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instructions {
    /// Where it is.
    pub path: String,
    /// Whose it is, in a few words.
    pub whose: &'static str,
    /// The same as hooks are told.
    pub memory: MemoryType,
    /// The file that imports it, if one does.
    pub parent: Option<String>,
    /// What it says.
    pub text: String,
}

/// What goes before the first prompt: standing instructions and the state of the repository. `None` if there is neither.
pub fn opening(instructions: &[Instructions], git: Option<&str>) -> Option<String> {
    let mut parts = Vec::new();
    if !instructions.is_empty() {
        let mut text = String::from(
            "Standing instructions from the user and the project. They take precedence over default behaviour; follow them exactly as written.",
        );
        for file in instructions {
            text.push_str(&format!(
                "\n\nContents of {} ({}):\n\n{}",
                file.path,
                file.whose,
                bounded(&file.text)
            ));
        }
        parts.push(text);
    }
    if let Some(git) = git {
        parts.push(format!(
            "State of the repository when the conversation began (it does not update by itself):\n\n{git}"
        ));
    }
    if parts.is_empty() {
        return None;
    }
    Some(format!("<system-reminder>\n{}\n</system-reminder>", parts.join("\n\n")))
}

fn bounded(text: &str) -> String {
    let text = text.trim();
    if text.len() <= MAX_INSTRUCTIONS {
        return text.to_owned();
    }
    let cut = (0..=MAX_INSTRUCTIONS).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
    format!(
        "{}\n\n[cut here: the file has {} characters, {MAX_INSTRUCTIONS} are shown]",
        &text[..cut],
        text.len()
    )
}

/// What the model is asked when a conversation must be summarised.
pub fn compaction(extra: Option<&str>) -> String {
    let mut text = include_str!("prompt/compaction.md").trim().to_owned();
    if let Some(extra) = extra {
        text.push_str(&format!("\n\nThe user adds: {extra}"));
    }
    text
}

/// How a summary takes the place of what it summarises.
pub fn continued(summary: &str) -> String {
    format!(
        "This conversation continues an earlier one that no longer fits. This is what happened in it:\n\n{}\n\nGo on where it stopped, without repeating the summary or asking what to do.",
        summary.trim()
    )
}

/// What an agent is told that must plan and not act. `can_present`: whether a person is there to approve the plan;
/// `how`: how to go about it, where somebody wants it otherwise. That nothing may be changed holds all the same.
pub fn plan_mode(can_present: bool, how: Option<&str>) -> String {
    let end = if can_present {
        "When the plan is ready, hand it in with ExitPlanMode; the user approves it there or says what to change. Do \
         not ask in text whether the plan is all right."
    } else {
        "When the plan is ready, give it as your answer and stop. Nobody can approve it here."
    };
    let usual = include_str!("prompt/plan.md").trim();
    let text = match how.map(str::trim).filter(|how| !how.is_empty()) {
        None => usual.to_owned(),
        // What must not be done is said before the first empty line.
        Some(how) => {
            let limits = usual.split("\n\n").next().unwrap_or(usual);
            format!("{limits}\n\n{how}")
        }
    };
    format!("<system-reminder>\n{text}\n\n{end}\n</system-reminder>")
}

/// What an agent is told when somebody has ended plan mode between two prompts.
pub const PLAN_MODE_OVER: &str = "<system-reminder>\nPlan mode is off: the user has ended it. You may make changes again.\n</system-reminder>";

/// What an agent is told when only one more request fits into its budget.
pub const HAND_BACK: &str = "Your budget is used up: this is your last message, and no tool can be called any more. Hand \
    back what you have: what is done, what you found out, what is left to do.";

/// What an agent is told with the last request its limit allows.
pub const LAST_TURN: &str = "This is your last turn, and no tool can be called any more. Hand back what you have: what is \
    done, what you found out, what is left to do.";

/// The most of a single text that is put before a judge.
const MAX_JUDGED: usize = 4_000;

/// What a model is asked that judges a call nobody made a rule for.
pub fn judge_call(tool: &str, input: &serde_json::Value, cwd: &str, words: &[String]) -> String {
    let said: Vec<String> =
        words.iter().map(|words| format!("<user>{}</user>", clipped(words, MAX_JUDGED))).collect();
    format!(
        "{}\n\nWhat the user said:\n{}\n\nThe action, in the folder {cwd}:\n<action tool=\"{tool}\">{}</action>",
        include_str!("prompt/judge.md").trim(),
        if said.is_empty() { "(nothing)".to_owned() } else { said.join("\n") },
        clipped(&input.to_string(), 2 * MAX_JUDGED),
    )
}

fn clipped(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let cut = (0..=most).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
    format!("{} [… {} characters left out]", &text[..cut], text.len() - cut)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_opening_names_its_files_and_is_bounded() {
        assert_eq!(opening(&[], None), None);
        let file = Instructions {
            path: "/p/CLAUDE.md".into(),
            whose: "project",
            memory: MemoryType::Project,
            parent: None,
            text: "é".repeat(MAX_INSTRUCTIONS),
        };
        let text = opening(&[file], Some("On branch main")).unwrap();
        assert!(text.starts_with("<system-reminder>\n") && text.ends_with("</system-reminder>"));
        assert!(text.contains("/p/CLAUDE.md (project)") && text.contains("On branch main"));
        assert!(text.len() < MAX_INSTRUCTIONS + 1_000 && text.contains("[cut here"));
    }

    #[test]
    fn planning_ends_where_somebody_can_approve_or_not() {
        let (present, answer) = (plan_mode(true, None), plan_mode(false, None));
        assert!(present.contains("ExitPlanMode") && !answer.contains("ExitPlanMode"));
        for text in [&present, &answer] {
            assert!(text.starts_with("<system-reminder>\n") && text.ends_with("\n</system-reminder>"));
            assert!(text.len() < 2_000, "every prompt carries it: {}", text.len());
        }
    }

    #[test]
    fn the_default_prompts_leave_room_for_the_user() {
        assert!(DEFAULT.len() < 6_000 && DEFAULT_SUBAGENT.len() < 1_500);
    }
}
