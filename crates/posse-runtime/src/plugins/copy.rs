//! Copying a plugin's folder: what a link leads to is copied in its place, as long as it stays behind the fence.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::PluginError;

/// No real plugin has so many files.
pub(super) const MAX_FILES: usize = 50_000;
/// Nor so many bytes.
pub(super) const MAX_BYTES: u64 = 1 << 30;
/// Nor so many folders within each other.
pub(super) const MAX_DEPTH: usize = 64;

/// Copies `from` to `to`, which must not exist. Links may lead anywhere below `fence`. Repositories are left behind.
pub(super) fn copy(from: &Path, to: &Path, fence: &Path) -> Result<(), PluginError> {
    let fence = fence.canonicalize().map_err(PluginError::io(fence))?;
    let mut copying = Copying { fence, files: 0, bytes: 0, above: Vec::new() };
    copying.folder(from, to)
}

struct Copying {
    fence: PathBuf,
    files: usize,
    bytes: u64,
    /// The folders that are being copied, by what they really are: a link to one of them would never end.
    above: Vec<(u64, u64)>,
}

impl Copying {
    fn folder(&mut self, from: &Path, to: &Path) -> Result<(), PluginError> {
        let real = from.canonicalize().map_err(PluginError::io(from))?;
        if !real.starts_with(&self.fence) {
            return Err(PluginError::LeadsOut(from.display().to_string()));
        }
        let metadata = fs::metadata(&real).map_err(PluginError::io(from))?;
        let identity = (metadata.dev(), metadata.ino());
        if self.above.len() >= MAX_DEPTH || self.above.contains(&identity) {
            return Err(PluginError::TooMuch(format!("{} is nested without end", from.display())));
        }
        self.above.push(identity);
        fs::create_dir(to).map_err(PluginError::io(to))?;
        for entry in fs::read_dir(&real).map_err(PluginError::io(from))? {
            let entry = entry.map_err(PluginError::io(from))?;
            let (path, target) = (from.join(entry.file_name()), to.join(entry.file_name()));
            if entry.file_name() == ".git" {
                continue;
            }
            let metadata = match fs::metadata(&path) {
                Ok(metadata) => metadata,
                // A link to nowhere brings nothing.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                Err(error) => return Err(PluginError::Io { path, source: error }),
            };
            if metadata.is_dir() {
                self.folder(&path, &target)?;
            } else if metadata.is_file() {
                self.file(&path, &target, &metadata)?;
            }
        }
        self.above.pop();
        Ok(())
    }

    fn file(&mut self, from: &Path, to: &Path, metadata: &fs::Metadata) -> Result<(), PluginError> {
        let real = from.canonicalize().map_err(PluginError::io(from))?;
        if !real.starts_with(&self.fence) {
            return Err(PluginError::LeadsOut(from.display().to_string()));
        }
        self.files += 1;
        self.bytes += metadata.len();
        if self.files > MAX_FILES || self.bytes > MAX_BYTES {
            let text = format!("the plugin is larger than {MAX_FILES} files or {} MiB", MAX_BYTES >> 20);
            return Err(PluginError::TooMuch(text));
        }
        fs::copy(&real, to).map_err(PluginError::io(from))?;
        let mode = if metadata.mode() & 0o111 == 0 { 0o644 } else { 0o755 };
        fs::set_permissions(to, fs::Permissions::from_mode(mode)).map_err(PluginError::io(to))
    }
}
