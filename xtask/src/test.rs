//! `cargo xtask test`: every test of the workspace with one command, on a machine that has only Rust and git.

use std::path::PathBuf;
use std::process::Command;

use crate::needs::{self, Need};
use crate::shell::{Shell, project_root};

/// What the tests need beyond Rust. Whatever can be fetched is installed under the target folder by the command
/// itself; the person should never have to read a list first.
const NEEDS: &[Need] = &[
    Need {
        what: "git",
        check: |shell| shell.works(shell.command("git").arg("--version")),
        install: |_| {
            Err("the tests work with real repositories and worktrees; please install git with your system's \
                 package manager and try again"
                .to_owned())
        },
    },
    Need {
        what: "the openai client for Python",
        check: |shell| shell.works(python(shell).args(["-c", "import openai"])),
        install: |shell| {
            let mut pip = shell.command("python3");
            pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target"]);
            let installed = shell.works(pip.arg(python_packages(shell)).arg("openai"));
            if installed {
                Ok(())
            } else {
                Err("pip could not install it; is python3 with pip there?".to_owned())
            }
        },
    },
    Need {
        what: "the MCP client for Python",
        check: |shell| {
            let check = format!("import importlib.metadata as m; assert m.version('mcp') == '{MCP_CLIENT}'");
            shell.works(python(shell).args(["-c", &check]))
        },
        install: |shell| {
            let mut pip = shell.command("python3");
            pip.args([
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
                "--upgrade",
                "--target",
            ]);
            if shell.works(pip.arg(python_packages(shell)).arg(format!("mcp=={MCP_CLIENT}"))) {
                Ok(())
            } else {
                Err("pip could not install it; is python3 with pip there?".to_owned())
            }
        },
    },
];

/// The official client that `posse mcp serve` is tested with. Pinned: what it calls things changes.
const MCP_CLIENT: &str = "2.3.0";

/// One half of the sandbox. It makes namespaces, so it must come from the system and may not work in a container.
const BUBBLEWRAP: Need = Need {
    what: "bubblewrap",
    check: |shell| {
        let trial = ["--ro-bind", "/", "/", "--dev", "/dev", "--", "/bin/sh", "-c", ":"];
        let user = std::iter::once("--unshare-user").chain(trial);
        shell.works(shell.command("bwrap").args(trial)) || shell.works(shell.command("bwrap").args(user))
    },
    install: |shell| {
        let by_hand = || Err("`apt install bubblewrap`, or the package of that name elsewhere".to_owned());
        let is_root = shell.works(shell.command("sh").args(["-c", "test \"$(id -u)\" = 0"]));
        if shell.works(shell.command("bwrap").arg("--version")) {
            return Err("it is installed and may not make namespaces here".to_owned());
        }
        if !is_root || !shell.works(shell.command("apt-get").arg("--version")) {
            return by_hand();
        }
        let install = ["install", "--yes", "--no-install-recommends", "bubblewrap"];
        if shell.works(shell.command("apt-get").args(install)) {
            return Ok(());
        }
        shell.works(shell.command("apt-get").arg("update"));
        if shell.works(shell.command("apt-get").args(install)) { Ok(()) } else { by_hand() }
    },
};

/// Servers of tools that others wrote. Pinned: what they offer is what the tests expect.
const MCP_SERVERS: Need = Need {
    what: "the MCP servers of the tests",
    check: |shell| from_npm_is_there(shell, "mcp-servers"),
    install: |shell| from_npm(shell, "mcp-servers"),
};

/// The SDK for TypeScript. Pinned: posse claims the version that it pins.
const NODE_SDK: Need = Need {
    what: "the Claude Agent SDK for TypeScript",
    check: |shell| from_npm_is_there(shell, "sdk"),
    install: |shell| from_npm(shell, "sdk"),
};

/// The client library of the Agent Client Protocol. Pinned: the protocol grows with every release.
const ACP_CLIENT: Need = Need {
    what: "the client library of the Agent Client Protocol",
    check: |shell| from_npm_is_there(shell, "acp"),
    install: |shell| from_npm(shell, "acp"),
};

