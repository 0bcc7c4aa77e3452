//! House rules that a compiler does not hold, as tests. Each rule is a function from texts to findings, so that its
//! own tests can show it failing; `tests.rs` then holds the rules against the real project.

mod graph;
mod manifest;
mod project;
mod rules;
mod source;
mod tests;
