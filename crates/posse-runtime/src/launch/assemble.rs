//! Everybody joins: from the ground to a session that can be talked to.

use std::path::Path;
use std::sync::Arc;

use posse_core::definition::AgentDefinition;
use posse_core::failure::RetryPolicy;
use posse_core::permission::Mode;
use posse_core::registry::Failed;
use posse_core::turn::Limits;
use posse_core::{budget, price, prompt};
use tokio::sync::mpsc::unbounded_channel;
use tokio::task::JoinSet;

use super::ground::Ground;
use super::launched::{AgentFact, CommandFact, Facts, Launched};
use super::live::{Beginning, Live};
use super::provider::key_source;
use super::{LaunchError, LaunchRequest, StructuredOutput, powers, start};
use crate::authority::Guard;
use crate::catalog::Catalog;
use crate::context;
use crate::memory::Memory;
use crate::model::SystemPart;
use crate::purse::Purse;
use crate::run::{Run, RunSetup, ToolPool};
use crate::world::{Env, World};

/// Everybody joins.
pub(super) async fn assemble(mut ground: Ground) -> Result<Launched, LaunchError> {
    let (sender, events) = unbounded_channel();
    let agent = ground.agent.clone();
    let session_hooks = powers::hooks(&ground.catalog, agent.as_ref(), &mut ground.notes);
    session_hooks.set_callbacks(std::mem::take(&mut ground.request.callbacks));
    let crew = ground.crew(&sender, &session_hooks);
    let window = price::context_window(&ground.model_name);
    let final_name = ground.final_tool.as_ref().map(|_| StructuredOutput::NAME.into());
    let tools = ground.tools(&crew, window);
    let judge = Arc::new(ground.side("haiku"));
    let cx = ground.tool_context();
    let live = Live::new(Beginning {
        world: &ground.world,
        request: &ground.request,
        catalog: &ground.catalog,
        authority: &ground.authority,
        hooks: &session_hooks,
        shelf: &ground.shelf,
        agent: agent.as_ref(),
        env_file: cx.env_file.clone(),
        session: &ground.session.id,
        transcript: &ground.session.file,
    });
    let hooks = ground.run_hooks(session_hooks, &judge, &sender);
    let lodged = start::lodge(&mut ground, &crew, &hooks).await?;
    let Ground {
        request, world, catalog, session, mode, gathered, shelf, memory, notes, servers, belt, ..
    } = ground;
    let Ground { model_name, model_id, model, bill, capability, authority, confinement, .. } = ground;
    let guard = Guard {
        capability,
        desk: request.desk.clone(),
        judge: Some(judge.clone()),
        readable: vec![session.spool.clone()],
        writable: memory.iter().map(|memory| memory.folder.clone()).collect(),
        home: world.env.home().map(Path::to_owned),
        contained: confinement.allows_commands.clone(),
        territory: start::settle(lodged.as_ref(), &cx),
        ..Guard::new(Arc::clone(&authority), mode.clone(), hooks.clone())
    };
    let max_tokens = max_tokens(&world.env);
    let setup = RunSetup {
        world: Arc::clone(&world),
        model,
        model_id: model_id.clone(),
        fallback: request.fallback_model.as_deref().map(|name| catalog.policy.model_names.wire_id(name)),
        system: system(&request, agent.as_ref(), memory.as_ref(), &gathered),
        opening: opening(&request, &gathered),
        greeting: Vec::new(),
        tools: tools.clone(),
        guard,
        limits: limits(&request, agent.as_ref()),
        purse: purse(&request, &catalog, &world),
        thinking: request.thinking,
        effort: request.effort.or(agent.as_ref().and_then(|agent| agent.effort)),
        max_tokens,
        retry: retry_policy(&world.env),
        window,
        final_tool: final_name,
        raw_events: request.raw_events,
        session: session.id.clone().into(),
        bill,
        agent: None,
    };
    crew.enlist_main(setup.clone(), cx.clone(), &model_name, catalog.main.approval.may_ask, lodged);
    let told = Told {
        session: &session.id,
        model: &model_id,
        tools: &tools,
        skills: &shelf.registry(),
        servers: &servers,
        mode: mode.current(),
        window,
        max_tokens,
    };
    let facts = Facts {
        cwd: cx.cwd.get(),
        betas: request.betas.clone(),
        ..facts(&catalog, agent.as_ref(), &world, told)
    };
    let is_taken_up = !session.history.is_empty();
    let mut run = Run::new(setup, session.history, cx.clone(), session.transcript, sender);
    if is_taken_up {
        run.greet(crew.interrupted().into_iter().collect());
    } else {
        run.greet(belt.instructions().into_iter().collect());
    }
    let mut launched = Launched {
        run,
        events,
        facts,
        cx,
        mode,
        notes,
        deferred: session.deferred,
        hooks,
        servers,
        model_name,
        judge,
        crew,
        live,
        switched: Arc::default(),
        instructions: gathered.instructions.as_slice().into(),
        display: request.thinking_display.clone(),
        watching: JoinSet::new(),
        _confinement: confinement,
    };
    launched.learn(&shelf, &belt, agent.as_ref()).await;
    launched.watch();
    launched.begin(&request, &gathered.instructions).await;
    Ok(launched)
}

