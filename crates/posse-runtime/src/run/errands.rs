//! Single calls, by somebody outside who holds no conversation with a model here: judged, run and heard of by hooks like
//! any other. Knows the run's tools and its guard; refuses to know who calls, and how the answer travels.

use std::sync::Arc;
use std::time::Duration;

use posse_core::event::Outcome;
use posse_core::message::{ToolAnswer, ToolCall};
use posse_core::turn::Verdict;
use tokio::sync::RwLock;
use tokio_util::sync::CancellationToken;

use super::calls::{Aftermath, Worker};
use super::{Run, ToolPool};
use crate::authority::Guard;
use crate::tool::ToolCx;
use crate::tool::builtin::agent::Agent;
use crate::world::Clock;

/// How long a call that was stopped may take to end by itself.
const PATIENCE: Duration = Duration::from_secs(5);

/// Does single calls with the tools of a run. Copies keep to one order.
#[derive(Clone)]
pub struct Errands {
    tools: ToolPool,
    guard: Guard,
    clock: Clock,
    cx: ToolCx,
    /// Calls that must run alone write, others read.
    order: Arc<RwLock<()>>,
}

/// A call that was done.
#[derive(Clone, Debug)]
pub struct Errand {
    /// The answer; a refusal is one, too.
    pub answer: ToolAnswer,
    /// What hooks want whoever called to know besides.
    pub remarks: Vec<String>,
    /// What the user should know.
    pub notes: Vec<String>,
}

impl Run {
    /// Does single calls, as the agent of this run would.
    pub fn errands(&self) -> Errands {
        Errands {
            tools: self.setup.tools.clone(),
            guard: self.setup.guard.clone(),
            clock: self.setup.world.clock.clone(),
            cx: ToolCx { only_waits: true, ..self.cx.clone() },
            order: Arc::default(),
        }
    }
}

impl Errands {
    /// The tools there are. Nothing has to be loaded first: whoever calls chooses by themselves.
    pub fn tools(&self) -> &ToolPool {
        &self.tools
    }

    /// Does one call. Ends soon after `stop` is cancelled, with everything it started.
    pub async fn call(&self, call: ToolCall, stop: CancellationToken) -> Errand {
        let Some(tool) = self.tools.get(&call.name) else {
            let answer = ToolAnswer::error(call.id, format!("Error: No such tool available: {}", call.name));
            return Errand { answer, remarks: Vec::new(), notes: Vec::new() };
        };
        let cwd = self.cx.cwd.get();
        let judged = tokio::select! {
            judged = self.guard.authorize(&call, &cwd, &[], |input| tool.runs_alone(input)) => judged,
            () = stop.cancelled() => return stopped(call),
        };
        let (mut remarks, mut notes) = (judged.mail, judged.notes);
        let (alone, call) = match judged.verdict {
            Verdict::Allow { alone, input } => {
                let input = input.unwrap_or_else(|| call.input.clone());
                (alone, ToolCall { input, ..call })
            }
            Verdict::Deny(why) => {
                return Errand { answer: ToolAnswer::error(call.id, why.message), remarks, notes };
            }
            Verdict::Reject(why) => {
                return Errand { answer: ToolAnswer::error(call.id, why), remarks, notes };
            }
        };
        let mut cx = self.cx.for_call(&call.id);
        cx.stop = stop.child_token();
        let (guard, clock, tools) = (self.guard.clone(), self.clock.clone(), self.tools.clone());
        // Agents work side by side with everything, as they do below an agent; each keeps its own order.
        let waits = tool.name() != Agent::NAME;
        let worker = Worker { tool, tools, guard, clock, cx };
        let turn = async {
            match (waits, alone) {
                (false, _) => (None, None),
                (true, true) => (Some(self.order.write().await), None),
                (true, false) => (None, Some(self.order.read().await)),
            }
        };
        let _turn = tokio::select! {
            turn = turn => turn,
            () = stop.cancelled() => return stopped(call),
        };
        let late = async {
            stop.cancelled().await;
            tokio::time::sleep(PATIENCE).await;
        };
        let (answer, Aftermath { mail, notes: more, stop: ended }) = tokio::select! {
            done = worker.work(call.clone()) => done,
            // Dropping it ends it.
            () = late => return stopped(call),
        };
        remarks.extend(mail);
        notes.extend(more);
        if let Some(Outcome::Stopped(why)) = ended {
            remarks.push(why);
        }
        Errand { answer, remarks, notes }
    }
}

/// Nobody waits for the answer any more.
fn stopped(call: ToolCall) -> Errand {
    let answer = ToolAnswer::error(call.id, "The call was cancelled.");
    Errand { answer, remarks: Vec::new(), notes: Vec::new() }
}
