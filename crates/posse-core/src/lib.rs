//! posse's pure core: data and decisions. No clock, no disk, no network, no tasks; whoever calls brings the bytes.
//!
//! Reading order, each module using only those before it:
//! `text`, `diagnostic`, `node` (positions, problems, trees) → `yaml`, `json`, `frontmatter` (texts to trees) →
//! `origin`, `tools`, `model`, `permission`, `hooks`, `mcp`, `budget` (the vocabulary) → `definition`, `builtin`,
//! `plugin`, `settings` (as written) → `registry` (as chosen) → `spec` (as resolved) → `lint` (what a set of files gets
//! wrong), `delegation` (what agents tell each other), `memory` (what they keep).

pub mod budget;
pub mod builtin;
pub mod collate;
pub mod definition;
pub mod delegation;
pub mod diagnostic;
pub mod event;
pub mod failure;
pub mod frontmatter;
pub mod hooks;
pub mod json;
pub mod lint;
pub mod mcp;
pub mod memory;
pub mod message;
pub mod model;
pub mod node;
pub mod origin;
pub mod permission;
pub mod plugin;
pub mod price;
pub mod prompt;
pub mod registry;
pub mod settings;
pub mod shell;
pub mod skill;
pub mod spec;
pub mod suggest;
pub mod text;
pub mod tools;
pub mod turn;
pub mod yaml;
