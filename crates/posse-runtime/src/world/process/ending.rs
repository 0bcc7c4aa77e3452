//! Ending everybody below this process, whoever they are and however fast they multiply.

use std::collections::BTreeSet;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process_group, wait};

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

/// Sends a signal to processes, and at once to all in their groups: to whoever is born meanwhile, too.
fn send(signal: Signal, processes: &[Process]) {
    let groups = table::own().map(|own| groups_of(&own, processes)).unwrap_or_default();
    for group in groups.into_iter().filter_map(Pid::from_raw) {
        let _ = kill_process_group(group, signal);
    }
    processes.iter().for_each(|process| process.signal(signal));
}

/// The groups that have nobody else in them than processes below this one: those of a session that was made below it,
/// or by it. In a container, this process itself may be in a group and a session of somebody outside, which are
/// numbered 0 there.
fn groups_of(own: &Process, processes: &[Process]) -> BTreeSet<i32> {
    let is_ours = |process: &&Process| own.leads_session() || process.session != own.session;
    let groups = processes.iter().filter(is_ours).map(|process| process.group);
    groups.filter(|group| *group > 0 && *group != own.group).collect()
}

#[cfg(test)]
mod tests {
    use super::{Process, groups_of};

    fn process(id: i32, group: i32, session: i32) -> Process {
        let stat = format!("{id} (sh) S 1 {group} {session} 0 0 0 0 0 0 0 0 0 0 0 0 0 20 0 1 0 77 0 0");
        Process::parse(stat.as_bytes()).expect("a line of the table")
    }

    #[test]
    fn groups_of_strangers_are_left_alone() {
        let cases = [
            ("a minder leads its session", process(10, 10, 10), vec![process(11, 11, 10)], vec![11]),
            ("but does not end itself", process(10, 10, 10), vec![process(11, 10, 10)], vec![]),
            (
                "a job of the same terminal is a stranger's",
                process(10, 10, 5),
                vec![process(11, 11, 5)],
                vec![],
            ),
            (
                "a session made below",
                process(10, 10, 5),
                vec![process(11, 11, 11), process(12, 12, 11)],
                vec![11, 12],
            ),
            (
                "in a container, below a session outside",
                process(10, 0, 0),
                vec![process(11, 11, 11)],
                vec![11],
            ),
            (
                "which is nobody's to end",
                process(10, 0, 0),
                vec![process(11, 0, 0), process(12, 12, 0)],
                vec![],
            ),
        ];
        for (what, own, below, expected) in cases {
            assert_eq!(groups_of(&own, &below).into_iter().collect::<Vec<_>>(), expected, "{what}");
        }
    }
}
