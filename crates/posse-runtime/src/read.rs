//! Reading one small text file without being fooled: not a FIFO that never ends, not a gigabyte, not a binary.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;

use posse_core::diagnostic::{Diagnostic, Problem, Rule};

/// The largest real agent file anybody has published is a tenth of this.
pub(crate) const MAX_FILE: u64 = 1024 * 1024;

/// A file's text, with a warning if it was not all UTF-8; or why there is none.
pub(crate) fn text(path: &Path) -> Result<(String, Option<Problem>), Problem> {
    // Opening a FIFO for reading would wait for a writer; this does not, and costs regular files nothing.
    let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
    let flags = i32::try_from(flags.bits()).unwrap_or_default();
    let file =
        OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(|error| unreadable(&error))?;
    let metadata = file.metadata().map_err(|error| unreadable(&error))?;
    if !metadata.is_file() {
        return Err(Problem::whole(Rule::NotAFile, "not a regular file; it is left alone"));
    }
    if metadata.len() > MAX_FILE {
        return Err(too_large(metadata.len()));
    }
    let bytes = bytes(file, metadata.len()).map_err(|error| unreadable(&error))?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(too_large(bytes.len() as u64));
    }
    if bytes.contains(&0) {
        return Err(Problem::whole(Rule::BinaryFile, "the file holds NUL bytes: it is not text")
            .hint("agents are Markdown; move other files elsewhere"));
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok((text, None)),
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
            let problem = Problem::at(
                Rule::InvalidUtf8,
                posse_core::text::Span::new(at, at + '\u{fffd}'.len_utf8()),
                "bytes that are not UTF-8 were replaced by \u{fffd}",
            );
            Ok((text, Some(problem.hint("save the file as UTF-8"))))
        }
    }
}

/// Sizes lie (`/proc`, a file that grows): read what is there, but never more than the limit.
fn bytes(file: File, size: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default() + 1);
    file.take(MAX_FILE + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn unreadable(error: &io::Error) -> Problem {
    Problem::whole(Rule::UnreadableFile, format!("cannot be read: {}", plain(error)))
}

/// The system's words without the number behind them.
pub(crate) fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_lowercase()
}

fn too_large(size: u64) -> Problem {
    let text = format!("{} is more than an agent file may have ({} KiB)", human(size), MAX_FILE / 1024);
    Problem::whole(Rule::FileTooLarge, text)
        .hint("is this an agent? a prompt of that size would fill any model's context")
}

fn human(size: u64) -> String {
    if size < 1024 * 1024 { format!("{} KiB", size / 1024) } else { format!("{} MiB", size / (1024 * 1024)) }
}

/// A flag that takes JSON or the path of a JSON file: its name for reports, and the JSON.
pub(crate) fn inline_or_file(
    given: &str,
    name: &str,
    cwd: &Path,
) -> Result<(Arc<Path>, String), Vec<Diagnostic>> {
    if given.trim_start().starts_with(['{', '[']) {
        return Ok((Path::new(name).into(), given.to_owned()));
    }
    let path: Arc<Path> = cwd.join(given).into();
    match text(&path) {
        Ok((text, _)) => Ok((path, text)),
        Err(problem) => Err(vec![problem.hint("give JSON, or the path of a JSON file").located(&path, "")]),
    }
}
