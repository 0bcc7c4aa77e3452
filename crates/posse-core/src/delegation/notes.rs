//! What every sub-agent is told about being one, and the verdict a verifier owes.

/// The notes at the end of a sub-agent's system prompt.
pub const NOTES: &str = include_str!("subagent-notes.md").trim_ascii();

/// What a verifier is told, once, that ended without a verdict.
pub const VERDICT_REMINDER: &str = "Your report has no verdict. Send it once more, whole, with exactly one of these as \
     its last line: `VERDICT: PASS`, `VERDICT: FAIL` or `VERDICT: PARTIAL`. Run nothing more for it.";

/// How a verification came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Every point was seen to work.
    Pass,
    /// Something was seen not to.
    Fail,
    /// Something could not be checked.
    Partial,
}

impl Verdict {
    /// All verdicts.
    pub const ALL: [Self; 3] = [Self::Pass, Self::Fail, Self::Partial];

    /// The word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Pass => "PASS",
            Self::Fail => "FAIL",
            Self::Partial => "PARTIAL",
        }
    }
}

/// The verdict on the last line of a report. Emphasis around it does not count; anything else on the line does, because
/// "VERDICT: PASS if …" is none.
pub fn verdict(report: &str) -> Option<Verdict> {
    let last = report.lines().map(str::trim).rfind(|line| !line.is_empty())?;
    let emphasis = |c: char| matches!(c, '*' | '`' | '_' | '#') || c.is_whitespace();
    let word = last.trim_matches(emphasis).strip_prefix("VERDICT:")?.trim_matches(emphasis);
    Verdict::ALL.into_iter().find(|verdict| verdict.word() == word)
}
