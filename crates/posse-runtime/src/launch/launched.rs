//! A session that is under way: it is talked to, told of what happens elsewhere, and ended.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use posse_core::event::Outcome;
use posse_core::hooks::occasion::{EndReason, LoadReason, SessionSource};
use posse_core::hooks::{HookEvent, Occasion};
use posse_core::message::{Block, Message};
use posse_core::permission::Mode;
use posse_core::prompt;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::crew::Crew;
use super::live::Live;
use super::models::Switched;
use super::{LaunchRequest, SessionChoice, powers, side};
use crate::ask::SharedMode;
use crate::authority::RunHooks;
use crate::context;
use crate::mcp::Servers;
use crate::model::ThinkingDisplay;
use crate::run::{Ended, Event, Run};
use crate::session::SessionError;
use crate::tool::{TaskKind, Tasks, ToolCx};

/// A run, ready to be talked to.
pub struct Launched {
    /// The run.
    pub run: Run,
    /// What happens in it.
    pub events: UnboundedReceiver<Event>,
    /// What it was launched with.
    pub facts: Facts,
    /// What the tools share; to be shut down at the end.
    pub cx: ToolCx,
    /// How actions are approved from now on.
    pub mode: SharedMode,
    /// What the user should know before anything happens.
    pub notes: Vec<String>,
    /// A call that a hook put off in an earlier turn: to be taken up before anything else.
    pub deferred: Option<Box<str>>,
    pub(super) hooks: RunHooks,
    /// The model as it was asked for, which tells whose it is.
    pub(super) model_name: String,
    /// Who is asked beside the conversation.
    pub(super) judge: Arc<side::Side>,
    /// Everybody but the main agent.
    pub(super) crew: Arc<Crew>,
    /// What may change while it runs.
    pub(super) live: Arc<Live>,
    /// A model that was chosen while a turn was under way.
    pub(super) switched: Arc<Mutex<Option<Switched>>>,
    /// The files of standing instructions.
    pub(super) instructions: Arc<[prompt::Instructions]>,
    /// How thoughts are shown.
    pub(super) display: ThinkingDisplay,
    /// Servers of tools.
    pub servers: Servers,
    /// Whoever looks for changes on disk; ends with this.
    pub(super) watching: JoinSet<()>,
    pub(super) _confinement: powers::Confinement,
}

impl Launched {
    /// Tells hooks that the session begins, and takes what they add to it.
    pub(super) async fn begin(&mut self, request: &LaunchRequest, instructions: &[prompt::Instructions]) {
        let cwd = self.cx.cwd.get();
        self.run.remember(instructions.to_vec());
        if let Some(trigger) = request.setup
            && self.hooks.hears(HookEvent::Setup)
        {
            let merged = self.hooks.fire(&Occasion::Setup { trigger }, &cwd).await;
            self.take(merged);
        }
        if self.hooks.hears(HookEvent::SessionStart) {
            let occasion = Occasion::SessionStart {
                source: source(request),
                model: Some(self.facts.model.to_string()),
                session_title: None,
            };
            let merged = self.hooks.fire(&occasion, &cwd).await;
            self.take(merged);
        }
        if self.hooks.hears(HookEvent::InstructionsLoaded) {
            for file in instructions {
                let occasion = context::loaded(file, LoadReason::SessionStart);
                let merged = self.hooks.fire(&occasion, &cwd).await;
                self.take(merged);
            }
        }
    }

    fn take(&mut self, merged: posse_core::hooks::Merged) {
        self.notes.extend(merged.system_messages.into_iter().chain(merged.errors));
        self.run.greet(merged.context);
        if let Some(first) = merged.initial_user_message {
            let own = self.facts.initial_prompt.take();
            let texts = own.iter().map(|own| &**own).chain([first.as_str()]);
            self.facts.initial_prompt = Some(texts.collect::<Vec<_>>().join("\n\n").into());
        }
    }

    /// A prompt; the first is put behind the agent's own, if it has one.
    pub fn first_message(&self, mut message: Message) -> Message {
        let initial = self.facts.initial_prompt.as_deref();
        let Some(initial) = initial.filter(|_| self.run.history().is_empty()) else { return message };
        match message.blocks.as_mut_slice() {
            [Block::Text(text)] => *text = format!("{initial}\n\n{text}").trim_end().to_owned(),
            _ => message.blocks.insert(0, Block::Text(initial.to_owned())),
        }
        message
    }

