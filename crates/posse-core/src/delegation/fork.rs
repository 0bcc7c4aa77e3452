//! A fork: a copy of an agent that goes on from the same conversation with a task of its own.
//!
//! Forks of one message differ in their last words only. Everything before is the same to the byte, so that the provider
//! reads it once for all of them.

use crate::message::{Block, Message, Role, ToolAnswer};

/// The element the rules for a fork stand in.
pub const BOILERPLATE_TAG: &str = "fork-boilerplate";

/// What every call that was open at the fork is answered with, in every fork. Short, because the first fork of a message
/// pays for one of them per call.
pub const PLACEHOLDER: &str = "[This call goes on elsewhere.]";

const RULES: &str = include_str!("fork.md").trim_ascii();

/// Where a fork works, if not where the original does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForkWorktree<'a> {
    /// The folder the conversation speaks of.
    pub original: &'a str,
    /// The fork's own copy of it.
    pub path: &'a str,
}

/// The conversation a fork starts with: the history as it is, one placeholder for each call of its last message, then
/// the directive. `history` ends with the message of the assistant that holds the calls.
pub fn fork_messages(
    history: &[Message],
    directive: &str,
    worktree: Option<ForkWorktree<'_>>,
) -> Vec<Message> {
    let open = history.last().filter(|message| message.role == Role::Assistant);
    let answers = open.into_iter().flat_map(Message::calls);
    let mut blocks: Vec<Block> =
        answers.map(|call| Block::ToolResult(ToolAnswer::text(call.id.clone(), PLACEHOLDER))).collect();
    blocks.push(Block::Text(directive_block(directive, worktree)));
    let mut messages = history.to_vec();
    messages.push(Message { role: Role::User, blocks });
    messages
}

fn directive_block(directive: &str, worktree: Option<ForkWorktree<'_>>) -> String {
    let mut text =
        format!("<{BOILERPLATE_TAG}>\n{RULES}\n</{BOILERPLATE_TAG}>\n\nYour directive: {}", directive.trim());
    if let Some(worktree) = worktree {
        text.push_str("\n\n");
        text.push_str(&worktree_notice(worktree));
    }
    text
}

/// What an agent is told that carries a conversation over into a worktree.
pub fn worktree_notice(worktree: ForkWorktree<'_>) -> String {
    let ForkWorktree { original, path } = worktree;
    format!(
        "You work in a git worktree of your own at {path}. The conversation above speaks of {original}: read every path \
         below it as the same path below {path}, and touch nothing in {original}. Files may differ from what was read \
         there; read them again before you change them. Your changes stay in the worktree until somebody merges them."
    )
}

/// Whether a conversation is a fork's, by the rules in it. The run's own origin says so more reliably; this is for
/// conversations that come from a file. Quoting the rules somewhere in a text does not make a fork.
pub fn is_fork_history(history: &[Message]) -> bool {
    let opening = format!("<{BOILERPLATE_TAG}>");
    let from_outside = history.iter().filter(|message| message.role == Role::User);
    from_outside.flat_map(|message| &message.blocks).any(|block| match block {
        Block::Text(text) => text.starts_with(&opening),
        Block::Thinking { .. }
        | Block::RedactedThinking(_)
        | Block::ToolUse(_)
        | Block::ToolResult(_)
        | Block::Media(_)
        | Block::Other(_) => false,
    })
}
