//! What somebody who is asked could allow for longer: the updates that would have made the question unnecessary.

use crate::shell::{self, Run, Word};

use super::call::{Call, Deed};
use super::update::{Destination, RuleText, Update};
use super::{Behavior, Mode, Situation};

/// Updates worth offering with a question about a call, the narrowest first.
pub fn suggestions(call: &Call<'_>, at: &Situation<'_>) -> Vec<Update> {
    match call.deed() {
        Deed::Command(line) => commands(line),
        Deed::Look(paths) => {
            let outside = paths.iter().map(|path| at.folders.place(path, at.paths));
            let folders = outside.filter(|place| !at.folders.holds(place)).filter_map(|place| {
                let folder = if call.tool == "Read" { place.real.parent()? } else { &*place.real };
                Some(folder.display().to_string())
            });
            let directories: Vec<String> = folders.collect();
            if directories.is_empty() {
                return Vec::new();
            }
            vec![Update::AddDirectories { directories, destination: Destination::Session }]
        }
        Deed::Change(_) => {
            vec![Update::SetMode { mode: Mode::AcceptEdits, destination: Destination::Session }]
        }
        Deed::Fetch(Some(host)) => vec![rule(call.tool, Some(format!("domain:{host}")))],
        Deed::Skill(name) => vec![rule(call.tool, Some(name.to_owned()))],
        Deed::Other => vec![rule(call.tool, None)],
        Deed::Fetch(None) | Deed::Agent(_) | Deed::Harmless => Vec::new(),
    }
}

fn rule(tool: &str, content: Option<String>) -> Update {
    Update::AddRules {
        rules: vec![RuleText { tool: tool.to_owned(), content }],
        behavior: Behavior::Allow,
        destination: Destination::LocalSettings,
    }
}

/// One rule for each command that needs one; none where a rule would not help.
fn commands(line: &str) -> Vec<Update> {
    let script = shell::parse(line);
    if !script.doubts.is_empty() {
        return Vec::new();
    }
    let mut rules: Vec<RuleText> = Vec::new();
    for run in script.runs.iter().filter(|run| shell::looks_at(run).is_none() && !run.words.is_empty()) {
        let Some(content) = pattern(run) else { return Vec::new() };
        let rule = RuleText { tool: "Bash".into(), content: Some(content) };
        if !rules.contains(&rule) {
            rules.push(rule);
        }
    }
    if rules.is_empty() {
        return Vec::new();
    }
    vec![Update::AddRules { rules, behavior: Behavior::Allow, destination: Destination::LocalSettings }]
}

/// Programs that do whatever their arguments say: a pattern for all of them would be a blank cheque.
const BLANK_CHEQUES: &[&str] = &[
    "bash", "dash", "doas", "env", "eval", "exec", "fish", "ksh", "node", "perl", "php", "python", "python3",
    "rm", "ruby", "sh", "ssh", "su", "sudo", "xargs", "zsh",
];
/// Programs whose first argument says what they do.
const WITH_COMMANDS: &[&str] = &[
    "apt", "bun", "bundle", "cargo", "deno", "docker", "dotnet", "gh", "git", "go", "gradle", "kubectl",
    "make", "mvn", "npm", "npx", "pip", "pnpm", "poetry", "rustup", "uv", "yarn",
];

/// `git commit:*`, `make test:*`, or the very words where anything shorter would allow too much.
fn pattern(run: &Run) -> Option<String> {
    let words: Option<Vec<&str>> = run.words.iter().map(Word::known).collect();
    let program = run.words.first()?.known()?;
    let plain = |word: &&str| word.chars().all(|c| c.is_ascii_alphanumeric() || "-_./:=@".contains(c));
    if BLANK_CHEQUES.contains(&program) {
        return words.filter(|words| words.iter().all(&plain)).map(|words| words.join(" "));
    }
    let second = run.words.get(1).and_then(Word::known).filter(|word| plain(word) && !word.starts_with('-'));
    let third = run.words.get(2).and_then(Word::known).filter(|word| plain(word));
    match (WITH_COMMANDS.contains(&program), second, third) {
        (true, Some("run"), Some(script)) => Some(format!("{program} run {script}:*")),
        (true, Some(command), _) => Some(format!("{program} {command}:*")),
        (true, None, _) => words.map(|words| words.join(" ")),
        (false, ..) if plain(&program) => Some(format!("{program}:*")),
        (false, ..) => None,
    }
}
