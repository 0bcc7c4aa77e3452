//! `cargo xtask ci`: all that must be green before a change lands, in one go.

use crate::shell::Shell;
use crate::test;

pub(crate) fn run(shell: &mut Shell) -> Result<(), String> {
    shell.step("formatting", shell.cargo().args(["fmt", "--all", "--check"]));
    shell.step(
        "clippy",
        shell.cargo().args(["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]),
    );
    test::run(shell, &[])?;
    let mut docs = shell.cargo();
    docs.args(["doc", "--no-deps", "--workspace"]).env("RUSTDOCFLAGS", "-D warnings");
    shell.step("docs", &mut docs);
    Ok(())
}
