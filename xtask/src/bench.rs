//! `cargo xtask bench`: how fast and how small a release build is. Numbers are printed, never judged: they depend
//! on the machine, so only ratios and comparisons of two runs on one machine mean something.

mod agents;
mod engine;
mod tree;

use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::needs::{self, Need};
use crate::shell::Shell;

/// The standard library cannot ask how much CPU and memory a child used; Python's can, on every Unix.
const MEASURE: &str = include_str!("bench/measure.py");

const STARTUP_RUNS: u32 = 200;
const LARGE_RUNS: u32 = 7;
const LARGE_AGENTS: u32 = 10_000;
const AGENT_BYTES: usize = 5 * 1024;

const PYTHON: Need = Need {
    what: "python3",
    check: |shell| shell.works(shell.command("python3").args(["-c", "import os; os.wait4, os.posix_spawn"])),
    install: |_| {
        Err("it reads CPU time and peak memory of a program; please install Python 3 on a Unix system"
            .to_owned())
    },
};

/// One thing to measure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Part {
    Catalog,
    Permission,
    Startup,
    Large,
    Engine,
    Sandbox,
}

impl FromStr for Part {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "catalog" => Ok(Self::Catalog),
            "permission" => Ok(Self::Permission),
            "startup" => Ok(Self::Startup),
            "large" => Ok(Self::Large),
            "engine" => Ok(Self::Engine),
            "sandbox" => Ok(Self::Sandbox),
            _ => Err(format!(
                "there is no benchmark `{name}`; choose catalog, permission, startup, large, engine or sandbox"
            )),
        }
    }
}

pub(crate) fn run(shell: &mut Shell, only: Option<Part>) -> Result<(), String> {
    let wanted = |part: Part| only.is_none_or(|chosen| chosen == part);
    let measures_the_binary = only != Some(Part::Catalog);
    if measures_the_binary {
        needs::ensure(shell, &[PYTHON])?;
        release_build(shell)?;
    }
    for (part, name) in [(Part::Catalog, "catalog"), (Part::Permission, "permission")] {
        if wanted(part) {
            let words = ["bench", "-p", "posse-testkit", "--features", "bench", "--bench", name];
            shell.step(name, shell.cargo().args(words));
        }
    }
    if !measures_the_binary {
        return Ok(());
    }
    let target = shell.target_dir()?;
    let posse = binary(&target);
    if wanted(Part::Startup) {
        startup(shell, &posse);
    }
    if wanted(Part::Sandbox) && cfg!(target_os = "linux") {
        sandbox(shell, &posse);
    }
    if wanted(Part::Large) {
        large(shell, &posse, &target.join("bench"));
    }
    if wanted(Part::Engine) {
        engine::run(shell, &posse, &target.join("bench"));
    }
    Ok(())
}

/// The same work by posse and by other agents.
pub(crate) fn against_peers(shell: &mut Shell) -> Result<(), String> {
    needs::ensure(shell, &[PYTHON, engine::NPM])?;
    release_build(shell)?;
    let target = shell.target_dir()?;
    engine::peers(shell, &binary(&target), &target);
    Ok(())
}

fn release_build(shell: &mut Shell) -> Result<(), String> {
    if shell.step("release build", shell.cargo().args(["build", "--release", "-p", "posse"])) {
        Ok(())
    } else {
        Err("there is nothing to measure without a build".to_owned())
    }
}

fn binary(target: &Path) -> PathBuf {
    target.join("release").join(format!("posse{}", std::env::consts::EXE_SUFFIX))
}

/// An empty project outside of any repository, so that nothing but starting up is left to measure.
fn startup(shell: &mut Shell, posse: &Path) {
    let place = Place::outside_repositories();
    let mut measure = measure(shell, "startup", posse, &place, STARTUP_RUNS);
    shell.timed("startup", "`posse agents list` in an empty project, against `true`", || {
        place.create()?;
        let measured = succeed(&mut measure);
        place.remove()?;
        measured
    });
}

/// What it costs a command to be confined.
fn sandbox(shell: &mut Shell, posse: &Path) {
    let place = Place::outside_repositories();
    let mut measure = measure(shell, "sandbox", posse, &place, STARTUP_RUNS);
    shell.timed("sandbox", "`bash -c :`, free, confined by the kernel, and with private mounts", || {
        place.create()?;
        let measured = succeed(&mut measure);
        place.remove()?;
        measured
    });
}

/// The generated project stays where it is: the second run should not write fifty megabytes again.
fn large(shell: &mut Shell, posse: &Path, bench_dir: &Path) {
    let place = Place::at(bench_dir.join(format!("{LARGE_AGENTS}-agents")));
    let mut measure = measure(shell, "large", posse, &place, LARGE_RUNS);
    measure.args([agents::name(0), agents::name(LARGE_AGENTS - 1)]);
    shell.timed("large", &format!("`posse agents list --json` with {LARGE_AGENTS} agent files"), || {
        place.create()?;
        agents::generate(&place.project(), LARGE_AGENTS, AGENT_BYTES)
            .map_err(|e| format!("cannot write agents: {e}"))?;
        succeed(&mut measure)
    });
}

/// A project and a home folder that belong to a benchmark alone.
struct Place {
    base: PathBuf,
}

impl Place {
    fn at(base: PathBuf) -> Self {
        Self { base }
    }

    fn outside_repositories() -> Self {
        Self::at(std::env::temp_dir().join(format!("posse-bench-{}", std::process::id())))
    }

    fn project(&self) -> PathBuf {
        self.base.join("project")
    }

    fn home(&self) -> PathBuf {
        self.base.join("home")
    }

    fn create(&self) -> Result<(), String> {
        for dir in [self.project(), self.home()] {
            std::fs::create_dir_all(&dir).map_err(|e| format!("cannot create {}: {e}", dir.display()))?;
        }
        Ok(())
    }

    fn remove(&self) -> Result<(), String> {
        std::fs::remove_dir_all(&self.base)
            .map_err(|e| format!("cannot clean up {}: {e}", self.base.display()))
    }
}

fn measure(shell: &Shell, what: &str, posse: &Path, place: &Place, runs: u32) -> std::process::Command {
    let mut command = shell.command("python3");
    // Isolated and without site packages: a smaller Python is a lower floor under the memory numbers.
    command.args(["-I", "-S", "-c", MEASURE, what]).arg(posse).arg(place.project()).arg(place.home());
    command.arg(runs.to_string());
    command
}

fn succeed(command: &mut std::process::Command) -> Result<(), String> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(status.to_string()),
        Err(e) => Err(format!("cannot start python3: {e}")),
    }
}
