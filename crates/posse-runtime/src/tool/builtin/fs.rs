//! File work the tools share: opening without blocking, reading with a limit, replacing in one step, and saying what
//! is not there. Knows nothing of what is in a file.

use std::fs::{File, Metadata, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use posse_core::suggest;
use tempfile::NamedTempFile;
use tokio_util::sync::CancellationToken;

use super::view;
use crate::tool::{FileState, Freshness, ToolCx, ToolOutput, Version};

/// What a tool answers, or the text that says why it cannot.
pub(super) type Answer = Result<ToolOutput, String>;

/// Larger files are not changed in memory.
pub(super) const MAX_EDITED: u64 = 50_000_000;

const UNSEEN: &str = "File has not been read yet. Read it first before writing to it.";
const CHANGED: &str = "File has been modified since read, either by the user or by a linter. Read it again before \
                       attempting to write it.";
const STOPPED: &str = "Interrupted.";

/// Does file work beside the async threads. The token is cancelled when the user interrupts and when the call is
/// dropped: a thread cannot be stopped from outside.
pub(super) async fn blocking(
    cx: &ToolCx,
    work: impl FnOnce(&CancellationToken) -> Answer + Send + 'static,
) -> ToolOutput {
    let stop = cx.stop.child_token();
    let inner = stop.clone();
    let _cancels_on_drop = stop.drop_guard();
    match tokio::task::spawn_blocking(move || work(&inner)).await {
        Ok(Ok(output)) => output,
        Ok(Err(text)) => ToolOutput::error(text),
        // A parser of foreign formats that panics costs this call, not the run.
        Err(error) => ToolOutput::error(format!("The file could not be handled: {error}")),
    }
}

/// Fails once the user has interrupted.
pub(super) fn go_on(stop: &CancellationToken) -> Result<(), String> {
    if stop.is_cancelled() { Err(STOPPED.to_owned()) } else { Ok(()) }
}

/// Opens a regular file for reading; what could block, or never end, is refused.
pub(super) fn open(path: &Path, cwd: &Path) -> Result<(File, Metadata), String> {
    let cannot = |error: io::Error| cannot("read", path, cwd, &error);
    regular(path, &path.metadata().map_err(cannot)?)?;
    // Between the look and the opening a FIFO may have taken the place; opening one would wait for a writer.
    let nonblock = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or_default();
    let file = OpenOptions::new().read(true).custom_flags(nonblock).open(path).map_err(cannot)?;
    let metadata = file.metadata().map_err(cannot)?;
    regular(path, &metadata)?;
    Ok((file, metadata))
}

/// Refuses folders, pipes, sockets and devices.
pub(super) fn regular(path: &Path, metadata: &Metadata) -> Result<(), String> {
    let kind = metadata.file_type();
    let path = path.display();
    if kind.is_file() {
        Ok(())
    } else if kind.is_dir() {
        Err(format!(
            "{path} is a directory, not a file. List it with ls in Bash, or find files in it with Glob."
        ))
    } else {
        let what = if kind.is_fifo() {
            "a named pipe (FIFO)"
        } else if kind.is_socket() {
            "a socket"
        } else {
            "a device"
        };
        Err(format!("{path} is {what}, not a regular file."))
    }
}

/// The whole file, if it is not larger than `most`.
pub(super) fn read_all(mut file: File, path: &Path, most: u64) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let read = Read::by_ref(&mut file).take(most + 1).read_to_end(&mut bytes);
    read.map_err(|error| format!("{} could not be read: {error}", path.display()))?;
    if bytes.len() as u64 > most {
        let size = file.metadata().map_or(0, |metadata| metadata.len()).max(most + 1);
        return Err(format!(
            "{} is too large for this: {}, and the most is {}.",
            path.display(),
            view::size(size),
            view::size(most)
        ));
    }
    Ok(bytes)
}

/// A text as it is kept in a file.
pub(super) struct Text {
    /// The text, without a byte order mark.
    pub(super) text: String,
    /// The mark, or nothing.
    pub(super) mark: &'static str,
}

/// Reads a file that is going to be changed: what is not text would not survive it.
pub(super) fn read_text(path: &Path, cwd: &Path) -> Result<Text, String> {
    let (file, _) = open(path, cwd)?;
    let bytes = read_all(file, path, MAX_EDITED)?;
    if bytes.contains(&0) {
        return Err(format!("{} is a binary file and cannot be edited as text.", path.display()));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        format!(
            "{} is not valid UTF-8 (byte {at}), so changing it as text would damage it. Convert it with iconv, or change \
             it with sed, in Bash.",
            path.display()
        )
    })?;
    Ok(match text.strip_prefix('\u{feff}') {
        Some(rest) => Text { text: rest.to_owned(), mark: "\u{feff}" },
        None => Text { text, mark: "" },
    })
}

/// Why a file could not be opened.
fn cannot(what: &str, path: &Path, cwd: &Path, error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => missing(path, cwd),
        _ => format!("{} could not be {what}: {error}", path.display()),
    }
}

/// Says that there is no such file, where we are, and what may have been meant.
fn missing(path: &Path, cwd: &Path) -> String {
    let mut text =
        format!("File does not exist: {}. Current working directory: {}.", path.display(), cwd.display());
    if let Some(near) = near(path, cwd) {
        text.push_str(&format!(" Did you mean {}?", near.display()));
    }
    text
}

