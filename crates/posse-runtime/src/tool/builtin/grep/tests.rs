use std::path::Path;

use serde_json::{Value, json};

use super::super::trial::{Answer, Trial};
use super::Grep;

fn project() -> Trial {
    let trial = Trial::new();
    trial.files(&[
        ("src/main.rs", "fn main() {\n    hello();\n}\n"),
        ("src/lib.rs", "// one\n// two\npub fn hello() {}\n// four\n// five\n// six\n// hello again\n"),
        ("src/deep/er/mod.rs", "use crate::hello;\n"),
        ("web/app.ts", "hello();\n"),
        ("web/app.tsx", "<b>HELLO</b>\n"),
        ("web/gen.js", "hello\n"),
        ("README.md", "Say hello{}\n"),
        (".hidden/notes.txt", "hello from the dark\n"),
        (".gitignore", "*.log\n/build/\ngen.js\n"),
        ("noise.log", "hello\n"),
        ("build/out.txt", "hello\n"),
        ("sub/.ignore", "skip.txt\n"),
        ("sub/skip.txt", "hello\n"),
        ("sub/crlf.txt", "hello\r\nworld\r\n"),
        (".git/config", "hello\n"),
        ("sub/.svn/entry", "hello\n"),
    ]);
    trial.file("bin.dat", b"hello\n\0binary\n", 20);
    let late = [b"hello\n".repeat(20_000).as_slice(), b"\0", b"hello\n"].concat();
    trial.file("late.dat", late, 21);
    let utf16: Vec<u8> = "\u{feff}hello wide\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    trial.file("wide.txt", utf16, 22);
    trial.file("latin.txt", b"hello caf\xe9\n", 23);
    trial
}

async fn grep(trial: &Trial, input: Value) -> Answer {
    trial.ask(&Grep, input).await
}

/// What the real ripgrep says, if `POSSE_TEST_RG` names one: the table below is then checked against it, too.
#[allow(clippy::disallowed_methods)] // A test that compares with another program has to find and start it.
fn real(cwd: &Path, args: &[&str]) -> Option<String> {
    let rg = std::env::var_os("POSSE_TEST_RG")?;
    let mut command = std::process::Command::new(rg);
    command.args(["--no-config", "--hidden", "--no-heading", "--sort", "path", "--no-ignore-global"]);
    for folder in super::search::VCS_FOLDERS {
        command.args(["--glob", &format!("!{folder}")]);
    }
    let output = command.args(args).current_dir(cwd).output().expect("ripgrep runs");
    Some(String::from_utf8_lossy(&output.stdout).lines().map(|line| line.trim_start_matches("./")).fold(
        String::new(),
        |mut text, line| {
            text.push_str(line.trim_end_matches('\r'));
            text.push('\n');
            text
        },
    ))
}

