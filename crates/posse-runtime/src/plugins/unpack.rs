//! Unpacking archives that strangers made: nothing lands outside, nothing grows without end, and there are no links.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use posse_core::plugin::folder_name;

use super::PluginError;
use super::copy::{MAX_BYTES, MAX_FILES};
use super::digest::Tree;
use super::marketplace::replace;
use super::records::short;

/// Unpacks a zip file into an empty folder, and gives the folder of the plugin in it: an archive often holds one folder
/// with everything.
pub fn unpack(archive: &Path, into: &Path) -> Result<PathBuf, PluginError> {
    let broken = |why: String| PluginError::Archive { file: archive.to_owned(), why };
    let file = File::open(archive).map_err(PluginError::io(archive))?;
    let mut zip = zip::ZipArchive::new(file).map_err(|error| broken(error.to_string()))?;
    if zip.len() > MAX_FILES {
        return Err(PluginError::TooMuch(format!("{} holds more than {MAX_FILES} files", archive.display())));
    }
    let mut left = MAX_BYTES;
    for index in 0..zip.len() {
        let mut entry = zip.by_index(index).map_err(|error| broken(error.to_string()))?;
        let name = entry.name().map_err(|error| broken(error.to_string()))?.into_owned();
        if entry.is_symlink() {
            return Err(broken(format!("`{name}` is a link, which a plugin's archive may not hold")));
        }
        let Some(path) = inside(&name) else { return Err(PluginError::LeadsOut(name)) };
        // What an operating system adds for itself.
        if path.starts_with("__MACOSX") || path.as_os_str().is_empty() {
            continue;
        }
        let target = into.join(&path);
        if entry.is_dir() {
            fs::create_dir_all(&target).map_err(PluginError::io(&target))?;
            continue;
        }
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent).map_err(PluginError::io(parent))?;
        }
        // Two entries of one name, or a file where a folder is: somebody plays tricks.
        let mut out = File::create_new(&target).map_err(PluginError::io(&target))?;
        let executable = entry.unix_mode().is_some_and(|mode| mode & 0o111 != 0);
        // What the archive says of its sizes is not believed.
        let written = write(&mut entry, &mut out, left).map_err(PluginError::io(&target))?;
        left = left.checked_sub(written).ok_or_else(|| {
            PluginError::TooMuch(format!(
                "{} unpacks to more than {} MiB",
                archive.display(),
                MAX_BYTES >> 20
            ))
        })?;
        let mode = if executable { 0o755 } else { 0o644 };
        fs::set_permissions(&target, fs::Permissions::from_mode(mode)).map_err(PluginError::io(&target))?;
    }
    only_folder(into)
}

/// Copies until the end, or until one byte more than there is room for.
fn write(entry: &mut impl Read, out: &mut File, left: u64) -> std::io::Result<u64> {
    let written = std::io::copy(&mut entry.take(left + 1), out)?;
    out.flush()?;
    Ok(written)
}

/// A relative path without detours.
fn inside(name: &str) -> Option<PathBuf> {
    if name.contains(['\\', '\0']) {
        return None;
    }
    let mut path = PathBuf::new();
    for part in Path::new(name).components() {
        match part {
            Component::Normal(part) => path.push(part),
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::ParentDir => return None,
        }
    }
    Some(path)
}

fn only_folder(into: &Path) -> Result<PathBuf, PluginError> {
    if super::is_plugin(into) || super::has_parts(into) || super::is_marketplace(into) {
        return Ok(into.to_owned());
    }
    let entries = fs::read_dir(into).map_err(PluginError::io(into))?;
    let mut folders: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    match (folders.pop(), folders.is_empty()) {
        (Some(only), true) if only.is_dir() => Ok(only),
        _ => Ok(into.to_owned()),
    }
}

/// The folder an archive unpacks to, below `base`: named by its content, made anew if it is not what it should be.
pub fn unpacked(archive: &Path, base: &Path) -> Result<PathBuf, PluginError> {
    fs::create_dir_all(base).map_err(PluginError::io(base))?;
    let staging =
        tempfile::Builder::new().prefix(".posse-").tempdir_in(base).map_err(PluginError::io(base))?;
    let content = staging.path().join("content");
    fs::create_dir(&content).map_err(PluginError::io(&content))?;
    let plugin = unpack(archive, &content)?;
    let digest = Tree::read(&plugin)?.digest();
    // A plugin without a manifest is called like its folder, or like its archive.
    let called = if plugin == content { archive.file_stem() } else { plugin.file_name() };
    let called = called.map(|name| folder_name(&name.to_string_lossy())).filter(|name| !name.is_empty());
    let folder = base.join(short(&digest)).join(called.unwrap_or_else(|| "plugin".to_owned()));
    let is_whole = Tree::read(&folder).is_ok_and(|tree| tree.digest() == digest);
    if !is_whole {
        replace(&plugin, &folder)?;
    }
    Ok(folder)
}
