//! Work on many files at once, results in the order of the input.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Below this, a thread costs more CPU (its stack, its arena of memory) than the time it saves is worth.
const WORTH_A_THREAD: usize = 512;
/// More readers than this only wait for each other.
const MOST_THREADS: usize = 8;
/// Items a worker takes at a time: few enough to share evenly, many enough not to fight over the counter.
const BATCH: usize = 16;

/// Maps every item, in parallel if there are many.
pub(super) fn map<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = cores.min(MOST_THREADS).min(items.len() / WORTH_A_THREAD);
    if threads < 2 {
        return items.iter().map(work).collect();
    }
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut done = Vec::new();
        loop {
            let start = next.fetch_add(BATCH, Ordering::Relaxed);
            if start >= items.len() {
                return done;
            }
            let batch = &items[start..(start + BATCH).min(items.len())];
            done.push((start, batch.iter().map(&work).collect::<Vec<_>>()));
        }
    };
    let mut batches: Vec<(usize, Vec<R>)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        workers
            .into_iter()
            .flat_map(|worker| match worker.join() {
                Ok(done) => done,
                Err(panic) => std::panic::resume_unwind(panic),
            })
            .collect()
    });
    batches.sort_by_key(|(start, _)| *start);
    batches.into_iter().flat_map(|(_, results)| results).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_is_kept_whatever_the_number() {
        for count in [0, 1, 63, 64, 1000, 4097] {
            let items: Vec<usize> = (0..count).collect();
            let want: Vec<usize> = items.iter().map(|n| n * 2).collect();
            assert_eq!(map(&items, |n| n * 2), want);
        }
    }
}
