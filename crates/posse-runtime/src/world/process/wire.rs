//! What posse and the minder of a program say to each other: how the work is handed over, how it ended, when to stop.
//!
//! They talk over a pair of sockets. Nobody else has posse's end, so that its closing means that posse is gone, however
//! that came about. The minder's end is its standard input: the one way to hand a socket over that cannot leak into
//! programs which are started at the same moment.

use std::io::{Error, ErrorKind, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};

/// The word by which posse is asked to be a minder: `posse __mind <name> <program> <arguments>…`
pub(super) const WORD: &str = "__mind";
/// Posse's word to ask all to end. Any other ends them, as does its silence.
pub(super) const ASK: u8 = b'a';
/// Posse's word to end all.
pub(super) const END: u8 = b'e';
/// The first word, with what the program reads, if it reads anything.
const START: u8 = b's';

/// What a minder has to say, once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum News {
    /// The program itself has ended.
    Ended {
        /// How, as the system puts it.
        status: i32,
        /// Whether nothing that it started is left. The minder ends, too, then.
        alone: bool,
    },
    /// There is no such program, or it cannot be run: the number of the error.
    NotStarted(i32),
}

impl News {
    /// How long it is on the wire.
    pub(super) const LENGTH: usize = 6;

    /// As it is sent.
    pub(super) fn bytes(self) -> [u8; Self::LENGTH] {
        let (kind, alone, number) = match self {
            Self::Ended { status, alone } => (b'e', alone, status),
            Self::NotStarted(number) => (b'n', true, number),
        };
        let [a, b, c, d] = number.to_le_bytes();
        [kind, u8::from(alone), a, b, c, d]
    }

    /// As it was sent.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let [kind, alone, number @ ..] = bytes else { return None };
        let number = i32::from_le_bytes(number.try_into().ok()?);
        match kind {
            b'e' => Some(Self::Ended { status: number, alone: *alone == 1 }),
            b'n' => Some(Self::NotStarted(number)),
            _ => None,
        }
    }
}

/// Hands the program's input over.
pub(super) fn send_input(line: impl AsFd, input: Option<BorrowedFd<'_>>) -> std::io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut rights = SendAncillaryBuffer::new(&mut space);
    let input: Vec<BorrowedFd<'_>> = input.into_iter().collect();
    if !input.is_empty() && !rights.push(SendAncillaryMessage::ScmRights(&input)) {
        return Err(Error::other("no room for a descriptor"));
    }
    sendmsg(line, &[IoSlice::new(&[START])], &mut rights, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Waits for the program's input.
pub(super) fn receive_input(line: impl AsFd) -> std::io::Result<Option<OwnedFd>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut rights = RecvAncillaryBuffer::new(&mut space);
    let mut word = [0];
    #[cfg(target_os = "linux")]
    let flags = RecvFlags::CMSG_CLOEXEC;
    #[cfg(not(target_os = "linux"))]
    let flags = RecvFlags::empty();
    let got = recvmsg(line, &mut [IoSliceMut::new(&mut word)], &mut rights, flags)?;
    if got.bytes == 0 || word != [START] {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    Ok(rights.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    }))
}

#[cfg(test)]
mod tests;
