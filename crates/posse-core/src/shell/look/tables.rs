//! Which options leave a program one that only looks.
//!
//! A table and nothing else. Letters that take a value on one system and none on another are left out: the value would
//! be a file there. An option that is missing here costs a question; one too many could cost a file.

/// What the words behind the options are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Operands {
    Files,
    /// Neither files nor anything that matters.
    Text,
    /// The first is a pattern, unless an option gave it.
    PatternFirst,
    /// A second one would be written to.
    AtMostOne,
    None,
}

/// A program that only looks, used like this.
pub(super) struct Looker {
    pub(super) name: &'static str,
    /// Letters that stand alone.
    pub(super) flags: &'static str,
    /// Letters that take a value which is no file.
    pub(super) valued: &'static str,
    /// Letters that take a file.
    pub(super) files: &'static str,
    /// Long options, with or without `=value`.
    pub(super) long: &'static [&'static str],
    /// Long options whose value may be the next word.
    pub(super) long_valued: &'static [&'static str],
    /// Long options that take a file.
    pub(super) long_files: &'static [&'static str],
    /// `-5`.
    pub(super) numbers: bool,
    /// Whether a word that is not known yet can do no harm, because no option can.
    pub(super) open: bool,
    pub(super) operands: Operands,
}

const PLAIN: Looker = Looker {
    name: "",
    flags: "",
    valued: "",
    files: "",
    long: &[],
    long_valued: &[],
    long_files: &[],
    numbers: false,
    open: false,
    operands: Operands::Files,
};

const SUMS: Looker = Looker { flags: "btwz", long: &["--tag", "--quiet", "--status", "--strict"], ..PLAIN };
const GREP: Looker = Looker {
    flags: "EFGPivwxcLlqsnHhboaIrUzZTyC0123456789",
    valued: "emABdD",
    files: "f",
    long: &[
        "--color",
        "--colour",
        "--recursive",
        "--line-number",
        "--ignore-case",
        "--files-with-matches",
        "--files-without-match",
        "--count",
        "--invert-match",
        "--word-regexp",
        "--line-regexp",
        "--only-matching",
        "--quiet",
        "--silent",
        "--no-messages",
        "--with-filename",
        "--no-filename",
        "--extended-regexp",
        "--fixed-strings",
        "--perl-regexp",
        "--basic-regexp",
        "--text",
        "--null",
        "--no-ignore-case",
    ],
    long_valued: &[
        "--regexp",
        "--include",
        "--exclude",
        "--exclude-dir",
        "--max-count",
        "--context",
        "--after-context",
        "--before-context",
        "--binary-files",
    ],
    long_files: &["--file", "--exclude-from"],
    numbers: true,
    operands: Operands::PatternFirst,
    ..PLAIN
};

