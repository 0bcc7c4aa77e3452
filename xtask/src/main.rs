//! posse's chores, as `cargo xtask <command>`. Knows how the project is checked and measured; knows nothing of
//! what posse does.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a build script in all but name: starting processes and printing is its whole job"
)]

mod audit;
mod bench;
mod ci;
mod needs;
mod shell;
mod test;
#[cfg(test)]
mod tidy;

use std::process::ExitCode;

use shell::Shell;

const HELP: &str = "\
posse's chores

Usage: cargo xtask <command>

Commands:
  test [-- FILTER…]  Run every test of the workspace, doc tests and tidy checks included.
                     What follows `--` goes to the test runner: `cargo xtask test -- frontmatter`
  ci                 What must be green before a change lands: formatting, clippy, test, docs
  bench [NAME]       Measure a release build. NAME is one of
                       catalog   criterion benchmarks of reading agent files
                       startup   how long `posse agents list` takes against a program that does nothing
                       large     time and peak memory with 10,000 agent files
                       sandbox   what it costs a command to be confined
                       engine    runs against a fake model, and Grep and Glob against ripgrep
                     Without a name, all of them
  bench --peers      The runs of `engine` by posse and by Claude Code, Codex and opencode, taking turns.
                     Installs them from npm under target/peers (about 1 GB)
  audit              Check licences, sources, duplicates and known vulnerabilities of the dependencies

Exit status: 0 all good, 1 something failed, 2 the command line was not understood.";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match parse(&args) {
        Ok(task) => run(&task),
        Err(problem) => {
            eprintln!("error: {problem}\n\n`cargo xtask --help` lists the commands.");
            ExitCode::from(2)
        }
    }
}

#[derive(Debug, PartialEq)]
enum Task {
    Help,
    Test { filters: Vec<String> },
    Ci,
    Bench { only: Option<bench::Part> },
    Peers,
    Audit,
}

fn parse(args: &[String]) -> Result<Task, String> {
    let Some((command, rest)) = args.split_first() else { return Ok(Task::Help) };
    if is_help(command) || command == "help" || rest.first().is_some_and(|arg| is_help(arg)) {
        return Ok(Task::Help);
    }
    let nothing_more = |task: Task| match rest.first() {
        None => Ok(task),
        Some(extra) => Err(format!("`{command}` takes no arguments, but got `{extra}`")),
    };
    match command.as_str() {
        "test" => match rest.split_first() {
            None => Ok(Task::Test { filters: Vec::new() }),
            Some((dashes, filters)) if dashes == "--" => Ok(Task::Test { filters: filters.to_vec() }),
            Some(_) => Err(format!("filters go after two dashes: `cargo xtask test -- {}`", rest.join(" "))),
        },
        "ci" => nothing_more(Task::Ci),
        "bench" => match rest {
            [] => Ok(Task::Bench { only: None }),
            [flag] | [flag, _] | [_, flag] if flag == "--peers" => peers(rest),
            [name] => Ok(Task::Bench { only: Some(name.parse()?) }),
            [_, extra, ..] => Err(format!("`bench` takes one name, but got `{extra}` as well")),
        },
        "audit" => nothing_more(Task::Audit),
        unknown => Err(format!("there is no command `{unknown}`")),
    }
}

/// `--peers`, alone or with the only part that it can mean.
fn peers(words: &[String]) -> Result<Task, String> {
    match words.iter().find(|word| *word != "--peers" && *word != "engine") {
        None => Ok(Task::Peers),
        Some(other) => Err(format!("`--peers` goes with `bench engine`, not with `{other}`")),
    }
}

fn is_help(arg: &str) -> bool {
    arg == "--help" || arg == "-h"
}

fn run(task: &Task) -> ExitCode {
    let mut shell = Shell::at_project_root();
    let done = match task {
        Task::Help => {
            println!("{HELP}");
            return ExitCode::SUCCESS;
        }
        Task::Test { filters } => test::run(&mut shell, filters),
        Task::Ci => ci::run(&mut shell),
        Task::Bench { only } => bench::run(&mut shell, *only),
        Task::Peers => bench::against_peers(&mut shell),
        Task::Audit => audit::run(&mut shell),
    };
    let all_steps_passed = shell.summarise();
    match done {
        Ok(()) if all_steps_passed => ExitCode::SUCCESS,
        Ok(()) => ExitCode::FAILURE,
        Err(problem) => {
            eprintln!("error: {problem}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests;
