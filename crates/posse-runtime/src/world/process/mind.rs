//! The minder: a posse that starts one program, adopts whatever loses its parents below it, and ends all of that when
//! it is told to, or when the posse that started it is gone. It reads no settings and knows nothing of agents.
//!
//! It is a process of its own because nobody else is left after `kill -9`. As the adopter of orphans it has the whole
//! tree below it, whatever that does to sessions, groups and environments. A signal at the parent's death would not do:
//! it comes when a thread ends, and it would end the minder first.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{ExitCode, Stdio};
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, getpid, wait};

use super::ending;
use super::wire::{self, ASK, News, WORD};

/// The longest pause between two tries to end what does not end: it belongs to another user, or to the kernel.
const PAUSE: Duration = Duration::from_secs(1);
/// The minder's second thread reads a byte and walks a table.
const STACK: usize = 256 * 1024;

/// Whether a command line asks for this.
pub fn is_asked(args: &[OsString]) -> bool {
    args.get(1).is_some_and(|word| word == WORD)
}

/// Minds a program until nothing is left of it.
pub fn run(args: &[OsString]) -> ExitCode {
    match mind(args) {
        Ok(()) => ExitCode::SUCCESS,
        // There is nobody to tell: whoever started this is gone, or is no posse.
        Err(_) => ExitCode::from(125),
    }
}

fn mind(args: &[OsString]) -> std::io::Result<()> {
    let [_, _, name, program, args @ ..] = args else { return Err(Errno::INVAL.into()) };
    rustix::process::set_child_subreaper(Some(getpid()))?;
    let line = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    let input = wire::receive_input(&line)?;
    let mut line = UnixStream::from(line);
    let orders = line.try_clone()?;
    // Before there is anything to end, so that there is no moment in which nobody would.
    std::thread::Builder::new().stack_size(STACK).spawn(move || obey(orders))?;
    let news = match start(name, program, args, input) {
        Ok(leader) => {
            hush()?;
            let status = wait_for(leader)?;
            News::Ended { status, alone: !reap(WaitOptions::NOHANG)? }
        }
        Err(error) => News::NotStarted(error.raw_os_error().unwrap_or_default()),
    };
    // Whoever does not listen any more is gone, and the other thread knows.
    let _ = line.write_all(&news.bytes());
    reap(WaitOptions::empty()).map(drop)
}

#[allow(clippy::disallowed_methods)] // In the surroundings this process was given for it.
fn start(
    name: &OsString,
    program: &OsString,
    args: &[OsString],
    input: Option<OwnedFd>,
) -> std::io::Result<Pid> {
    let mut command = std::process::Command::new(program);
    // A group of its own: `kill 0` is for the program and not for its minder.
    command.arg0(name).args(args).process_group(0).stdin(input.map_or_else(Stdio::null, Stdio::from));
    let child = command.spawn()?;
    i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or_else(|| Errno::SRCH.into())
}

/// Lets go of the program's pipes: who reads them waits for their end.
fn hush() -> std::io::Result<()> {
    let nothing = std::fs::File::options().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&nothing)?;
    rustix::stdio::dup2_stdout(&nothing)?;
    Ok(rustix::stdio::dup2_stderr(&nothing)?)
}

/// Waits for the program itself, and reaps whoever else ends meanwhile.
fn wait_for(leader: Pid) -> std::io::Result<i32> {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == leader => return Ok(status.as_raw()),
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Reaps all who have ended, or waits until all have. Says whether somebody is left.
fn reap(how: WaitOptions) -> std::io::Result<bool> {
    loop {
        match wait(how) {
            Ok(None) => return Ok(true),
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Err(Errno::CHILD) => return Ok(false),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Does what posse says, and when it is gone, what it would have said. Ends with the process, when nobody is left.
fn obey(mut line: UnixStream) {
    let mut word = [0];
    loop {
        match line.read(&mut word) {
            Ok(1) if word == [ASK] => ending::below().iter().for_each(|process| process.signal(Signal::TERM)),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Ok(_) | Err(_) => break,
        }
    }
    let mut pause = Duration::from_millis(1);
    loop {
        ending::strike();
        std::thread::sleep(pause);
        pause = (pause * 2).min(PAUSE);
    }
}
