//! A tree of processes as Linux knows it: read from `/proc`, signalled one by one.

use std::collections::{BTreeMap, BTreeSet};

use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, getpid, kill_process, pidfd_open, pidfd_send_signal, waitpid,
};

use super::group::Group;
use super::{MARK, adopt_orphans};

/// Who belongs to one tree.
#[derive(Debug)]
pub(super) struct Kin {
    leader: Pid,
    mark: Box<str>,
    /// Everybody ever found, by id and time of start: whoever loses its mark and its parents afterwards is still one.
    known: BTreeMap<i32, u64>,
    /// Every session any of them was ever in and that still exists: somebody may be born and orphaned between two looks.
    sessions: BTreeSet<i32>,
}

impl Kin {
    /// The tree below a process that was just started with a mark.
    pub(super) fn new(leader: Pid, mark: &str) -> Self {
        let id = raw(leader);
        let known = Process::read(id).map(|process| (id, process.started)).into_iter().collect();
        Self { leader, mark: mark.into(), known, sessions: BTreeSet::from([id]) }
    }

    /// Sends a signal, if any, to all who live, and says who that was. Reaps those of the dead that are ours to reap.
    pub(super) fn sweep(&mut self, signal: Option<Signal>) -> Vec<i32> {
        let table = read();
        if table.is_empty() {
            return Group::new(self.leader, &self.mark).sweep(signal);
        }
        let members = self.find(&table);
        let (living, dead): (Vec<&Process>, Vec<&Process>) = members.iter().partition(|member| member.lives);
        for process in dead {
            // The leader's status belongs to whoever waits for it. Of the others, those whose parents were gone before
            // them are children of this process, and nobody else will ever ask.
            if process.parent == raw(getpid()) && process.id != raw(self.leader) {
                let _ = waitpid(Pid::from_raw(process.id), WaitOptions::NOHANG);
            }
        }
        if let Some(signal) = signal {
            for process in &living {
                process.signal(signal);
            }
        }
        living.into_iter().map(|process| process.id).collect()
    }

    fn find(&mut self, table: &BTreeMap<i32, Process>) -> Vec<Process> {
        let children = children(table);
        let me = raw(getpid());
        // Orphans come to this process, so nobody of the tree is anywhere else, and an id that was given out again to
        // a stranger is not mistaken for one of ours.
        let mut candidates = BTreeSet::new();
        if adopt_orphans() {
            add_with_descendants(me, &children, &mut candidates);
        } else {
            candidates.extend(table.keys());
        }
        candidates.remove(&me);

        let mut kin = BTreeSet::new();
        for process in candidates.iter().filter_map(|id| table.get(id)) {
            let known = self.known.get(&process.id) == Some(&process.started);
            if known || self.sessions.contains(&process.session) {
                add_with_descendants(process.id, &children, &mut kin);
            }
        }
        for process in candidates.iter().filter_map(|id| table.get(id)) {
            if process.lives && !kin.contains(&process.id) && is_marked(process.id, &self.mark) {
                add_with_descendants(process.id, &children, &mut kin);
            }
        }
        let members: Vec<Process> = kin.iter().filter_map(|id| table.get(id)).copied().collect();
        self.known = members.iter().map(|process| (process.id, process.started)).collect();
        // Session 0 is all sessions outside of this container.
        self.sessions.extend(members.iter().map(|process| process.session).filter(|session| *session > 0));
        // Nobody can come into a session that is empty, but its number is given out again.
        let alive: BTreeSet<i32> = table.values().map(|process| process.session).collect();
        self.sessions.retain(|session| alive.contains(session));
        members
    }
}

fn children(table: &BTreeMap<i32, Process>) -> BTreeMap<i32, Vec<i32>> {
    let mut children: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    for process in table.values() {
        children.entry(process.parent).or_default().push(process.id);
    }
    children
}

/// Those who live below a process.
pub(super) fn below(top: Pid) -> Vec<Process> {
    let table = read();
    let mut found = BTreeSet::new();
    add_with_descendants(raw(top), &children(&table), &mut found);
    found.remove(&raw(top));
    found.iter().filter_map(|id| table.get(id)).filter(|process| process.lives).copied().collect()
}

