//! A tree of processes as far as every Unix knows it: the group of its first.

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

/// The processes of one group.
#[derive(Debug)]
pub(super) struct Group {
    leader: Pid,
}

impl Group {
    /// The group a process leads. It has no use for a mark.
    pub(super) fn new(leader: Pid, _mark: &str) -> Self {
        Self { leader }
    }

    /// Sends a signal, if any, to the group. All that is known of its members is the leader's id.
    pub(super) fn sweep(&mut self, signal: Option<Signal>) -> Vec<i32> {
        let alive = match signal {
            Some(signal) => kill_process_group(self.leader, signal),
            None => test_kill_process_group(self.leader),
        };
        alive.map(|()| self.leader.as_raw_nonzero().get()).into_iter().collect()
    }
}