/// The Claude Agent SDK for Python.
const PYTHON_SDK: Need = Need {
    what: "the Claude Agent SDK for Python",
    check: |shell| {
        let program = format!("import claude_agent_sdk as s; assert s.__version__ == '{PYTHON_SDK_VERSION}'");
        shell.works(python(shell).args(["-c", &program]))
    },
    install: |shell| {
        let mut pip = shell.command("python3");
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--upgrade", "--target"]);
        let package = format!("claude-agent-sdk=={PYTHON_SDK_VERSION}");
        if !shell.works(pip.arg(python_packages(shell)).arg(package)) {
            return Err("pip could not install it; is python3 with pip there?".to_owned());
        }
        // It brings along a large program, and posse is tested in the place of that.
        let _ = std::fs::remove_dir_all(python_packages(shell).join("claude_agent_sdk/_bundled"));
        Ok(())
    },
};

const PYTHON_SDK_VERSION: &str = "0.2.182";

/// Whether the packages of one of the testkit's manifests are installed as pinned.
fn from_npm_is_there(shell: &Shell, name: &str) -> bool {
    let installed = npm_packages(shell, name);
    let same = |file: &str| {
        let pinned = std::fs::read(manifests(name).join(file));
        pinned.ok().is_some_and(|pinned| std::fs::read(installed.join(file)).ok() == Some(pinned))
    };
    same("package.json")
        && same("package-lock.json")
        && installed.join("node_modules/.package-lock.json").is_file()
}

fn from_npm(shell: &Shell, name: &str) -> Result<(), String> {
    let folder = npm_packages(shell, name);
    let copy = |file: &str| std::fs::copy(manifests(name).join(file), folder.join(file));
    std::fs::create_dir_all(&folder)
        .and_then(|()| copy("package.json"))
        .and_then(|_| copy("package-lock.json"))
        .map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut npm = shell.command("npm");
    npm.args(["ci", "--ignore-scripts", "--omit=optional", "--no-audit", "--no-fund", "--prefix"])
        .arg(&folder);
    if shell.works(&mut npm) { Ok(()) } else { Err("npm could not install it".to_owned()) }
}

fn manifests(name: &str) -> PathBuf {
    project_root().join("crates/posse-testkit").join(name)
}

fn npm_packages(shell: &Shell, name: &str) -> PathBuf {
    shell.target_dir().unwrap_or_else(|_| "target".into()).join("test-needs").join(name)
}

/// Python packages of the tests live under the target folder.
fn python_packages(shell: &Shell) -> PathBuf {
    shell.target_dir().unwrap_or_else(|_| "target".into()).join("test-needs/python")
}

fn python(shell: &Shell) -> Command {
    let mut python = shell.command("python3");
    python.env("PYTHONPATH", python_packages(shell));
    python
}

pub(crate) fn run(shell: &mut Shell, filters: &[String]) -> Result<(), String> {
    needs::ensure(shell, NEEDS)?;
    needs::ensure(shell, &[PYTHON_SDK])?;
    if cfg!(target_os = "linux")
        && let Err(problem) =
            needs::wish(shell, &BUBBLEWRAP, "attempts to escape from private mounts are skipped")
    {
        shell.note(&problem);
    }

    let has_npm = shell.works(shell.command("npm").arg("--version"));
    if has_npm {
        needs::ensure(shell, &[MCP_SERVERS, NODE_SDK, ACP_CLIENT])?;
    } else {
        shell.note("npm is not installed, so the tests with programs of Node are skipped");
    }

    // First, because they are few: what the command ends with should be the tests that count.
    if filters.is_empty() {
        shell.step("doc tests", shell.cargo().args(["test", "--doc", "--workspace", "--no-fail-fast"]));
    } else {
        shell.note("a filter was given, so the doc tests are left out");
    }

    // The tidy checks are ordinary tests of this crate, so the workspace run includes them.
    let mut tests = shell.cargo();
    tests.env("POSSE_TEST_PYTHON", python_packages(shell));
    if has_npm {
        tests.env("POSSE_TEST_MCP", npm_packages(shell, "mcp-servers"));
        tests.env("POSSE_TEST_SDK", npm_packages(shell, "sdk"));
        tests.env("POSSE_TEST_ACP", npm_packages(shell, "acp"));
    }
    if shell.works(shell.cargo().args(["nextest", "--version"])) {
        tests.args(["nextest", "run", "--workspace", "--no-fail-fast"]).args(filters);
    } else {
        shell.note("cargo-nextest is not installed, so plain `cargo test` runs the tests; only slower");
        // `--tests` is everything but the doc tests, which have run.
        tests.args(["test", "--workspace", "--tests", "--no-fail-fast"]);
        if !filters.is_empty() {
            tests.arg("--").args(filters);
        }
    }
    shell.step("tests", &mut tests);
    Ok(())
}