fn add_with_descendants(id: i32, children: &BTreeMap<i32, Vec<i32>>, found: &mut BTreeSet<i32>) {
    let mut todo = vec![id];
    while let Some(id) = todo.pop() {
        if found.insert(id) {
            todo.extend(children.get(&id).into_iter().flatten());
        }
    }
}

/// A process, as it was when the table was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Process {
    id: i32,
    parent: i32,
    pub(super) group: i32,
    pub(super) session: i32,
    /// Ticks after boot: with the id, it names a process for good.
    started: u64,
    lives: bool,
}

impl Process {
    fn read(id: i32) -> Option<Self> {
        Self::parse(&std::fs::read(format!("/proc/{id}/stat")).ok()?)
    }

    /// Reads `/proc/<id>/stat`. The program's name, in parentheses, may itself contain anything.
    pub(super) fn parse(stat: &[u8]) -> Option<Self> {
        let name_end = stat.iter().rposition(|byte| *byte == b')')?;
        let id = std::str::from_utf8(stat.split(|byte| *byte == b' ').next()?).ok()?.parse().ok()?;
        let rest = std::str::from_utf8(stat.get(name_end + 1..)?).ok()?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        let number = |field: usize| fields.get(field)?.parse::<i32>().ok();
        let ended = matches!(*fields.first()?, "Z" | "X" | "x");
        // A first thread that has ended looks dead while others go on.
        let threads = number(17)?;
        Some(Self {
            id,
            parent: number(1)?,
            group: number(2)?,
            session: number(3)?,
            started: fields.get(19)?.parse().ok()?,
            lives: !ended || threads > 1,
        })
    }

    /// Whether its session was made by itself.
    pub(super) fn leads_session(&self) -> bool {
        self.session == self.id
    }

    /// What names this process for good.
    pub(super) fn identity(&self) -> (i32, u64) {
        (self.id, self.started)
    }

    /// Sends a signal to this process, and not to another that has its id by now.
    pub(super) fn signal(&self, signal: Signal) {
        let Some(pid) = Pid::from_raw(self.id) else { return };
        let again = |signal| match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(fd) if Self::read(self.id).is_some_and(|now| now.started == self.started) => {
                pidfd_send_signal(fd, signal)
            }
            Err(Errno::NOSYS | Errno::PERM) => kill_process(pid, signal),
            Ok(_) | Err(_) => Ok(()),
        };
        // It may be gone by now, or belong to somebody else after `sudo`; the next look tells.
        let _ = again(signal);
        if signal == Signal::TERM {
            // Somebody who is stopped hears it only when he goes on.
            let _ = again(Signal::CONT);
        }
    }
}

/// This process. Asked of `/proc`, because the calls for its group and its session are wrapped as if they could not
/// answer 0, which they do where those are outside of a container.
pub(super) fn own() -> Option<Process> {
    Process::read(raw(getpid()))
}

/// All processes.
fn read() -> BTreeMap<i32, Process> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    ids.filter_map(|id| Some((id, Process::read(id)?))).collect()
}

/// When a living process was started.
pub(super) fn started(id: i32) -> Option<u64> {
    Process::read(id).filter(|process| process.lives).map(|process| process.started)
}

/// Whether a process carries a mark. An environment that may not be read carries none.
fn is_marked(id: i32, mark: &str) -> bool {
    let Ok(environment) = std::fs::read(format!("/proc/{id}/environ")) else { return false };
    environment.split(|byte| *byte == 0).any(|entry| {
        let value = entry.strip_prefix(MARK.as_bytes()).and_then(|rest| rest.strip_prefix(b"="));
        value.is_some_and(|value| value.split(|byte| *byte == b'/').any(|part| part == mark.as_bytes()))
    })
}

fn raw(pid: Pid) -> i32 {
    pid.as_raw_nonzero().get()
}

#[cfg(test)]
mod tests;
