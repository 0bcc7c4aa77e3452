//! Plugins as written: the manifest, and the variables in what a plugin brings.

mod manifest;
mod variables;

pub use manifest::{Manifest, ManifestPath, read_manifest};
pub use variables::{Variables, substitute};

#[cfg(test)]
mod tests;