fn limits(request: &LaunchRequest, agent: Option<&AgentDefinition>) -> Limits {
    Limits { max_requests: request.max_turns.or(agent.and_then(|agent| agent.max_turns.map(Into::into))) }
}

/// What the whole tree of agents may use up: the smallest of what settings and flags say.
fn purse(request: &LaunchRequest, catalog: &Catalog, world: &World) -> Purse {
    let flag = budget::Limits {
        microdollars: request.max_budget_usd.and_then(budget::from_dollars),
        ..budget::Limits::default()
    };
    Purse::new("main", catalog.settings.budget.limits().narrowed(flag), &world.clock)
}

/// What is told of a run that is not in its catalog.
struct Told<'a> {
    session: &'a str,
    model: &'a str,
    tools: &'a ToolPool,
    skills: &'a posse_core::skill::SkillRegistry,
    servers: &'a crate::mcp::Servers,
    mode: Mode,
    window: u64,
    max_tokens: u32,
}

fn facts(catalog: &Catalog, agent: Option<&AgentDefinition>, world: &World, told: Told<'_>) -> Facts {
    let failed = |failed: &Failed| (failed.source.file.display().to_string(), failed.reason().to_owned());
    Facts {
        session: told.session.into(),
        model: told.model.into(),
        tools: told.tools.names(),
        mode: told.mode,
        agents: catalog.registry.active.iter().map(|agent| agent.name.to_string()).collect(),
        agent_list: catalog.registry.active.iter().map(agent_fact).collect(),
        command_list: command_list(told.skills),
        plugins: catalog.plugins.clone(),
        plugin_faults: catalog.plugin_faults.clone(),
        failed: catalog.registry.failed.iter().map(failed).collect(),
        servers: told.servers.status(),
        skills: told.skills.skills(),
        slash_commands: told.skills.slash_commands(),
        betas: Vec::new(),
        output_style: catalog.settings.style_name(),
        key_source: key_source(&world.env, catalog.settings.api_key_helper.is_some()),
        window: told.window,
        max_tokens: told.max_tokens,
        cwd: world.cwd.clone(),
        initial_prompt: agent.and_then(|agent| agent.initial_prompt.clone()),
    }
}

fn agent_fact(agent: &AgentDefinition) -> AgentFact {
    AgentFact {
        name: agent.name.to_string(),
        description: agent.description.to_string(),
        model: agent.model.name().map(str::to_owned),
    }
}

pub(super) fn command_list(skills: &posse_core::skill::SkillRegistry) -> Vec<CommandFact> {
    let names = skills.slash_commands();
    let one = |name: &String| {
        let skill = skills.get(name);
        CommandFact {
            name: name.clone(),
            description: skill.map(|skill| skill.description.to_string()).unwrap_or_default(),
            argument_hint: skill
                .and_then(|skill| skill.argument_hint.as_deref())
                .unwrap_or_default()
                .to_owned(),
        }
    };
    names.iter().map(one).collect()
}

/// What never changes first, what changes from day to day last.
fn system(
    request: &LaunchRequest,
    agent: Option<&AgentDefinition>,
    memory: Option<&Memory>,
    context: &context::Context,
) -> Arc<[SystemPart]> {
    let body = agent.map(|agent| agent.body.trim()).filter(|body| !body.is_empty());
    // A host that wants no prompt of its own sends an empty one, also where an agent has its own.
    let given = request.system_prompt.as_deref();
    let main = given.filter(|text| !text.is_empty() || body.is_none()).or(body);
    let main = main.unwrap_or(prompt::DEFAULT).trim().to_owned();
    let mut parts = Vec::new();
    let mut add = |text: String, cache: bool| {
        if !text.is_empty() {
            parts.push(SystemPart { text, cache });
        }
    };
    add(
        match memory {
            Some(memory) => format!("{main}\n\n{}", memory.section().trim()),
            None => main,
        },
        true,
    );
    add(request.append_system_prompt.clone().unwrap_or_default(), false);
    // Whoever replaces the whole prompt wants exactly that.
    if request.system_prompt.is_none() && !request.static_prompt {
        add(prompt::environment(&context.environment), true);
    }
    parts.into()
}

/// What goes before the first prompt; with a system prompt that is the same everywhere, also where the agent works.
fn opening(request: &LaunchRequest, context: &context::Context) -> Option<Arc<str>> {
    let opening = prompt::opening(&context.instructions, context.git.as_deref());
    if !request.static_prompt || request.system_prompt.is_some() {
        return opening.map(Into::into);
    }
    let place =
        format!("<system-reminder>\n{}\n</system-reminder>", prompt::environment(&context.environment));
    Some([Some(place), opening].into_iter().flatten().collect::<Vec<_>>().join("\n").into())
}

fn max_tokens(env: &Env) -> u32 {
    const DEFAULT: u32 = 32_000;
    let set = env.number("CLAUDE_CODE_MAX_OUTPUT_TOKENS").and_then(|tokens| u32::try_from(tokens).ok());
    set.filter(|tokens| *tokens > 0).unwrap_or(DEFAULT)
}

pub(super) fn retry_policy(env: &Env) -> RetryPolicy {
    let retries = env.number("CLAUDE_CODE_MAX_RETRIES").and_then(|retries| u32::try_from(retries).ok());
    let policy = RetryPolicy::default();
    RetryPolicy { max_retries: retries.unwrap_or(policy.max_retries), ..policy }
}
