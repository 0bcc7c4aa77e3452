//! Plugins on disk: which are installed and from which list, their content pinned by a digest, what they bring.
//!
//! Knows the folder `plugins` of the user's folder and changes it whole or not at all. Refuses to know what is loaded
//! into a session (the catalog's business) and who is asked before something widens.

mod copy;
mod digest;
mod error;
mod git;
mod install;
mod marketplace;
mod parts;
mod records;
mod secrets;
mod store;
mod switch;
mod unpack;

pub use digest::{Tree, TreeFile};
pub use error::PluginError;
pub use install::{Installation, Prepared, Update, rehearse};
pub use marketplace::{Known, Listed, Place, read_list};
pub use parts::{CommandPlace, PartFile, Parts, Server, has_parts, is_marketplace, is_plugin};
pub use records::{Pin, Record, Scope};
pub use store::Store;
pub use switch::{Project, settings_file};
pub use unpack::{unpack, unpacked};

#[cfg(test)]
mod tests;
