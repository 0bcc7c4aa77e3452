//! A guard as other tools ask it: for a call that one of them makes in another's name.

use std::path::Path;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use posse_core::message::ToolCall;
use posse_core::permission::Rule;
use posse_core::turn::Verdict;
use serde_json::Value;

use super::Guard;
use crate::hooks::SkillHooks;
use crate::tool::Judge;

impl Judge for Guard {
    fn judge<'a>(
        &'a self,
        call: &'a ToolCall,
        cwd: &'a Path,
        rules: &'a [Rule],
    ) -> BoxFuture<'a, Result<Value, String>> {
        Box::pin(async move {
            // Whoever does not have a tool does not get it by the way of another.
            if self.capability.grant(&call.name).is_none() {
                return Err(format!("{} is not among the tools of this agent", call.name));
            }
            let guard = Self { terms: self.terms.with(rules), ..self.clone() };
            match guard.authorize(call, cwd, &[], |_| true).await.verdict {
                Verdict::Allow { input, .. } => Ok(input.unwrap_or_else(|| call.input.clone())),
                Verdict::Deny(why) => Err(why.message),
                Verdict::Reject(why) => Err(why),
            }
        })
    }

    fn take_hooks(&self, hooks: &Arc<SkillHooks>) {
        self.hooks.take_up(hooks);
    }
}
