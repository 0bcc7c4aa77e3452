//! Grep: search in files, on ripgrep's own libraries and with its rules for what is searched.
//!
//! Here: what a call means, and its answer. The search itself is in `run`.

mod run;

use std::path::{Path, PathBuf};

use globset::escape;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::SearcherBuilder;
use ignore::WalkBuilder;
use ignore::overrides::OverrideBuilder;
use ignore::types::{FileTypeDef, TypesBuilder};
use posse_core::suggest;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::blocking;
use super::search::{self, Newest};
use crate::tool::lenient;
use crate::tool::{Tool, ToolCx, ToolOutput};
use run::{Counted, Lines};

/// Results shown if the call does not say.
const DEFAULT_LIMIT: u64 = 250;
/// Longest text of an answer, in characters. More of it would push out what the model knows.
const MAX_CHARACTERS: usize = 20_000;
/// Most a file may cost in memory: a whole file in multiline mode, the longest line else.
const HEAP_LIMIT: usize = 512 * 1024 * 1024;

/// What is reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OutputMode {
    /// The lines that match.
    Content,
    /// The files that contain a match.
    #[default]
    FilesWithMatches,
    /// How many lines match in each file.
    Count,
}

/// A call.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct GrepInput {
    /// Rust regex; escape literal braces: `interface\{\}`
    pattern: String,
    /// File or folder; default: the working directory
    path: Option<String>,
    /// Only these files: `*.{ts,tsx}`; `!*.min.js` leaves out
    glob: Option<String>,
    /// File type: `js`, `py`, `rust`
    #[serde(rename = "type")]
    file_type: Option<String>,
    /// files_with_matches (default): paths, newest first; content: lines; count: per file
    output_mode: Option<OutputMode>,
    /// Lines after a match (content only, as are -B, -C, -n)
    #[serde(rename = "-A", default, deserialize_with = "lenient::number")]
    after: Option<u64>,
    /// Lines before
    #[serde(rename = "-B", default, deserialize_with = "lenient::number")]
    before: Option<u64>,
    /// Lines before and after
    #[serde(rename = "-C", default, deserialize_with = "lenient::number")]
    around: Option<u64>,
    /// Same as -C
    #[serde(default, deserialize_with = "lenient::number")]
    context: Option<u64>,
    /// Line numbers, default true
    #[serde(rename = "-n", default, deserialize_with = "lenient::switch")]
    numbers: Option<bool>,
    /// Ignore case
    #[serde(rename = "-i", default, deserialize_with = "lenient::switch")]
    ignore_case: Option<bool>,
    /// `.` matches line breaks too
    #[serde(default, deserialize_with = "lenient::switch")]
    multiline: Option<bool>,
    /// Most lines or files (default 250; 0: all)
    #[serde(default, deserialize_with = "lenient::number")]
    head_limit: Option<u64>,
    /// Skip so many first
    #[serde(default, deserialize_with = "lenient::number")]
    offset: Option<u64>,
}

/// The tool.
#[derive(Clone, Copy, Debug, Default)]
pub struct Grep;

impl Tool for Grep {
    const NAME: &'static str = "Grep";
    type Input = GrepInput;

    fn description(&self) -> String {
        "Searches in files with ripgrep's engine; use it instead of grep or rg in Bash. Files that git ignores and \
         binary files are left out, hidden files are not. A match stays within a line unless `multiline`."
            .into()
    }

    fn runs_alone(&self, _: &Self::Input) -> bool {
        false
    }

    async fn run(&self, input: Self::Input, cx: &ToolCx) -> ToolOutput {
        let plan = match Plan::new(&input, cx) {
            Ok(plan) => plan,
            Err(problem) => return ToolOutput::error(problem),
        };
        let found = blocking::run(cx, move |halt| plan.run(halt)).await;
        found.unwrap_or_else(|| ToolOutput::error(blocking::INTERRUPTED))
    }
}

/// A call, understood.
struct Plan {
    root: PathBuf,
    cwd: PathBuf,
    walk: WalkBuilder,
    matcher: RegexMatcher,
    searcher: SearcherBuilder,
    mode: OutputMode,
    numbers: bool,
    /// Whether groups of lines are kept apart by `--`.
    with_context: bool,
    paging: Paging,
}

