//! The prefix cache of a provider, as it is documented: what counts is the prompt in the order tools, system prompt,
//! messages; a breakpoint marks a block, and what ends there is written to the cache and can be read by whoever begins
//! with the same.
//!
//! Knows bytes only, four to a token. Refuses to know how long anything is kept.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use serde_json::Value;

/// How many blocks before a breakpoint are looked at for something that was written earlier.
const LOOK_BACK: usize = 20;
const BYTES_PER_TOKEN: u64 = 4;

/// What one request came to, in tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheUsage {
    /// Found in the cache.
    pub read: u64,
    /// Written to it.
    pub written: u64,
    /// Behind the last breakpoint.
    pub fresh: u64,
}

impl CacheUsage {
    /// All of it.
    pub fn total(&self) -> u64 {
        self.read + self.written + self.fresh
    }
}

/// What requests so far have written.
#[derive(Debug, Default)]
pub struct PrefixCache {
    /// By what ends there: the requests that wrote it, by their places in the order of all.
    written: HashMap<u64, Vec<usize>>,
    requests: usize,
}

/// One block of a prompt: what all up to it comes to, and whether a breakpoint stands on it.
struct Block {
    prefix: u64,
    bytes: u64,
    marked: bool,
}

impl PrefixCache {
    /// Looks a request up, and writes down what its breakpoints say. `beside` are the requests that still wait for
    /// their answers: nobody can read what those write.
    pub fn account(&mut self, body: &Value, beside: &[usize]) -> CacheUsage {
        let place = self.requests;
        self.requests += 1;
        let blocks = blocks(body);
        let marked: Vec<usize> = (0..blocks.len()).filter(|at| blocks[*at].marked).collect();
        let found = marked.iter().rev().find_map(|at| {
            let back = at.saturating_sub(LOOK_BACK - 1)..=*at;
            let writers = |at: &usize| self.written.get(&blocks[*at].prefix);
            back.rev()
                .find(|at| writers(at).is_some_and(|writers| writers.iter().any(|by| !beside.contains(by))))
        });
        let bytes = |at: Option<usize>| at.map_or(0, |at| blocks[at].bytes);
        let tokens = |at| bytes(at) / BYTES_PER_TOKEN;
        let (read, last) = (tokens(found), tokens(marked.last().copied()));
        let all = tokens(blocks.len().checked_sub(1));
        for at in &marked {
            self.written.entry(blocks[*at].prefix).or_default().push(place);
        }
        CacheUsage { read, written: last - read, fresh: all - last }
    }
}

/// The blocks of a prompt in the order in which they are cached. The model is part of what must be the same.
fn blocks(body: &Value) -> Vec<Block> {
    let mut hasher = DefaultHasher::new();
    body["model"].to_string().hash(&mut hasher);
    let mut bytes = 0;
    let mut found = Vec::new();
    let mut add = |kind: &str, block: &Value| {
        let mut block = block.clone();
        let marked = block.as_object_mut().is_some_and(|fields| fields.remove("cache_control").is_some());
        let text = block.to_string();
        bytes += text.len() as u64;
        (kind, text).hash(&mut hasher);
        found.push(Block { prefix: hasher.finish(), bytes, marked });
    };
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    list(&body["tools"]).iter().for_each(|tool| add("tool", tool));
    list(&body["system"]).iter().for_each(|part| add("system", part));
    for message in list(&body["messages"]) {
        let role = message["role"].as_str().unwrap_or_default().to_owned();
        list(&message["content"]).iter().for_each(|block| add(&role, block));
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn prompt(blocks: &[(&str, bool)]) -> Value {
        let content: Vec<Value> = blocks
            .iter()
            .map(|(text, marked)| {
                let mut block = json!({ "type": "text", "text": text.repeat(400) });
                if *marked {
                    block["cache_control"] = json!({ "type": "ephemeral" });
                }
                block
            })
            .collect();
        json!({ "model": "m", "messages": [{ "role": "user", "content": content }] })
    }

    #[test]
    fn what_was_written_up_to_a_breakpoint_is_read_by_whoever_begins_the_same() {
        let mut cache = PrefixCache::default();
        let first = cache.account(&prompt(&[("a", true), ("b", true), ("c", false)]), &[]);
        assert_eq!((first.read, first.written > 200, first.fresh > 100), (0, true, true));
        // The same words with the breakpoint elsewhere: found by looking back.
        let second = cache.account(&prompt(&[("a", false), ("b", false), ("d", true)]), &[]);
        assert_eq!((second.read, second.fresh), (first.written, 0));
        // Where they part, nothing is shared, and what no breakpoint stood on was never written.
        assert_eq!(cache.account(&prompt(&[("x", true), ("b", true)]), &[]).read, 0);
        let parted = cache.account(&prompt(&[("a", false), ("b", false), ("c", false), ("e", true)]), &[]);
        assert_eq!(parted.read, first.written);
        // What the first wrote, nobody reads before its answer begins.
        let mut cache = PrefixCache::default();
        cache.account(&prompt(&[("a", true)]), &[]);
        assert_eq!(cache.account(&prompt(&[("a", true)]), &[0]).read, 0);
        assert!(cache.account(&prompt(&[("a", true)]), &[0]).read > 0);
    }

    #[test]
    fn nobody_looks_back_further_than_twenty_blocks() {
        let mut cache = PrefixCache::default();
        cache.account(&prompt(&[("a", true)]), &[]);
        for (between, is_found) in [(18, true), (19, false)] {
            let mut blocks = vec![("a", false)];
            blocks.extend(std::iter::repeat_n(("z", false), between));
            blocks.push(("end", true));
            assert_eq!(cache.account(&prompt(&blocks), &[]).read > 0, is_found, "{between}");
            cache = PrefixCache::default();
            cache.account(&prompt(&[("a", true)]), &[]);
        }
    }
}
