//! What only shows when all agents are looked at together: lists that resolve to nothing, agents that start each other
//! in a circle, agents that may start nobody knows whom. Problems of single files come from reading them.

use std::collections::{BTreeMap, BTreeSet};

use crate::definition::{AgentDefinition, ToolEntry, field_row};
use crate::diagnostic::{Diagnostic, Problem, Rule, Severity};
use crate::origin::Origin;
use crate::registry::Registry;
use crate::spec::{self, AgentSpec, Call, Parent, Policy, ResolveError, SetBy};
use crate::suggest;
use crate::tools::{Scope, ToolPattern};

/// Looks at all active agents, as `main` would start them under `policy`.
pub fn check(registry: &Registry, policy: &Policy, main: &Parent) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    // What posse brings itself is nobody's to mend.
    for agent in registry.active.iter().filter(|agent| agent.source.origin != Origin::BuiltIn) {
        pool(agent, policy, main, &mut diagnostics);
        spawn_targets(agent, registry, &mut diagnostics);
    }
    spawn_cycles(registry, &mut diagnostics);
    diagnostics
}

fn pool(agent: &AgentDefinition, policy: &Policy, main: &Parent, diagnostics: &mut Vec<Diagnostic>) {
    let span = agent.places.tools().unwrap_or_default();
    match spec::resolve(agent, main, &Call::default(), policy) {
        Err(ResolveError::EmptyPool(empty)) => {
            let problem = Problem::at(Rule::EmptyPool, span, empty.to_string())
                .hint("name at least one tool it can have, or leave `tools` out for all of them");
            diagnostics.push(agent.report(problem));
        }
        Err(ResolveError::Denied { .. } | ResolveError::NotSpawnable { .. }) => {}
        Ok(spec) if lost_everything(agent, &spec) => {
            let said = "`disallowedTools` takes away every tool that `tools` gives: the agent has none";
            let problem = Problem::at(Rule::NoTools, span, said).severity(Severity::Warning);
            diagnostics.push(agent.report(problem));
        }
        Ok(spec) => diagnostics.extend(spec.withheld.iter().filter(|(_, by)| *by != SetBy::Distrust).map(
            |(field, _)| {
                let name = field_row(*field).name;
                let by = policy
                    .plugin_only_by
                    .as_ref()
                    .map(|by| by.file.display().to_string())
                    .unwrap_or_default();
                let said = format!("`{name}` is ignored: {by} keeps it to plugins and administrators");
                agent.report(Problem::at(
                    Rule::PolicyFieldIgnored,
                    agent.places.key(*field).unwrap_or_default(),
                    said,
                ))
            },
        )),
    }
}

/// Whether an agent that lists tools ends up without one.
fn lost_everything(agent: &AgentDefinition, spec: &AgentSpec) -> bool {
    let lists = agent.tools.as_ref().is_some_and(|tools| !tools.is_empty());
    let capability = &spec.pool.capability;
    lists && capability.grants.is_empty() && capability.is_closed_to_mcp() && spec.pool.own_servers.is_empty()
}

/// The entries of an agent's list that limit what it may start, each with its targets.
fn spawn_entries(agent: &AgentDefinition) -> impl Iterator<Item = (&ToolEntry, &[Box<str>])> {
    let denied = agent
        .disallowed_tools
        .iter()
        .any(|entry| matches!(&entry.pattern, ToolPattern::Tool { name, .. } if &**name == "Agent"));
    let entries = if denied { &[][..] } else { agent.tools.as_deref().unwrap_or_default() };
    entries.iter().filter_map(|entry| match &entry.pattern {
        ToolPattern::Tool { scope: Some(Scope::Agents(agents)), .. } => Some((entry, agents.as_slice())),
        ToolPattern::All | ToolPattern::Mcp(_) | ToolPattern::Tool { .. } => None,
    })
}

fn spawn_targets(agent: &AgentDefinition, registry: &Registry, diagnostics: &mut Vec<Diagnostic>) {
    for (entry, targets) in spawn_entries(agent) {
        for target in targets.iter().filter(|target| registry.get(target).is_none()) {
            let said = format!("`{}` may start `{target}`, but there is no such agent", agent.name);
            let problem = Problem::at(Rule::UnknownSpawnTarget, entry.span, said);
            let known = registry.active.iter().map(|agent| &*agent.name);
            diagnostics.push(agent.report(match suggest::closest(target, known) {
                Some(close) => problem.hint(format!("did you mean `{close}`?")),
                None => problem,
            }));
        }
    }
}

/// Only lists that name each other count: an agent without a list may start anybody, which is no news.
fn spawn_cycles(registry: &Registry, diagnostics: &mut Vec<Diagnostic>) {
    let graph: BTreeMap<&str, Vec<(&str, &ToolEntry)>> = registry
        .active
        .iter()
        .map(|agent| {
            let edges = spawn_entries(agent);
            (&*agent.name, edges.flat_map(|(entry, to)| to.iter().map(move |to| (&**to, entry))).collect())
        })
        .collect();
    let mut reported: BTreeSet<BTreeSet<&str>> = BTreeSet::new();
    for agent in &registry.active {
        let Some(path) = way_back(&graph, &agent.name) else { continue };
        if !reported.insert(path.iter().copied().collect()) {
            continue;
        }
        let first_step = path.get(1).copied().unwrap_or(&agent.name);
        let entry = graph.get(&*agent.name).and_then(|edges| edges.iter().find(|(to, _)| *to == first_step));
        let circle = path.iter().copied().chain([&*agent.name]).collect::<Vec<_>>().join(" → ");
        let said = format!("these agents can start each other in a circle: {circle}");
        let problem =
            Problem::at(Rule::SpawnCycle, entry.map_or_else(Default::default, |(_, entry)| entry.span), said)
                .hint("only the depth limit would end it; take one of the names out");
        diagnostics.push(agent.report(problem));
    }
}

/// The shortest way from an agent back to itself, without the return.
fn way_back<'g>(
    graph: &BTreeMap<&'g str, Vec<(&'g str, &ToolEntry)>>,
    start: &'g str,
) -> Option<Vec<&'g str>> {
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let mut paths = std::collections::VecDeque::from([vec![start]]);
    while let Some(path) = paths.pop_front() {
        let here = path.last().copied().unwrap_or(start);
        for (next, _) in graph.get(here).into_iter().flatten() {
            if *next == start {
                return Some(path);
            }
            if seen.insert(next) {
                let mut longer = path.clone();
                longer.push(next);
                paths.push_back(longer);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests;
