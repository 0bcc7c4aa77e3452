//! `posse trust`: which folders may bring what runs.

use posse_core::mcp::{McpSource, Standing};
use posse_core::settings::IgnoredKind;
use posse_runtime::catalog::{Catalog, CatalogOptions};
use posse_runtime::mcp::{self, Configured, McpOptions};
use posse_runtime::world::World;
use posse_runtime::{skills, trust};
use serde_json::{Value, json};

use super::load;
use crate::args::TrustArgs;
use crate::render::relative;
use crate::render::style::{Style, plain};
use crate::report::{CommandResult, Failure, Outcome};
use crate::terminal::Terminal;

pub(super) fn run(args: &TrustArgs, world: &World, terminal: &mut Terminal) -> CommandResult {
    if args.list {
        return list(args.json, world, terminal);
    }
    let cwd = args.path.as_ref().map_or_else(|| world.cwd.clone(), |path| world.cwd.join(path));
    if !cwd.is_dir() {
        let failure = Failure::new(format!("{} is not a folder", cwd.display())).usage();
        return Err(failure.into());
    }
    // Written as a person would: without `.` and `..`, which no record holds.
    let cwd = cwd.canonicalize()?;
    let there = World { cwd, ..world.clone() };
    let options = CatalogOptions { headless: true, ..CatalogOptions::default() };
    let catalog = load(&there, &options)?;
    let waiting = waiting(&catalog, &there, &options);
    let before = catalog.trust.trusted;
    let wanted = if args.show { before } else { !args.revoke };
    if !args.json {
        let page = page(&catalog, &waiting, args, Style { color: terminal.color });
        terminal.out.write_all(page.as_bytes())?;
        // What it makes count is on the screen before it does.
        terminal.out.flush()?;
    }
    if wanted != before {
        trust::set(catalog.trust.by.as_deref(), &catalog.trust.folder, wanted).map_err(|error| {
            Failure::new(error.to_string()).hint("nothing was changed; mend the file, or move it away")
        })?;
    }
    let folder = &catalog.trust.folder;
    if args.json {
        let list: Vec<Value> = waiting
            .iter()
            .map(|one| json!({ "kind": one.kind, "text": one.text, "file": one.file, "line": one.line }))
            .collect();
        let value = json!({ "folder": folder, "trusted": wanted, "before": before, "waiting": list });
        crate::render::json::print(&value, &mut terminal.out)?;
    } else if !args.show {
        let said = match (before, wanted) {
            (true, true) => "is trusted already",
            (false, true) => "is trusted now",
            (true, false) => "is not trusted any more",
            (false, false) => "was not trusted",
        };
        writeln!(terminal.out, "{} {said}", folder.display())?;
    }
    Ok(Outcome::Fine)
}

fn list(as_json: bool, world: &World, terminal: &mut Terminal) -> CommandResult {
    let Some(file) = trust::file(&world.env) else {
        return Err(Failure::new("there is no home folder").hint("set HOME or CLAUDE_CONFIG_DIR").into());
    };
    let (folders, problem) = trust::folders(&file);
    if let Some(problem) = problem {
        let failure = Failure::new("the record of trust cannot be read");
        return Err(Failure { diagnostics: vec![problem], ..failure }.into());
    }
    let trusted: Vec<&String> =
        folders.iter().filter(|(_, trusted)| **trusted).map(|(folder, _)| folder).collect();
    if as_json {
        crate::render::json::print(&json!({ "file": file, "trusted": trusted }), &mut terminal.out)?;
        return Ok(Outcome::Fine);
    }
    if trusted.is_empty() {
        writeln!(terminal.out, "{}", Style { color: terminal.color }.dim("no folder is trusted"))?;
    }
    for folder in trusted {
        writeln!(terminal.out, "{}", plain(folder))?;
    }
    Ok(Outcome::Fine)
}

/// What would count if the folder were trusted, one line each; nothing if it is.
pub(super) fn wishes(catalog: &Catalog, world: &World, options: &CatalogOptions) -> Vec<String> {
    if catalog.trust.trusted {
        return Vec::new();
    }
    waiting(catalog, world, options).iter().map(|one| format!("{}: {}", one.kind, plain(&one.text))).collect()
}

