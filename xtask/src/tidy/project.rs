//! The crates of the workspace as texts. The only part of tidy that reads the disk.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::source::{self, Token};

/// One crate: its manifest and all its Rust files.
#[derive(Debug, Default)]
pub(crate) struct Crate {
    /// Folder below the project root, `crates/posse-core`.
    pub(crate) folder: String,
    pub(crate) manifest: String,
    pub(crate) files: Vec<File>,
}

/// One Rust file.
#[derive(Debug)]
pub(crate) struct File {
    /// Path below the crate's folder, with `/` on every system: `src/turn/call.rs`.
    pub(crate) path: String,
    pub(crate) text: String,
}

/// A file that ends up in the product, as code without comments, literals and test items.
pub(crate) struct ProductFile<'a> {
    /// `crates/posse-core/src/turn.rs`, for messages.
    pub(crate) place: String,
    /// `turn.rs`, `turn/call.rs`.
    pub(crate) in_src: &'a str,
    pub(crate) text: &'a str,
    code: String,
}

impl ProductFile<'_> {
    pub(crate) fn tokens(&self) -> Vec<Token<'_>> {
        source::product(&self.code).tokens
    }
}

impl Crate {
    /// The crate's name: that of its folder, which is a house rule of its own.
    pub(crate) fn name(&self) -> &str {
        self.folder.rsplit('/').next().unwrap_or_default()
    }

    /// Files below `src` that are compiled without `cfg(test)`.
    pub(crate) fn product_files(&self) -> Vec<ProductFile<'_>> {
        let mut files = Vec::new();
        let mut for_tests = BTreeSet::new();
        for file in &self.files {
            let Some(in_src) = file.path.strip_prefix("src/") else { continue };
            let code = source::code_only(&file.text);
            let inside = module_folder(in_src);
            for_tests
                .extend(source::product(&code).test_modules.iter().map(|module| format!("{inside}{module}")));
            let place = format!("{}/{}", self.folder, file.path);
            files.push(ProductFile { place, in_src, text: &file.text, code });
        }
        files.retain(|file| {
            let stem = file.in_src.trim_end_matches(".rs");
            let below_test_module = for_tests.iter().any(|module| is_or_is_below(stem, module));
            !below_test_module && stem.split('/').all(|part| part != "tests")
        });
        files
    }
}

/// Where the children of a module live: `turn/` for `turn.rs`, nothing for the crate's root.
fn module_folder(in_src: &str) -> String {
    match in_src.trim_end_matches(".rs") {
        "lib" | "main" => String::new(),
        stem => format!("{stem}/"),
    }
}

fn is_or_is_below(stem: &str, module: &str) -> bool {
    stem.strip_prefix(module).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Every crate under `crates/`, and this one. A folder without a manifest is a crate not yet born.
pub(crate) fn read() -> Vec<Crate> {
    let root = crate::shell::project_root();
    let mut folders = children(&root.join("crates"));
    folders.push(root.join("xtask"));
    let mut crates = Vec::new();
    for folder in folders {
        let Ok(manifest) = fs::read_to_string(folder.join("Cargo.toml")) else { continue };
        let mut files = Vec::new();
        collect(&folder, &folder, &mut files);
        crates.push(Crate { folder: relative(&root, &folder), manifest, files });
    }
    crates
}

fn collect(crate_folder: &Path, folder: &Path, files: &mut Vec<File>) {
    for path in children(folder) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() {
            if name != "target" && !name.starts_with('.') {
                collect(crate_folder, &path, files);
            }
        } else if name.ends_with(".rs") {
            let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            files.push(File { path: relative(crate_folder, &path), text });
        }
    }
}

fn children(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    paths
}

fn relative(base: &Path, path: &Path) -> String {
    let below = path.strip_prefix(base).unwrap_or(path);
    below.components().map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/")
}
