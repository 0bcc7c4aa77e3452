use serde_json::{Value, json};

use super::super::trial::{Answer, Trial};
use super::Glob;

fn project() -> Trial {
    let trial = Trial::new();
    trial.files(&[
        ("src/main.rs", ""),
        ("src/lib.rs", ""),
        ("src/deep/er/mod.rs", ""),
        ("web/app.ts", ""),
        ("web/app.tsx", ""),
        ("web/[id].ts", ""),
        ("README.md", ""),
        (".hidden/notes.md", ""),
        (".gitignore", "ignored.rs\n"),
        ("ignored.rs", ""),
        (".git/hooks/x.rs", ""),
        ("node_modules/left/pad.rs", ""),
    ]);
    trial
}

async fn glob(trial: &Trial, input: Value) -> Answer {
    trial.ask(&Glob, input).await
}

#[tokio::test]
async fn patterns_and_what_they_match() {
    let trial = project();
    let absolute = trial.env.path("project/src/*.rs");
    // Newest first, which is the order above.
    for (pattern, want) in [
        ("**/*.rs", "src/main.rs src/lib.rs src/deep/er/mod.rs ignored.rs"),
        // Without a slash a name is looked for everywhere, as ripgrep does.
        ("*.rs", "src/main.rs src/lib.rs src/deep/er/mod.rs ignored.rs"),
        ("mod.rs", "src/deep/er/mod.rs"),
        ("src/*.rs", "src/main.rs src/lib.rs"),
        ("./src/*.rs", "src/main.rs src/lib.rs"),
        ("src/main.rs", "src/main.rs"),
        ("src/**", "src/main.rs src/lib.rs src/deep/er/mod.rs"),
        ("src/", "src/main.rs src/lib.rs src/deep/er/mod.rs"),
        ("src/*/mod.rs", ""),
        ("src/*/*/mod.rs", "src/deep/er/mod.rs"),
        ("web/*.{ts,tsx}", "web/app.ts web/app.tsx web/[id].ts"),
        ("{src,web}/*.{rs,tsx}", "src/main.rs src/lib.rs web/app.tsx"),
        ("web/app.ts{,x}", "web/app.ts web/app.tsx"),
        ("web/app.ts?", "web/app.tsx"),
        ("web/\\[id\\].ts", "web/[id].ts"),
        ("**/*.md", "README.md .hidden/notes.md"),
        ("**/.hidden/*", ".hidden/notes.md"),
        (".git/**/*.rs", ".git/hooks/x.rs"),
        ("node_modules/**/*.rs", "node_modules/left/pad.rs"),
        ("**/node_modules/**/*.rs", "node_modules/left/pad.rs"),
        ("nowhere/*.rs", ""),
        ("*.zig", ""),
        (absolute.to_str().unwrap(), "src/main.rs src/lib.rs"),
    ] {
        let answer = glob(&trial, json!({ "pattern": pattern })).await;
        let want: Vec<&str> = want.split_whitespace().collect();
        assert_eq!(answer.field("filenames"), &json!(want), "{pattern}");
        assert_eq!(
            answer.text,
            if want.is_empty() { "No files found".into() } else { want.join("\n") },
            "{pattern}"
        );
        assert!(!answer.is_error, "{pattern}");
    }
}

#[tokio::test]
async fn a_path_is_where_the_pattern_starts() {
    let trial = project();
    trial.env.write("elsewhere/x.rs", "");
    trial.env.write("home/y.rs", "");
    for (input, want) in [
        (json!({ "pattern": "*.rs", "path": "src/deep" }), "src/deep/er/mod.rs"),
        (json!({ "pattern": "er/*.rs", "path": "src/deep" }), "src/deep/er/mod.rs"),
        (json!({ "pattern": "*.rs", "path": "../elsewhere" }), "$ENV/elsewhere/x.rs"),
        (json!({ "pattern": "../elsewhere/*.rs" }), "$ENV/elsewhere/x.rs"),
        (json!({ "pattern": "~/*.rs" }), "$ENV/home/y.rs"),
        (json!({ "pattern": "*.rs", "path": "" }), "src/main.rs\nsrc/lib.rs\nsrc/deep/er/mod.rs\nignored.rs"),
    ] {
        assert_eq!(glob(&trial, input.clone()).await.text, want, "{input}");
    }
}

#[tokio::test]
async fn more_than_a_hundred_are_cut() {
    let trial = Trial::new();
    for n in 0..103 {
        trial.file(&format!("f{n:03}"), "", n);
    }
    let answer = glob(&trial, json!({ "pattern": "f*" })).await;
    assert_eq!((answer.field("numFiles"), answer.field("truncated")), (&json!(100), &json!(true)));
    assert!(answer.text.starts_with("f000\nf001\n") && answer.text.contains("\nf099\n\n"), "{}", answer.text);
    assert!(
        answer.text.ends_with("[The 100 newest of 103 files; a narrower pattern or path shows the others]")
    );
    let answer = glob(&trial, json!({ "pattern": "f10*" })).await;
    assert_eq!((answer.field("numFiles"), answer.field("truncated")), (&json!(3), &json!(false)));
    assert_eq!(answer.field("durationMs"), &json!(0), "under a clock that stands still");
}

#[cfg(unix)]
#[tokio::test]
async fn a_link_counts_if_there_is_a_file_behind_it() {
    let trial = project();
    let link = |from: &str, to: &str| std::os::unix::fs::symlink(to, trial.env.path(from)).unwrap();
    link("project/CLAUDE.txt", "README.md");
    link("project/gone.txt", "nowhere");
    link("project/loop", ".");
    assert_eq!(glob(&trial, json!({ "pattern": "**/*.txt" })).await.text, "CLAUDE.txt");
}

#[tokio::test]
async fn what_is_wrong_is_said() {
    let trial = project();
    for (input, want) in [
        (json!({ "pattern": "a[" }), "Invalid glob \"a[\""),
        (json!({ "pattern": " " }), "The pattern is empty"),
        (json!({ "pattern": "*", "path": "nowhere" }), "Path does not exist: $ENV/project/nowhere"),
        (json!({ "pattern": "*", "path": "README.md" }), "is a file; path must be a folder"),
    ] {
        let answer = glob(&trial, input.clone()).await;
        assert!(answer.is_error && answer.text.contains(want), "{input}: {}", answer.text);
    }
    trial.cx.stop.cancel();
    assert!(glob(&trial, json!({ "pattern": "*" })).await.is_error);
}
