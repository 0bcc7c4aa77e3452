//! Runs that only look.
use super::{Run, Word};
/// What a run that only looks looks at: `None` if it may change something, else the words that name files.
pub fn looks_at(run: &Run) -> Option<Vec<Word>> {
    let _ = run;
    None
}
