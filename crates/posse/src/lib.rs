//! posse's face: argv, terminal and exit codes, around `posse-runtime`.
//!
//! `args` is what can be typed, `commands` what each command does, `render` how results look, `report` how errors end.

pub mod args;
pub mod commands;
pub mod render;
pub mod report;
pub mod terminal;

use std::process::ExitCode;

use clap::Parser;
use posse_runtime::world::World;

use args::Args;
use terminal::Terminal;

/// Runs the program.
pub fn run(world: &World) -> ExitCode {
    let args = match Args::try_parse_from(&world.args) {
        Ok(args) => args,
        Err(error) => return report::usage(&error, &world.args),
    };
    let mut terminal = Terminal::of_process(world, args.color);
    let outcome = commands::run(args, world, &mut terminal);
    report::finish(outcome, &mut terminal)
}
