//! The decision about a command line: each thing it would start, each file it would open.
//!
//! Knows how rules meet what the shell's grammar found. Refuses to read command lines itself: that is `shell`.

use crate::shell::{self, Run, Script, Word};

use super::super::reach::{changed_by, path_like, shows_contents};
use super::{Behavior, Fit, Judged, Mode, Reason, Rule, RuleSet};

/// Devices that swallow or give, whatever is written to them.
const SINKS: &[&str] = &[
    "/dev/null",
    "/dev/stdout",
    "/dev/stderr",
    "/dev/stdin",
    "/dev/fd/1",
    "/dev/fd/2",
    "/dev/tty",
    "/dev/zero",
];

impl<'a> Judged<'a> {
    pub(super) fn run_rule_against(&self, behavior: Behavior, run: &Run) -> Option<&'a Rule> {
        let rules = self.rules();
        if let (Fit::Yes, Some(rule)) = rules.about_run(behavior, run) {
            return Some(rule);
        }
        let seen = |changes: bool, path: &str| {
            let places = self.places(run, path).unwrap_or_else(|| vec![self.place(path)]);
            places.iter().find_map(|place| rules.about_place(behavior, "Bash", changes, place))
        };
        let mut redirected = run.redirects.iter().filter_map(|redirect| {
            let path = redirect.file.known()?;
            let against = redirect.writes.then(|| seen(true, path)).flatten();
            against.or_else(|| seen(false, path))
        });
        if let Some(rule) = redirected.next() {
            return Some(rule);
        }
        if rules.speaks_of_changing(behavior)
            && let Some(rule) = changed_by(run).iter().find_map(|path| seen(true, path))
        {
            return Some(rule);
        }
        if !rules.speaks_of_reading(behavior) {
            return None;
        }
        // Any word may be a file the program opens.
        let words = run.words.iter().skip(1).filter_map(Word::known).flat_map(path_like);
        words.into_iter().find_map(|path| seen(false, path))
    }

    pub(super) fn command_allowance(&self, line: &str) -> Result<Reason, Reason> {
        let rules = self.rules();
        if let Some(rule) = rules.about_line(Behavior::Allow, line) {
            return Ok(Reason::rule(rule));
        }
        let Some(script) = self.script else { return Err(Reason::Open) };
        let bare = rules.about_tool(Behavior::Allow, "Bash");
        let any = |speaks: fn(&RuleSet, Behavior) -> bool| {
            [Behavior::Deny, Behavior::Ask].into_iter().any(|behavior| speaks(rules, behavior))
        };
        let rules_look_inside = any(RuleSet::speaks_of_commands);
        if rules_look_inside || (bare.is_none() && !self.at.contained) {
            in_doubt(script)?;
            self.may_fit(script, &[Behavior::Deny, Behavior::Ask])?;
        }
        if !self.at.contained && any(RuleSet::speaks_of_reading) {
            script.runs.iter().try_for_each(|run| self.reads_what_is_known(run))?;
        }
        if let Some(rule) = bare {
            return Ok(Reason::rule(rule));
        }
        if self.at.contained {
            return Ok(Reason::Contained);
        }
        // Nothing to run is nothing to judge by.
        let mut reason = if script.runs.is_empty() { return Err(Reason::Open) } else { Reason::Looks };
        for run in &script.runs {
            let found = self.run_allowance(run)?;
            if found != Reason::Looks {
                reason = found;
            }
        }
        Ok(reason)
    }

    /// A program that shows files, given names that are only known when it runs, may show one that a rule keeps back.
    fn reads_what_is_known(&self, run: &Run) -> Result<(), Reason> {
        let rules = self.rules();
        let is_open = |word: &Word| word.known().is_none();
        // What only looks, given anything; any program, given a pattern that names files.
        let looks_at_open = || shell::looks_at(run).is_some_and(|files| files.iter().any(is_open));
        let is_pattern = |word: &Word| matches!(word, Word::Open(text) if text.contains(['*', '?', '[', '{']) && !text.contains('$'));
        let opens = shows_contents(run) && (looks_at_open() || run.words.iter().skip(1).any(is_pattern));
        if !opens && !run.redirects.iter().any(|redirect| is_open(&redirect.file)) {
            return Ok(());
        }
        let rule = [Behavior::Deny, Behavior::Ask].into_iter().find_map(|it| rules.any_about_reading(it));
        let Some(rule) = rule else { return Ok(()) };
        Err(Reason::MayFit { text: rule.text.clone(), part: run.text.clone() })
    }

    /// Why a command line may do what a rule denies, if that is only known when it runs.
    pub(super) fn may_be_denied(&self) -> Option<Reason> {
        let (rules, script) = (self.rules(), self.script?);
        if !rules.speaks_of_commands(Behavior::Deny) {
            return None;
        }
        in_doubt(script).and_then(|()| self.may_fit(script, &[Behavior::Deny])).err()
    }

    /// Fails where a rule may fit a part of a command line, and that is only known when it runs.
    fn may_fit(&self, script: &Script, behaviors: &[Behavior]) -> Result<(), Reason> {
        for run in &script.runs {
            for behavior in behaviors {
                if let (Fit::Maybe, Some(rule)) = self.rules().about_run(*behavior, run) {
                    return Err(Reason::MayFit { text: rule.text.clone(), part: run.text.clone() });
                }
            }
        }
        Ok(())
    }

    /// Whether a command line does nothing but look.
    pub(super) fn only_looks(&self) -> Result<(), Reason> {
        let Some(script) = self.script.filter(|script| !script.runs.is_empty()) else {
            return Err(Reason::Open);
        };
        in_doubt(script)?;
        script.runs.iter().try_for_each(|run| {
            self.redirects_allowed(run)?;
            self.run_looks(run)
        })
    }

    fn run_allowance(&self, run: &Run) -> Result<Reason, Reason> {
        self.redirects_allowed(run)?;
        if !has_harmless_variables(run) {
            return Err(Reason::Uncovered(run.text.clone()));
        }
        if let (Fit::Yes, Some(rule)) = self.rules().about_run(Behavior::Allow, run) {
            return Ok(Reason::rule(rule));
        }
        let looks = self.run_looks(run);
        match looks {
            Ok(()) => Ok(Reason::Looks),
            Err(_) if self.is_accepted_edit(run) => Ok(Reason::Mode(self.at.mode)),
            Err(reason) => Err(reason),
        }
    }

    fn run_looks(&self, run: &Run) -> Result<(), Reason> {
        let uncovered = || Reason::Uncovered(run.text.clone());
        if !has_harmless_variables(run) {
            return Err(uncovered());
        }
        if run.words.is_empty() {
            return Ok(());
        }
        if self.obeys_another_folder(run) {
            return Err(uncovered());
        }
        for word in shell::looks_at(run).ok_or_else(uncovered)? {
            match &word {
                Word::Known(path) => {
                    let places = self.places(run, path).ok_or_else(uncovered)?;
                    for place in places {
                        self.place_allowance(&place)?;
                    }
                }
                Word::Open(text) => {
                    self.open_word_stays_inside(run, text).then_some(()).ok_or_else(uncovered)?
                }
            }
        }
        Ok(())
    }

    /// Git runs what the settings of a repository say, and any folder can be made to look like one. So it looks
    /// freely only where the session works.
    fn obeys_another_folder(&self, run: &Run) -> bool {
        if run.words.first().and_then(Word::known) != Some("git") {
            return false;
        }
        let given = run.words.windows(2).filter(|pair| pair[0].known() == Some("-C")).map(|pair| &pair[1]);
        let is_root = |folder: &Word| match folder.known() {
            Some(folder) => self.at.folders.roots.contains(&self.place(folder).real),
            None => false,
        };
        // An earlier call may have moved the session; a folder inside is as good as any other then.
        let here = self.place(".");
        let is_here_root = here.views().all(|view| self.at.folders.roots.iter().any(|root| root == view));
        !is_here_root || !run.folders.iter().chain(given).all(is_root)
    }

    /// A pattern for file names below the working directory that can only be listed: it may fit a link to anywhere, so
    /// what opens the files it fits is not free.
    fn open_word_stays_inside(&self, run: &Run, text: &str) -> bool {
        let lists =
            matches!(run.words.first().and_then(Word::known), Some("ls" | "stat" | "basename" | "dirname"));
        if !lists || text.ends_with('/') {
            return false;
        }
        // What holds no sign of a pattern is open for another reason: it is filled in by another program.
        let Some(at) = text.find(['*', '?', '[']) else { return false };
        let is_plain = !text.contains(['$', '`', '{', '~', '"', '\'', '\\']) && !text.contains("..");
        let rules = self.rules();
        let unruled = !rules.speaks_of_reading(Behavior::Deny) && !rules.speaks_of_reading(Behavior::Ask);
        let folder = text[..at].rsplit_once('/').map_or(".", |(folder, _)| folder);
        is_plain
            && !text.starts_with('/')
            && unruled
            && run.folders.is_empty()
            && self.place_allowance(&self.place(folder)).is_ok()
    }

    /// Files that redirections open are judged like the tools that open files.
    fn redirects_allowed(&self, run: &Run) -> Result<(), Reason> {
        for redirect in run.redirects.iter().filter(|redirect| !is_sink(&redirect.file)) {
            let Word::Known(path) = &redirect.file else { return Err(Reason::Uncovered(run.text.clone())) };
            let places = self.places(run, path).ok_or_else(|| Reason::Uncovered(run.text.clone()))?;
            for place in places {
                if redirect.writes {
                    if self.at.mode == Mode::Plan {
                        return Err(Reason::Mode(Mode::Plan));
                    }
                    self.changed_place_allowance(&place, "Edit")?;
                } else {
                    self.place_allowance(&place)?;
                }
            }
        }
        Ok(())
    }

    /// In `acceptEdits`: making, copying, moving and removing single files in the working directories.
    fn is_accepted_edit(&self, run: &Run) -> bool {
        if self.at.mode != Mode::AcceptEdits {
            return false;
        }
        let Some(Word::Known(program)) = run.words.first() else { return false };
        let options: &[&str] = match &**program {
            "mkdir" => &["-p", "--parents"],
            "touch" | "rmdir" => &[],
            "cp" | "mv" => &["-n", "-f", "-v", "-i"],
            "rm" => &["-f", "-v", "-i"],
            _ => return false,
        };
        let operand = |word: &Word| match word.known() {
            Some(text) if text.starts_with('-') => options.contains(&text),
            Some(path) => self.places(run, path).is_some_and(|places| {
                places.iter().all(|place| {
                    let is_root = self.at.folders.roots.contains(&place.real);
                    !is_root && self.changed_place_allowance(place, "Edit").is_ok()
                })
            }),
            None => false,
        };
        run.words.len() > 1 && run.words[1..].iter().all(operand)
    }
}

pub(super) fn has_harmless_variables(run: &Run) -> bool {
    run.variables.iter().all(|variable| shell::is_harmless(&variable.name))
}

/// Fails where a command line cannot be judged.
fn in_doubt(script: &Script) -> Result<(), Reason> {
    match script.doubts.first() {
        Some(doubt) => Err(Reason::Doubt { part: doubt.text.clone(), why: doubt.why }),
        None => Ok(()),
    }
}

pub(super) fn is_sink(file: &Word) -> bool {
    file.known().is_some_and(|path| SINKS.contains(&path))
}
