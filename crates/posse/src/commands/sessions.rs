//! `posse sessions`: what was talked about here.

use posse_runtime::catalog::{CatalogOptions, Layout};
use posse_runtime::session;
use posse_runtime::world::World;

use crate::render::listing::{cut, pad};
use crate::render::style::{Style, plain};
use crate::report::{CommandResult, Outcome};
use crate::terminal::Terminal;

pub(super) fn run(json: bool, world: &World, terminal: &mut Terminal) -> CommandResult {
    let layout = Layout::find(world, &CatalogOptions::default());
    let found = layout.user.as_deref().map(|user| session::list(user, &layout.cwd)).unwrap_or_default();
    if json {
        let list: Vec<_> = found
            .iter()
            .map(|one| serde_json::json!({ "id": one.id, "title": one.title, "path": one.path, "bytes": one.bytes, "modified": world.clock.iso(one.modified) }))
            .collect();
        crate::render::json::print(&list, &mut terminal.out)?;
        return Ok(Outcome::Fine);
    }
    let style = Style { color: terminal.color };
    if found.is_empty() {
        writeln!(terminal.out, "{}", style.dim("no conversations in this folder yet"))?;
    }
    for one in found {
        let title = cut(&plain(&one.title), terminal.width.saturating_sub(64).max(20));
        writeln!(
            terminal.out,
            "{}  {}  {title}",
            pad(&one.id, 36),
            style.dim(&world.clock.iso(one.modified))
        )?;
    }
    Ok(Outcome::Fine)
}