/// Files that contain a match, sorted by name: order is another test's.
#[tokio::test]
async fn the_same_files_as_ripgrep() {
    let everywhere = ".hidden/notes.txt README.md late.dat latin.txt src/deep/er/mod.rs src/lib.rs src/main.rs \
                      sub/crlf.txt web/app.ts wide.txt";
    let table: &[(Value, &[&str], &str)] = &[
        (json!({ "pattern": "hello" }), &["hello", "./"], everywhere),
        (
            json!({ "pattern": "hello", "path": "src" }),
            &["hello", "src"],
            "src/deep/er/mod.rs src/lib.rs src/main.rs",
        ),
        (json!({ "pattern": "HELLO" }), &["HELLO", "./"], "web/app.tsx"),
        (
            json!({ "pattern": "HELLO", "-i": "true", "path": "web" }),
            &["-i", "HELLO", "web"],
            "web/app.ts web/app.tsx",
        ),
        (json!({ "pattern": "hello", "type": "ts" }), &["hello", "-tts", "./"], "web/app.ts"),
        (
            json!({ "pattern": "hello", "type": "rust" }),
            &["hello", "-trust", "./"],
            "src/deep/er/mod.rs src/lib.rs src/main.rs",
        ),
        // A glob that names a file outweighs what git ignores.
        (json!({ "pattern": "hello", "glob": "*.js" }), &["hello", "-g", "*.js", "./"], "web/gen.js"),
        (
            json!({ "pattern": "(?i)hello", "glob": "*.{ts,tsx}" }),
            &["(?i)hello", "-g", "*.{ts,tsx}", "./"],
            "web/app.ts web/app.tsx",
        ),
        (
            json!({ "pattern": "hello", "glob": "*.md,*.ts" }),
            &["hello", "-g", "*.md", "-g", "*.ts", "./"],
            "README.md web/app.ts",
        ),
        (
            json!({ "pattern": "hello", "glob": "src/*.rs" }),
            &["hello", "-g", "src/*.rs", "./"],
            "src/lib.rs src/main.rs",
        ),
        (
            json!({ "pattern": "hello", "glob": "src/**/*.rs" }),
            &["hello", "-g", "src/**/*.rs", "./"],
            "src/deep/er/mod.rs src/lib.rs src/main.rs",
        ),
        (
            json!({ "pattern": "hello", "glob": "!*.rs" }),
            &["hello", "-g", "!*.rs", "./"],
            ".hidden/notes.txt README.md late.dat latin.txt sub/crlf.txt web/app.ts wide.txt",
        ),
        // Whoever names a file or an ignored folder wants it.
        (json!({ "pattern": "hello", "path": "noise.log" }), &["hello", "noise.log"], "noise.log"),
        (json!({ "pattern": "hello", "path": "build" }), &["hello", "build"], "build/out.txt"),
        (json!({ "pattern": "hello", "path": "bin.dat" }), &["hello", "bin.dat"], "bin.dat"),
        (json!({ "pattern": "hello$", "path": "sub" }), &["hello$", "sub"], ""),
        (json!({ "pattern": "^hello wide$" }), &["^hello wide$", "./"], "wide.txt"),
        (json!({ "pattern": "caf." }), &["caf.", "./"], ""),
        (json!({ "pattern": "caf(?-u:.)" }), &["caf(?-u:.)", "./"], "latin.txt"),
        (
            json!({ "pattern": "two.*pub", "multiline": true }),
            &["-U", "--multiline-dotall", "two.*pub", "./"],
            "src/lib.rs",
        ),
        (json!({ "pattern": "two.*pub" }), &["two.*pub", "./"], ""),
    ];
    let trial = project();
    for (input, args, want) in table {
        let answer = grep(&trial, input.clone()).await;
        let mut found: Vec<&str> = answer.text.lines().skip(1).collect();
        found.sort_unstable();
        let want: Vec<&str> = want.split_whitespace().collect();
        assert_eq!(found, want, "{input}");
        let header = match want.len() {
            0 => "No files found".to_owned(),
            1 => "Found 1 file".to_owned(),
            count => format!("Found {count} files"),
        };
        assert_eq!(answer.text.lines().next(), Some(header.as_str()), "{input}");
        assert_eq!(answer.field("numFiles"), &json!(want.len()), "{input}");
        if let Some(real) = real(trial.env.cwd(), &[&["-l"], *args].concat()) {
            assert_eq!(real.lines().collect::<Vec<_>>(), want, "ripgrep itself, {input}");
        }
    }
}

#[tokio::test]
async fn the_same_lines_as_ripgrep() {
    let table: &[(Value, &[&str], &str)] = &[
        (
            json!({ "pattern": "hello", "path": "src" }),
            &["-n", "hello", "src"],
            "src/deep/er/mod.rs:1:use crate::hello;\nsrc/lib.rs:3:pub fn hello() {}\nsrc/lib.rs:7:// hello again\n\
             src/main.rs:2:    hello();\n",
        ),
        (
            json!({ "pattern": "hello", "path": "src/main.rs", "-n": false }),
            &["-N", "hello", "src/main.rs"],
            "    hello();\n",
        ),
        (
            json!({ "pattern": "main", "path": "src/main.rs" }),
            &["-n", "main", "src/main.rs"],
            "1:fn main() {\n",
        ),
        (
            json!({ "pattern": "hello", "path": "src/lib.rs", "-C": 1 }),
            &["-n", "-C1", "hello", "src/lib.rs"],
            "2-// two\n3:pub fn hello() {}\n4-// four\n--\n6-// six\n7:// hello again\n",
        ),
        (
            json!({ "pattern": "hello", "path": "src", "-A": "1", "glob": "*i*.rs" }),
            &["-n", "-A1", "-g", "*i*.rs", "hello", "src"],
            "src/lib.rs:3:pub fn hello() {}\nsrc/lib.rs-4-// four\n--\nsrc/lib.rs:7:// hello again\n--\n\
             src/main.rs:2:    hello();\nsrc/main.rs-3-}\n",
        ),
        (
            json!({ "pattern": "hello", "path": "src/lib.rs", "context": 1, "-B": 0 }),
            &["-n", "-C1", "-B0", "hello", "src/lib.rs"],
            "3:pub fn hello() {}\n4-// four\n--\n7:// hello again\n",
        ),
        (
            json!({ "pattern": "two.*?pub fn", "path": "src/lib.rs", "multiline": true }),
            &["-n", "-U", "--multiline-dotall", "two.*?pub fn", "src/lib.rs"],
            "2:// two\n3:pub fn hello() {}\n",
        ),
        (json!({ "pattern": "world", "path": "sub" }), &["-n", "world", "sub"], "sub/crlf.txt:2:world\n"),
        (json!({ "pattern": "hello\\{\\}" }), &["-n", "hello\\{\\}", "./"], "README.md:1:Say hello{}\n"),
        (json!({ "pattern": "caf" }), &["-n", "caf", "./"], "latin.txt:1:hello caf\u{fffd}\n"),
    ];
    let trial = project();
    for (input, args, want) in table {
        let mut call = input.clone();
        call["output_mode"] = "content".into();
        let answer = grep(&trial, call).await;
        assert_eq!(answer.text, want.trim_end_matches('\n'), "{input}");
        assert_eq!(answer.field("numLines"), &json!(want.lines().count()), "{input}");
        if let Some(real) = real(trial.env.cwd(), args) {
            assert_eq!(&real, want, "ripgrep itself, {input}");
        }
    }
}

