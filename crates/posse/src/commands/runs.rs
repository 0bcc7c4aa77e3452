//! `posse runs`: who worked in a session, for whom, and what it took.

use posse_runtime::catalog::{CatalogOptions, Layout};
use posse_runtime::session;
use posse_runtime::world::World;

use crate::args::RunsArgs;
use crate::render::runs as page;
use crate::render::style::Style;
use crate::report::{CommandResult, Failure, Outcome};
use crate::terminal::Terminal;

pub(super) fn run(args: &RunsArgs, world: &World, terminal: &mut Terminal) -> CommandResult {
    let layout = Layout::find(world, &CatalogOptions::default());
    let nothing = || Failure::new("there are no conversations in this folder yet").usage();
    let user = layout.user.as_deref().ok_or_else(nothing)?;
    let found = match &args.session {
        Some(wanted) => session::find(user, &layout.cwd, wanted).map_err(|error| {
            Failure::new(error.to_string()).hint("`posse sessions` lists those there are").usage()
        })?,
        None => session::newest(user, &layout.cwd).ok_or_else(nothing)?,
    };
    let root = session::tree(&found).map_err(|error| Failure::new(error.to_string()))?;
    if args.json {
        crate::render::json::print(&page::json(&root), &mut terminal.out)?;
    } else {
        let text = page::tree(&root, Style { color: terminal.color }, terminal.width);
        terminal.out.write_all(text.as_bytes())?;
    }
    Ok(Outcome::Fine)
}
