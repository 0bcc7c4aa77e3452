//! From commands as written to what would run: wrappers come off, what is started inside comes out.
//!
//! Knows the order in which the other rooms are asked. Refuses to know any program by name, except those that move to
//! another folder.

use super::builtins::effect;
use super::reader::{Argument, Found, Simple};
use super::starters::{Inner, inner};
use super::wrappers::{Behind, behind};
use super::{Doubt, Run, Script, Variable, Word, read_into};

/// Programs that start programs that start programs are followed this far.
const DEEPEST: usize = 12;

/// Adds what was found in a text to the script.
pub(super) fn settle(script: &mut Script, found: Found, depth: usize) {
    script.doubts.extend(found.doubts);
    let first = script.runs.len();
    for command in found.commands {
        start(script, command, depth, 0);
    }
    let runs = script.runs.get_mut(first..).unwrap_or_default();
    note_folders(runs, found.repeats);
}

fn words_of(arguments: &[Argument]) -> Vec<Word> {
    arguments.iter().map(|argument| argument.word.clone()).collect()
}

fn start(script: &mut Script, mut command: Simple, depth: usize, level: usize) {
    let doubt = |script: &mut Script, text: &str, why| script.doubts.push(Doubt { text: text.into(), why });
    if level > DEEPEST {
        return doubt(script, &command.text, "starts too many things in a row");
    }
    let mut wrapped = Vec::new();
    let mut left = DEEPEST;
    loop {
        match behind(&command.words) {
            Behind::Nothing => break,
            Behind::Command(at, variables) if left > 0 => {
                wrapped.push(words_of(&command.words));
                command.words.drain(..at);
                command.variables.extend(variables);
                left -= 1;
            }
            Behind::Command(..) | Behind::Doubt => {
                doubt(script, &command.text, "has options that are not known");
                break;
            }
        }
    }
    let effect = effect(&command.words);
    if let Some(why) = effect.doubt {
        doubt(script, &command.text, why);
    }
    let Simple { text, mut variables, words, redirects } = command;
    variables.extend(effect.variables);
    script.runs.push(Run {
        words: words_of(&words),
        variables: variables.clone(),
        redirects,
        wrapped,
        folders: Vec::new(),
        text: text.clone(),
    });
    for inner in inner(&words) {
        follow(script, inner, Outer { text: &text, variables: &variables }, depth, level);
    }
}

/// Where an inner command stands.
struct Outer<'a> {
    text: &'a str,
    variables: &'a [Variable],
}

fn follow(script: &mut Script, inner: Inner, outer: Outer<'_>, depth: usize, level: usize) {
    match inner {
        Inner::Command(words, _) if words.is_empty() => {}
        Inner::Command(words, more) => {
            let mut variables = outer.variables.to_vec();
            variables.extend(more);
            let text = outer.text.into();
            let command = Simple { text, variables, words, redirects: Vec::new() };
            start(script, command, depth, level + 1);
        }
        Inner::Text(text, dialect) => read_into(script, &text, dialect, depth + 1),
        Inner::Doubt(why) => script.doubts.push(Doubt { text: outer.text.into(), why }),
    }
}

/// Tells every run where the script may be by then.
fn note_folders(runs: &mut [Run], repeats: bool) {
    let moves: Vec<(usize, Word)> =
        runs.iter().enumerate().filter_map(|(at, run)| Some((at, moved_to(run)?))).collect();
    let searched = runs.iter().any(|run| run.variables.iter().any(|variable| &*variable.name == "CDPATH"));
    for (at, run) in runs.iter_mut().enumerate() {
        let mut before: Vec<Word> =
            moves.iter().filter(|(moved, _)| repeats || *moved < at).map(|(_, word)| word.clone()).collect();
        if before.len() > 1 || (!before.is_empty() && (repeats || searched)) {
            before.push(Word::Open("cd".into()));
        }
        run.folders.extend(before);
    }
}

/// The folder a run moves to.
fn moved_to(run: &Run) -> Option<Word> {
    let name = run.words.first()?.known()?;
    if !matches!(name, "cd" | "pushd" | "popd") {
        return None;
    }
    let unknown = Word::Open(run.text.clone());
    let operands: Vec<&Word> = run
        .words
        .iter()
        .skip(1)
        .filter(|word| !word.known().is_some_and(|word| matches!(word, "-P" | "-L" | "--" | "-e")))
        .collect();
    match operands.as_slice() {
        [Word::Known(folder)] if name != "popd" && !folder.is_empty() && !folder.starts_with(['-', '+']) => {
            Some(Word::Known(folder.clone()))
        }
        _ => Some(unknown),
    }
}
