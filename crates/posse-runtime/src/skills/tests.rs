use posse_core::skill::SkillRegistry;

use super::*;
use crate::plugins::CommandPlace;

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
    std::fs::write(path, text).expect("a file");
}

fn plugin(root: &Path) -> PluginSkills {
    PluginSkills {
        name: "kit".into(),
        root: root.to_owned(),
        skills: vec![root.join("skills"), root.join("single")],
        commands: vec![
            CommandPlace::Folder(root.join("commands")),
            CommandPlace::File { path: root.join("more/one.md"), name: None },
        ],
        variables: Vec::new(),
    }
}

fn names(registry: &SkillRegistry) -> Vec<&str> {
    registry.active.iter().map(|skill| &*skill.name).collect()
}

#[test]
fn everything_is_found_and_bad_files_cost_only_themselves() {
    let temp = tempfile::tempdir().expect("a folder");
    let root = temp.path();
    write(&root.join("skills/a/SKILL.md"), "A.");
    write(&root.join("skills/a/nested/SKILL.md"), "not found");
    write(&root.join("skills/b/SKILL.md"), "bin\0ary");
    write(&root.join("skills/c/skill.md"), "not this name");
    write(&root.join("skills/stray.md"), "not a skill");
    write(&root.join("single/SKILL.md"), "S.");
    write(&root.join("commands/x/y.md"), "Y.");
    write(&root.join("commands/readme.txt"), "no");
    write(&root.join("more/one.md"), "One.");
    std::os::unix::fs::symlink("no-such-thing", root.join("skills/d")).expect("a link");
    std::fs::create_dir_all(root.join("skills/e")).expect("a folder");
    std::os::unix::fs::symlink("no-such-thing", root.join("skills/e/SKILL.md")).expect("a link");
    let places = Places::with_plugins(vec![plugin(root)]);
    let registry = places.read();
    assert_eq!(names(&registry), ["kit:a", "kit:one", "kit:single", "kit:x:y"]);
    let wrong: Vec<String> = registry
        .diagnostics
        .iter()
        .filter(|one| one.severity > posse_core::diagnostic::Severity::Note)
        .map(|one| one.file.strip_prefix(root).expect("below").display().to_string())
        .collect();
    assert_eq!(wrong, ["skills/b/SKILL.md", "skills/e/SKILL.md"]);
}

#[test]
fn a_shelf_reads_again_only_what_has_changed() {
    let temp = tempfile::tempdir().expect("a folder");
    let root = temp.path();
    write(&root.join("skills/a/SKILL.md"), "A.");
    let shelf = Shelf::open(Places::with_plugins(vec![plugin(root)]), Circumstances::default());
    let before = shelf.registry();
    assert!(Arc::ptr_eq(&before, &shelf.look()), "nothing has changed");
    write(&root.join("skills/a/SKILL.md"), "Longer.");
    write(&root.join("skills/b/SKILL.md"), "B.");
    let after = shelf.look();
    assert_eq!(names(&after), ["kit:a", "kit:b"]);
    assert_eq!(after.get("kit:a").map(|skill| &*skill.body), Some("Longer."));
    std::fs::remove_dir_all(root.join("skills")).expect("gone");
    assert_eq!(names(&shelf.look()), [""; 0]);
}

#[test]
fn the_budget_is_what_is_said_or_a_share_of_the_window() {
    for (set, fraction, window, want) in [
        (Some(500), Some(0.5), 200_000, 500),
        (None, None, 200_000, 8_000),
        (None, Some(0.02), 200_000, 16_000),
        (None, Some(7.0), 200_000, 8_000),
        (Some(0), None, 200_000, 8_000),
        (None, None, 0, 8_000),
    ] {
        assert_eq!(share(set, fraction, window), want, "{set:?} {fraction:?} {window}");
    }
}

#[test]
fn only_what_allows_nothing_is_harmless() {
    let temp = tempfile::tempdir().expect("a folder");
    let root = temp.path();
    write(&root.join("skills/a/SKILL.md"), "A.");
    write(&root.join("skills/b/SKILL.md"), "---\nallowed-tools: Bash\n---\nB.");
    write(&root.join("skills/c/SKILL.md"), "---\ndisable-model-invocation: true\n---\nC.");
    write(&root.join("skills/x*/SKILL.md"), "X.");
    let shelf = Shelf::open(Places::with_plugins(vec![plugin(root)]), Circumstances::default());
    let rules: Vec<String> = shelf.harmless().iter().map(|rule| rule.text.to_string()).collect();
    assert_eq!(rules, ["Skill(kit:a)"]);
}

#[tokio::test]
async fn without_a_judge_nothing_is_run_and_nothing_is_read() {
    let temp = tempfile::tempdir().expect("a folder");
    let root = temp.path();
    write(
        &root.join("skills/a/SKILL.md"),
        "---\nallowed-tools: Bash, Read\n---\n!`touch made` @skills/a/SKILL.md",
    );
    let world = World { cwd: root.to_owned(), ..World::default() };
    let cx = ToolCx::new(Arc::new(world), root.join("spool"));
    let shelf = Shelf::open(Places::with_plugins(vec![plugin(root)]), Circumstances::default());
    let loaded = shelf.load("kit:a", "", &cx).await.expect("a skill");
    assert!(
        loaded.text.contains("[not run: `touch made`") && loaded.text.contains("[not read: @skills/a"),
        "{loaded:?}"
    );
    assert!(!root.join("made").exists());
}
