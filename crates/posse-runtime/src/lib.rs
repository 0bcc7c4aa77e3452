//! posse's hands: everything that touches disk, network and processes, around the decisions of `posse-core`.
//!
//! `world` is the only room with ambient authority; `catalog` turns files into core values. No terminal, no argv, no
//! exit codes: those are the `posse` crate's.

pub mod ask;
pub mod authority;
pub mod catalog;
pub mod context;
pub mod doctor;
mod fence;
pub mod hooks;
pub mod launch;
pub mod mcp;
pub mod memory;
pub mod model;
pub mod net;
pub mod plugins;
pub mod purse;
mod read;
pub mod run;
pub mod sandbox;
pub mod serve;
pub mod session;
pub mod skills;
pub mod tool;
pub mod trust;
pub mod worktree;
pub mod world;
