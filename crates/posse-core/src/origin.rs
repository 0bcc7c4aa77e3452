//! Where a definition came from. The order of the variants *is* the precedence.

use std::cmp::Ordering;
use std::path::Path;
use std::sync::Arc;

/// The kinds of source, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Origin {
    /// Part of posse.
    BuiltIn,
    /// An enabled plugin, or `--plugin-dir`.
    Plugin,
    /// The user's own folder, `~/.claude`.
    User,
    /// `.claude` folders from the working directory up to the repository root, and `--add-dir`.
    Project,
    /// The command line: `--agents`, `--settings`.
    Flag,
    /// The administrator's folder.
    Managed,
}

impl Origin {
    /// All origins, weakest first.
    pub const ALL: [Self; 6] =
        [Self::BuiltIn, Self::Plugin, Self::User, Self::Project, Self::Flag, Self::Managed];

    /// Plugins may describe an agent but not widen what it is allowed to do.
    pub fn may_escalate(self) -> bool {
        match self {
            Self::Plugin => false,
            Self::BuiltIn | Self::User | Self::Project | Self::Flag | Self::Managed => true,
        }
    }

    /// Whether the managed policy `strictPluginOnlyCustomization` trusts what comes from here.
    pub fn is_admin_trusted(self) -> bool {
        match self {
            Self::BuiltIn | Self::Plugin | Self::Managed => true,
            Self::User | Self::Project | Self::Flag => false,
        }
    }

    /// One lower-case word, as in JSON output.
    pub fn word(self) -> &'static str {
        match self {
            Self::BuiltIn => "built-in",
            Self::Plugin => "plugin",
            Self::User => "user",
            Self::Project => "project",
            Self::Flag => "flag",
            Self::Managed => "managed",
        }
    }
}

/// Where within an origin: what decides between two definitions of one name and one origin. Higher wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Standing {
    /// An `agents` object in a settings file: any file of the same layer wins over it. Of several settings files the
    /// later in the order of layers does.
    Settings(u16),
    /// A folder given with `--add-dir`; a later one on the command line loses to an earlier one.
    AddedDir(std::cmp::Reverse<u16>),
    /// An agents folder; for projects, the number of folders from the root down to it, so that the nearest wins.
    Folder(u16),
}

/// Where one definition came from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Source {
    /// What kind of source.
    pub origin: Origin,
    /// Where within it.
    pub standing: Standing,
    /// The file, or a name in angle brackets for what is not a file (`<built-in>`, `<--agents>`).
    pub file: Arc<Path>,
    /// The folder or file of settings it was found through; what listings group by.
    pub root: Arc<Path>,
    /// The plugin that brought it.
    pub plugin: Option<Arc<str>>,
}

impl Source {
    /// Orders two definitions of one name: the greater wins. Within one folder the lexicographically first path does.
    pub fn strength(&self, other: &Self) -> Ordering {
        let rank = |source: &Self| (source.origin, source.standing);
        rank(self).cmp(&rank(other)).then_with(|| other.file.cmp(&self.file))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(origin: Origin, standing: Standing, file: &str) -> Source {
        Source { origin, standing, file: Path::new(file).into(), root: Path::new("").into(), plugin: None }
    }

    #[test]
    fn later_origins_then_nearer_folders_then_earlier_paths_win() {
        use std::cmp::Reverse;
        let order = [
            source(Origin::BuiltIn, Standing::Folder(0), "x"),
            source(Origin::User, Standing::Settings(0), "s"),
            source(Origin::User, Standing::Folder(0), "b.md"),
            source(Origin::User, Standing::Folder(0), "a.md"),
            source(Origin::Project, Standing::Settings(0), "s"),
            source(Origin::Project, Standing::AddedDir(Reverse(1)), "a.md"),
            source(Origin::Project, Standing::AddedDir(Reverse(0)), "a.md"),
            source(Origin::Project, Standing::Folder(2), "a.md"),
            source(Origin::Project, Standing::Folder(3), "z.md"),
            source(Origin::Flag, Standing::Settings(0), "s"),
            source(Origin::Managed, Standing::Folder(0), "m.md"),
        ];
        for (weaker, pair) in order.windows(2).enumerate() {
            assert_eq!(pair[1].strength(&pair[0]), Ordering::Greater, "{weaker}: {pair:?}");
            assert_eq!(pair[0].strength(&pair[1]), Ordering::Less, "{weaker}: {pair:?}");
        }
    }
}
