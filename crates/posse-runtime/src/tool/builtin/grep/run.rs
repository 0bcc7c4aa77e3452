//! The search: a walk on all cores, each thread with a searcher of its own, and results that come out the same whoever
//! was faster. Files without a match cost no allocation.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, Searcher, Sink, SinkContext, SinkFinish, SinkMatch};
use ignore::{DirEntry, WalkState};

use super::{OutputMode, Plan};
use crate::tool::ToolOutput;
use crate::tool::builtin::search::{self, Newest};

/// Longest line that is shown whole, in characters.
const MAX_COLUMNS: usize = 500;

/// A file and how often it matches.
pub(super) struct Counted {
    pub(super) path: PathBuf,
    pub(super) count: u64,
}

/// The lines of a file that are to be shown.
pub(super) struct Lines {
    pub(super) text: String,
    pub(super) lines: usize,
}

/// What the threads have found so far.
enum Found {
    Files(Newest),
    Counts(Vec<Counted>),
    Lines(First),
}

/// The first lines in the order of their paths, no more than are needed.
struct First {
    enough: usize,
    lines: usize,
    files: BTreeMap<PathBuf, Lines>,
}

impl First {
    /// Whether lines of this file could still be among the first.
    fn wants(&self, path: &Path) -> bool {
        self.lines < self.enough || self.files.last_key_value().is_some_and(|(last, _)| path < last.as_path())
    }

    fn add(&mut self, path: PathBuf, lines: Lines) {
        self.lines += lines.lines;
        self.files.insert(path, lines);
        while let Some(last) = self.files.last_entry()
            && self.lines - last.get().lines >= self.enough
        {
            self.lines -= last.remove().lines;
        }
    }
}

impl Plan {
    /// Searches until the end, or until the flag rises; then the answer is of no use to anybody.
    pub(super) fn run(&self, halt: &AtomicBool) -> ToolOutput {
        let found = Mutex::new(match self.mode {
            OutputMode::FilesWithMatches => Found::Files(Newest::new(self.paging.enough())),
            OutputMode::Count => Found::Counts(Vec::new()),
            OutputMode::Content => {
                Found::Lines(First { enough: self.paging.enough(), lines: 0, files: BTreeMap::new() })
            }
        });
        if self.root.is_file() {
            let mut worker = Worker::new(self, halt, &found, true);
            if let Err(error) = worker.search(&self.root) {
                return ToolOutput::error(format!("{} cannot be read: {error}", self.root.display()));
            }
        } else {
            self.walk.build_parallel().run(|| {
                let mut worker = Worker::new(self, halt, &found, false);
                Box::new(move |entry| entry.map_or(WalkState::Continue, |entry| worker.visit(&entry)))
            });
        }
        match found.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Found::Files(newest) => self.files(newest),
            Found::Counts(counted) => self.counts(counted),
            Found::Lines(first) => self.lines(first.files.into_values().collect()),
        }
    }
}

/// One thread's part of the search.
struct Worker<'a> {
    plan: &'a Plan,
    halt: &'a AtomicBool,
    searcher: Searcher,
    matcher: RegexMatcher,
    /// The file was named by the caller: it is searched even if it is binary, and its name is not repeated.
    named: bool,
    found: &'a Mutex<Found>,
    /// What this thread alone knows of; handed over at its end.
    files: Newest,
    counts: Vec<Counted>,
}

impl<'a> Worker<'a> {
    fn new(plan: &'a Plan, halt: &'a AtomicBool, found: &'a Mutex<Found>, named: bool) -> Self {
        let mut searcher = plan.searcher.build();
        searcher.set_binary_detection(if named {
            BinaryDetection::convert(0)
        } else {
            BinaryDetection::quit(0)
        });
        let files = Newest::new(plan.paging.enough());
        // A clone has scratch space of its own, for which threads would have to wait otherwise.
        let matcher = plan.matcher.clone();
        Self { plan, halt, searcher, matcher, named, found, files, counts: Vec::new() }
    }

    fn visit(&mut self, entry: &DirEntry) -> WalkState {
        if self.halt.load(Ordering::Relaxed) {
            return WalkState::Quit;
        }
        if entry.file_type().is_some_and(|kind| kind.is_file()) {
            // A file that cannot be read does not keep anybody from the others.
            let _ = self.search(entry.path());
        }
        WalkState::Continue
    }

    fn search(&mut self, path: &Path) -> io::Result<()> {
        match self.plan.mode {
            OutputMode::FilesWithMatches => {
                let mut sink = Any(false);
                self.searcher.search_path(&self.matcher, path, &mut sink)?;
                if sink.0 {
                    let modified = path.metadata().and_then(|metadata| metadata.modified());
                    self.files.push(modified.unwrap_or(SystemTime::UNIX_EPOCH), path);
                }
            }
            OutputMode::Count => {
                let mut sink = Count { count: 0, matcher: &self.matcher, halt: self.halt };
                self.searcher.search_path(&self.matcher, path, &mut sink)?;
                if sink.count > 0 {
                    self.counts.push(Counted { path: path.to_owned(), count: sink.count });
                }
            }
            OutputMode::Content => {
                if let Found::Lines(first) = &*self.found.lock().unwrap_or_else(PoisonError::into_inner)
                    && !first.wants(path)
                {
                    return Ok(());
                }
                let mut sink = Printer {
                    text: String::new(),
                    lines: 0,
                    prefix: String::new(),
                    path: (!self.named).then_some(path),
                    plan: self.plan,
                    binary: None,
                    hidden_match: false,
                    halt: self.halt,
                };
                self.searcher.search_path(&self.matcher, path, &mut sink)?;
                let lines = sink.finished();
                if lines.lines > 0
                    && let Found::Lines(first) =
                        &mut *self.found.lock().unwrap_or_else(PoisonError::into_inner)
                {
                    first.add(path.to_owned(), lines);
                }
            }
        }
        Ok(())
    }
}

