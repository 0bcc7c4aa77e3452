//! `cargo xtask audit`: may we ship what we depend on? The answers are in `deny.toml`, the checking is cargo-deny's.

use std::process::Command;

use crate::shell::Shell;

/// The release line whose configuration format `deny.toml` is written in.
const CARGO_DENY: &str = "^0.20";

pub(crate) fn run(shell: &mut Shell) -> Result<(), String> {
    let program = cargo_deny(shell)?;
    let deny = |shell: &Shell, words: &[&str]| {
        let mut command = shell.command(&program.name);
        command.args(program.first_words).args(words);
        command
    };
    let mut check = deny(shell, &["check", "licenses", "sources", "bans"]);
    shell.step("licences, sources, bans", &mut check);

    // Fetching apart from checking, so that "no network" and "a vulnerable crate" stay two different answers.
    if fetch(shell, &mut deny(shell, &["fetch", "db"])) {
        let mut check = deny(shell, &["check", "--disable-fetch", "advisories"]);
        shell.step("advisories", &mut check);
    } else {
        shell.note(
            "advisories SKIPPED: the advisory database could not be fetched (its own words are above). Known \
             vulnerabilities were not looked for in this run.",
        );
    }
    Ok(())
}

struct Program {
    name: std::ffi::OsString,
    first_words: &'static [&'static str],
}

/// cargo-deny as installed by the person, or else our own copy under the target folder.
fn cargo_deny(shell: &mut Shell) -> Result<Program, String> {
    if shell.works(shell.cargo().args(["deny", "--version"])) {
        return Ok(Program { name: shell.cargo().get_program().to_owned(), first_words: &["deny"] });
    }
    let tools = shell.target_dir()?.join("tools");
    let ours = tools.join("bin").join(format!("cargo-deny{}", std::env::consts::EXE_SUFFIX));
    if !shell.works(shell.command(&ours).arg("--version")) {
        let mut install = shell.cargo();
        install.args(["install", "cargo-deny", "--locked", "--version", CARGO_DENY, "--root"]).arg(&tools);
        if !shell.step("installing cargo-deny (once, some minutes)", &mut install) {
            return Err("cargo-deny could not be installed, so nothing was audited".to_owned());
        }
    }
    Ok(Program { name: ours.into_os_string(), first_words: &[] })
}

fn fetch(shell: &Shell, command: &mut Command) -> bool {
    shell.note("fetching the advisory database");
    command.status().is_ok_and(|status| status.success())
}