/// Which part of the results is shown.
#[derive(Clone, Copy)]
struct Paging {
    limit: Option<usize>,
    offset: usize,
}

impl Paging {
    /// So many results decide the answer: those skipped, those shown, and one more to know that there are more. No
    /// result is shorter than a character and a line break.
    fn enough(self) -> usize {
        self.limit.unwrap_or(MAX_CHARACTERS).saturating_add(self.offset).saturating_add(1)
    }
}

impl Plan {
    fn new(input: &GrepInput, cx: &ToolCx) -> Result<Self, String> {
        let cwd = cx.cwd.get();
        let root = search::root(cx, input.path.as_deref())?;
        let multiline = input.multiline.unwrap_or(false);
        let matcher = matcher(&input.pattern, input.ignore_case.unwrap_or(false), multiline)?;
        let mode = input.output_mode.unwrap_or_default();

        let mut walk = search::obedient(&root, &cwd, &cx.world.env);
        let hidden = cx.hidden.now();
        walk.filter_entry(move |entry| {
            !search::is_vcs(entry.file_name()) && !hidden.as_ref().is_some_and(|hides| hides(entry.path()))
        });
        if let Some(globs) = &input.glob {
            add_globs(&mut walk, globs, &root, &cwd)?;
        }
        if let Some(name) = input.file_type.as_deref().map(str::trim).filter(|name| !name.is_empty()) {
            add_type(&mut walk, name)?;
        }

        let lines = |count: Option<u64>| usize::try_from(count.unwrap_or(0)).unwrap_or(usize::MAX);
        let around = input.context.or(input.around);
        let content = mode == OutputMode::Content;
        let before = if content { lines(input.before.or(around)) } else { 0 };
        let after = if content { lines(input.after.or(around)) } else { 0 };
        let numbers = content && input.numbers.unwrap_or(true);
        let mut searcher = SearcherBuilder::new();
        searcher
            .multi_line(multiline)
            .line_number(numbers)
            .before_context(before)
            .after_context(after)
            .heap_limit(Some(HEAP_LIMIT));

        let limit = input.head_limit.unwrap_or(DEFAULT_LIMIT);
        let paging = Paging { limit: (limit > 0).then(|| lines(Some(limit))), offset: lines(input.offset) };
        let with_context = before > 0 || after > 0;
        Ok(Self { root, cwd, walk, matcher, searcher, mode, numbers, with_context, paging })
    }

    /// The answer for files, newest first.
    fn files(&self, newest: Newest) -> ToolOutput {
        let (files, total) = newest.finish();
        if total == 0 {
            return empty(self.mode, "No files found");
        }
        let names: Vec<String> = files.iter().map(|file| search::shown(file, &self.cwd)).collect();
        let page = Page::of(names.iter().map(String::as_str), self.paging, total);
        let filenames: Vec<&str> = page.text.lines().collect();
        let noun = if total == 1 { "file" } else { "files" };
        let text = format!("Found {total} {noun}\n{}", page.with_note(self.paging));
        let structured =
            json!({ "mode": "files_with_matches", "numFiles": filenames.len(), "filenames": filenames });
        ToolOutput::text(text).with(self.paging.noted(structured, &page))
    }

    /// The answer for counts, by path.
    fn counts(&self, mut counted: Vec<Counted>) -> ToolOutput {
        if counted.is_empty() {
            return empty(self.mode, "No matches found");
        }
        counted.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        let matches: u64 = counted.iter().map(|file| file.count).sum();
        let files = counted.len();
        let lines: Vec<String> = counted
            .iter()
            .take(self.paging.enough())
            .map(|file| format!("{}:{}", search::shown(&file.path, &self.cwd), file.count))
            .collect();
        let page = Page::of(lines.iter().map(String::as_str), self.paging, files);
        let noun = |count: u64, one: &'static str, many: &'static str| if count == 1 { one } else { many };
        let text = format!(
            "{}\n\nFound {matches} {} in {files} {}.",
            page.with_note(self.paging),
            noun(matches, "match", "matches"),
            noun(files as u64, "file", "files"),
        );
        let structured = json!({
            "mode": "count",
            "numFiles": files,
            "filenames": [],
            "content": page.text,
            "numMatches": matches,
        });
        ToolOutput::text(text).with(self.paging.noted(structured, &page))
    }

