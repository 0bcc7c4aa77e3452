//! `posse doctor`: what works here.

use posse_runtime::doctor::{self, Check, State};
use posse_runtime::world::World;
use serde_json::json;

use super::run::runtime;
use crate::args::DoctorArgs;
use crate::render::listing::pad;
use crate::render::style::{Style, plain};
use crate::report::{CommandResult, Outcome};
use crate::terminal::Terminal;

pub(super) fn run(args: &DoctorArgs, world: &World, terminal: &mut Terminal) -> CommandResult {
    let runtime = runtime()?;
    let mut checks = vec![Check::new("version", State::Good, format!("posse {}", env!("CARGO_PKG_VERSION")))];
    checks.extend(runtime.block_on(doctor::examine(world, &args.sources.options(), args.offline)));
    // A name that is still being looked up must not hold the program.
    runtime.shutdown_background();
    let broken = checks.iter().filter(|check| check.state == State::Broken).count();
    if args.json {
        let list: Vec<_> = checks
            .iter()
            .map(|check| {
                json!({ "name": check.name, "state": check.state.word(), "text": check.text, "fix": check.fix })
            })
            .collect();
        crate::render::json::print(&json!({ "ok": broken == 0, "checks": list }), &mut terminal.out)?;
    } else {
        let style = Style { color: terminal.color };
        for check in &checks {
            terminal.out.write_all(line(check, style).as_bytes())?;
        }
        let end = match broken {
            0 => style.good("nothing is broken"),
            1 => style.error("1 thing is broken"),
            many => style.error(&format!("{many} things are broken")),
        };
        writeln!(terminal.out, "\n{end}")?;
    }
    Ok(if broken == 0 { Outcome::Fine } else { Outcome::Problems })
}

fn line(check: &Check, style: Style) -> String {
    let mark = match check.state {
        State::Good => style.good("✓"),
        State::Note => style.hint("•"),
        State::Broken => style.error("✗"),
        State::Skipped => style.dim("-"),
    };
    let mut text = format!("{mark} {} {}\n", pad(check.name, 14), plain(&check.text));
    if let Some(fix) = &check.fix {
        text.push_str(&format!("{}{} {}\n", " ".repeat(17), style.hint("→"), plain(fix)));
    }
    text
}
