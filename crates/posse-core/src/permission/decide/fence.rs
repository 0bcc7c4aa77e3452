//! What an agent in a worktree of its own may not do to the checkout it was moved out of.
//!
//! Knows how commands are led to another folder: by `cd`, by the options and variables of git, by the files they are
//! told to change. Refuses to ask anybody: a worktree is only worth something if nobody works next door by mistake. It
//! is a fence against mistakes; the wall is the sandbox.

use std::path::{Path, PathBuf};

use crate::shell::{Run, Word};

use super::super::call::Deed;
use super::super::reach::{changed_by, path_like};
use super::{Judged, Place, Reason, is_sink};

/// Variables by which git is led to another repository or other files.
const LEADING: [&str; 5] =
    ["GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"];
/// Options of git that do the same, with the place behind `=` or as the next word.
const LEADING_OPTIONS: [&str; 2] = ["--git-dir", "--work-tree"];
/// Options of git that take the next word and lead nowhere.
const VALUED: [&str; 6] =
    ["--namespace", "--exec-path", "--super-prefix", "--config-env", "--attr-source", "--list-cmds"];
/// No script that a person would read moves through more folders.
const MOST_FOLDERS: usize = 64;

/// Where something leads.
enum Led<'a> {
    To(&'a str),
    /// Only known when it runs.
    Open,
}

impl Judged<'_> {
    /// Why a call reaches the checkout the run was moved out of, if it does.
    pub(super) fn over_the_fence(&self) -> Option<Reason> {
        if self.at.folders.fenced.is_empty() {
            return None;
        }
        match self.deed {
            Deed::Change(Some(path)) => self.fenced(self.call.tool, &self.place(path)),
            Deed::Command(_) => self.script?.runs.iter().find_map(|run| self.run_over_the_fence(run)),
            Deed::Change(None)
            | Deed::Look(_)
            | Deed::Fetch(_)
            | Deed::Agent(_)
            | Deed::Skill(_)
            | Deed::Harmless
            | Deed::Other => None,
        }
    }

    fn run_over_the_fence(&self, run: &Run) -> Option<Reason> {
        let part = format!("`{}`", run.text);
        let written = run.redirects.iter().filter(|redirect| redirect.writes && !is_sink(&redirect.file));
        let written = written.filter_map(|redirect| redirect.file.known()).map(str::to_owned);
        let mut touched = written.chain(changed_by(run)).chain(moved_to(run));
        let folders = self.folders_of(run);
        // A folder that is not known by then is judged by those that are.
        let from = |path: &str| self.seen_from(folders.as_deref().unwrap_or_default(), path);
        let reaches = |path: &str| from(path).iter().find_map(|place| self.fenced(&part, place));
        if let Some(reason) = touched.find_map(|path| reaches(&path)) {
            return Some(reason);
        }
        self.git_over_the_fence(run, &part, folders.as_deref())
    }

    /// Git, and whatever else is told of a repository by git's variables.
    fn git_over_the_fence(&self, run: &Run, part: &str, folders: Option<&[PathBuf]>) -> Option<Reason> {
        let is_leading = |name: &str| LEADING.contains(&name);
        let set = run.variables.iter().filter(|variable| is_leading(&variable.name));
        let mut led: Vec<Led<'_>> = set.map(|variable| led_to(&variable.value)).collect();
        if is_git(run) {
            led.extend(led_by_options(&run.words));
            led.push(if folders.is_some() { Led::To(".") } else { Led::Open });
        }
        let folders = folders.unwrap_or_default();
        led.iter().find_map(|led| match led {
            Led::Open => Some(self.unknown(part)),
            Led::To(path) => self.seen_from(folders, path).iter().find_map(|place| self.fenced(part, place)),
        })
    }

    fn seen_from(&self, folders: &[PathBuf], path: &str) -> Vec<Place> {
        let here = std::slice::from_ref(&self.at.folders.cwd);
        let from = if folders.is_empty() { here } else { folders };
        from.iter().map(|folder| self.at.folders.place_in(folder, path, self.at.paths)).collect()
    }

    /// Every folder a run may be in: moves before it may have happened or not. None if that cannot be told.
    fn folders_of(&self, run: &Run) -> Option<Vec<PathBuf>> {
        let mut folders = vec![self.at.folders.cwd.clone()];
        let known = run.folders.iter().filter(|folder| folder.known().is_some()).count();
        for folder in &run.folders {
            match folder {
                Word::Known(folder) => {
                    let moved = self.seen_from(&folders, folder);
                    folders.extend(moved.into_iter().map(|place| place.real));
                    folders.dedup();
                }
                // Stands for several moves behind one another, which were followed one by one.
                Word::Open(text) if &**text == "cd" && known > 1 => {}
                Word::Open(_) => return None,
            }
            if folders.len() > MOST_FOLDERS {
                return None;
            }
        }
        Some(folders)
    }

    fn fenced(&self, what: &str, place: &Place) -> Option<Reason> {
        let path = Some(place.named.display().to_string().into());
        self.at.folders.is_fenced(place).then(|| Reason::Fenced { what: what.into(), path, own: self.own() })
    }

    fn unknown(&self, what: &str) -> Reason {
        Reason::Fenced { what: what.into(), path: None, own: self.own() }
    }

    fn own(&self) -> Box<str> {
        self.at.folders.roots.first().map_or(Path::new("."), PathBuf::as_path).display().to_string().into()
    }
}

fn is_git(run: &Run) -> bool {
    let program = run.words.first().and_then(Word::known).unwrap_or_default();
    program.rsplit('/').next() == Some("git")
}

/// The folder a run moves to: whatever comes after it works there, also in a later call.
fn moved_to(run: &Run) -> Option<String> {
    let name = run.words.first()?.known()?;
    let folder = run.words.iter().skip(1).filter_map(Word::known).find(|word| !word.starts_with('-'))?;
    matches!(name, "cd" | "pushd").then(|| folder.to_owned())
}

fn led_to(word: &Word) -> Led<'_> {
    word.known().map_or(Led::Open, Led::To)
}

/// Where git is told to work.
fn led_by_options(words: &[Word]) -> Vec<Led<'_>> {
    let mut led = Vec::new();
    let mut words = words.iter().skip(1);
    while let Some(word) = words.next() {
        let Some(option) = word.known() else {
            // It may be an option that leads anywhere.
            led.push(Led::Open);
            break;
        };
        let setting = |text: &str| text.to_ascii_lowercase().starts_with("core.worktree");
        match option {
            "-C" => led.extend(words.next().map(led_to)),
            "-c" => match words.next() {
                Some(Word::Known(set)) if setting(set) => {
                    led.push(set.split_once('=').map_or(Led::Open, |(_, path)| Led::To(path)));
                }
                Some(Word::Open(_)) => led.push(Led::Open),
                Some(Word::Known(_)) | None => {}
            },
            option if LEADING_OPTIONS.contains(&option) => led.extend(words.next().map(led_to)),
            option if VALUED.contains(&option) => {
                words.next();
            }
            option if option.starts_with('-') => {
                let value = option.split_once('=').filter(|(name, _)| LEADING_OPTIONS.contains(name));
                led.extend(value.map(|(_, path)| Led::To(path)));
            }
            // Other worktrees are somebody's; with this one word git makes, moves and removes them.
            "worktree" => {
                led.extend(words.filter_map(Word::known).flat_map(path_like).map(Led::To));
                break;
            }
            _ => break,
        }
    }
    led
}