#[tokio::test]
async fn the_same_counts_as_ripgrep() {
    let table: &[(Value, &[&str], &str, u64)] = &[
        (
            json!({ "pattern": "hello", "path": "src" }),
            &["hello", "src"],
            "src/deep/er/mod.rs:1\nsrc/lib.rs:2\nsrc/main.rs:1\n",
            4,
        ),
        // Two on one line are one line; across lines every match counts.
        (json!({ "pattern": "l", "path": "web" }), &["l", "web"], "web/app.ts:1\n", 1),
        (
            json!({ "pattern": "l\\n?", "path": "web", "multiline": true }),
            &["-U", "l\\n?", "web"],
            "web/app.ts:2\n",
            2,
        ),
        // It turns out late that this file is binary: no number at all.
        (json!({ "pattern": "^hello$", "glob": "*.dat" }), &["^hello$", "-g", "*.dat", "./"], "", 0),
    ];
    let trial = project();
    for (input, args, want, matches) in table {
        let mut call = input.clone();
        call["output_mode"] = "count".into();
        let answer = grep(&trial, call).await;
        assert_eq!(answer.field("content"), &json!(want.trim_end()), "{input}");
        assert_eq!(answer.field("numMatches"), &json!(matches), "{input}");
        if let Some(real) = real(trial.env.cwd(), &[&["-c"], *args].concat()) {
            assert_eq!(&real, want, "ripgrep itself, {input}");
        }
    }
    let answer = grep(&trial, json!({ "pattern": "hello", "path": "src", "output_mode": "count" })).await;
    assert!(answer.text.ends_with("\n\nFound 4 matches in 3 files."), "{}", answer.text);
}

#[tokio::test]
async fn files_come_newest_first_and_the_rest_on_demand() {
    let trial = Trial::new();
    for (name, age) in [("b", 5), ("a", 5), ("old", 9), ("new", 1)] {
        trial.file(name, "x\n", age);
    }
    let answer = grep(&trial, json!({ "pattern": "x" })).await;
    assert_eq!(answer.text, "Found 4 files\nnew\na\nb\nold");
    assert_eq!(answer.field("filenames"), &json!(["new", "a", "b", "old"]));
    assert_eq!(answer.structured.as_ref().and_then(|all| all.get("appliedLimit")), None);

    let answer = grep(&trial, json!({ "pattern": "x", "head_limit": "2", "offset": 1 })).await;
    assert_eq!(
        answer.text,
        "Found 4 files\na\nb\n\n[Results 2 to 3 are shown, there are more. Go on with offset: 3]"
    );
    assert_eq!((answer.field("appliedLimit"), answer.field("appliedOffset")), (&json!(2), &json!(1)));

    let answer = grep(&trial, json!({ "pattern": "x", "offset": 3 })).await;
    assert_eq!(answer.text, "Found 4 files\nold");
    let answer = grep(&trial, json!({ "pattern": "x", "offset": 4 })).await;
    assert_eq!(answer.text, "Found 4 files\n[Nothing at offset 4 or behind it]");
}

