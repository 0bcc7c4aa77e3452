//! What a folder holds, as one number: every path, whether it may be executed, every byte. Links count as links, so one
//! that is put in the place of a file is seen.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::PluginError;
use super::copy::{MAX_DEPTH, MAX_FILES};

/// A file of a plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeFile {
    /// Below the folder.
    pub path: PathBuf,
    /// Whether somebody may execute it.
    pub executable: bool,
    /// A digest of its bytes, or of where it leads.
    pub digest: [u8; 32],
}

/// All files of a folder, in the order of their paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    /// The files.
    pub files: Vec<TreeFile>,
}

impl Tree {
    /// Reads a folder.
    pub fn read(root: &Path) -> Result<Self, PluginError> {
        let mut files = Vec::new();
        collect(root, Path::new(""), 0, &mut files)?;
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(Self { files })
    }

    /// The digest of all of it: `sha256:…`.
    pub fn digest(&self) -> String {
        let mut hash = Sha256::new();
        for file in &self.files {
            let path = file.path.as_os_str().as_bytes();
            // The length first: no path can pretend to be two.
            hash.update((path.len() as u64).to_be_bytes());
            hash.update(path);
            hash.update([u8::from(file.executable)]);
            hash.update(file.digest);
        }
        format!("sha256:{}", hex(&hash.finalize()))
    }
}

/// A short digest of some bytes, for people to compare.
pub(super) fn mark(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes)[..6])
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn collect(root: &Path, below: &Path, depth: usize, files: &mut Vec<TreeFile>) -> Result<(), PluginError> {
    let folder = root.join(below);
    if depth > MAX_DEPTH {
        return Err(PluginError::TooMuch(format!("{} is nested too deeply", folder.display())));
    }
    for entry in fs::read_dir(&folder).map_err(PluginError::io(&folder))? {
        let entry = entry.map_err(PluginError::io(&folder))?;
        let (path, full) = (below.join(entry.file_name()), entry.path());
        let metadata = fs::symlink_metadata(&full).map_err(PluginError::io(&full))?;
        if metadata.is_dir() {
            collect(root, &path, depth + 1, files)?;
            continue;
        }
        if files.len() == MAX_FILES {
            return Err(PluginError::TooMuch(format!(
                "{} holds more than {MAX_FILES} files",
                root.display()
            )));
        }
        let digest = if metadata.is_symlink() {
            let target = fs::read_link(&full).map_err(PluginError::io(&full))?;
            let mut hash = Sha256::new();
            hash.update(b"link\0");
            hash.update(target.as_os_str().as_bytes());
            hash.finalize().into()
        } else if metadata.is_file() {
            of_file(&full).map_err(PluginError::io(&full))?
        } else {
            let source = io::Error::other("neither a file nor a folder");
            return Err(PluginError::Io { path: full, source });
        };
        let executable = metadata.is_file() && metadata.mode() & 0o111 != 0;
        files.push(TreeFile { path, executable, digest });
    }
    Ok(())
}

fn of_file(path: &Path) -> io::Result<[u8; 32]> {
    let mut file = File::open(path)?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hash.finalize().into()),
            read => hash.update(&buffer[..read]),
        }
    }
}
