//! `posse completions`.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::Args;
use crate::report::{CommandResult, Outcome};
use crate::terminal::Terminal;

pub(super) fn run(shell: Shell, terminal: &mut Terminal) -> CommandResult {
    // Into memory first: the generator panics when its output is closed.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "posse", &mut script);
    terminal.out.write_all(&script)?;
    Ok(Outcome::Fine)
}
