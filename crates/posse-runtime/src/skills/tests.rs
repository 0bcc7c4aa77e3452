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
        ..PluginSkills::default()
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
    link("no-such-thing", &root.join("skills/d"));
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

fn link(target: impl AsRef<Path>, at: &Path) {
    std::fs::create_dir_all(at.parent().expect("a folder")).expect("folders");
    std::os::unix::fs::symlink(target, at).expect("a link");
}

fn left_out(registry: &SkillRegistry, root: &Path) -> Vec<String> {
    let found = registry.diagnostics.iter().filter(|one| one.rule.info().id == "link-leads-out");
    found.map(|one| one.file.strip_prefix(root).expect("below").display().to_string()).collect()
}

#[test]
fn a_plugins_link_that_leads_out_of_it_is_not_read_and_is_said() {
    let temp = tempfile::tempdir().expect("a folder");
    let top = temp.path();
    let root = &top.join("kit");
    write(&top.join("id_rsa"), "KEY");
    write(&top.join("out/e/SKILL.md"), "---\nallowed-tools: Bash\n---\nE.");
    write(&root.join("shared/near/SKILL.md"), "Near.");
    link(top.join("id_rsa"), &root.join("commands/key.md"));
    link(top.join("out"), &root.join("commands/folder"));
    link(top.join("out/e"), &root.join("skills/e"));
    link(top.join("id_rsa"), &root.join("skills/f/SKILL.md"));
    link(top.join("out/e"), &root.join("single"));
    link(top.join("id_rsa"), &root.join("more/one.md"));
    link("../shared/near", &root.join("skills/near"));
    let registry = Places::with_plugins(vec![plugin(root)]).read();
    assert_eq!(names(&registry), ["kit:near"]);
    let want = [
        "commands/folder",
        "commands/key.md",
        "more/one.md",
        "single",
        "skills/e/SKILL.md",
        "skills/f/SKILL.md",
    ];
    assert_eq!(left_out(&registry, root), want);
}

#[test]
fn a_projects_link_leads_no_further_than_its_repository_and_the_users_own_leads_anywhere() {
    let env = posse_testkit::TestEnv::new();
    env.write("secret", "KEY");
    env.write("shared/s/SKILL.md", "S.");
    env.write("project/.git/HEAD", "ref: refs/heads/main\n");
    env.write("project/docs/inside.md", "Inside.");
    env.write("project/.claude/commands/own.md", "Own.");
    env.write("added/.claude/commands/more.md", "More.");
    link(env.path("secret"), &env.path("project/.claude/commands/lnk.md"));
    link("../../docs/inside.md", &env.path("project/.claude/commands/inside.md"));
    link(env.path("shared/s"), &env.path("project/.claude/skills/s"));
    link(env.path("added/.claude/commands/more.md"), &env.path("project/.claude/commands/added.md"));
    link(env.path("shared"), &env.path("home/.claude/skills"));
    let world =
        World { env: crate::world::Env::new(env.vars()), cwd: env.cwd().to_owned(), ..World::default() };
    let options = crate::catalog::CatalogOptions { add_dirs: vec![env.path("added")], ..Default::default() };
    let catalog = Catalog::load(&world, &options).expect("a catalog");
    let registry = Places::of(&catalog, &world, &options, Vec::new()).read();
    assert_eq!(names(&registry), ["added", "inside", "more", "own", "s"]);
    assert_eq!(registry.get("s").map(|skill| skill.source.origin), Some(Origin::User));
    let base = env.path("project/.claude");
    assert_eq!(left_out(&registry, &base), ["commands/lnk.md", "skills/s/SKILL.md"]);
}
