//! What the system offers to hold commands back, and what it cannot hold of what is wanted here.

use posse_core::settings::ReadOnlyAgents;

use super::{Check, State};
use crate::catalog::Catalog;
use crate::sandbox::asked::{self, Ground, is_on};
use crate::sandbox::{Bwrap, Sandbox, Support};
use crate::world::World;

/// The means, then what they hold of read-only agents and of a workspace.
pub(super) async fn checks(catalog: &Catalog, world: &World) -> Vec<Check> {
    let support = Support::probe(world).await;
    vec![means(&support), readers(catalog, world, &support), workspace(catalog, world, &support)]
}

fn means(support: &Support) -> Check {
    let report = support.report();
    let text = report.iter().map(|(name, _, text)| format!("{name}: {text}")).collect::<Vec<_>>().join("; ");
    let state = if report.iter().all(|(_, works, _)| *works) { State::Good } else { State::Note };
    let check = Check::new("sandbox", state, text);
    match fix(support) {
        Some(fix) => check.fix(fix),
        None => check,
    }
}

/// What would make more possible.
fn fix(support: &Support) -> Option<String> {
    if !cfg!(target_os = "linux") {
        return Some(
            "posse confines commands on Linux only; use a container or a virtual machine".to_owned(),
        );
    }
    let mut fixes = Vec::new();
    if support.landlock == 0 {
        fixes.push("boot a kernel from 6.2 on with Landlock (`lsm=landlock,…`)");
    }
    fixes.extend(match &support.bwrap {
        Bwrap::Missing => Some("apt install bubblewrap (the package has this name everywhere)"),
        Bwrap::Refused { .. } => Some(
            "let bwrap make namespaces: `sysctl kernel.apparmor_restrict_unprivileged_userns=0`, \
             `kernel.unprivileged_userns_clone=1`, or a container that may",
        ),
        Bwrap::NotTried | Bwrap::Works { .. } => None,
    });
    (!fixes.is_empty()).then(|| fixes.join("; "))
}

fn readers(catalog: &Catalog, world: &World, support: &Support) -> Check {
    const NAME: &str = "read-only";
    let set = catalog.settings.sandbox.read_only_agents.as_ref();
    let wanted = set.map_or(ReadOnlyAgents::default(), |set| set.value);
    if let (ReadOnlyAgents::Off, Some(set)) = (wanted, set) {
        let text = format!("agents without writing tools are not confined ({})", set.by.file.display());
        return Check::new(NAME, State::Skipped, text);
    }
    let held = "the commands of agents without writing tools cannot write";
    foreseen(NAME, held, wanted == ReadOnlyAgents::Require, true, catalog, world, support)
}

fn workspace(catalog: &Catalog, world: &World, support: &Support) -> Check {
    const NAME: &str = "workspace";
    let settings = &catalog.settings.sandbox;
    let Some(set) = settings.enabled.as_ref().filter(|set| set.value) else {
        let text = "commands of other agents are not confined";
        return Check::new(NAME, State::Skipped, text).fix("switch it on in settings: sandbox.enabled");
    };
    let must = is_on(settings.fail_if_unavailable.as_ref());
    let held = format!("commands write only the project ({})", set.by.file.display());
    foreseen(NAME, &held, must, false, catalog, world, support)
}

/// What would come of a sandbox for readers or workers, as settings ask for it.
fn foreseen(
    name: &'static str,
    held: &str,
    must: bool,
    reader: bool,
    catalog: &Catalog,
    world: &World,
    support: &Support,
) -> Check {
    let mut problems = Vec::new();
    let scratch = world.temp_dir();
    let cwd = &catalog.layout.cwd;
    let ground = Ground { roots: std::slice::from_ref(cwd), cwd, home: world.env.home(), scratch: &scratch };
    let profile = asked::profile(&catalog.settings.sandbox, reader, ground, &mut problems);
    match Sandbox::foresee(profile, support) {
        Ok(sandbox) => {
            problems.extend(sandbox.weaknesses().iter().cloned());
            let state = if problems.is_empty() { State::Good } else { State::Note };
            let but = problems.iter().map(|problem| format!("; but {problem}")).collect::<String>();
            let costs = sandbox.costs().iter().map(|cost| format!("; {cost}")).collect::<String>();
            Check::new(name, state, format!("{held}{but}{costs}"))
        }
        Err(error) if must => Check::new(name, State::Broken, format!("{error}, and settings demand it"))
            .fix("see the line above, or ask for less in settings"),
        Err(error) => Check::new(name, State::Note, format!("{error}; commands run unconfined")),
    }
}

#[cfg(test)]
mod tests;