/// Every page is the same part of the same whole, whichever thread was first.
#[tokio::test]
async fn lines_can_be_paged_through() {
    let trial = Trial::new();
    for n in 0..300 {
        trial.file(&format!("d{}/f{n:03}.txt", n % 7), format!("hit {n} a\nno\nhit {n} b\n"), n);
    }
    let all = json!({ "pattern": "hit", "output_mode": "content", "head_limit": 0 });
    let whole = grep(&trial, all).await;
    assert_eq!(whole.text.lines().count(), 600);
    let mut pages = Vec::new();
    for offset in (0..600).step_by(97) {
        let page = json!({ "pattern": "hit", "output_mode": "content", "head_limit": 97, "offset": offset });
        let page = grep(&trial, page).await;
        pages.extend(page.field("content").as_str().unwrap().lines().map(str::to_owned));
    }
    assert_eq!(pages, whole.text.lines().collect::<Vec<_>>());
    let mut sorted = pages.clone();
    sorted.sort_by(|a, b| a.split(':').next().cmp(&b.split(':').next()));
    assert_eq!(pages, sorted, "by path");

    let default = grep(&trial, json!({ "pattern": "hit", "output_mode": "content" })).await;
    assert_eq!((default.field("numLines"), default.field("numFiles")), (&json!(250), &json!(125)));
    assert!(default.text.ends_with("[Results 1 to 250 are shown, there are more. Go on with offset: 250]"));
}

#[tokio::test]
async fn long_lines_and_long_answers_are_cut() {
    let trial = Trial::new();
    trial.file("wide.txt", format!("{}\n", "ä".repeat(501)), 0);
    trial.file("fits.txt", format!("{}\n", "ä".repeat(500)), 0);
    let answer = grep(&trial, json!({ "pattern": "ä", "output_mode": "content", "-n": false })).await;
    let cut = format!("wide.txt:{} [… 1 more characters]", "ä".repeat(500));
    assert_eq!(answer.text, format!("fits.txt:{}\n{cut}", "ä".repeat(500)));

    trial.file("many.txt", format!("{}\n", "m".repeat(99)).repeat(1000), 0);
    let input = json!({ "pattern": "m+", "output_mode": "content", "head_limit": 0, "path": "many.txt", "-n": false });
    let answer = grep(&trial, input).await;
    assert_eq!(answer.field("numLines"), &json!(200));
    assert!(answer.text.chars().count() < 20_200, "{}", answer.text.len());
    assert!(answer.text.ends_with("narrow the search, or go on with offset: 200]"), "{}", answer.text);
}

#[tokio::test]
async fn binary_data_ends_what_is_shown() {
    let trial = project();
    let content =
        |path: &str| json!({ "pattern": "hello", "path": path, "output_mode": "content", "head_limit": 0 });
    let answer = grep(&trial, content("bin.dat")).await;
    assert_eq!(answer.text, "[a binary file, with a NUL byte at 6: the rest of it is not shown]");
    // A folder is searched block by block, and the NUL byte is seen with the second.
    let glob = json!({ "pattern": "hello", "glob": "*.dat", "output_mode": "content", "offset": 10_920 });
    let answer = grep(&trial, glob).await;
    assert_eq!(
        answer.text,
        "late.dat:10921:hello\nlate.dat:10922:hello\n\
         late.dat: [a binary file, with a NUL byte at 120000: the rest of it is not shown]"
    );
}

#[tokio::test]
async fn what_is_wrong_is_said() {
    let trial = project();
    for (input, want) in [
        (json!({ "pattern": "interface{}" }), "A literal brace is written with a backslash"),
        (json!({ "pattern": "(" }), "Invalid regular expression: regex parse error"),
        (json!({ "pattern": "a\\nb" }), "set multiline to true"),
        (json!({ "pattern": "(?<=a)b" }), "neither look-around nor backreferences"),
        (json!({ "pattern": "x", "path": "nowhere" }), "Path does not exist: $ENV/project/nowhere"),
        (json!({ "pattern": "x", "type": "rs" }), "Unknown type \"rs\". Did you mean rust?"),
        (json!({ "pattern": "x", "type": "pyhton" }), "Did you mean python?"),
        (json!({ "pattern": "x", "type": "nothing-like-it" }), "Use glob instead"),
        (json!({ "pattern": "x", "glob": "a[" }), "Invalid glob"),
        (json!({ "pattern": "x", "head_limit": "many" }), "expected a whole number"),
    ] {
        let answer = grep(&trial, input.clone()).await;
        assert!(answer.is_error && answer.text.contains(want), "{input}: {}", answer.text);
    }
}

