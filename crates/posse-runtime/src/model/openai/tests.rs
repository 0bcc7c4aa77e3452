//! Chat Completions: what is written, and what is read from the servers that claim to speak it.

mod endpoint;
mod stream;
mod wire;
