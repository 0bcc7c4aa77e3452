//! `posse lint`: what is wrong, where, and how to mend it.

use std::path::Path;
use std::time::Duration;

use posse_core::diagnostic::{Diagnostic, Safety, Severity};
use posse_core::origin::Origin;
use posse_runtime::catalog::{Catalog, Watcher, fix};
use posse_runtime::world::World;

use super::{load, load_failure};
use crate::args::{LintArgs, LintFormat};
use crate::render::{diagnostics, json, relative, sarif, style::Style};
use crate::report::{CommandResult, Failure, Outcome};
use crate::terminal::Terminal;

pub(super) fn run(args: &LintArgs, world: &World, terminal: &mut Terminal) -> CommandResult {
    if let Some(missing) = args.paths.iter().find(|path| world.cwd.join(path).symlink_metadata().is_err()) {
        return Err(Failure::new(format!("{} does not exist", missing.display())).usage().into());
    }
    let mut catalog = read(args, world)?;
    if args.fix {
        mend(&catalog, args, world, terminal)?;
        catalog = read(args, world)?;
    }
    if args.watch {
        return watch(catalog, args, world, terminal);
    }
    print(&catalog, args, world, terminal)
}

/// Prints, waits, prints again, until interrupted or until nobody reads.
fn watch(mut catalog: Catalog, args: &LintArgs, world: &World, terminal: &mut Terminal) -> CommandResult {
    loop {
        // Watching begins before printing: what changes meanwhile is not missed.
        let watcher = Watcher::start(&catalog).map_err(|error| Failure::new(error.to_string()))?;
        print(&catalog, args, world, terminal)?;
        terminal.out.flush()?;
        while !watcher.wait(Duration::from_secs(3600)) {}
        catalog = read(args, world)?;
    }
}

fn read(args: &LintArgs, world: &World) -> Result<Catalog, Failure> {
    let options = args.sources.options();
    if args.paths.is_empty() {
        return load(world, &options);
    }
    Catalog::of_paths(world, &options, &args.paths).map_err(|error| load_failure(&error))
}

fn print(catalog: &Catalog, args: &LintArgs, world: &World, terminal: &mut Terminal) -> CommandResult {
    let found = problems(catalog, args, world);
    match args.format {
        LintFormat::Json => json::print(&json::lint(&found, catalog), &mut terminal.out)?,
        LintFormat::Sarif => json::print(&sarif::log(&found, &world.cwd), &mut terminal.out)?,
        LintFormat::Text => {
            let style = Style { color: terminal.color };
            for diagnostic in &found {
                let text = diagnostics::one(diagnostic, style, |path| relative(path, &world.cwd));
                terminal.out.write_all(text.as_bytes())?;
                terminal.out.write_all(b"\n")?;
            }
            let summary = diagnostics::summary(&found, catalog, style);
            terminal.out.write_all(summary.as_bytes())?;
        }
    }
    let limit = if args.strict { Severity::Warning } else { Severity::Error };
    let failed = found.iter().any(|diagnostic| diagnostic.severity >= limit);
    Ok(if failed { Outcome::Problems } else { Outcome::Fine })
}

/// Everything that is wrong. Skills are looked at where everything is; single paths are agents and plugins.
fn problems(catalog: &Catalog, args: &LintArgs, world: &World) -> Vec<Diagnostic> {
    let mut found = catalog.diagnostics();
    if args.paths.is_empty() {
        let registry = super::skills::registry(catalog, world, &args.sources.options());
        found.extend(posse_runtime::skills::check(&catalog.registry.active, &registry));
        found.extend(registry.diagnostics);
        found.sort_by(|a, b| (&a.file, a.location, a.rule).cmp(&(&b.file, b.location, b.rule)));
    }
    found
}

/// Writes the fixes, and says which. One file that cannot be mended does not keep the others from it.
fn mend(
    catalog: &Catalog,
    args: &LintArgs,
    world: &World,
    terminal: &mut Terminal,
) -> Result<(), crate::report::Error> {
    let style = Style { color: terminal.color };
    for (file, origin) in fixable(&catalog.diagnostics(), catalog, args.unsafe_fixes) {
        let done = fix::plan(&file, origin, args.unsafe_fixes).and_then(|fixed| {
            fixed.map(|fixed| fix::write(&file, &fixed.text).map(|()| fixed.titles)).transpose()
        });
        let name = relative(&file, &world.cwd);
        let line = match done {
            Ok(None) => continue,
            Ok(Some(titles)) => format!("{} {name}: {}\n", style.good("mended"), titles.join("; ")),
            Err(error) => format!("{} {error}\n", style.error("error:")),
        };
        terminal.err.write_all(line.as_bytes())?;
    }
    Ok(())
}

/// Files with a fix to apply, each once. Only Markdown files have fixes.
fn fixable(
    found: &[Diagnostic],
    catalog: &Catalog,
    also_unsafe: bool,
) -> Vec<(std::sync::Arc<Path>, Origin)> {
    let mut files: Vec<_> = found
        .iter()
        .filter(|diagnostic| {
            diagnostic.fix.as_ref().is_some_and(|fix| also_unsafe || fix.safety == Safety::Safe)
        })
        .map(|diagnostic| diagnostic.file.clone())
        .collect();
    files.dedup();
    let registry = &catalog.registry;
    let origin = |file: &Path| {
        let sources = registry.active.iter().map(|agent| &agent.source);
        let sources = sources.chain(registry.shadowed.iter().map(|shadowed| &shadowed.definition.source));
        let mut sources = sources.chain(registry.failed.iter().map(|failed| &failed.source));
        sources.find(|source| *source.file == *file).map(|source| source.origin)
    };
    files.into_iter().filter_map(|file| Some((file.clone(), origin(&file)?))).collect()
}
