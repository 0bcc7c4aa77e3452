use proptest::prelude::*;

use super::*;

mod cases;
mod looks;

fn written(word: &Word) -> String {
    match word {
        Word::Known(text) => text.to_string(),
        Word::Open(text) => format!("‹{text}›"),
    }
}

fn joined(words: &[Word], by: &str) -> String {
    words.iter().map(written).collect::<Vec<_>>().join(by)
}

fn run_as_text(run: &Run) -> String {
    let mut parts: Vec<String> =
        run.variables.iter().map(|it| format!("{}:={}", it.name, written(&it.value))).collect();
    parts.extend(run.words.iter().map(written));
    parts.extend(
        run.redirects.iter().map(|it| format!("{}{}", if it.writes { '>' } else { '<' }, written(&it.file))),
    );
    if !run.folders.is_empty() {
        parts.push(format!("@{}", joined(&run.folders, ",")));
    }
    parts.join(" ")
}

fn as_text(script: &Script) -> String {
    let runs: Vec<String> = script.runs.iter().map(run_as_text).collect();
    let doubt = if script.doubts.is_empty() { "" } else { " ??" };
    format!("{}{doubt}", runs.join(" ⏐ ")).trim_start().to_owned()
}

#[test]
fn command_lines_come_apart() {
    let mut wrong = Vec::new();
    for (source, expected) in cases::CASES {
        let script = parse(source);
        let found = as_text(&script);
        if found != *expected {
            wrong.push(format!(
                "{source:?}\n  gives    {found}\n  expected {expected}\n  {:?}",
                script.doubts
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(cases::CASES.len() > 300);
}

#[test]
fn some_runs_only_look() {
    for (source, expected) in looks::LOOKS {
        let script = parse(source);
        let found = looks_at(&script.runs[0]);
        let found = found.map_or_else(|| "no".to_owned(), |files| joined(&files, " "));
        assert_eq!(found, *expected, "{source}");
    }
}

#[test]
fn wrappers_that_were_taken_off_are_kept() {
    let script = parse("A=1 timeout 5 nice -n 3 env B=2 rm x");
    let run = &script.runs[0];
    let wrapped: Vec<String> = run.wrapped.iter().map(|words| joined(words, " ")).collect();
    assert_eq!(wrapped, ["timeout 5 nice -n 3 env B=2 rm x", "nice -n 3 env B=2 rm x", "env B=2 rm x"]);
    assert_eq!(run_as_text(run), "A:=1 B:=2 rm x");
    assert_eq!(&*run.text, "A=1 timeout 5 nice -n 3 env B=2 rm x");
}

#[test]
fn only_names_on_the_list_are_harmless() {
    for name in ["LANG", "LC_ALL", "TZ", "NO_COLOR", "CI", "RUST_LOG", "x", "my_file2", "_x"] {
        assert!(is_harmless(name), "{name}");
    }
    for name in [
        "PATH",
        "IFS",
        "BASH_ENV",
        "ENV",
        "LD_PRELOAD",
        "DYLD_INSERT_LIBRARIES",
        "PS4",
        "PROMPT_COMMAND",
        "SHELLOPTS",
        "GIT_DIR",
        "GIT_SSH_COMMAND",
        "PAGER",
        "EDITOR",
        "NODE_OPTIONS",
        "PYTHONPATH",
        "PERL5LIB",
        "RUBYOPT",
        "http_proxy",
        "HTTPS_PROXY",
        "all_proxy",
        "npm_config_prefix",
        "HOME",
        "CDPATH",
        "SECONDS",
        "RUSTC_WRAPPER",
        "CARGO_HOME",
        "LC_",
        "",
        "1x",
        "a-b",
        "EVIL",
        "Lang",
    ] {
        assert!(!is_harmless(name), "{name}");
    }
}

#[test]
fn deep_texts_end_in_a_doubt() {
    for (open, close) in
        [("$(", ")"), ("(", " )"), ("{ ", ";}"), ("\"$(", ")\""), ("${x:-", "}"), ("a=(", ")")]
    {
        let text = format!("{}a{}", open.repeat(3000), close.repeat(3000));
        assert!(!parse(&text).doubts.is_empty(), "{open}");
    }
    let wrapped = format!("{}rm x", "nice ".repeat(100));
    assert!(!parse(&wrapped).doubts.is_empty());
    let started = format!("{}rm x", "sudo ".repeat(100));
    assert!(!parse(&started).doubts.is_empty());
    assert!(!parse(&"a ".repeat(200_000)).doubts.is_empty());
}

const FRAGMENTS: [&str; 58] = [
    "git diff",
    "rm x",
    ";",
    "&",
    "&&",
    "||",
    "|",
    "|&",
    "\n",
    " ",
    "\t",
    "(",
    ")",
    "{ ",
    " }",
    "$(",
    "`",
    "\"",
    "'",
    "$'",
    "\\",
    "\\\n",
    "<(",
    ">(",
    "<<E\n",
    "\nE\n",
    "<<<",
    ">",
    ">>",
    ">&",
    "2>&1",
    "&>",
    "if ",
    "then ",
    "fi",
    "for x in ",
    "do ",
    "done",
    "case x in ",
    "esac",
    ";;",
    "[[ ",
    " ]]",
    "((",
    "))",
    "${x:-",
    "}",
    "a=",
    "a=(",
    "#",
    "$((",
    "function f ",
    "f()",
    "time ",
    "! ",
    "é",
    "\u{a0}",
    "\r",
];

proptest! {
    #[test]
    fn any_text_is_read_without_panic(source in ".*") {
        let _ = parse(&source);
    }

    #[test]
    fn fragments_are_read_without_panic(parts in prop::collection::vec(prop::sample::select(&FRAGMENTS[..]), 0..24)) {
        let script = parse(&parts.concat());
        for run in &script.runs {
            let _ = looks_at(run);
        }
    }

    /// Whatever stands before it, a command behind a separator is found or there is a doubt.
    #[test]
    fn nothing_hides_a_command(parts in prop::collection::vec(prop::sample::select(&FRAGMENTS[..]), 0..12)) {
        let source = format!("{}\nevil now\n", parts.concat());
        let script = parse(&source);
        // Only quotes can make data of it, and then the newline is in a word or in a heredoc.
        let quoted = parts.iter().any(|part| part.contains(['"', '\'', '`', 'E', '\\']));
        let found = script.runs.iter().any(|run| run.words.first().and_then(Word::known) == Some("evil"));
        prop_assert!(found || quoted || !script.doubts.is_empty(), "{source:?} {script:?}");
    }
}