    /// Approves actions in another way from now on, if that way is open.
    pub fn set_mode(&self, mode: Mode) -> Result<(), &'static str> {
        self.run.authority().objection_to(mode).map_or(Ok(()), Err)?;
        self.mode.set(mode);
        Ok(())
    }

    /// Waits until a hook in the background has something to say that cannot wait: what to tell the model.
    pub async fn woken(&self) -> String {
        self.hooks.mail().urgent().await
    }

    /// Ends the session: hooks hear of it, and nothing it started is left. Says where its work is, if not here.
    pub async fn end(&mut self, reason: EndReason) -> Option<String> {
        if self.hooks.hears(HookEvent::SessionEnd) {
            self.hooks.fire(&Occasion::SessionEnd { reason }, &self.cx.cwd.get()).await;
        }
        self.cx.tasks.shutdown().await;
        self.crew.leave_word(&self.cx.tasks.untold(TaskKind::Agent));
        self.live.repeat_title();
        let left = self.crew.leave_main().await;
        self.hooks.hooks().shutdown().await;
        self.crew.disband();
        self.servers.shutdown().await;
        // Agents that were stopped just now are paid for like all others.
        self.run.pay();
        left
    }

    /// Where agents and settings come from now, with what was added while it ran.
    pub fn sources(&self) -> crate::catalog::CatalogOptions {
        self.live.options()
    }

    /// The agents that can be started, in order: what each is called, and when to use it.
    pub fn startable(&self) -> Vec<(String, String)> {
        let agents = self.crew.startable();
        agents.into_iter().map(|agent| (agent.name.to_string(), agent.description.to_string())).collect()
    }

    /// Who sends agents to the background while calls wait for them, also while a turn is under way.
    pub fn background(&self) -> ToBackground {
        ToBackground(Arc::clone(&self.crew))
    }

    /// The agents that nobody waits for any longer, for people; nothing if all have ended and been told of.
    pub fn left_behind(&self) -> Option<String> {
        let left = self.cx.tasks.list();
        let names: Vec<String> = left
            .iter()
            .filter(|task| task.kind == TaskKind::Agent && !task.state.is_over())
            .map(|task| format!("`{}`", task.description.as_deref().unwrap_or(&task.command)))
            .collect();
        (!names.is_empty())
            .then(|| format!("stopped what was still at work in the background: {}", names.join(", ")))
    }
}

/// Sends agents that are waited for to the background.
#[derive(Clone)]
pub struct ToBackground(Arc<Crew>);

impl ToBackground {
    /// The agents a call waits for, or all. Says how many there were.
    pub fn send(&self, call: Option<&str>) -> usize {
        self.0.send_to_background(call)
    }
}

/// Says something and goes on until nothing is left to hear: an agent in the background that ends after the last answer
/// is told of in a turn of its own. `stop` ends the waiting, and so does the environment's limit.
pub async fn converse(
    run: &mut Run,
    cx: &ToolCx,
    message: Message,
    stop: CancellationToken,
) -> Result<Ended, SessionError> {
    let mut ended = run.prompt(message, stop.clone()).await?;
    while matches!(ended.outcome, Outcome::Answer { .. }) {
        let Some(news) = news(run, cx, &stop).await else {
            if stop.is_cancelled() {
                ended.outcome = Outcome::Cancelled { in_tools: true };
            }
            break;
        };
        let next = run.hear(Message::user(news), stop.clone()).await?;
        let mut usage = ended.usage;
        usage += next.usage;
        ended = Ended {
            usage,
            denials: ended.denials.into_iter().chain(next.denials).collect(),
            user_messages: ended.user_messages + next.user_messages,
            duration_ms: ended.duration_ms + next.duration_ms,
            ..next
        };
    }
    Ok(ended)
}

