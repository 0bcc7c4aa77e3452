//! What can be chosen in a session: how actions are approved, and which model answers. Pure.

use posse_core::permission::Mode;

use super::words::{About, Modes, Named, Setting};

/// What the setting of the mode is called on the wire.
pub(super) const MODE: &str = "mode";
/// What the setting of the model is called on the wire.
pub(super) const MODEL: &str = "model";

/// The ways that are open, the usual ones first.
pub(super) fn modes(current: Mode, is_open: impl Fn(Mode) -> bool) -> Modes {
    let all =
        [Mode::Default, Mode::AcceptEdits, Mode::Plan, Mode::Auto, Mode::DontAsk, Mode::BypassPermissions];
    let mut open: Vec<Mode> = all.into_iter().filter(|mode| is_open(*mode)).collect();
    if !open.contains(&current) {
        open.push(current);
    }
    Modes { current, open }
}

/// A mode as people choose it.
pub(super) fn named_mode(mode: Mode) -> Named {
    let (name, description) = match mode {
        Mode::Default => ("Ask", "Asks before it changes files or runs commands"),
        Mode::AcceptEdits => ("Accept edits", "Changes files without asking; commands are still asked about"),
        Mode::Plan => ("Plan", "Looks and plans; changes nothing before you approve the plan"),
        Mode::Auto => ("Auto", "A model judges what the rules leave open; doubt asks"),
        Mode::DontAsk => ("Don't ask", "What the rules do not allow is refused without asking"),
        Mode::BypassPermissions => ("Bypass permissions", "Nothing is asked"),
        Mode::Bubble => ("Ask the parent", "Every question goes to the agent above"),
    };
    Named { id: mode.name().to_owned(), name: name.to_owned(), description: description.to_owned() }
}

/// The models to choose from: the one it began with, those everybody knows by name, and the one that answers now.
pub(super) fn models(first: &str, current: &str, wire_id: impl Fn(&str) -> Box<str>) -> Vec<Named> {
    let known = [("opus", "Opus"), ("sonnet", "Sonnet"), ("haiku", "Haiku")];
    let is_known = |id: &str| known.iter().any(|(known, _)| *known == id);
    let named = |id: &str, name: &str| Named {
        id: id.to_owned(),
        name: name.to_owned(),
        description: wire_id(id).into_string(),
    };
    let mut all: Vec<Named> = Vec::new();
    all.extend((!is_known(first)).then(|| named(first, first)));
    all.extend(known.iter().map(|(id, name)| named(id, name)));
    if all.iter().all(|one| one.id != current) {
        all.push(named(current, current));
    }
    all
}

/// Everything that can be chosen.
pub(super) fn settings(modes: &Modes, model: &str, models: Vec<Named>) -> Vec<Setting> {
    vec![
        Setting {
            id: MODE,
            name: "Permissions",
            about: About::Mode,
            current: modes.current.name().to_owned(),
            choices: modes.open.iter().copied().map(named_mode).collect(),
        },
        Setting { id: MODEL, name: "Model", about: About::Model, current: model.to_owned(), choices: models },
    ]
}

#[cfg(test)]
mod tests;
