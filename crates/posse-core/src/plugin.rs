//! Plugins as written: the manifest, what a plugin asks its user, what it may do, the variables in what it brings; and
//! lists of plugins. Refuses to know where any of it lies and who installed it.

mod manifest;
mod marketplace;
mod options;
mod powers;
mod variables;

pub use manifest::{
    Command, CommandText, HooksAt, Manifest, ManifestPath, ServersAt, folder_name, read_hooks, read_manifest,
    read_servers,
};
pub use marketplace::{Marketplace, PluginEntry, PluginSource, read_marketplace};
pub use options::{OptionType, UserOption};
pub use powers::{Power, PowerKind, Powers, Reach, Widening, widening};
pub use variables::{Variables, expand, substitute, texts, unset};

#[cfg(test)]
mod tests;
