//! Patterns for paths, written like lines of a `.gitignore`.
//!
//! `//x` starts at the root of the file system, `~/x` at home, `/x` at the folder of the rule's file, anything else at
//! the working directory. Without a slash inside, a pattern fits at any depth; what fits a folder fits all in it.

use std::path::Path;

use globset::{Glob, GlobBuilder, GlobMatcher, GlobSet, GlobSetBuilder};

use super::RuleSource;

/// Many patterns, matched at once.
#[derive(Clone, Debug, Default)]
pub(super) struct PathIndex {
    set: Globs,
    /// Which rule each glob belongs to.
    rules: Vec<usize>,
}

/// Globs, together where that is possible.
#[derive(Clone, Debug)]
enum Globs {
    Together(GlobSet),
    /// Together they are too large; a rule must not be lost for that.
    Single(Vec<GlobMatcher>),
}

impl Default for Globs {
    fn default() -> Self {
        Self::Single(Vec::new())
    }
}

/// Collects patterns.
#[derive(Default)]
pub(super) struct PathIndexBuilder {
    globs: Vec<Glob>,
    rules: Vec<usize>,
}

impl PathIndexBuilder {
    /// Adds a pattern for a rule; says whether it can be understood.
    pub(super) fn add(&mut self, rule: usize, pattern: &str, source: &RuleSource) -> bool {
        let Some(globs) = globs(pattern, source) else { return false };
        self.rules.extend(globs.iter().map(|_| rule));
        self.globs.extend(globs);
        true
    }

    pub(super) fn build(self) -> PathIndex {
        let mut builder = GlobSetBuilder::new();
        for glob in &self.globs {
            builder.add(glob.clone());
        }
        let set = match builder.build() {
            Ok(set) => Globs::Together(set),
            Err(_) => Globs::Single(self.globs.iter().map(Glob::compile_matcher).collect()),
        };
        PathIndex { set, rules: self.rules }
    }
}

impl PathIndex {
    /// The first rule that fits a path.
    pub(super) fn find(&self, path: &Path) -> Option<usize> {
        if self.rules.is_empty() {
            return None;
        }
        match &self.set {
            Globs::Together(set) => set.matches(path).into_iter().map(|at| self.rules[at]).min(),
            Globs::Single(globs) => {
                globs.iter().position(|glob| glob.is_match(path)).map(|at| self.rules[at])
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }
}

/// A pattern as absolute globs: itself, and everything below what it names.
fn globs(pattern: &str, source: &RuleSource) -> Option<[Glob; 2]> {
    let pattern = pattern.trim();
    let (root, rest) = if let Some(rest) = pattern.strip_prefix("//") {
        (Some(Path::new("/")), rest)
    } else if let Some(rest) = pattern.strip_prefix("~/") {
        (source.home.as_deref(), rest)
    } else if let Some(rest) = pattern.strip_prefix('/') {
        (Some(&*source.base), rest)
    } else {
        (Some(&*source.cwd), pattern)
    };
    let is_anchored = pattern.starts_with(['/', '~']) || pattern.starts_with("./");
    let rest = rest.strip_prefix("./").unwrap_or(rest).trim_end_matches('/');
    let depth = if !is_anchored && !rest.contains('/') { "**/" } else { "" };
    let root = globset::escape(root?.to_str()?.trim_end_matches('/'));
    let whole = if rest.is_empty() { root } else { format!("{root}/{depth}{rest}") };
    let compile =
        |glob: &str| GlobBuilder::new(glob).literal_separator(true).backslash_escape(true).build().ok();
    let below = match whole.strip_suffix("/**") {
        Some(folder) => folder.to_owned(),
        None => format!("{whole}/**"),
    };
    Some([compile(&whole)?, compile(&below)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit_paths() {
        let source = RuleSource::new("project", "/p", "/p/sub", Some("/home/u"));
        // pattern, fits, does not fit
        let cases: &[(&str, &[&str], &[&str])] = &[
            ("src/**", &["/p/sub/src/a", "/p/sub/src/a/b", "/p/sub/src"], &["/p/src/a", "/p/sub/xsrc/a"]),
            ("/src/**", &["/p/src/a"], &["/p/sub/src/a", "/src/a"]),
            ("//etc/**", &["/etc/passwd", "/etc/a/b"], &["/p/sub/etc/x", "/etcx"]),
            ("~/.ssh/**", &["/home/u/.ssh/id"], &["/p/sub/~/.ssh/id", "/home/v/.ssh/id"]),
            ("~/.zshrc", &["/home/u/.zshrc"], &["/home/u/.zshrc2"]),
            (".env", &["/p/sub/.env", "/p/sub/a/b/.env", "/p/sub/.env/x"], &["/p/.env", "/p/sub/x.env"]),
            ("*.pem", &["/p/sub/a.pem", "/p/sub/x/a.pem"], &["/p/sub/a.pem2", "/tmp/a.pem"]),
            ("//**/*.pem", &["/a.pem", "/x/y/a.pem"], &["/x/y/a.pemx"]),
            ("docs/*.md", &["/p/sub/docs/a.md"], &["/p/sub/docs/x/a.md", "/p/sub/x/docs/a.md"]),
            ("./a.txt", &["/p/sub/a.txt"], &["/p/sub/x/a.txt"]),
            ("secrets/", &["/p/sub/secrets/a", "/p/sub/x/secrets"], &["/p/sub/secret"]),
            (
                "**/node_modules/**",
                &["/p/sub/node_modules/x", "/p/sub/a/node_modules/x/y"],
                &["/p/sub/nodes"],
            ),
            ("{a,b}/*.rs", &["/p/sub/a/x.rs", "/p/sub/b/x.rs"], &["/p/sub/c/x.rs"]),
            ("//**", &["/anything"], &[]),
        ];
        for (pattern, yes, no) in cases {
            let mut builder = PathIndexBuilder::default();
            assert!(builder.add(7, pattern, &source), "{pattern}");
            let index = builder.build();
            for path in *yes {
                assert_eq!(index.find(Path::new(path)), Some(7), "{pattern} {path}");
            }
            for path in *no {
                assert_eq!(index.find(Path::new(path)), None, "{pattern} {path}");
            }
        }
    }
}