impl Drop for Worker<'_> {
    fn drop(&mut self) {
        match &mut *self.found.lock().unwrap_or_else(PoisonError::into_inner) {
            Found::Files(all) => all.merge(std::mem::replace(&mut self.files, Newest::new(0))),
            Found::Counts(all) => all.append(&mut self.counts),
            Found::Lines(_) => {}
        }
    }
}

/// Whether there is a match at all.
struct Any(bool);

impl Sink for Any {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, _: &SinkMatch<'_>) -> io::Result<bool> {
        self.0 = true;
        Ok(false)
    }
}

/// How many lines match; across lines, how many matches there are.
struct Count<'a> {
    count: u64,
    matcher: &'a RegexMatcher,
    halt: &'a AtomicBool,
}

impl Sink for Count<'_> {
    type Error = io::Error;

    fn matched(&mut self, searcher: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        if searcher.multi_line_with_matcher(self.matcher) {
            let mut here = 0;
            self.matcher.find_iter(found.bytes(), |_| {
                here += 1;
                true
            })?;
            self.count += here.max(1);
        } else {
            self.count += 1;
        }
        Ok(!self.halt.load(Ordering::Relaxed))
    }

    fn finish(&mut self, searcher: &Searcher, finish: &SinkFinish) -> io::Result<()> {
        // The rest of a binary file was not searched, and half a number is none.
        if finish.binary_byte_offset().is_some() && searcher.binary_detection().quit_byte().is_some() {
            self.count = 0;
        }
        Ok(())
    }
}

/// Lines as ripgrep prints them: `path:12:text`, `path-13-context`, groups kept apart by `--`.
struct Printer<'a> {
    text: String,
    lines: usize,
    /// The path as it is shown; made when the first line needs it.
    prefix: String,
    path: Option<&'a Path>,
    plan: &'a Plan,
    binary: Option<u64>,
    /// There is a match in binary data, which is not shown.
    hidden_match: bool,
    halt: &'a AtomicBool,
}

impl Printer<'_> {
    fn prefix(&mut self) {
        if let Some(path) = self.path {
            if self.prefix.is_empty() {
                self.prefix = search::shown(path, &self.plan.cwd);
            }
            self.text.push_str(&self.prefix);
        }
    }

    fn line(&mut self, number: Option<u64>, separator: char, line: &[u8]) {
        self.prefix();
        if self.path.is_some() {
            self.text.push(separator);
        }
        if let Some(number) = number.filter(|_| self.plan.numbers) {
            let _ = write!(self.text, "{number}{separator}");
        }
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        push_line(&mut self.text, line.strip_suffix(b"\r").unwrap_or(line));
        self.text.push('\n');
        self.lines += 1;
    }

    fn go_on(&self) -> bool {
        self.lines < self.plan.paging.enough() && !self.halt.load(Ordering::Relaxed)
    }

    fn finished(mut self) -> Lines {
        if let Some(offset) = self.binary.filter(|_| self.lines > 0 || self.hidden_match) {
            self.prefix();
            let colon = if self.path.is_some() { ": " } else { "" };
            let _ = writeln!(
                self.text,
                "{colon}[a binary file, with a NUL byte at {offset}: the rest of it is not shown]"
            );
            self.lines += 1;
        }
        Lines { text: self.text, lines: self.lines }
    }
}

impl Sink for Printer<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        if self.binary.is_some() {
            self.hidden_match = true;
            return Ok(false);
        }
        let mut number = found.line_number();
        for line in found.lines() {
            self.line(number, ':', line);
            number = number.map(|number| number + 1);
        }
        Ok(self.go_on())
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        if self.binary.is_none() {
            self.line(context.line_number(), '-', context.bytes());
        }
        Ok(self.go_on())
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        self.text.push_str("--\n");
        self.lines += 1;
        Ok(self.go_on())
    }

    fn binary_data(&mut self, _: &Searcher, offset: u64) -> io::Result<bool> {
        self.binary = Some(offset);
        Ok(true)
    }
}

/// A line, cut where nobody reads on.
fn push_line(text: &mut String, line: &[u8]) {
    let line = String::from_utf8_lossy(line);
    let end = if line.len() <= MAX_COLUMNS { None } else { line.char_indices().nth(MAX_COLUMNS) };
    match end {
        None => text.push_str(&line),
        Some((end, _)) => {
            let rest = line[end..].chars().count();
            text.push_str(&line[..end]);
            let _ = write!(text, " [… {rest} more characters]");
        }
    }
}
