//! What tests share: a world of their own on disk, and posse run inside it.
//!
//! A test sees nothing of the machine it runs on but PATH: its own HOME, its own folders, paths shown as `$ENV`.

mod env;
mod output;

pub use env::TestEnv;
pub use output::Output;