pub(super) const LOOKERS: [Looker; 58] = [
    Looker {
        name: "ls",
        flags: "aAbBcCdDfFgGhiklmnNopqQrRsStuUvxXZ1@eO",
        valued: "",
        open: true,
        long: &[
            "--all",
            "--almost-all",
            "--color",
            "--human-readable",
            "--recursive",
            "--reverse",
            "--sort",
            "--time",
            "--time-style",
            "--directory",
            "--group-directories-first",
            "--classify",
            "--inode",
            "--size",
            "--full-time",
            "--format",
            "--hide",
            "--ignore",
        ],
        ..PLAIN
    },
    Looker { name: "cat", flags: "AbeEnstTuv", open: true, long: &["--number", "--show-all"], ..PLAIN },
    Looker {
        name: "head",
        flags: "qvz",
        valued: "nc",
        numbers: true,
        open: true,
        long: &["--quiet", "--verbose"],
        long_valued: &["--lines", "--bytes"],
        ..PLAIN
    },
    // Following a file never ends, but changes nothing.
    Looker {
        name: "tail",
        flags: "fFqrvz",
        valued: "nscb",
        numbers: true,
        open: true,
        long: &["--quiet", "--verbose", "--follow", "--retry"],
        long_valued: &["--lines", "--bytes", "--pid", "--sleep-interval"],
        ..PLAIN
    },
    Looker {
        name: "wc",
        flags: "clLmw",
        open: true,
        long: &["--lines", "--words", "--bytes", "--chars"],
        ..PLAIN
    },
    Looker { name: "pwd", flags: "LP", operands: Operands::None, ..PLAIN },
    Looker { name: "true", open: true, operands: Operands::Text, ..PLAIN },
    Looker { name: "false", open: true, operands: Operands::Text, ..PLAIN },
    Looker { name: ":", open: true, operands: Operands::Text, ..PLAIN },
    Looker { name: "which", flags: "as", open: true, operands: Operands::Text, ..PLAIN },
    Looker { name: "type", flags: "afptP", open: true, operands: Operands::Text, ..PLAIN },
    Looker { name: "whoami", operands: Operands::None, ..PLAIN },
    Looker { name: "id", flags: "agGnruzZ", operands: Operands::Text, ..PLAIN },
    Looker { name: "groups", operands: Operands::Text, ..PLAIN },
    Looker { name: "uname", flags: "asnrvmpio", operands: Operands::None, long: &["--all"], ..PLAIN },
    Looker { name: "hostname", operands: Operands::None, ..PLAIN },
    Looker { name: "nproc", operands: Operands::None, long: &["--all"], ..PLAIN },
    Looker { name: "uptime", flags: "ps", operands: Operands::None, ..PLAIN },
    Looker {
        name: "date",
        flags: "uR",
        valued: "d",
        files: "r",
        long: &["--utc", "--universal", "--iso-8601", "--rfc-3339"],
        long_valued: &["--date"],
        long_files: &["--reference"],
        operands: Operands::Text,
        ..PLAIN
    },
    Looker { name: "basename", flags: "az", valued: "s", open: true, operands: Operands::Text, ..PLAIN },
    Looker { name: "dirname", flags: "z", open: true, operands: Operands::Text, ..PLAIN },
    Looker {
        name: "realpath",
        flags: "eLmPqsz",
        open: true,
        long_files: &["--relative-to", "--relative-base"],
        ..PLAIN
    },
    Looker { name: "readlink", flags: "femnqsvz", open: true, ..PLAIN },
    Looker {
        name: "stat",
        flags: "FLlqrsxtZ",
        valued: "c",
        open: true,
        long: &["--dereference", "--file-system"],
        long_valued: &["--format", "--printf"],
        ..PLAIN
    },
    Looker {
        name: "file",
        flags: "bhiIkLnNprs0",
        valued: "eF",
        long: &["--brief", "--mime", "--mime-type"],
        ..PLAIN
    },
    Looker {
        name: "du",
        flags: "0abchklmPsSx",
        valued: "dBt",
        open: true,
        long: &["--summarize", "--human-readable", "--all", "--total", "--apparent-size", "--bytes"],
        long_valued: &["--max-depth", "--exclude", "--threshold"],
        ..PLAIN
    },
    Looker {
        name: "df",
        flags: "ahHiklPTxm",
        valued: "",
        open: true,
        long: &["--human-readable", "--all"],
        ..PLAIN
    },
    Looker {
        name: "tree",
        flags: "adfipqrstuvxACDFNQS",
        valued: "LPI",
        numbers: false,
        long: &["--dirsfirst", "--noreport", "--gitignore", "--prune", "--du", "--charset", "--filelimit"],
        ..PLAIN
    },
    Looker { name: "grep", ..GREP },
    Looker { name: "egrep", ..GREP },
    Looker { name: "fgrep", ..GREP },
    Looker {
        name: "rg",
        flags: "aSsiFvwxclnNoHIUPpqu0.",
        valued: "egtTmABCMjrdE",
        files: "f",
        long: &[
            "--color",
            "--hidden",
            "--no-ignore",
            "--no-ignore-vcs",
            "--no-heading",
            "--heading",
            "--line-number",
            "--ignore-case",
            "--smart-case",
            "--case-sensitive",
            "--files-with-matches",
            "--files-without-match",
            "--count",
            "--count-matches",
            "--fixed-strings",
            "--word-regexp",
            "--invert-match",
            "--multiline",
            "--only-matching",
            "--files",
            "--json",
            "--stats",
            "--vimgrep",
            "--column",
            "--pcre2",
            "--no-filename",
            "--with-filename",
            "--type-list",
            "--trim",
            "--no-config",
        ],
        long_valued: &[
            "--glob",
            "--iglob",
            "--type",
            "--type-not",
            "--max-count",
            "--context",
            "--after-context",
            "--before-context",
            "--max-depth",
            "--regexp",
            "--sort",
            "--sortr",
            "--max-columns",
            "--replace",
        ],
        long_files: &["--file", "--ignore-file"],
        operands: Operands::PatternFirst,
        ..PLAIN
    },
    Looker {
        name: "sort",
        flags: "bcCdfghiMnRrsuVmz",
        valued: "kt",
        long: &[
            "--numeric-sort",
            "--reverse",
            "--unique",
            "--human-numeric-sort",
            "--version-sort",
            "--check",
            "--stable",
            "--ignore-case",
            "--zero-terminated",
        ],
        long_valued: &["--key", "--field-separator"],
        ..PLAIN
    },
    Looker {
        name: "uniq",
        flags: "cdDiuz",
        valued: "fsw",
        operands: Operands::AtMostOne,
        long: &["--count", "--repeated", "--unique", "--ignore-case"],
        ..PLAIN
    },
    Looker {
        name: "cut",
        flags: "nsz",
        valued: "bcdf",
        open: true,
        long: &["--complement", "--only-delimited"],
        long_valued: &["--delimiter", "--fields", "--characters", "--bytes", "--output-delimiter"],
        ..PLAIN
    },
    Looker { name: "tr", flags: "cCdst", open: true, operands: Operands::Text, ..PLAIN },
    Looker { name: "nl", flags: "p", valued: "bdfhilnsvw", open: true, ..PLAIN },
    Looker { name: "rev", open: true, ..PLAIN },
    Looker { name: "tac", flags: "br", valued: "s", open: true, ..PLAIN },
    Looker { name: "paste", flags: "sz", valued: "d", open: true, ..PLAIN },
    Looker {
        name: "comm",
        flags: "123z",
        open: true,
        long: &["--check-order", "--nocheck-order", "--total"],
        ..PLAIN
    },
    Looker { name: "join", flags: "iz", valued: "12aejotv", open: true, ..PLAIN },
    Looker { name: "fold", flags: "bs", valued: "w", open: true, ..PLAIN },
    Looker { name: "column", flags: "tnxeLJ", valued: "csoNRTHO", ..PLAIN },
    Looker {
        name: "diff",
        flags: "abBcdEHiNnpqrstTuwyZ",
        valued: "CUWIxFL",
        open: false,
        long: &[
            "--brief",
            "--recursive",
            "--unified",
            "--context",
            "--color",
            "--ignore-all-space",
            "--ignore-space-change",
            "--ignore-blank-lines",
            "--side-by-side",
            "--suppress-common-lines",
            "--new-file",
            "--text",
            "--report-identical-files",
            "--strip-trailing-cr",
            "--minimal",
            "--no-dereference",
        ],
        long_valued: &["--exclude", "--width", "--label"],
        numbers: true,
        ..PLAIN
    },
    Looker { name: "cmp", flags: "bls", valued: "in", open: true, ..PLAIN },
    Looker { name: "md5sum", ..SUMS },
    Looker { name: "sha1sum", ..SUMS },
    Looker { name: "sha256sum", ..SUMS },
    Looker { name: "sha512sum", ..SUMS },
    Looker { name: "od", flags: "abcdfhiloxv", valued: "AjNt", open: true, ..PLAIN },
    Looker { name: "hexdump", flags: "bcCdovx", valued: "ens", open: true, ..PLAIN },
    // It takes no letters together: `-ps` is one option, and a letter too many would hide a file that it writes.
    Looker { name: "xxd", valued: "clgs", operands: Operands::AtMostOne, ..PLAIN },
    Looker {
        name: "jq",
        flags: "rcseSMCanj",
        long: &[
            "--raw-output",
            "--compact-output",
            "--slurp",
            "--exit-status",
            "--sort-keys",
            "--null-input",
        ],
        operands: Operands::PatternFirst,
        ..PLAIN
    },
    Looker { name: "strings", flags: "afow", valued: "net", long: &["--all"], ..PLAIN },
    Looker { name: "seq", flags: "w", valued: "fs", open: true, operands: Operands::Text, ..PLAIN },
    Looker { name: "sleep", open: true, operands: Operands::Text, ..PLAIN },
    Looker {
        name: "ps",
        flags: "AaedfFljwxuLTHMy",
        valued: "opuUCtgGq",
        open: true,
        operands: Operands::Text,
        ..PLAIN
    },
];
