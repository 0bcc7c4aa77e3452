//! A world on disk for one test.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::output::Output;
use crate::pty::Pty;

/// Folders that live as long as the test: `home`, `project` (a repository's top) and whatever is added.
pub struct TestEnv {
    root: tempfile::TempDir,
    binary: Option<PathBuf>,
    vars: Vec<(String, String)>,
    cwd: PathBuf,
}

impl Default for TestEnv {
    fn default() -> Self {
        Self::new()
    }
}

impl TestEnv {
    /// A world without a program to run.
    pub fn new() -> Self {
        let root = tempfile::tempdir().expect("a temporary folder");
        let cwd = root.path().join("project");
        // An empty `.git` marks the top of the repository, so that no walk leaves the test's world.
        for folder in ["home", "project/.git"] {
            std::fs::create_dir_all(root.path().join(folder)).expect("a folder");
        }
        Self { root, binary: None, vars: Vec::new(), cwd }
    }

    /// A world with posse in it; the path is `env!("CARGO_BIN_EXE_posse")`.
    pub fn with_binary(binary: &str) -> Self {
        Self { binary: Some(binary.into()), ..Self::new() }
    }

    /// Sets an environment variable for what is run.
    pub fn set(&mut self, name: &str, value: &str) -> &mut Self {
        self.vars.push((name.into(), value.into()));
        self
    }

    /// Runs from another folder of this world.
    pub fn enter(&mut self, folder: &str) -> &mut Self {
        self.cwd = self.path(folder);
        std::fs::create_dir_all(&self.cwd).expect("a folder");
        self
    }

    /// A path in this world.
    pub fn path(&self, relative: &str) -> PathBuf {
        self.root.path().join(relative)
    }

    /// The working directory.
    pub fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// The environment variables of what is run.
    pub fn vars(&self) -> Vec<(String, String)> {
        let mut vars = vec![
            ("HOME".to_owned(), self.path("home").display().to_string()),
            // An administrator's folder of this world; the machine's own, should it have one, would win.
            ("POSSE_MANAGED_DIR".to_owned(), self.path("managed").display().to_string()),
        ];
        vars.extend(self.vars.iter().cloned());
        vars
    }

    /// Writes a file, with the folders above it.
    pub fn write(&self, relative: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(relative);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).expect("a folder");
        }
        std::fs::write(&path, content).expect("a file");
        path
    }

    /// Reads a file.
    pub fn read(&self, relative: &str) -> String {
        std::fs::read_to_string(self.path(relative)).expect("a file")
    }

    /// Writes an agent of the project.
    pub fn agent(&self, file: &str, content: &str) -> PathBuf {
        self.write(&format!("project/.claude/agents/{file}"), content)
    }

    /// A minimal agent's text.
    pub fn minimal(name: &str) -> String {
        format!("---\nname: {name}\ndescription: The {name}\n---\nBe {name}.\n")
    }

    /// Runs posse and waits for its end.
    pub fn posse(&self, args: &[&str]) -> Output {
        let mut command = self.command();
        command.args(args).stdin(Stdio::null());
        self.finish(command)
    }

    /// Runs posse with its output going into a pipe that is closed at once.
    pub fn posse_into_closed_pipe(&self, args: &[&str]) -> Output {
        let mut command = self.command();
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let mut child = command.args(args).stdin(Stdio::null()).stdout(writer).stderr(Stdio::piped()).spawn();
        let child = child.as_mut().expect("posse starts");
        let code = child.wait().expect("posse ends").code();
        let mut stderr = String::new();
        if let Some(pipe) = &mut child.stderr {
            std::io::Read::read_to_string(pipe, &mut stderr).expect("text");
        }
        Output { code, stdout: String::new(), stderr }
    }

    /// Starts posse with somebody at the other end of its input and output.
    pub fn start(&self, args: &[&str]) -> std::process::Child {
        let mut command = self.command();
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("posse starts")
    }

    /// Starts posse at a terminal of its own.
    #[allow(clippy::disallowed_methods)] // As below.
    pub fn at_terminal(&self, args: &[&str]) -> Pty {
        let posse = self.command();
        // A session of its own with this terminal as the controlling one, so that Ctrl-C reaches posse and nobody else.
        let mut command = Command::new("setsid");
        command.arg("--ctty").arg("--wait").arg(posse.get_program()).args(args);
        let vars = posse.get_envs().filter_map(|(name, value)| Some((name, value?)));
        command.env_clear().envs(vars).current_dir(&self.cwd);
        Pty::start(command)
    }

    /// posse, ready to be started by the test itself.
    #[allow(clippy::disallowed_methods)] // Tests start programs with a cwd and environment of their own.
    pub fn command(&self) -> Command {
        let binary = self.binary.as_ref().expect("TestEnv::with_binary");
        let mut command = Command::new(binary);
        command.env_clear().envs(self.vars()).current_dir(&self.cwd);
        if let Some(path) = option_env!("PATH") {
            command.env("PATH", path);
        }
        command
    }

    fn finish(&self, mut command: Command) -> Output {
        let output = command.output().expect("posse runs");
        Output {
            code: output.status.code(),
            stdout: self.normalize(&output.stdout),
            stderr: self.normalize(&output.stderr),
        }
    }

    /// Text with this world's folder shown as `$ENV`.
    pub fn normalize(&self, text: &[u8]) -> String {
        let text = String::from_utf8_lossy(text);
        let real = self.root.path().canonicalize().unwrap_or_else(|_| self.root.path().to_owned());
        text.replace(&*self.root.path().to_string_lossy(), "$ENV").replace(&*real.to_string_lossy(), "$ENV")
    }

    /// Runs git in this world; tests that need a repository need the real one.
    #[allow(clippy::disallowed_methods)]
    pub fn git(&self, folder: &str, args: &[&str]) {
        let mut command = Command::new("git");
        command.args([
            "-c",
            "user.name=Test",
            "-c",
            "user.email=test@example.com",
            "-c",
            "init.defaultBranch=main",
        ]);
        command.args(args).current_dir(self.path(folder)).env("HOME", self.path("home"));
        let output = command.output().expect("git runs");
        if !output.status.success() {
            let _ = std::io::stderr().write_all(&output.stderr);
            panic!("git {args:?} failed");
        }
    }
}