/// One thing that waits for trust.
struct Waiting {
    kind: &'static str,
    heading: &'static str,
    text: String,
    file: Option<String>,
    line: Option<u32>,
}

fn waiting(catalog: &Catalog, world: &World, options: &CatalogOptions) -> Vec<Waiting> {
    let mut all = Vec::new();
    for kind in IgnoredKind::ALL {
        let (word, heading) = match kind {
            IgnoredKind::Rule => ("rule", "Allow rules"),
            IgnoredKind::Hook => ("hook", "Hooks"),
            IgnoredKind::Directory => ("directory", "Working folders"),
            IgnoredKind::Environment => ("environment", "Environment variables"),
            IgnoredKind::Mode => ("mode", "Permission mode"),
            IgnoredKind::Sandbox => ("sandbox", "Sandbox"),
            IgnoredKind::Switch => ("switch", "Switches"),
            IgnoredKind::Plugin => ("plugin", "Plugins"),
            IgnoredKind::Server => ("server", "MCP servers"),
        };
        let of_kind = catalog.settings.waiting_for_trust().filter(|one| one.kind == kind);
        all.extend(of_kind.map(|one| Waiting {
            kind: word,
            heading,
            text: one.text.to_string(),
            file: Some(relative(&one.by.file, &catalog.layout.cwd)),
            line: one.location.map(|at| at.line),
        }));
    }
    if catalog.trust.trusted {
        return all;
    }
    let (hooks, servers) = catalog.agents_waiting_for_trust();
    for (kind, heading, texts) in
        [("agent-hook", "Hooks of agents", hooks), ("mcp-server", "MCP servers of agents", servers)]
    {
        all.extend(texts.into_iter().map(|text| Waiting { kind, heading, text, file: None, line: None }));
    }
    let shown = |file: &std::path::Path| Some(relative(file, &catalog.layout.cwd));
    let (kind, heading) = ("skill", "Skills that allow something");
    let skills = skills::waiting_for_trust(&super::skills::registry(catalog, world, options));
    all.extend(skills.into_iter().map(|(text, file)| Waiting {
        kind,
        heading,
        text,
        file: shown(&file),
        line: None,
    }));
    let (kind, heading) = ("project-mcp-server", "MCP servers of the project, each after a yes of its own");
    all.extend(project_servers(catalog, world, options).into_iter().map(|server| Waiting {
        kind,
        heading,
        text: match &server.config {
            Some(config) => format!("{}: {}", server.name, config.words()),
            None => server.name.to_string(),
        },
        file: shown(&server.file),
        line: None,
    }));
    all
}

/// The servers of `.mcp.json` that nobody can use before the folder is trusted.
fn project_servers(catalog: &Catalog, world: &World, options: &CatalogOptions) -> Vec<Configured> {
    let wanted = McpOptions { bare: options.bare, sources: options.sources, ..McpOptions::default() };
    // Only flags make it fail, and there are none.
    let found = mcp::config::read(world, catalog, &wanted).unwrap_or_default();
    let waits = |server: &Configured| {
        server.source == McpSource::Project
            && matches!(server.standing, Standing::NeedsApproval | Standing::NeedsTrust)
    };
    found.servers.into_iter().filter(waits).collect()
}

fn page(catalog: &Catalog, waiting: &[Waiting], args: &TrustArgs, style: Style) -> String {
    if args.revoke || catalog.trust.trusted {
        return String::new();
    }
    let folder = catalog.trust.folder.display();
    if waiting.is_empty() {
        return format!("nothing in {folder} waits for trust\n");
    }
    let mut text = format!("Trust makes this of {folder} count:\n");
    let mut heading = "";
    for one in waiting {
        if one.heading != heading {
            heading = one.heading;
            text.push_str(&format!("\n{}\n", style.bold(heading)));
        }
        let place = match (&one.file, one.line) {
            (Some(file), Some(line)) => style.dim(&format!("  {file}:{line}")),
            (Some(file), None) => style.dim(&format!("  {file}")),
            (None, _) => String::new(),
        };
        text.push_str(&format!("  {}{place}\n", plain(&one.text)));
    }
    text.push('\n');
    text
}