    /// The answer for lines, by path.
    fn lines(&self, files: Vec<Lines>) -> ToolOutput {
        if files.is_empty() {
            return empty(self.mode, "No matches found");
        }
        let total = files.iter().map(|file| file.lines).sum::<usize>()
            + if self.with_context { files.len() - 1 } else { 0 };
        let lines = files.iter().enumerate().flat_map(|(at, file)| {
            let gap = (self.with_context && at > 0).then_some("--");
            gap.into_iter().chain(file.text.split_terminator('\n'))
        });
        let page = Page::of(lines, self.paging, total);
        let structured = json!({
            "mode": "content",
            "numFiles": self.files_on(&page, &files),
            "filenames": [],
            "content": page.text,
            "numLines": page.shown,
        });
        ToolOutput::text(page.with_note(self.paging)).with(self.paging.noted(structured, &page))
    }
}

impl Plan {
    /// How many files have lines on the page.
    fn files_on(&self, page: &Page, files: &[Lines]) -> usize {
        let (from, to) = (self.paging.offset, self.paging.offset.saturating_add(page.shown));
        let mut start = 0;
        let on_page = files.iter().filter(|file| {
            let end = start + file.lines;
            let on_page = start < to && end > from;
            start = end + usize::from(self.with_context);
            on_page
        });
        on_page.count()
    }
}

fn empty(mode: OutputMode, text: &str) -> ToolOutput {
    let structured = match mode {
        OutputMode::Content => {
            json!({ "mode": "content", "numFiles": 0, "filenames": [], "content": "", "numLines": 0 })
        }
        OutputMode::FilesWithMatches => {
            json!({ "mode": "files_with_matches", "numFiles": 0, "filenames": [] })
        }
        OutputMode::Count => {
            json!({ "mode": "count", "numFiles": 0, "filenames": [], "content": "", "numMatches": 0 })
        }
    };
    ToolOutput::text(text).with(structured)
}

/// The part of the results that is shown.
struct Page {
    text: String,
    shown: usize,
    /// Whether there are results behind it.
    more: bool,
    /// Whether it ends because it is long, not because of the limit.
    long: bool,
}

impl Page {
    /// Cuts a page out of the results, of which there are at least `total`.
    fn of<'a>(results: impl Iterator<Item = &'a str>, paging: Paging, total: usize) -> Self {
        let mut page = Self { text: String::new(), shown: 0, more: false, long: false };
        let mut characters = 0;
        for line in results.skip(paging.offset).take(paging.limit.unwrap_or(usize::MAX)) {
            characters += line.chars().count() + 1;
            if characters > MAX_CHARACTERS && page.shown > 0 {
                page.long = true;
                break;
            }
            if page.shown > 0 {
                page.text.push('\n');
            }
            page.text.push_str(line);
            page.shown += 1;
        }
        page.more = paging.offset.saturating_add(page.shown) < total;
        page
    }

    /// The page, and how to see what it does not show.
    fn with_note(&self, paging: Paging) -> String {
        let Paging { limit: _, offset } = paging;
        if self.shown == 0 {
            return format!("[Nothing at offset {offset} or behind it]");
        }
        if !self.more {
            return self.text.clone();
        }
        let (first, next) = (offset + 1, offset + self.shown);
        let why = if self.long { " The answer would be too long: narrow the search, or" } else { "" };
        let go_on = if self.long { "go on" } else { "Go on" };
        format!(
            "{}\n\n[Results {first} to {next} are shown, there are more.{why} {go_on} with offset: {next}]",
            self.text
        )
    }
}

impl Paging {
    /// The structured result with what was left out of it.
    fn noted(self, mut structured: serde_json::Value, page: &Page) -> serde_json::Value {
        if let Some(limit) = self.limit.filter(|_| page.more && !page.long) {
            structured["appliedLimit"] = limit.into();
        }
        if self.offset > 0 {
            structured["appliedOffset"] = self.offset.into();
        }
        structured
    }
}