#[tokio::test]
async fn nothing_found_is_not_an_error() {
    let trial = project();
    for (mode, want) in [
        ("files_with_matches", "No files found"),
        ("content", "No matches found"),
        ("count", "No matches found"),
    ] {
        let answer = grep(&trial, json!({ "pattern": "no such thing", "output_mode": mode })).await;
        assert_eq!((answer.text.as_str(), answer.is_error), (want, false));
        assert_eq!((answer.field("mode"), answer.field("filenames")), (&json!(mode), &json!([])));
    }
}

/// Paths are short below the working directory and whole elsewhere.
#[tokio::test]
async fn paths_start_at_the_working_directory() {
    let trial = project();
    trial.env.write("elsewhere/x.txt", "hello\n");
    let answer = grep(&trial, json!({ "pattern": "hello", "path": "../elsewhere" })).await;
    assert_eq!(answer.text, "Found 1 file\n$ENV/elsewhere/x.txt");
    let glob = json!({ "pattern": "hello", "path": "../elsewhere", "glob": "*.txt" });
    assert_eq!(grep(&trial, glob).await.text, "Found 1 file\n$ENV/elsewhere/x.txt");
    trial.cx.cwd.set(trial.env.path("project/src"));
    assert_eq!(grep(&trial, json!({ "pattern": "two" })).await.text, "Found 1 file\nlib.rs");
    let answer = grep(&trial, json!({ "pattern": "two", "path": "./deep/../lib.rs" })).await;
    assert_eq!(answer.text, "Found 1 file\nlib.rs");
    // Either folder may be meant.
    trial.cx.cwd.set(trial.env.path("project"));
    for glob in ["src/deep/**", "deep/**", "/deep/**", "!src/*.rs"] {
        let answer = grep(&trial, json!({ "pattern": "hello", "path": "src", "glob": glob })).await;
        assert_eq!(answer.text, "Found 1 file\nsrc/deep/er/mod.rs", "{glob}");
    }
}

#[tokio::test]
async fn the_users_own_ignore_file_counts() {
    let trial = project();
    trial.env.write("home/.config/git/ignore", "notes.txt\n");
    let answer = grep(&trial, json!({ "pattern": "dark" })).await;
    assert_eq!(answer.text, "No files found");
    trial.env.write("home/.gitconfig", "[core]\n\texcludesFile = ~/mine\n");
    let answer = grep(&trial, json!({ "pattern": "dark" })).await;
    assert_eq!(answer.text, "Found 1 file\n.hidden/notes.txt");
}

#[cfg(unix)]
#[tokio::test]
async fn links_are_not_followed_and_pipes_not_read() {
    let trial = project();
    trial.env.write("elsewhere/x.txt", "only here\n");
    std::os::unix::fs::symlink(trial.env.path("elsewhere"), trial.env.path("project/link")).unwrap();
    assert_eq!(grep(&trial, json!({ "pattern": "only here" })).await.text, "No files found");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        trial.env.path("project/pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .unwrap();
    assert_eq!(grep(&trial, json!({ "pattern": "only here" })).await.text, "No files found");
    let answer = grep(&trial, json!({ "pattern": "x", "path": "pipe" })).await;
    assert_eq!(answer.text, "$ENV/project/pipe is neither a file nor a folder.");
}

#[tokio::test]
async fn an_interrupted_search_says_so() {
    let trial = project();
    trial.cx.stop.cancel();
    let answer = grep(&trial, json!({ "pattern": "hello" })).await;
    assert_eq!((answer.text.as_str(), answer.is_error), ("Interrupted before it was done.", true));
}

/// The flag stops the walk itself, not only the waiting for it.
#[test]
fn a_raised_flag_ends_the_walk() {
    let trial = project();
    let input = serde_json::from_value(json!({ "pattern": "hello" })).unwrap();
    let plan = super::Plan::new(&input, &trial.cx).unwrap();
    let found = |halt: bool| plan.run(&halt.into()).structured.unwrap()["numFiles"].clone();
    assert_eq!((found(false), found(true)), (json!(10), json!(0)));
}

#[test]
fn flags_keep_their_names_in_the_schema() {
    let schema = crate::tool::AnyTool::spec(&Grep).input_schema;
    for name in ["-A", "-B", "-C", "-n", "-i", "type", "head_limit", "output_mode"] {
        assert!(schema["properties"][name]["description"].is_string(), "{name} in {schema}");
    }
    assert_eq!(schema["required"], json!(["pattern"]));
}
