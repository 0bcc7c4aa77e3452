//! Running programs at the project root, with a heading, a clock and a summary. Knows nothing of which programs.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Runs steps one after the other and remembers how each went, so that one red step does not hide the next.
pub(crate) struct Shell {
    root: PathBuf,
    steps: Vec<Step>,
}

struct Step {
    title: String,
    took: Duration,
    passed: bool,
}

impl Shell {
    pub(crate) fn at_project_root() -> Self {
        Self { root: project_root(), steps: Vec::new() }
    }

    /// A command that starts in the project root.
    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.root);
        command
    }

    /// The same cargo that runs us, so that a `+toolchain` carries through.
    pub(crate) fn cargo(&self) -> Command {
        self.command(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
    }

    /// Runs one step with its output in full view. A failure is remembered, not returned: see `summarise`.
    pub(crate) fn step(&mut self, title: &str, command: &mut Command) -> bool {
        self.timed(title, &describe(command), || {
            let status = command.status().map_err(|e| cannot_start(command, &e))?;
            if status.success() { Ok(()) } else { Err(status.to_string()) }
        })
    }

    /// Like `step`, for work done by our own code.
    pub(crate) fn timed(
        &mut self,
        title: &str,
        how: &str,
        work: impl FnOnce() -> Result<(), String>,
    ) -> bool {
        println!("\n==> {title}: {how}");
        let start = Instant::now();
        let outcome = work();
        let took = start.elapsed();
        let passed = outcome.is_ok();
        match outcome {
            Ok(()) => println!("    {title}: done in {}", seconds(took)),
            Err(problem) => println!("    {title}: FAILED after {} ({problem})", seconds(took)),
        }
        self.steps.push(Step { title: title.to_owned(), took, passed });
        passed
    }

    /// Something worth knowing that is neither success nor failure.
    #[expect(clippy::unused_self, reason = "everything shown to the person goes through the shell")]
    pub(crate) fn note(&self, text: &str) {
        println!("\nnote: {text}");
    }

    /// Does the program start and exit with success? Its output is thrown away.
    pub(crate) fn works(&self, command: &mut Command) -> bool {
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    }

    /// Where cargo puts what it builds, whichever setting decides that.
    pub(crate) fn target_dir(&self) -> Result<PathBuf, String> {
        let mut command = self.cargo();
        command.args(["metadata", "--no-deps", "--format-version", "1"]);
        let output = command.output().map_err(|e| cannot_start(&command, &e))?;
        let json = String::from_utf8_lossy(&output.stdout);
        json_string(&json, "target_directory")
            .map(PathBuf::from)
            .ok_or_else(|| format!("cargo metadata failed:\n{}", String::from_utf8_lossy(&output.stderr)))
    }

    /// Prints how every step went; true if all passed.
    pub(crate) fn summarise(&self) -> bool {
        if self.steps.len() > 1 {
            println!("\n==> summary");
            for Step { title, took, passed } in &self.steps {
                let verdict = if *passed { "ok" } else { "FAILED" };
                println!("    {verdict:<6} {:>9}  {title}", seconds(*took));
            }
        }
        self.steps.iter().all(|step| step.passed)
    }
}

/// The folder of the workspace. Cargo says at run time where this crate is; what was true when it was compiled comes
/// second, because two checkouts that share a target folder also share the compiled program.
pub(crate) fn project_root() -> PathBuf {
    let compiled = || env!("CARGO_MANIFEST_DIR").into();
    let here = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(compiled));
    here.parent().map_or(here.clone(), Path::to_owned)
}

fn describe(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_stem().unwrap_or_default();
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

fn cannot_start(command: &Command, error: &std::io::Error) -> String {
    format!("cannot start {}: {error}", command.get_program().to_string_lossy())
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

/// The value of the first `"key":"value"` in compact JSON; enough for one path, and spares us a parser.
fn json_string(json: &str, key: &str) -> Option<String> {
    let (_, rest) = json.split_once(&format!("\"{key}\":\""))?;
    let mut value = String::new();
    let mut chars = rest.chars();
    loop {
        match chars.next()? {
            '"' => return Some(value),
            '\\' => value.push(chars.next()?),
            other => value.push(other),
        }
    }
}

#[cfg(test)]
mod tests;
