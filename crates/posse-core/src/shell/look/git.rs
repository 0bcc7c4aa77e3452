//! The parts of git that only look.
//!
//! Knows subcommands and, for each, the options that leave it so. Refuses every global option but `-C` and
//! `--no-pager`: the others can make git run programs.

use super::Word;

/// What one subcommand may be given.
struct Part {
    name: &'static str,
    /// How options may begin; a value behind `=` belongs to the option.
    options: &'static [&'static str],
    /// Letters that may be given together (`-sb`) or with a number.
    letters: &'static str,
    /// Letters with a value behind them: `-L1,5:file`, `-Sneedle`.
    valued: &'static str,
    /// Whether words that are no options may be there.
    operands: bool,
}

const OUTPUT: [&str; 58] = [
    "--stat",
    "--shortstat",
    "--numstat",
    "--dirstat",
    "--summary",
    "--name-only",
    "--name-status",
    "--patch",
    "--no-patch",
    "--raw",
    "--color",
    "--no-color",
    "--word-diff",
    "--word-diff-regex",
    "--color-words",
    "--color-moved",
    "--cached",
    "--staged",
    "--merge-base",
    "--diff-filter",
    "--ignore-space-change",
    "--ignore-all-space",
    "--ignore-blank-lines",
    "--unified",
    "--inter-hunk-context",
    "--function-context",
    "--minimal",
    "--patience",
    "--histogram",
    "--find-renames",
    "--find-copies",
    "--no-renames",
    "--relative",
    "--exit-code",
    "--quiet",
    "--check",
    "--oneline",
    "--graph",
    "--all",
    "--decorate",
    "--no-decorate",
    "--format",
    "--pretty",
    "--abbrev-commit",
    "--abbrev",
    "--date",
    "--since",
    "--until",
    "--after",
    "--before",
    "--author",
    "--grep",
    "--max-count",
    "--no-merges",
    "--merges",
    "--first-parent",
    "--follow",
    "--reverse",
];

const PARTS: [Part; 19] = [
    Part {
        name: "status",
        options: &[
            "--short",
            "--branch",
            "--porcelain",
            "--untracked-files",
            "--ignored",
            "--long",
            "--show-stash",
        ],
        letters: "sbvz",
        valued: "u",
        operands: true,
    },
    Part { name: "diff", options: &OUTPUT, letters: "pusUwbMCDRWz", valued: "SG", operands: true },
    Part { name: "log", options: &OUTPUT, letters: "pusUwbMCiEFnzcm", valued: "LSG", operands: true },
    Part { name: "show", options: &OUTPUT, letters: "pusUwbMCzcm", valued: "", operands: true },
    Part {
        name: "shortlog",
        options: &["--numbered", "--summary", "--email", "--no-merges", "--all"],
        letters: "nsec",
        valued: "",
        operands: true,
    },
    Part {
        name: "branch",
        options: &["--list", "--all", "--remotes", "--show-current", "--verbose", "--no-color", "--color"],
        letters: "arv",
        valued: "",
        operands: false,
    },
    Part {
        name: "rev-parse",
        options: &[
            "--abbrev-ref",
            "--show-toplevel",
            "--short",
            "--verify",
            "--quiet",
            "--git-dir",
            "--is-inside-work-tree",
            "--show-prefix",
            "--show-cdup",
            "--symbolic-full-name",
            "--git-common-dir",
            "--absolute-git-dir",
        ],
        letters: "q",
        valued: "",
        operands: true,
    },
    Part {
        name: "ls-files",
        options: &[
            "--others",
            "--cached",
            "--modified",
            "--deleted",
            "--exclude-standard",
            "--stage",
            "--ignored",
            "--error-unmatch",
        ],
        letters: "comdsituzv",
        valued: "",
        operands: true,
    },
    Part {
        name: "blame",
        options: &["--porcelain", "--line-porcelain", "--show-email", "--date"],
        letters: "wMCeslt",
        valued: "L",
        operands: true,
    },
    Part {
        name: "describe",
        options: &[
            "--tags",
            "--always",
            "--all",
            "--long",
            "--abbrev",
            "--match",
            "--exact-match",
            "--dirty",
        ],
        letters: "",
        valued: "",
        operands: true,
    },
    Part { name: "cat-file", options: &[], letters: "pts", valued: "", operands: true },
    Part {
        name: "ls-tree",
        options: &["--name-only", "--name-status", "--long", "--full-tree", "--full-name"],
        letters: "rtdlz",
        valued: "",
        operands: true,
    },
    Part {
        name: "merge-base",
        options: &["--is-ancestor", "--all", "--octopus", "--fork-point"],
        letters: "a",
        valued: "",
        operands: true,
    },
    Part {
        name: "rev-list",
        options: &[
            "--count",
            "--all",
            "--max-count",
            "--no-merges",
            "--merges",
            "--since",
            "--until",
            "--left-right",
        ],
        letters: "n",
        valued: "",
        operands: true,
    },
    Part {
        name: "grep",
        options: &[
            "--line-number",
            "--ignore-case",
            "--files-with-matches",
            "--name-only",
            "--count",
            "--word-regexp",
            "--cached",
            "--untracked",
            "--fixed-strings",
            "--extended-regexp",
            "--perl-regexp",
            "--heading",
            "--break",
            "--no-color",
        ],
        letters: "nilcwEFGPhHIABCqv",
        valued: "e",
        operands: true,
    },
    Part { name: "remote", options: &["--verbose"], letters: "v", valued: "", operands: false },
    Part { name: "tag", options: &["--list"], letters: "l", valued: "", operands: false },
    Part { name: "version", options: &[], letters: "", valued: "", operands: false },
    Part { name: "--version", options: &[], letters: "", valued: "", operands: false },
];

/// The words that may name files, if this only looks. One that is not known yet could be any option.
pub(super) fn looks_at(arguments: &[Word]) -> Option<Vec<Word>> {
    let mut texts = Vec::new();
    for argument in arguments {
        texts.push(argument.known()?);
    }
    let mut files = Vec::new();
    let mut rest = texts.as_slice();
    loop {
        match rest {
            ["--no-pager", after @ ..] => rest = after,
            ["-C", folder, after @ ..] => {
                files.push(Word::Known((*folder).into()));
                rest = after;
            }
            _ => break,
        }
    }
    match rest {
        ["stash", "list"] => return Some(files),
        ["config", "--get" | "--get-all", name] if !name.starts_with('-') => return Some(files),
        ["config", "--list" | "-l"] => return None,
        _ => {}
    }
    let (name, rest) = rest.split_first()?;
    let part = PARTS.iter().find(|part| part.name == *name)?;
    let mut options = true;
    for text in rest {
        if *text == "--" && options {
            options = false;
        } else if options && text.starts_with('-') && text.len() > 1 {
            allowed(part, text).then_some(())?;
        } else if part.operands {
            files.push(Word::Known((*text).into()));
        } else {
            return None;
        }
    }
    Some(files)
}

fn allowed(part: &Part, text: &str) -> bool {
    if text.starts_with("--") {
        let name = text.split_once('=').map_or(text, |(name, _)| name);
        return part.options.contains(&name);
    }
    let letters = text.trim_start_matches('-');
    letters.starts_with(|first| part.valued.contains(first))
        || letters.chars().all(|letter| part.letters.contains(letter) || letter.is_ascii_digit())
}
