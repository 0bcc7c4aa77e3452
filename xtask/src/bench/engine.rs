//! What a run costs around the model: posse, and for comparison other agents, against a fake model that answers at
//! once. Knows where things are kept and how peers are installed; what is measured and how is in the Python files.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{AGENT_BYTES, Place, agents, succeed, tree};
use crate::needs::Need;
use crate::shell::Shell;

const DRIVE: &str = include_str!("engine/drive.py");
const FAKE_MODEL: &str = include_str!("engine/fake_model.py");

const RUNS: u32 = 21;
const CREW_RUNS: u32 = 7;
const SEARCH_RUNS: u32 = 11;
const PEER_RUNS: u32 = 7;
const AGENTS: u32 = 1_000;

/// Versions that the script beside this file is known to be able to drive. This Claude Code is the last for Node 20.
const PEERS: &[&str] = &["@anthropic-ai/claude-code@2.1.197", "@openai/codex@0.166.0", "opencode-ai@1.18.33"];

pub(super) const NPM: Need = Need {
    what: "npm",
    check: |shell| shell.works(shell.command("npm").arg("--version")),
    install: |_| Err("it installs the agents to compare with; please install Node.js".to_owned()),
};

pub(super) fn run(shell: &mut Shell, posse: &Path, bench_dir: &Path) {
    let kitchen = Kitchen::at(bench_dir);
    let empty = Place::outside_repositories();
    let thousand = Place::at(bench_dir.join(format!("{AGENTS}-agents")));
    let mut drive = kitchen.drive(shell, "own", RUNS, posse);
    drive.arg(empty.project()).arg(thousand.project());
    let title = format!("`posse -p` to its first request, with {AGENTS} agents, and for 20 turns of Read");
    shell.timed("engine", &title, || {
        kitchen.prepare()?;
        empty.create()?;
        thousand.create()?;
        let measured = agents::generate(&thousand.project(), AGENTS, AGENT_BYTES)
            .map_err(|e| format!("cannot write agents: {e}"))
            .and_then(|()| succeed(&mut drive));
        empty.remove()?;
        measured
    });
    crew(shell, &kitchen, posse);
    search(shell, &kitchen, posse, bench_dir);
}

fn crew(shell: &mut Shell, kitchen: &Kitchen, posse: &Path) {
    let place = Place::outside_repositories();
    let mut drive = kitchen.drive(shell, "crew", CREW_RUNS, posse);
    drive.arg(place.project());
    shell.timed("crew", "agents side by side and in the background, up to 1,000", || {
        kitchen.prepare()?;
        place.create()?;
        let measured = succeed(&mut drive);
        place.remove()?;
        measured
    });
}

fn search(shell: &mut Shell, kitchen: &Kitchen, posse: &Path, bench_dir: &Path) {
    let Some(rg) = on_path("rg") else {
        shell.note("search is not measured: ripgrep is missing (`apt-get install ripgrep`)");
        return;
    };
    let place = Place::at(bench_dir.join(format!("{}-files", tree::FILES)));
    let mut drive = kitchen.drive(shell, "search", SEARCH_RUNS, posse);
    drive.arg(place.project().join("tree")).arg(rg).args([tree::PATTERN, tree::GLOB, tree::MARK]);
    shell.timed("search", &format!("Grep and Glob against ripgrep on {} files", tree::FILES), || {
        kitchen.prepare()?;
        place.create()?;
        tree::generate(&place.project()).map_err(|e| format!("cannot write files: {e}"))?;
        succeed(&mut drive)
    });
}

pub(super) fn peers(shell: &mut Shell, posse: &Path, target: &Path) {
    let packages = target.join("peers");
    let mut npm = shell.command("npm");
    // No scripts of strangers: the programs come as packages of their own and are started directly.
    npm.args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix"])
        .arg(&packages)
        .args(PEERS);
    if !shell.step("install peers", &mut npm) {
        return;
    }
    let kitchen = Kitchen::at(&target.join("bench"));
    let empty = Place::outside_repositories();
    let mut drive = kitchen.drive(shell, "peers", PEER_RUNS, posse);
    drive.arg(empty.project()).arg(packages);
    shell.timed("peers", "the same runs by posse and others", || {
        kitchen.prepare()?;
        empty.create()?;
        let measured = succeed(&mut drive);
        empty.remove()?;
        measured
    });
}

/// Where the scripts and the homes of the measured programs are. Not in the folder for temporary files, where Codex
/// does not want its home to be.
struct Kitchen {
    base: PathBuf,
}

impl Kitchen {
    fn at(bench_dir: &Path) -> Self {
        Self { base: bench_dir.join("engine") }
    }

    /// Fresh homes: no program shall be slow from what an earlier measurement left there.
    fn prepare(&self) -> Result<(), String> {
        let fresh = || {
            if self.base.exists() {
                std::fs::remove_dir_all(&self.base)?;
            }
            std::fs::create_dir_all(&self.base)?;
            std::fs::write(self.base.join("drive.py"), DRIVE)?;
            std::fs::write(self.base.join("fake_model.py"), FAKE_MODEL)
        };
        fresh().map_err(|e: std::io::Error| format!("cannot prepare {}: {e}", self.base.display()))
    }

    fn drive(&self, shell: &Shell, what: &str, runs: u32, posse: &Path) -> Command {
        let mut command = shell.command("python3");
        // Isolated and without site packages: a smaller Python is a lower floor under the memory numbers.
        command.args(["-I", "-S"]).arg(self.base.join("drive.py")).args([what, &runs.to_string()]);
        command.arg(&self.base).arg(posse);
        command
    }
}

fn on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join(program)).find(|file| file.is_file())
}
