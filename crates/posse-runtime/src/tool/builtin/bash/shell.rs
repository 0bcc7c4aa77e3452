//! Starting a command in a shell, and learning where the shell ended up.
//!
//! The command runs under `eval`, so that a syntax error or a heredoc at its end stays its own. Its last folder comes
//! back through a file: on every way out if the command sets no EXIT trap, and on the usual one if it does.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tempfile::NamedTempFile;

use super::pipes::Pipes;
use crate::sandbox::{Sandbox, Wrapped};
use crate::tool::ToolCx;
use crate::world::process::{Input, Program, Tree};
use crate::world::{Env, World};

/// Linux takes no single argument of 128 KiB or more.
const LONGEST_ARGUMENT: usize = 120_000;
/// Linux takes no path longer than this.
const LONGEST_PATH: usize = 4096;
/// Where shells are if nobody says.
const USUAL_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// A command that was started.
#[derive(Debug)]
pub(super) struct Shell {
    pub(super) tree: Tree,
    pub(super) pipes: Pipes,
    pub(super) last_folder: LastFolder,
}

/// Where the shell writes its last folder. Without a file, it does not.
#[derive(Debug)]
pub(super) struct LastFolder {
    file: Option<NamedTempFile>,
    /// The command itself, if it was too long for an argument.
    _command: Option<NamedTempFile>,
}

impl LastFolder {
    /// Where the shell was when it ended, if that is known and still there.
    pub(super) fn read(&self) -> Option<PathBuf> {
        use std::os::unix::ffi::OsStringExt;
        use std::os::unix::fs::FileExt;
        // The file that was made, not what a command may have put in its place.
        let mut path = vec![0; LONGEST_PATH];
        let length = self.file.as_ref()?.as_file().read_at(&mut path, 0).ok()?;
        path.truncate(length);
        path.pop_if(|last| *last == b'\n');
        let path = PathBuf::from(OsString::from_vec(path));
        path.is_dir().then_some(path)
    }
}

impl Shell {
    /// Starts a command in a folder, in a sandbox if there is one.
    pub(super) fn start(
        text: &str,
        folder: &Path,
        sandbox: Option<&Sandbox>,
        cx: &ToolCx,
    ) -> std::io::Result<Self> {
        let world: &World = &cx.world;
        // Without a place for the file the command still runs; only `cd` is forgotten.
        let file = temporary(sandbox, cx).ok();
        let hook_lines = cx.env_file.as_deref().filter(|path| path.is_file());
        let before =
            hook_lines.map(|path| format!(". {}; ", quote(&path.to_string_lossy()))).unwrap_or_default();
        let mut script = format!("{before}{}", script(text, file.as_ref().map(NamedTempFile::path)));
        let mut too_long = None;
        if script.len() > LONGEST_ARGUMENT {
            let mut long = temporary(sandbox, cx)?;
            long.write_all(text.as_bytes())?;
            let run = format!(". {}", quote(&long.path().to_string_lossy()));
            script = format!("{before}{}", wrap(&run, file.as_ref().map(NamedTempFile::path)));
            too_long = Some(long);
        }
        let shell = find(&world.env);
        let (mut program, more_env) = prepare(world, &shell, &["-c", &script], folder, sandbox)?;
        program
            .command()
            .env_clear()
            .envs(world.env.for_programs(sandbox.is_some_and(Sandbox::is_read_only)).iter())
            .envs(more_env)
            .env("CLAUDECODE", "1")
            // An editor nobody can see would wait for ever.
            .env("GIT_EDITOR", "true")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut tree = Tree::start(program, Input::None, &world.ids.uuid())?;
        let pipes = Pipes::new(tree.stdout(), tree.stderr());
        Ok(Self { tree, pipes, last_folder: LastFolder { file, _command: too_long } })
    }
}

/// A program with its arguments, confined if it is to be.
fn prepare(
    world: &World,
    shell: &Path,
    args: &[&str],
    folder: &Path,
    sandbox: Option<&Sandbox>,
) -> std::io::Result<Prepared> {
    let Some(sandbox) = sandbox else {
        // Its messages begin with its name, which is not where it was found.
        let name = shell.file_name().unwrap_or(shell.as_os_str());
        let mut program = Program::new(&world.program, shell, name, folder);
        program.command().args(args);
        return Ok((program, Vec::new()));
    };
    // The minder stays outside of the sandbox, so that what is in it cannot end the minder.
    let Wrapped { program, args, env } = sandbox.wrap(shell, args).map_err(std::io::Error::other)?;
    let mut program = Program::new(&world.program, &program, &program, folder);
    program.command().args(args);
    Ok((program, env))
}

/// A program, and what to add to its environment.
type Prepared = (Program, Vec<(String, OsString)>);

fn temporary(sandbox: Option<&Sandbox>, cx: &ToolCx) -> std::io::Result<NamedTempFile> {
    let in_folder = |folder: &Path| tempfile::Builder::new().prefix("posse-").tempfile_in(folder);
    if let Some(sandbox) = sandbox {
        // The only place a confined shell can always write to.
        return in_folder(sandbox.scratch());
    }
    in_folder(&cx.world.temp_dir()).or_else(|_| {
        std::fs::create_dir_all(&cx.spool)?;
        in_folder(&cx.spool)
    })
}

/// The user's bash, or the shell every system has.
fn find(env: &Env) -> PathBuf {
    let folders = env.get("PATH").unwrap_or(USUAL_PATH).split(':').filter(|folder| folder.starts_with('/'));
    let mut bashes = folders.map(|folder| Path::new(folder).join("bash"));
    bashes.find(|path| path.is_file()).unwrap_or_else(|| "/bin/sh".into())
}

fn script(text: &str, last_folder: Option<&Path>) -> String {
    wrap(&format!("eval {}", quote(text)), last_folder)
}

/// On one line, so that line numbers in messages are the command's own.
fn wrap(run: &str, last_folder: Option<&Path>) -> String {
    let Some(file) = last_folder else { return run.to_owned() };
    // Without the traces of `set -x`, and whatever the command has made of `pwd`.
    let save = format!("{{ set +xv; command pwd -P >| {}; }} 2>/dev/null", quote(&file.to_string_lossy()));
    let trap = quote(&save);
    format!("trap {trap} EXIT; {run}; {{ set -- \"$?\"; set +xv; }} 2>/dev/null; {save} || :; exit \"$1\"")
}

/// A text as one word of a shell.
fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
