//! Which version of each settings file counts while a session runs.
//!
//! Knows that a file counts as it was until its change has been let through. Refuses to know who lets it through.

use std::path::Path;

use posse_core::settings::{Layer, SettingsFile};

/// The files that count: of those on disk the new version where `takes` says so and it can be understood, otherwise the
/// one that counted before, be it none. What flags and parents say is not on disk.
pub(super) fn counting(
    known: &[SettingsFile],
    fresh: &[SettingsFile],
    takes: impl Fn(&Path) -> bool,
) -> Vec<SettingsFile> {
    let is_given = |file: &SettingsFile| file.layer == Layer::Flag || file.is_of_parent;
    let before = |path: &Path| known.iter().find(|file| !is_given(file) && *file.file == *path);
    let mut files: Vec<SettingsFile> = fresh
        .iter()
        .filter_map(|file| {
            let is_taken = is_given(file) || takes(&file.file) && file.root.is_some();
            if is_taken { Some(file.clone()) } else { before(&file.file).cloned() }
        })
        .collect();
    let is_gone = |file: &&SettingsFile| {
        !is_given(file) && !takes(&file.file) && !fresh.iter().any(|other| other.file == file.file)
    };
    for file in known.iter().filter(is_gone) {
        let place = files.iter().position(|other| other.layer > file.layer || is_given(other));
        files.insert(place.unwrap_or(files.len()), file.clone());
    }
    files
}

#[cfg(test)]
mod tests;