/// A file that exists and has nearly this path.
fn near(path: &Path, cwd: &Path) -> Option<PathBuf> {
    // `/src/lib.rs` is often meant from the working directory.
    let here = cwd.join(path.strip_prefix("/").ok()?);
    if here != path && here.exists() {
        return Some(here);
    }
    let mut wrong = path;
    while !wrong.parent()?.is_dir() {
        wrong = wrong.parent()?;
    }
    let (folder, name) = (wrong.parent()?, wrong.file_name()?.to_str()?);
    let entries = folder.read_dir().ok()?.take(10_000);
    let mut names: Vec<String> =
        entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    names.sort();
    let stem = Path::new(name).file_stem();
    let found = suggest::closest(name, names.iter().map(String::as_str))
        .or_else(|| names.iter().map(String::as_str).find(|other| Path::new(other).file_stem() == stem))?;
    let mut candidate = folder.join(found);
    candidate.extend(path.strip_prefix(wrong).ok()?);
    candidate.exists().then_some(candidate)
}

/// Whether the file exists; an error if the run must not write to it.
pub(super) fn may_write(files: &FileState, path: &Path) -> Result<bool, String> {
    if let Ok(metadata) = path.metadata() {
        regular(path, &metadata)?;
    }
    match files.check(path) {
        Freshness::Absent => Ok(false),
        Freshness::Fresh => Ok(true),
        Freshness::Unseen => Err(UNSEEN.to_owned()),
        Freshness::Changed => Err(CHANGED.to_owned()),
    }
}

/// Creates or replaces a file in one step and remembers what it is now. `existing` is what [`may_write`] said before the
/// caller began; it is asked again at the last moment.
pub(super) fn write(
    files: &FileState,
    path: &Path,
    existing: bool,
    content: &[u8],
    stop: &CancellationToken,
) -> Result<(), String> {
    let failed = |error: io::Error| format!("{} could not be written: {error}", path.display());
    let real = follow(path).map_err(failed)?;
    let old = if existing {
        // Renaming asks only the folder for permission; a file that is read-only means it.
        let file = OpenOptions::new().write(true).open(&real).map_err(failed)?;
        Some(file.metadata().map_err(failed)?)
    } else {
        if let Some(folder) = real.parent() {
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        None
    };
    let staged = stage(&real, content, old.as_ref());
    go_on(stop)?;
    if may_write(files, path)? != existing {
        return Err(CHANGED.to_owned());
    }
    files.checkpoints().before(&real);
    let version = match staged
        .and_then(|(temporary, version)| persist(temporary, &real, existing).map(|()| version))
    {
        Ok(version) => version,
        // The folder takes no new files, or the file is a mount of its own, as in containers.
        Err(error) if existing && stands_in_the_way(&error) => overwrite(&real, content).map_err(failed)?,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => return Err(CHANGED.to_owned()),
        Err(error) => return Err(failed(error)),
    };
    files.saw_as(path, version);
    Ok(())
}

/// Where a path leads: replacing a link would turn it into a copy. The last link may lead to nothing yet.
fn follow(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..40 {
        match path.canonicalize() {
            Err(error) if error.kind() == ErrorKind::NotFound => match path.read_link() {
                Ok(target) => path = path.parent().unwrap_or(Path::new("/")).join(target),
                Err(_) => return Ok(path),
            },
            known => return known,
        }
    }
    Err(io::Error::other("too many links"))
}

/// The new content beside the old, with the old one's owner and permissions.
fn stage(real: &Path, content: &[u8], old: Option<&Metadata>) -> io::Result<(NamedTempFile, Version)> {
    let folder = real.parent().unwrap_or(Path::new("/"));
    // Before the user's umask, like any other new file; the crate's own choice would hide it from everybody else.
    let mode = if old.is_some() { 0o600 } else { 0o666 };
    let mut temporary = tempfile::Builder::new()
        .prefix(".posse-")
        .permissions(Permissions::from_mode(mode))
        .tempfile_in(folder)?;
    temporary.write_all(content)?;
    if let Some(old) = old {
        let now = temporary.as_file().metadata()?;
        if (now.uid(), now.gid()) != (old.uid(), old.gid()) {
            // Only root may give files away; for others the file becomes theirs.
            let _ = std::os::unix::fs::fchown(temporary.as_file(), Some(old.uid()), Some(old.gid()));
        }
        temporary.as_file().set_permissions(old.permissions())?;
    }
    let version = Version::from_metadata(&temporary.as_file().metadata()?);
    Ok((temporary, version))
}

fn persist(temporary: NamedTempFile, real: &Path, existing: bool) -> io::Result<()> {
    let done = if existing { temporary.persist(real) } else { temporary.persist_noclobber(real) };
    done.map(drop).map_err(|error| error.error)
}

fn stands_in_the_way(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::PermissionDenied
            | ErrorKind::ReadOnlyFilesystem
            | ErrorKind::ResourceBusy
            | ErrorKind::CrossesDevices
    )
}

fn overwrite(real: &Path, content: &[u8]) -> io::Result<Version> {
    let mut file = OpenOptions::new().write(true).truncate(true).open(real)?;
    file.write_all(content)?;
    Ok(Version::from_metadata(&file.metadata()?))
}

#[cfg(test)]
mod tests;
