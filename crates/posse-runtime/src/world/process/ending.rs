//! Ending everybody below this process, whoever they are and however fast they multiply.

use std::collections::BTreeSet;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions, getpgrp, getpid, getsid, kill_process_group, wait};

use super::table::{self, Process};

/// Looks at a tree that multiplies, before what was found is ended.
const LOOKS: usize = 50;

/// Those who live below this process.
pub(super) fn below() -> Vec<Process> {
    table::below(getpid())
}

/// Ends all whom one can find. Somebody may come to this process meanwhile, so once is not enough.
pub(super) fn strike() {
    freeze();
    send(Signal::KILL, &below());
}

/// Ends all below this process, which is about to end itself. Usually there is nobody.
pub(super) fn end_all() {
    for _ in 0..100 {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(_) => return,
            }
        }
        strike();
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Stops all, until a look finds nobody new. Those who are stopped start nobody, and keep the places of those whom the
/// others could start: a tree that multiplies faster than it is ended would go on for ever.
fn freeze() {
    let mut known = BTreeSet::new();
    for _ in 0..LOOKS {
        let mut found = below();
        found.retain(|process| known.insert(process.identity()));
        if found.is_empty() {
            return;
        }
        send(Signal::STOP, &found);
    }
}

/// Sends a signal to processes, and at once to all in their groups: to whoever is born meanwhile, too. A session that
/// was made below this process, or by it, has nobody else in it.
fn send(signal: Signal, processes: &[Process]) {
    let (own_group, session) = (getpgrp(), getsid(None).ok());
    let leads = session == Some(getpid());
    let is_ours = |process: &&Process| leads || Pid::from_raw(process.session) != session;
    let groups: BTreeSet<i32> = processes.iter().filter(is_ours).map(|process| process.group).collect();
    for group in groups.into_iter().filter_map(Pid::from_raw).filter(|group| *group != own_group) {
        let _ = kill_process_group(group, signal);
    }
    processes.iter().for_each(|process| process.signal(signal));
}
