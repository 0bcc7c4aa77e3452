//! Whom a tool asks before it does something that is another tool's: the same judge, with the same rules.

use std::path::Path;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use posse_core::message::ToolCall;
use posse_core::permission::Rule;
use serde_json::Value;

use crate::hooks::SkillHooks;

/// Somebody who judges calls.
pub trait Judge: Send + Sync {
    /// The input to run a call with, or why it must not run. `rules` allow besides those that count anyway.
    fn judge<'a>(
        &'a self,
        call: &'a ToolCall,
        cwd: &'a Path,
        rules: &'a [Rule],
    ) -> BoxFuture<'a, Result<Value, String>>;

    /// The run has used a skill that brings hooks.
    fn take_hooks(&self, hooks: &Arc<SkillHooks>);
}

/// Where to ask. Without anybody to ask the answer is no.
#[derive(Clone, Default)]
pub struct Permit(Option<Arc<dyn Judge>>);

impl Permit {
    /// Asks this one.
    pub fn of(judge: impl Judge + 'static) -> Self {
        Self(Some(Arc::new(judge)))
    }

    /// The input to run a call with, or why it must not run.
    pub async fn ask(&self, call: &ToolCall, cwd: &Path, rules: &[Rule]) -> Result<Value, String> {
        match &self.0 {
            Some(judge) => judge.judge(call, cwd, rules).await,
            None => Err("nobody can judge it here".to_owned()),
        }
    }

    /// The run has used a skill that brings hooks. Where nothing is judged there is nobody to be heard.
    pub fn take_hooks(&self, hooks: &Arc<SkillHooks>) {
        if let Some(judge) = &self.0 {
            judge.take_hooks(hooks);
        }
    }
}

impl std::fmt::Debug for Permit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_some() { "Permit(..)" } else { "Permit" })
    }
}
