//! `posse skills`: which skills and commands there are.

use posse_core::skill::{SkillLookup, SkillRegistry};
use posse_runtime::catalog::{Catalog, CatalogOptions};
use posse_runtime::skills::{Places, PluginSkills};
use posse_runtime::world::World;

use super::load;
use crate::args::{ListArgs, ShowArgs, SkillsArgs, SkillsCommand};
use crate::render::{json, skills, style::Style};
use crate::report::{CommandResult, Failure, Outcome};
use crate::terminal::Terminal;

pub(super) fn run(args: &SkillsArgs, world: &World, terminal: &mut Terminal) -> CommandResult {
    match &args.command {
        None => list(&args.list, world, terminal),
        Some(SkillsCommand::List(args)) => list(args, world, terminal),
        Some(SkillsCommand::Show(args)) => show(args, world, terminal),
    }
}

/// The skills that a session here would have.
pub(super) fn registry(catalog: &Catalog, world: &World, options: &CatalogOptions) -> SkillRegistry {
    let plugins = catalog.plugins.iter().map(PluginSkills::of).collect();
    Places::of(catalog, world, options, plugins).read()
}

fn page<'a>(registry: &'a SkillRegistry, catalog: &'a Catalog, terminal: &Terminal) -> skills::Page<'a> {
    skills::Page {
        registry,
        cwd: &catalog.layout.cwd,
        is_trusted: catalog.trust.trusted,
        style: Style { color: terminal.color },
        width: terminal.width,
    }
}

fn list(args: &ListArgs, world: &World, terminal: &mut Terminal) -> CommandResult {
    let options = args.sources.options();
    let catalog = load(world, &options)?;
    let registry = registry(&catalog, world, &options);
    if args.json {
        json::print(&skills::json(&registry), &mut terminal.out)?;
    } else {
        let text = page(&registry, &catalog, terminal).list();
        terminal.out.write_all(text.as_bytes())?;
    }
    Ok(Outcome::Fine)
}

fn show(args: &ShowArgs, world: &World, terminal: &mut Terminal) -> CommandResult {
    let options = args.sources.options();
    let catalog = load(world, &options)?;
    let registry = registry(&catalog, world, &options);
    let name = &args.name;
    let skill = match registry.lookup(name) {
        SkillLookup::Found(skill) => skill,
        SkillLookup::Ambiguous(names) => {
            let failure = Failure::new(format!("`{name}` could be any of {}", names.join(", ")));
            return Err(failure.hint("write the name exactly").usage().into());
        }
        SkillLookup::Unknown(close) => {
            let failure = Failure::new(format!("there is no skill called `{name}`")).usage();
            let hint = close.map_or_else(
                || "`posse skills` lists those there are".to_owned(),
                |close| format!("did you mean `{close}`?"),
            );
            return Err(failure.hint(hint).into());
        }
    };
    if args.json {
        json::print(&skills::with_text(skill), &mut terminal.out)?;
    } else {
        let text = page(&registry, &catalog, terminal).show(skill);
        terminal.out.write_all(text.as_bytes())?;
    }
    Ok(Outcome::Fine)
}
