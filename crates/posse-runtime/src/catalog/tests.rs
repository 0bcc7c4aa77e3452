//! Behaviour on a real disk: a folder per test, nothing of the machine but its file system.

mod hostile;
mod mending;
mod plugins;
mod sources;

use posse_testkit::TestEnv;

use super::{Catalog, CatalogOptions, LoadError, Watcher};
use crate::world::{Env, World};

fn world(env: &TestEnv) -> World {
    World { env: Env::new(env.vars()), cwd: env.cwd().to_owned(), ..World::default() }
}

fn load(env: &TestEnv, options: &CatalogOptions) -> Catalog {
    Catalog::load(&world(env), options).unwrap_or_else(|error| panic!("{error:?}"))
}

/// Custom agents, one per line: `name origin description`, then what is shadowed and what failed.
fn summary(env: &TestEnv, options: &CatalogOptions) -> String {
    let catalog = load(env, options);
    let mut lines: Vec<String> = Vec::new();
    for agent in catalog.registry.active.iter().filter(|agent| agent.source.origin.word() != "built-in") {
        lines.push(format!("{} {} {}", agent.name, agent.source.origin.word(), agent.description));
    }
    for shadowed in &catalog.registry.shadowed {
        let (loser, winner) = (shadowed.definition.source.origin.word(), shadowed.by.origin.word());
        lines.push(format!("  shadowed {} {loser} by {winner}", shadowed.definition.name));
    }
    for failed in &catalog.registry.failed {
        let file = failed.source.file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let rules: Vec<_> = failed.diagnostics.iter().map(|diagnostic| diagnostic.rule.info().id).collect();
        lines.push(format!("  failed {file} {}", rules.join(" ")));
    }
    lines.join("\n")
}

/// Rules reported, one per line: `file:line:column rule`.
fn problems(env: &TestEnv, options: &CatalogOptions) -> String {
    let catalog = load(env, options);
    let lines: Vec<String> = catalog
        .diagnostics()
        .iter()
        .filter(|diagnostic| diagnostic.file.to_string_lossy() != "<built-in>")
        .map(|diagnostic| {
            let file = env.normalize(diagnostic.file.to_string_lossy().as_bytes());
            let file = file.trim_start_matches("$ENV/");
            match diagnostic.location {
                Some(at) => format!("{file}:{}:{} {}", at.line, at.column, diagnostic.rule.info().id),
                None => format!("{file} {}", diagnostic.rule.info().id),
            }
        })
        .collect();
    lines.join("\n")
}

fn agent(name: &str, description: &str) -> String {
    format!("---\nname: {name}\ndescription: {description}\n---\nDo it.\n")
}
