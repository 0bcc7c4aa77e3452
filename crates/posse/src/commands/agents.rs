//! `posse agents`: what there is.

use posse_core::registry::Colors;
use posse_runtime::world::World;

use super::{find, load};
use crate::args::{ListArgs, ShowArgs};
use crate::render::{fields as field_page, json, listing, style::Style};
use crate::report::{CommandResult, Outcome};
use crate::terminal::Terminal;

pub(super) fn list(args: &ListArgs, world: &World, terminal: &mut Terminal) -> CommandResult {
    let catalog = load(world, &args.sources.options())?;
    let mut colors = Colors::default();
    colors.assign(&catalog.registry.active);
    if args.json {
        json::print(&json::Agents { catalog: &catalog, colors: &colors }, &mut terminal.out)?;
    } else {
        let page = listing::Page {
            catalog: &catalog,
            colors: &colors,
            style: Style { color: terminal.color },
            width: terminal.width,
        };
        terminal.out.write_all(page.list().as_bytes())?;
    }
    Ok(Outcome::Fine)
}

pub(super) fn show(args: &ShowArgs, world: &World, terminal: &mut Terminal) -> CommandResult {
    let catalog = load(world, &args.sources.options())?;
    let agent = find(&catalog, &args.name)?;
    let mut colors = Colors::default();
    colors.assign(&catalog.registry.active);
    if args.json {
        json::print(&json::agent_with_prompt(agent, &catalog, &colors), &mut terminal.out)?;
    } else {
        let page = listing::Page {
            catalog: &catalog,
            colors: &colors,
            style: Style { color: terminal.color },
            width: terminal.width,
        };
        terminal.out.write_all(page.show(agent).as_bytes())?;
    }
    Ok(Outcome::Fine)
}

pub(super) fn fields(terminal: &mut Terminal) -> CommandResult {
    let style = Style { color: terminal.color };
    terminal.out.write_all(field_page::text(style, terminal.width).as_bytes())?;
    Ok(Outcome::Fine)
}
