//! What the host said and the agent has not heard yet. Knows the order; pure.

use super::incoming::{Priority, UserLine};

/// Messages that wait.
#[derive(Debug, Default)]
pub(super) struct Queue {
    waiting: Vec<UserLine>,
}

impl Queue {
    /// Puts a message in its place: before all that can wait longer.
    pub(super) fn put(&mut self, line: UserLine) {
        let place = self.waiting.iter().position(|other| other.priority > line.priority);
        self.waiting.insert(place.unwrap_or(self.waiting.len()), line);
    }

    /// What is said next: everything that waits, as far as it can be said together. A command is said alone, and so is
    /// what wants no answer.
    pub(super) fn take(&mut self) -> Vec<UserLine> {
        let Some(first) = self.waiting.first() else { return Vec::new() };
        let (wants, soon) = (first.wants_answer, first.priority <= Priority::Next);
        let alone = |line: &UserLine| line.command().is_some() || !line.wants_answer;
        let joins = |line: &&UserLine| {
            !alone(line) && line.wants_answer == wants && (line.priority <= Priority::Next) == soon
        };
        let count = if alone(first) { 1 } else { self.waiting.iter().take_while(joins).count() };
        self.waiting.drain(..count.max(1)).collect()
    }

    /// Takes a message back.
    pub(super) fn cancel(&mut self, uuid: &str) -> bool {
        let before = self.waiting.len();
        self.waiting.retain(|line| line.uuid.as_deref() != Some(uuid));
        self.waiting.len() < before
    }

    /// Takes everything back; the names of what had one.
    pub(super) fn clear(&mut self) -> Vec<String> {
        std::mem::take(&mut self.waiting).into_iter().filter_map(|line| line.uuid).collect()
    }

    /// The names of what waits.
    pub(super) fn names(&self) -> Vec<&str> {
        self.waiting.iter().filter_map(|line| line.uuid.as_deref()).collect()
    }

    /// How many wait.
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }
}

#[cfg(test)]
mod tests;
