//! Keeping what a program prints, however much it is: the beginning and the end in memory, the whole in a file.
//!
//! Nothing here knows where the bytes come from. Escape sequences for terminals are taken out on the way in, so that a
//! model reads, and counts, only text.

mod clip;
mod plain;
mod spool;

use std::path::{Path, PathBuf};

pub(crate) use clip::Clip;
pub(crate) use plain::Plain;
pub(crate) use spool::Spool;

/// Which of its two pipes a program wrote to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    Out,
    Err,
}

/// What a program printed.
#[derive(Debug)]
pub(crate) struct Capture {
    /// Both streams, in the order they came.
    both: Clip,
    out: Clip,
    err: Clip,
    out_plain: Plain,
    err_plain: Plain,
    /// Gets the whole as soon as `both` can no longer show it.
    spool: Spool,
    total: u64,
}

impl Capture {
    /// Shows up to `limit` characters of each stream and writes the whole to `path` if it is more.
    pub(crate) fn new(limit: usize, path: PathBuf) -> Self {
        Self {
            both: Clip::new(limit),
            out: Clip::new(limit),
            err: Clip::new(limit),
            out_plain: Plain::default(),
            err_plain: Plain::default(),
            spool: Spool::new(path),
            total: 0,
        }
    }

    /// Takes what was printed.
    pub(crate) async fn take(&mut self, stream: Stream, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let (plain, clip) = match stream {
            Stream::Out => (&mut self.out_plain, &mut self.out),
            Stream::Err => (&mut self.err_plain, &mut self.err),
        };
        let text = plain.strip(bytes);
        let held = self.both.is_whole().then(|| self.both.head().len());
        self.both.push(text);
        clip.push(text);
        if !self.both.is_whole() {
            if let Some(held) = held {
                self.spool.write(&self.both.head()[..held]).await;
            }
            self.spool.write(text).await;
        }
    }

    /// How many bytes came.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// What the model reads, with where to find the rest.
    pub(crate) async fn text(&mut self) -> String {
        self.spool.flush().await;
        self.both.text(|left| format!("[... {left} left out; {} ...]", self.spool.whereabouts()))
    }

    /// What came on one stream, without where to find the rest.
    pub(crate) fn stream(&self, stream: Stream) -> String {
        let clip = match stream {
            Stream::Out => &self.out,
            Stream::Err => &self.err,
        };
        clip.text(|left| format!("[... {left} left out ...]")).trim_end().to_owned()
    }

    /// All of the first stream, if there is nothing on the other, it begins like this and is no longer than that.
    pub(crate) async fn whole_output(&mut self, prefix: &str, longest: u64) -> Option<Vec<u8>> {
        let head = self.out.head();
        if !head.starts_with(prefix.as_bytes()) || !self.err.is_empty() || self.out.bytes() > longest {
            return None;
        }
        if self.both.is_whole() {
            return Some(head.to_vec());
        }
        self.spool.flush().await;
        let path: &Path = self.spool.complete()?;
        tokio::fs::read(path).await.ok()
    }
}

#[cfg(test)]
mod tests;