/// The pattern as ripgrep would compile it with `-U --multiline-dotall`, or without.
fn matcher(pattern: &str, ignore_case: bool, multiline: bool) -> Result<RegexMatcher, String> {
    let mut builder = RegexMatcherBuilder::new();
    builder
        .multi_line(true)
        .unicode(true)
        .octal(false)
        .case_insensitive(ignore_case)
        .dot_matches_new_line(multiline)
        .ban_byte(Some(0));
    if !multiline {
        builder.line_terminator(Some(b'\n'));
    }
    builder.build(pattern).map_err(|error| {
        let mut text = format!("Invalid regular expression: {error}");
        if error.to_string().contains("repetition") && pattern.contains('{') {
            text.push_str(
                "\nA literal brace is written with a backslash: interface\\{\\} finds interface{}.",
            );
        }
        if error.to_string().contains("look-around") || error.to_string().contains("backreference") {
            text.push_str("\nThis engine has neither look-around nor backreferences.");
        }
        if !multiline && error.to_string().contains("not allowed") {
            text.push_str("\nTo match across lines, set multiline to true.");
        }
        text
    })
}

/// Globs with the meaning of ripgrep's `--glob`: several, kept apart by blanks, or by commas outside of braces.
fn add_globs(walk: &mut WalkBuilder, globs: &str, root: &Path, cwd: &Path) -> Result<(), String> {
    // Outside of the working directory there is nothing else a glob could be relative to.
    let base = if root.starts_with(cwd) { cwd } else { root };
    let mut overrides = OverrideBuilder::new(base);
    let mut add = |glob: &str| {
        overrides.add(glob).map(|_| ()).map_err(|error| format!("Invalid glob {glob:?}: {error}"))
    };
    for glob in split_globs(globs) {
        add(glob)?;
        // A glob with a folder in it is anchored at the working directory; many mean the searched folder.
        let (not, plain) = glob.strip_prefix('!').map_or(("", glob), |plain| ("!", plain));
        let plain = plain.trim_start_matches("./").trim_start_matches('/');
        if let Ok(below) = root.strip_prefix(base)
            && !below.as_os_str().is_empty()
            && plain.trim_end_matches('/').contains('/')
        {
            add(&format!("{not}/{}/{plain}", escape(&below.to_string_lossy())))?;
        }
    }
    let overrides = overrides.build().map_err(|error| format!("Invalid glob {globs:?}: {error}"))?;
    walk.overrides(overrides);
    Ok(())
}

fn split_globs(globs: &str) -> impl Iterator<Item = &str> {
    globs.split_whitespace().flat_map(|part| {
        let separator = if part.contains('{') { '\0' } else { ',' };
        part.split(separator).filter(|glob| !glob.is_empty())
    })
}

fn add_type(walk: &mut WalkBuilder, name: &str) -> Result<(), String> {
    let mut types = TypesBuilder::new();
    types.add_defaults();
    let known = types.definitions();
    if !known.iter().any(|known| known.name() == name) {
        return Err(unknown_type(name, &known));
    }
    types.select(name);
    walk.types(types.build().map_err(|error| format!("Invalid type {name:?}: {error}"))?);
    Ok(())
}

/// People write extensions (`rs`) or slip (`pyhton`): both have an answer.
fn unknown_type(name: &str, known: &[FileTypeDef]) -> String {
    let pattern = format!("*.{}", name.trim_start_matches('.'));
    let by_extension = known.iter().filter(|known| known.globs().contains(&pattern)).map(FileTypeDef::name);
    let mut near: Vec<&str> = by_extension.collect();
    if near.is_empty() {
        near.extend(suggest::closest(name, known.iter().map(FileTypeDef::name)));
    }
    match near.as_slice() {
        [] => format!("Unknown type {name:?}. Use glob instead, for example \"{pattern}\"."),
        near => format!("Unknown type {name:?}. Did you mean {}?", near.join(" or ")),
    }
}

#[cfg(test)]
mod tests;
