//! What tests share: a world of their own on disk, posse run inside it, and a fake model for it to talk to.
//!
//! A test sees nothing of the machine it runs on but PATH: its own HOME, its own folders, paths shown as `$ENV`.

mod env;
mod output;
mod pty;
pub mod server;

pub use env::TestEnv;
pub use output::Output;
pub use pty::Pty;
pub use server::FakeModel;
