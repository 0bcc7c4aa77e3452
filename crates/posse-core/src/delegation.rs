//! One agent hands work to another: what may be asked for, who is on offer, where the work runs, and every text that
//! passes between the two.
//!
//! All of it is data in, text out. Nothing here starts an agent, waits for one or knows where its files lie. The words a
//! model reads come from this room alone, so that they can be read, measured and tested in one place.

mod ending;
mod fork;
mod input;
mod lifecycle;
mod listing;
mod notes;
mod outcome;
mod report;

pub use ending::{Cause, Ending, Limit, Stopper};
pub use fork::{BOILERPLATE_TAG, ForkWorktree, PLACEHOLDER, fork_messages, is_fork_history, worktree_notice};
pub use input::{Input, InputError, Options, description, is_valid_name, schema};
pub use lifecycle::{
    BACKGROUND_BY_DEFAULT_KEY, BACKGROUND_BY_DEFAULT_VARIABLE, Lifecycle, NotInTeammate, Reasons, Why,
    should_run_async,
};
pub use listing::{Audience, HEADER, line, listing, not_found, offered};
pub use notes::{NOTES, VERDICT_REMINDER, Verdict, verdict};
pub use outcome::{
    Facts, Launched, NOT_USER_INPUT, ToolUses, Worktree, async_launched, async_launched_result, completed,
    completed_result, failed, notification, remote_launched, sub_agent_entered, teammate_spawned,
};
pub use report::{DEFAULT_REPORT, MAX_REPORT, Report, report_limit};

#[cfg(test)]
mod tests;
