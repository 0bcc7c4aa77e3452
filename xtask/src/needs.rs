//! Programs a task cannot do without: how to see that they are there, and how to get them.

use crate::shell::Shell;

/// One requirement. A task lists what it needs; `ensure` checks and installs before any step runs.
pub(crate) struct Need {
    /// What it is, as a person would call it.
    pub(crate) what: &'static str,
    /// Is it there and usable?
    pub(crate) check: fn(&Shell) -> bool,
    /// Gets it, under the target folder where that is possible; or says what to do by hand.
    pub(crate) install: fn(&Shell) -> Result<(), String>,
}

/// Goes through all needs, so that a person missing two things hears of both at once.
pub(crate) fn ensure(shell: &Shell, needs: &[Need]) -> Result<(), String> {
    let mut missing = Vec::new();
    for Need { what, check, install } in needs {
        if check(shell) {
            continue;
        }
        match install(shell) {
            Ok(()) if check(shell) => {}
            Ok(()) => missing.push(format!("{what} was installed and still does not work")),
            Err(problem) => missing.push(format!("{what} is missing: {problem}")),
        }
    }
    if missing.is_empty() { Ok(()) } else { Err(missing.join("\nerror: ")) }
}

/// What a task does better with and can do without: got if it can be, else said, with what is lost.
pub(crate) fn wish(shell: &Shell, need: &Need, lost: &str) -> Result<(), String> {
    ensure(shell, std::slice::from_ref(need)).map_err(|problem| format!("{problem}; {lost}"))
}

#[cfg(test)]
mod tests;