/// Waits for agents in the background: what the model is to be told of them, if any are left.
pub async fn news(run: &Run, cx: &ToolCx, stop: &CancellationToken) -> Option<String> {
    const USUAL: u64 = 600_000;
    let limit = cx.world.env.number("CLAUDE_CODE_PRINT_BG_WAIT_CEILING_MS").unwrap_or(USUAL);
    let patience = async {
        match limit {
            0 => std::future::pending().await,
            limit => tokio::time::sleep(Duration::from_millis(limit)).await,
        }
    };
    let time = run.time_for_work();
    let out_of_time = async {
        match time {
            Some(time) => tokio::time::sleep(time).await,
            None => std::future::pending().await,
        }
    };
    tokio::pin!(patience, out_of_time);
    while cx.tasks.is_awaited(TaskKind::Agent) {
        tokio::select! {
            () = cx.tasks.changed() => {}
            () = stop.cancelled() => return None,
            () = &mut patience => return None,
            () = &mut out_of_time => return None,
        }
        gather(&cx.tasks, stop).await;
        let mail = run.mail();
        if !mail.is_empty() {
            return Some(mail.join("\n\n"));
        }
    }
    None
}

/// Agents that were started together end close to each other. A turn for each of them would cost a request each, with
/// everything said before in it.
async fn gather(tasks: &Tasks, stop: &CancellationToken) {
    const PAUSE: Duration = Duration::from_millis(25);
    const LONGEST: Duration = Duration::from_millis(250);
    // The more are at work, the more has been said that every turn reads again.
    const FOR_EACH: Duration = Duration::from_millis(5);
    const MOST: Duration = Duration::from_secs(3);
    let at_work = u32::try_from(tasks.count_running(TaskKind::Agent)).unwrap_or(u32::MAX);
    let longest = LONGEST.max(FOR_EACH.saturating_mul(at_work)).min(MOST);
    let all = async {
        while tasks.is_running(TaskKind::Agent) {
            let ended = tasks.count_ended();
            if tokio::time::timeout(PAUSE, tasks.next_end(ended)).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = all => {}
        () = tokio::time::sleep(longest) => {}
        () = stop.cancelled() => {}
    }
}

/// How a session begins, as hooks know it.
fn source(request: &LaunchRequest) -> SessionSource {
    match &request.session {
        SessionChoice::New | SessionChoice::NewWith(_) if request.after_clear => SessionSource::Clear,
        SessionChoice::New | SessionChoice::NewWith(_) => SessionSource::Startup,
        SessionChoice::Continue { fork: Some(_) } | SessionChoice::Resume { fork: Some(_), .. } => {
            SessionSource::Fork
        }
        SessionChoice::Continue { fork: None } | SessionChoice::Resume { fork: None, .. } => {
            SessionSource::Resume
        }
    }
}

/// An agent, as hosts list it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentFact {
    /// Its name.
    pub name: String,
    /// When to use it.
    pub description: String,
    /// The model it asks for.
    pub model: Option<String>,
}

/// A command, as hosts list it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandFact {
    /// What is typed.
    pub name: String,
    /// What it does.
    pub description: String,
    /// What may be typed behind it.
    pub argument_hint: String,
}

/// What frontends tell about a run.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The session.
    pub session: Box<str>,
    /// The model's id.
    pub model: Box<str>,
    /// Names of the tools.
    pub tools: Vec<String>,
    /// The mode.
    pub mode: Mode,
    /// Names of the agents.
    pub agents: Vec<String>,
    /// The same agents for hosts that list them.
    pub agent_list: Vec<AgentFact>,
    /// What can be typed after a slash, for hosts that list it.
    pub command_list: Vec<CommandFact>,
    /// Plugins that were loaded.
    pub plugins: Vec<crate::catalog::Plugin>,
    /// What is missing of plugins.
    pub plugin_faults: Vec<crate::catalog::PluginFault>,
    /// Agents that could not be loaded: file and reason.
    pub failed: Vec<(String, String)>,
    /// The MCP servers, as they were at the start.
    pub servers: Vec<crate::mcp::Status>,
    /// Names of the skills.
    pub skills: Vec<String>,
    /// What can be typed after a slash.
    pub slash_commands: Vec<String>,
    /// Features of the provider that were asked for.
    pub betas: Vec<String>,
    /// The name that settings give to how answers are written.
    pub output_style: Box<str>,
    /// Where the key comes from.
    pub key_source: &'static str,
    /// How many tokens the model can hold.
    pub window: u64,
    /// Limit on one answer.
    pub max_tokens: u32,
    /// The working directory.
    pub cwd: PathBuf,
    /// Put before the first prompt.
    pub initial_prompt: Option<Box<str>>,
}
