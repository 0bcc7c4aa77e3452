//! Standard output and error, and what they can show.

use std::io::{self, IsTerminal, Write};

use posse_runtime::world::World;

use crate::args::When;

/// Where results and messages go.
pub struct Terminal {
    /// Results.
    pub out: Box<dyn Write>,
    /// Messages.
    pub err: Box<dyn Write>,
    /// Whether a person is watching.
    pub is_terminal: bool,
    /// Whether to use colours.
    pub color: bool,
    /// How many columns a line has.
    pub width: usize,
}

/// Lines for a file or a pipe are cut here.
const DEFAULT_WIDTH: usize = 110;

impl Terminal {
    /// The terminal of this process.
    pub fn of_process(world: &World, when: When) -> Self {
        let stdout = io::stdout();
        let is_terminal = stdout.is_terminal();
        let color = match when {
            When::Always => true,
            When::Never => false,
            When::Auto => {
                let plain = world.env.get("NO_COLOR").is_some() || world.env.get("TERM") == Some("dumb");
                is_terminal && !plain
            }
        };
        let columns = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
        let width = if is_terminal { columns() } else { None };
        Self {
            out: Box::new(io::BufWriter::new(stdout)),
            err: Box::new(io::stderr()),
            is_terminal,
            color,
            width: width.unwrap_or(DEFAULT_WIDTH),
        }
    }
}
