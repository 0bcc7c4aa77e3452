//! How many agents work at once. Whoever finds no seat waits in line; only a line without end is refused.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::world::Env;

/// Seats unless `CLAUDE_CODE_MAX_CONCURRENT_SUBAGENTS` says otherwise.
const SEATS: u64 = 20;
/// How long the line may get unless `POSSE_MAX_QUEUED_SUBAGENTS` says otherwise.
const LINE: u64 = 10_000;

/// The seats of a session.
#[derive(Clone, Debug)]
pub(super) struct Seats {
    free: Arc<Semaphore>,
    all: usize,
    waiting: Arc<AtomicUsize>,
    most_waiting: usize,
}

impl Seats {
    pub(super) fn new(env: &Env) -> Self {
        let number = |name: &str, usual: u64| {
            // What cannot be read has refused the start.
            let wanted = env.number(name).unwrap_or(usual);
            usize::try_from(wanted).unwrap_or(usize::MAX).min(Semaphore::MAX_PERMITS)
        };
        let all = number("CLAUDE_CODE_MAX_CONCURRENT_SUBAGENTS", SEATS);
        let most_waiting = number("POSSE_MAX_QUEUED_SUBAGENTS", LINE);
        Self { free: Arc::new(Semaphore::new(all)), all, waiting: Arc::default(), most_waiting }
    }

    /// A place in the line; an error says why there is none.
    pub(super) fn reserve(&self) -> Result<Place, String> {
        let before = self.waiting.fetch_add(1, Ordering::Relaxed);
        let place = Place { seats: self.clone(), before };
        if before >= self.most_waiting {
            return Err(format!(
                "Concurrent subagent limit reached: {} agents are at work and {before} wait. Wait for some of them to \
                 end before you start another.",
                self.all
            ));
        }
        Ok(place)
    }
}

/// A place in the line.
#[derive(Debug)]
pub(super) struct Place {
    seats: Seats,
    /// How many were in the line already.
    before: usize,
}

impl Place {
    /// How many have to be seated first; nobody knows of a line if there is a seat.
    pub(super) fn line(&self) -> Option<usize> {
        self.before.checked_sub(self.seats.free.available_permits())
    }

    /// Waits for a seat, in the order of the line.
    pub(super) async fn seat(self) -> Seat {
        let free = Arc::clone(&self.seats.free);
        // The semaphore is never closed.
        let permit = Arc::clone(&free).acquire_owned().await.ok();
        Seat { free: Some(free), held: Mutex::new(Held { permit, resting: 0 }) }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.seats.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A seat that somebody works on. Whoever waits for an agent of its own gives it up meanwhile, or a chain of waiting
/// agents could take all the seats there are.
#[derive(Debug)]
pub(super) struct Seat {
    free: Option<Arc<Semaphore>>,
    held: Mutex<Held>,
}

#[derive(Debug)]
struct Held {
    permit: Option<OwnedSemaphorePermit>,
    resting: usize,
}

impl Seat {
    /// The main agent sits apart.
    pub(super) fn free() -> Self {
        Self { free: None, held: Mutex::new(Held { permit: None, resting: 0 }) }
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes over a seat that was waited for.
    pub(super) fn take(&self, other: Self) {
        let permit = other.held().permit.take();
        self.held().permit = permit;
    }

    /// A seat that is not there yet.
    pub(super) fn empty(seats: &Seats) -> Self {
        Self { free: Some(Arc::clone(&seats.free)), held: Mutex::new(Held { permit: None, resting: 0 }) }
    }

    /// Gives the seat up for good.
    pub(super) fn leave(&self) {
        self.held().permit = None;
    }

    /// Gives the seat up while somebody else works for whoever has it.
    pub(super) fn rest(&self) {
        let mut held = self.held();
        held.resting += 1;
        held.permit = None;
    }

    /// Waits for a seat again, if nobody else of theirs is being waited for.
    pub(super) async fn resume(&self) {
        let wanted = {
            let mut held = self.held();
            held.resting = held.resting.saturating_sub(1);
            held.resting == 0 && held.permit.is_none()
        };
        let Some(free) = self.free.clone().filter(|_| wanted) else { return };
        let permit = free.acquire_owned().await.ok();
        let mut held = self.held();
        if held.resting == 0 {
            held.permit = permit;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(seats: &str, line: &str) -> Env {
        let set = [("CLAUDE_CODE_MAX_CONCURRENT_SUBAGENTS", seats), ("POSSE_MAX_QUEUED_SUBAGENTS", line)];
        Env::new(set.map(|(name, value)| (name.to_owned(), value.to_owned())))
    }

    #[tokio::test]
    async fn a_seat_is_given_up_while_its_owner_waits_for_an_agent() {
        let seats = Seats::new(&env("1", "5"));
        let parent = seats.reserve().unwrap().seat().await;
        assert_eq!(seats.free.available_permits(), 0);
        parent.rest();
        let child = seats.reserve().unwrap().seat().await;
        drop(child);
        parent.resume().await;
        assert_eq!(seats.free.available_permits(), 0);
        drop(parent);
        assert_eq!(seats.free.available_permits(), 1);
    }

    #[tokio::test]
    async fn whoever_comes_with_others_sees_them_in_the_line() {
        let seats = Seats::new(&env("2", "5"));
        let line = [seats.reserve().unwrap(), seats.reserve().unwrap(), seats.reserve().unwrap()];
        assert_eq!(line.each_ref().map(Place::line), [None, None, Some(0)]);
    }

    #[tokio::test]
    async fn the_line_has_an_end() {
        let seats = Seats::new(&env("1", "2"));
        let _at_work = seats.reserve().unwrap().seat().await;
        let line = [seats.reserve().unwrap(), seats.reserve().unwrap()];
        assert_eq!(line.each_ref().map(Place::line), [Some(0), Some(1)]);
        assert!(seats.reserve().unwrap_err().contains("limit reached"));
    }
}
