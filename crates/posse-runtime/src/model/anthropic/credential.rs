//! What proves who asks: a key, a token, or a command that prints one.

use std::path::PathBuf;

use posse_core::failure::{Failure, FailureKind};
use tokio::sync::Mutex;

use crate::model::Secret;
use crate::world::{Env, World, process};

/// What proves who asks.
#[derive(Debug)]
pub enum Credential {
    /// Nothing: a gateway that knows its users.
    None,
    /// A key (`x-api-key`).
    ApiKey(Secret),
    /// A token (`authorization: Bearer`).
    Bearer(Secret),
    /// A command that prints a key.
    Helper(KeyHelper),
}

impl Credential {
    /// The key to use now.
    pub(super) async fn key(&self) -> Result<Option<Secret>, Failure> {
        match self {
            Self::None => Ok(None),
            Self::ApiKey(key) | Self::Bearer(key) => Ok(Some(key.clone())),
            Self::Helper(helper) => helper.key().await.map(Some),
        }
    }

    /// Forgets a key that was refused; whether another can be had.
    pub(super) async fn forget(&self, refused: Option<&Secret>) -> bool {
        match self {
            Self::None | Self::ApiKey(_) | Self::Bearer(_) => false,
            Self::Helper(helper) => {
                let mut known = helper.known.lock().await;
                // Somebody else may have fetched a new one meanwhile.
                if known.as_ref() == refused {
                    *known = None;
                }
                true
            }
        }
    }
}

/// A command that prints a key. Its output is kept until the endpoint refuses it.
#[derive(Debug)]
pub struct KeyHelper {
    command: String,
    cwd: PathBuf,
    env: Env,
    /// Held while the command runs: many requests at once need one key, not many.
    known: Mutex<Option<Secret>>,
}

impl KeyHelper {
    /// A shell command, run where the session runs.
    pub fn new(command: &str, world: &World) -> Self {
        Self {
            command: command.to_owned(),
            cwd: world.cwd.clone(),
            env: world.env.clone(),
            known: Mutex::default(),
        }
    }

    async fn key(&self) -> Result<Secret, Failure> {
        let mut known = self.known.lock().await;
        if let Some(key) = &*known {
            return Ok(key.clone());
        }
        let key = self.run().await?;
        *known = Some(key.clone());
        Ok(key)
    }

    async fn run(&self) -> Result<Secret, Failure> {
        let failed = |why: &str| Failure::new(FailureKind::Auth, format!("the API key helper {why}"));
        let mut command = process::command("/bin/sh", &self.cwd);
        command.arg("-c").arg(&self.command).envs(self.env.iter());
        let output = command.output().await.map_err(|error| failed(&format!("cannot be run: {error}")))?;
        if !output.status.success() {
            // What it printed for us is not shown: it may be half a key.
            let words = String::from_utf8_lossy(&output.stderr);
            let words = words.trim().lines().next_back().unwrap_or("without a word");
            return Err(failed(&format!("failed ({}): {words}", output.status)));
        }
        let key = String::from_utf8_lossy(&output.stdout);
        match key.trim() {
            "" => Err(failed("printed no key")),
            key => Ok(Secret::new(key)),
        }
    }
}
