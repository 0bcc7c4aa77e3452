//! A terminal without a screen: a program that believes a person sits there, and a test that is the person.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Command};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// A program at a terminal.
pub struct Pty {
    terminal: File,
    child: Child,
    /// Everything shown so far.
    shown: String,
    /// Up to where the test has looked.
    looked: usize,
}

/// After so much silence nothing will come any more. Long, because machines can be busy.
const PATIENCE: Timespec = Timespec { tv_sec: 60, tv_nsec: 0 };

impl Pty {
    /// Starts a program at a new terminal of 100 columns.
    pub fn start(mut command: Command) -> Self {
        let terminal =
            openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).expect("a terminal");
        grantpt(&terminal).and_then(|()| unlockpt(&terminal)).expect("a usable terminal");
        let name = ptsname(&terminal, Vec::new()).expect("a name");
        let size = Winsize { ws_row: 40, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0 };
        let inside = || -> OwnedFd {
            let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
            rustix::fs::open(name.as_c_str(), flags, Mode::empty()).expect("the other end")
        };
        let end = inside();
        tcsetwinsize(&end, size).expect("a size");
        command.stdin(inside()).stdout(inside()).stderr(inside());
        let child = command.spawn().expect("a program that starts");
        // With its ends closed here, the terminal ends when the program does.
        drop((command, end));
        Self { terminal: File::from(terminal), child, shown: String::new(), looked: 0 }
    }

    /// Types.
    pub fn send(&mut self, text: &str) {
        self.terminal.write_all(text.as_bytes()).expect("a terminal that takes input");
    }

    /// Waits until a text is shown, behind the last one waited for; gives what was shown on the way to it.
    #[track_caller]
    pub fn expect(&mut self, text: &str) -> String {
        loop {
            if let Some(at) = self.shown[self.looked..].find(text) {
                let end = self.looked + at + text.len();
                let passed = self.shown[self.looked..end].to_owned();
                self.looked = end;
                return passed;
            }
            assert!(self.read(), "{text:?} is not shown; this is:\n{}", self.shown);
        }
    }

    /// Waits for the program's end: its exit code and everything it has shown.
    #[track_caller]
    pub fn end(mut self) -> (Option<i32>, String) {
        while self.read() {}
        let status = self.child.wait().expect("a program that ends");
        (status.code(), std::mem::take(&mut self.shown))
    }

    /// Reads on; `false` when nothing will come any more.
    fn read(&mut self) -> bool {
        let mut waiting = [PollFd::new(&self.terminal, PollFlags::IN)];
        let ready = poll(&mut waiting, Some(&PATIENCE)).expect("a terminal to wait on");
        assert!(ready > 0, "silence; this was shown:\n{}", self.shown);
        let mut bytes = [0; 4096];
        // A terminal whose program is gone answers with an error.
        let count = self.terminal.read(&mut bytes).unwrap_or(0);
        self.shown.push_str(&String::from_utf8_lossy(&bytes[..count]));
        count > 0
    }
}

impl Drop for Pty {
    fn drop(&mut self) {
        // A test that failed half-way leaves nothing running.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
