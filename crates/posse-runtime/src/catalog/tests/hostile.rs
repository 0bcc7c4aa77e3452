//! What must never stop posse: whatever lies in an agents folder costs a diagnostic, not the program.

use super::*;

#[test]
fn every_hostile_file_is_named_and_the_good_one_loads() {
    let env = TestEnv::new();
    env.agent("good.md", &agent("good", "still here"));
    env.agent("huge.md", "");
    std::fs::File::options()
        .write(true)
        .open(env.path("project/.claude/agents/huge.md"))
        .unwrap()
        .set_len(50 << 20)
        .unwrap();
    env.write("project/.claude/agents/binary.md", b"---\nname: x\0y\n---\n");
    env.write("project/.claude/agents/latin1.md", b"---\nname: caf\xe9\ndescription: d\n---\n");
    let bomb: String = std::iter::once("a0: &a0 x\n".to_owned())
        .chain((1..40).map(|n| format!("a{n}: &a{n} [*a{}, *a{}]\n", n - 1, n - 1)))
        .collect();
    env.agent("bomb.md", &format!("---\nname: bomb\ndescription: d\n{bomb}---\n"));
    let folder = env.path("project/.claude/agents");
    std::os::unix::fs::symlink("nowhere.md", folder.join("dangling.md")).unwrap();
    std::os::unix::fs::symlink("itself.md", folder.join("itself.md")).unwrap();
    std::os::unix::fs::symlink("../agents", folder.join("circle")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        folder.join("fifo.md"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .unwrap();
    let socket = std::os::unix::net::UnixListener::bind(folder.join("socket.md")).unwrap();
    assert_eq!(
        summary(&env, &CatalogOptions::default()),
        "\
caf\u{fffd} project d
good project still here
  failed binary.md binary-file
  failed bomb.md yaml-too-complex
  failed huge.md file-too-large"
    );
    let reported = problems(&env, &CatalogOptions::default());
    for line in [
        "circle link-circle",
        "dangling.md broken-link",
        "itself.md broken-link",
        "fifo.md not-a-file",
        "socket.md not-a-file",
        "latin1.md:2:10 invalid-utf8",
    ] {
        assert!(reported.contains(&format!("project/.claude/agents/{line}")), "{line} in\n{reported}");
    }
    drop(socket);
}

#[test]
fn a_thicket_of_links_is_read_once() {
    let env = TestEnv::new();
    // Twelve folders, each with links to all the others: followed blindly, more paths than atoms.
    let folder = |n: usize| env.path(&format!("project/.claude/agents/d{n:02}"));
    for n in 0..12 {
        std::fs::create_dir_all(folder(n)).unwrap();
        env.agent(&format!("d{n:02}/a.md"), &agent(&format!("agent-{n:02}"), "x"));
    }
    for n in 0..12 {
        for to in 0..12 {
            std::os::unix::fs::symlink(folder(to), folder(n).join(format!("to-{to:02}"))).unwrap();
        }
    }
    let catalog = load(&env, &CatalogOptions::default());
    assert_eq!(catalog.registry.active.iter().filter(|agent| agent.name.starts_with("agent-")).count(), 12);
    assert!(catalog.registry.shadowed.is_empty(), "the same file twice is not two agents");
}

#[test]
fn links_to_files_and_folders_are_followed_and_hidden_places_count() {
    let env = TestEnv::new();
    env.write("shared/team/a.md", agent("linked-folder", "x"));
    env.write("shared/b.md", agent("linked-file", "x"));
    env.agent(".hidden/node_modules/c.md", &agent("hidden", "x"));
    env.agent("upper.MD", &agent("upper", "not read: only .md is"));
    env.agent("other.txt", &agent("other", "not read"));
    let folder = env.path("project/.claude/agents");
    std::os::unix::fs::symlink(env.path("shared/team"), folder.join("team")).unwrap();
    std::os::unix::fs::symlink(env.path("shared/b.md"), folder.join("b.md")).unwrap();
    // What leads out of a folder that nobody trusts is left alone.
    assert_eq!(summary(&env, &CatalogOptions::default()), "hidden project x");
    let found = problems(&env, &CatalogOptions::default());
    for file in ["b.md", "team"] {
        assert!(found.contains(&format!("project/.claude/agents/{file} link-leads-out")), "{found}");
    }
    let trusted = serde_json::json!({ "projects": { env.cwd().display().to_string():
        { "hasTrustDialogAccepted": true } } });
    env.write("home/.claude.json", trusted.to_string());
    assert_eq!(
        summary(&env, &CatalogOptions::default()),
        "hidden project x\nlinked-file project x\nlinked-folder project x"
    );
}

#[test]
fn folders_nested_without_end_end() {
    let env = TestEnv::new();
    let mut deep = String::new();
    for _ in 0..80 {
        deep.push_str("d/");
    }
    env.agent(&format!("{deep}a.md"), &agent("too-deep", "x"));
    env.agent("d/a.md", &agent("fine", "x"));
    assert_eq!(summary(&env, &CatalogOptions::default()), "fine project x");
    assert!(problems(&env, &CatalogOptions::default()).contains("too-deep"));
}

#[test]
fn broken_settings_are_reported_with_their_place() {
    let env = TestEnv::new();
    env.agent("a.md", &agent("a", "x"));
    env.write(
        "project/.claude/settings.json",
        "{\n  \"model\": 5,\n  \"permissions\": {\"deny\": \"Agent(a)\"}\n}",
    );
    assert_eq!(
        problems(&env, &CatalogOptions::default()),
        "project/.claude/settings.json:2:12 invalid-setting\nproject/.claude/settings.json:3:27 invalid-setting"
    );
    // The deny counts all the same.
    let catalog = load(&env, &CatalogOptions::default());
    assert!(posse_core::spec::denied("a", &catalog.policy).is_some());
    env.write("project/.claude/settings.json", "{ not json");
    assert_eq!(problems(&env, &CatalogOptions::default()), "project/.claude/settings.json:1:3 json-syntax");
    assert_eq!(summary(&env, &CatalogOptions::default()), "a project x");
}

#[test]
fn rules_that_cannot_be_read_stop_the_start() {
    let env = TestEnv::new();
    for (file, text, stops) in [
        ("project/.claude/settings.json", r#"{"permissions": {"deny": ["Bash"]"#, true),
        ("project/.claude/settings.json", "{ not json", false),
        ("managed/managed-settings.json", "{bad", true),
    ] {
        let path = env.write(file, text);
        let catalog = load(&env, &CatalogOptions::default());
        assert_eq!(catalog.check().is_err(), stops, "{file}: {text}");
        std::fs::remove_file(path).unwrap();
    }
}
