//! `posse explain`: what an agent would be when started, and who set what.

use posse_core::permission::{Approval, Mode};
use posse_core::spec::{self, Call, Parent};
use posse_runtime::catalog::Catalog;
use posse_runtime::world::World;

use super::{find, load, load_failure};
use crate::args::ExplainArgs;
use crate::render::{explain as page, json, style::Style};
use crate::report::{CommandResult, Failure, Outcome};
use crate::terminal::Terminal;

pub(super) fn run(args: &ExplainArgs, world: &World, terminal: &mut Terminal) -> CommandResult {
    let catalog = load(world, &args.sources.options())?;
    catalog.check().map_err(|error| load_failure(&error))?;
    let parent = parent(&catalog, args)?;
    let agent = find(&catalog, &args.name)?;
    let call = Call {
        model: args.model.as_deref().map(Into::into),
        background: args.background.then_some(true),
        ..Call::default()
    };
    let spec = spec::resolve(agent, &parent, &call, &catalog.policy)
        .map_err(|error| cannot_start(&error.to_string()))?;
    let skills = super::skills::registry(&catalog, world, &args.sources.options());
    let missing = skills.missing(spec.skills.iter().map(|name| &**name));
    if args.json {
        let mut value = json::spec(&spec, &parent);
        value["skillsMissing"] = missing.iter().map(|(name, _)| *name).collect();
        json::print(&value, &mut terminal.out)?;
    } else {
        let page = page::Page {
            spec: &spec,
            parent: &parent,
            style: Style { color: terminal.color },
            cwd: &world.cwd,
        };
        terminal.out.write_all(page.text().as_bytes())?;
        for (_, why) in missing {
            writeln!(terminal.out, "\n{why}")?;
        }
    }
    Ok(Outcome::Fine)
}

/// The agent that starts it: the main agent, or the last of a chain below it.
fn parent(catalog: &Catalog, args: &ExplainArgs) -> Result<Parent, Failure> {
    let mut parent = catalog.main.clone();
    if let Some(name) = &args.permission_mode {
        let mode = Mode::parse(name).ok_or_else(|| {
            let names = Mode::ALL.map(Mode::name).join(", ");
            Failure::new(format!("no permission mode is called `{name}`"))
                .hint(format!("one of {names}"))
                .usage()
        })?;
        parent.approval = Approval::of(mode);
    }
    for name in &args.parent {
        let definition = find(catalog, name)?;
        let spec = spec::resolve(definition, &parent, &Call::default(), &catalog.policy)
            .map_err(|error| cannot_start(&error.to_string()))?;
        parent = spec.as_parent();
    }
    Ok(parent)
}

fn cannot_start(why: &str) -> Failure {
    Failure::new(why.to_owned())
        .hint("`posse lint` shows the place; `posse agents show NAME` the whole definition")
}
