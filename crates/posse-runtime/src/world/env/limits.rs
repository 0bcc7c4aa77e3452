//! Variables that are limits. One that cannot be read is not taken for no limit: whoever starts a session is told.
//!
//! Knows their names and which numbers mean something. What each limits is its reader's business.

use super::Env;

/// A variable that holds a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitVariable {
    /// Its name.
    pub name: &'static str,
    /// The smallest number that is accepted.
    pub least: u64,
    /// The largest.
    pub most: u64,
}

const fn limit(name: &'static str, least: u64, most: u64) -> LimitVariable {
    LimitVariable { name, least, most }
}

/// A number of a size nobody needs, and which nothing overflows with.
const MANY: u64 = u32::MAX as u64;

/// All of them.
pub const LIMITS: &[LimitVariable] = &[
    limit("BASH_DEFAULT_TIMEOUT_MS", 1, MANY),
    limit("BASH_MAX_OUTPUT_LENGTH", 1, MANY),
    limit("BASH_MAX_TIMEOUT_MS", 1, MANY),
    limit("CLAUDE_ASYNC_AGENT_STALL_TIMEOUT_MS", 1, MANY),
    limit("CLAUDE_CODE_MAX_CONCURRENT_SUBAGENTS", 1, MANY),
    limit("CLAUDE_CODE_MAX_OUTPUT_TOKENS", 1, MANY),
    limit("CLAUDE_CODE_MAX_RETRIES", 0, MANY),
    limit("CLAUDE_CODE_MAX_SUBAGENT_SPAWN_DEPTH", 1, MANY),
    limit("CLAUDE_CODE_PRINT_BG_WAIT_CEILING_MS", 0, MANY),
    limit("CLAUDE_CODE_STOP_HOOK_BLOCK_CAP", 0, MANY),
    limit("CLAUDE_STREAM_IDLE_TIMEOUT_MS", 1, MANY),
    limit("POSSE_CACHE_WAIT_MS", 0, MANY),
    limit("POSSE_MAX_QUEUED_SUBAGENTS", 1, MANY),
    limit("POSSE_OPENAI_IDLE_TIMEOUT_MS", 1, MANY),
    limit("TASK_MAX_OUTPUT_LENGTH", 1, MANY),
];

/// A limit that means nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}=`{value}` is no limit: it takes a whole number from {} to {}", variable.name, variable.least, variable.most)]
pub struct BadLimit {
    /// Which variable.
    pub variable: LimitVariable,
    /// What it says.
    pub value: String,
}

impl Env {
    /// The limits that are set and cannot be used.
    pub fn bad_limits(&self) -> Vec<BadLimit> {
        let bad = |variable: &LimitVariable| {
            let value = self.get(variable.name)?;
            let fits = self.number(variable.name);
            let fits = fits.is_some_and(|number| (variable.least..=variable.most).contains(&number));
            (!fits).then(|| BadLimit { variable: *variable, value: value.to_owned() })
        };
        LIMITS.iter().filter_map(bad).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_that_cannot_be_read_is_named() {
        let table = [
            ("CLAUDE_CODE_MAX_CONCURRENT_SUBAGENTS", "abc", true),
            ("CLAUDE_CODE_MAX_CONCURRENT_SUBAGENTS", "0", true),
            ("CLAUDE_CODE_MAX_CONCURRENT_SUBAGENTS", "-1", true),
            ("CLAUDE_CODE_MAX_CONCURRENT_SUBAGENTS", "1e3", true),
            ("CLAUDE_CODE_MAX_CONCURRENT_SUBAGENTS", "99999999999999999999", true),
            ("CLAUDE_CODE_MAX_CONCURRENT_SUBAGENTS", " 7 ", false),
            ("CLAUDE_CODE_MAX_CONCURRENT_SUBAGENTS", "", false),
            ("CLAUDE_CODE_MAX_SUBAGENT_SPAWN_DEPTH", "0", true),
            ("CLAUDE_CODE_MAX_SUBAGENT_SPAWN_DEPTH", "1", false),
            ("POSSE_CACHE_WAIT_MS", "0", false),
            ("POSSE_CACHE_WAIT_MS", "soon", true),
            ("CLAUDE_CODE_PRINT_BG_WAIT_CEILING_MS", "0", false),
            ("SOMETHING_ELSE", "abc", false),
        ];
        for (name, value, is_bad) in table {
            let bad = Env::new([(name, value)]).bad_limits();
            assert_eq!(!bad.is_empty(), is_bad, "{name}={value}");
            assert!(bad.iter().all(|bad| bad.variable.name == name && bad.value == value));
        }
        let bad = Env::new([("POSSE_CACHE_WAIT_MS", "soon")]).bad_limits();
        assert_eq!(
            bad[0].to_string(),
            "POSSE_CACHE_WAIT_MS=`soon` is no limit: it takes a whole number from 0 to 4294967295"
        );
    }
}
