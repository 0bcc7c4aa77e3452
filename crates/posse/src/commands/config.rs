//! `posse config`: what is set, and by whom.

use posse_core::diagnostic::Severity;
use posse_core::settings::{self, KEYS};
use posse_core::suggest;
use posse_runtime::world::World;

use super::load;
use crate::args::ConfigArgs;
use crate::render::config::{self, Page};
use crate::render::style::Style;
use crate::report::{CommandResult, Failure, Outcome};
use crate::terminal::Terminal;

pub(super) fn run(args: &ConfigArgs, world: &World, terminal: &mut Terminal) -> CommandResult {
    let catalog = load(world, &args.sources.options())?;
    let mut values = settings::view(&catalog.settings_files, &catalog.settings, catalog.trust.of_folder());
    if let Some(key) = args.key.as_deref() {
        values.retain(|value| is_below(&value.key, key));
        if values.is_empty() && !is_known(key) {
            return Err(unknown(key).into());
        }
    }
    let mut problems = catalog.settings_problems();
    problems.retain(|one| args.key.is_none() || one.severity == Severity::Error);
    let broken = problems.iter().any(|one| one.severity == Severity::Error);
    let page = Page { catalog: &catalog, values: &values, problems: &problems, key: args.key.as_deref() };
    if args.json {
        crate::render::json::print(&config::json(&page), &mut terminal.out)?;
    } else {
        let text = config::text(&page, Style { color: terminal.color }, terminal.width);
        terminal.out.write_all(text.as_bytes())?;
    }
    Ok(if broken { Outcome::Problems } else { Outcome::Fine })
}

fn is_below(name: &str, key: &str) -> bool {
    name == key || name.strip_prefix(key).is_some_and(|rest| rest.starts_with('.'))
}

/// A key of the table, one below it that holds names, or one above others.
fn is_known(key: &str) -> bool {
    let names_follow =
        |one: &settings::Key| one.merging() == settings::Merging::ByName && is_below(key, one.name);
    KEYS.iter()
        .any(|one| is_below(one.name, key) || (names_follow(one) && one.shape != settings::Shape::Group))
}

fn unknown(key: &str) -> Failure {
    let failure = Failure::new(format!("no setting is called `{key}`")).usage();
    match suggest::closest(key, KEYS.iter().map(|one| one.name)) {
        Some(close) => failure.hint(format!("did you mean `{close}`?")),
        None => failure.hint("docs/settings.md lists them"),
    }
}
