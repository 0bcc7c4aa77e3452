use std::os::unix::fs::symlink;

use posse_testkit::TestEnv;

use super::*;
use crate::catalog::CatalogOptions;
use crate::world::{Env, World};

fn layout(env: &TestEnv) -> Layout {
    let world = World { env: Env::new(env.vars()), cwd: env.cwd().to_owned(), ..World::default() };
    Layout::find(&world, &CatalogOptions::default())
}

fn opened(env: &TestEnv, scope: MemoryScope, agent: &str) -> Memory {
    open(&layout(env), scope, agent, true).expect("a memory")
}

fn shown(env: &TestEnv, memory: &Memory) -> String {
    env.normalize(memory.folder.display().to_string().as_bytes()).trim().to_owned()
}

fn read(env: &TestEnv, path: &str) -> String {
    std::fs::read_to_string(env.path(path)).unwrap_or_else(|error| format!("({error})"))
}

#[test]
fn every_scope_has_its_place_and_it_is_made_on_demand() {
    let mut env = TestEnv::new();
    env.enter("project/sub");
    for (scope, agent, want) in [
        (MemoryScope::User, "two words", "$ENV/home/.claude/agent-memory/two-words"),
        (MemoryScope::Project, "pp:x", "$ENV/project/sub/.claude/agent-memory/pp-x"),
        (MemoryScope::Local, "../..", "$ENV/project/sub/.claude/agent-memory-local/---.."),
    ] {
        let before = folder(&layout(&env), scope, agent).expect("a place");
        assert!(!before.exists());
        let memory = opened(&env, scope, agent);
        assert_eq!(shown(&env, &memory), want);
        assert!(memory.folder.is_dir() && before.is_dir());
        assert_eq!((&memory.index, &memory.filled_from, memory.notes.len()), (&None, &None, 0));
        assert_eq!(opened(&env, scope, agent), memory, "twice is the same");
    }
    env.set("CLAUDE_CONFIG_DIR", &env.path("elsewhere").display().to_string());
    assert_eq!(shown(&env, &opened(&env, MemoryScope::User, "x")), "$ENV/elsewhere/agent-memory/x");
}

#[test]
fn the_index_goes_into_the_prompt() {
    let env = TestEnv::new();
    env.write("project/.claude/agent-memory/x/MEMORY.md", "- [a](a.md): b\n");
    let memory = opened(&env, MemoryScope::Project, "x");
    assert_eq!(memory.index.as_deref(), Some("- [a](a.md): b\n"));
    let section = memory.section();
    assert!(section.contains(&memory.folder.display().to_string()) && section.ends_with("- [a](a.md): b"));
}

#[test]
fn without_a_user_there_is_no_memory_of_the_user() {
    let env = TestEnv::new();
    let layout = Layout { user: None, ..layout(&env) };
    assert_eq!(folder(&layout, MemoryScope::User, "x"), None);
    assert!(matches!(open(&layout, MemoryScope::User, "x", true), Err(MemoryError::NoUserFolder)));
}

#[test]
fn links_of_a_project_lead_nowhere_else() {
    for (link, target, fails) in [
        (".claude", "outside", true),
        (".claude", "project/shared", false),
        (".claude/agent-memory", "outside", true),
        (".claude/agent-memory/x", "outside", true),
        // Within the project, but it would let a keeper of notes write the sources.
        (".claude/agent-memory/x", "project/src", true),
        (".claude/agent-memory/x", "missing", true),
    ] {
        let env = TestEnv::new();
        env.write("outside/keep", "");
        env.write("project/shared/keep", "");
        env.write("project/src/keep", "");
        let link_path = env.path("project").join(link);
        std::fs::create_dir_all(link_path.parent().unwrap()).unwrap();
        symlink(env.path(target), &link_path).unwrap();
        let result = open(&layout(&env), MemoryScope::Project, "x", true);
        assert_eq!(result.is_err(), fails, "{link} -> {target}: {result:?}");
        let left: Vec<_> = std::fs::read_dir(env.path("outside")).unwrap().collect();
        assert_eq!(left.len(), 1, "{link} -> {target}: something was made outside");
    }
}

#[test]
fn links_of_the_user_are_the_users() {
    let env = TestEnv::new();
    env.write("dotfiles/MEMORY.md", "mine");
    env.write("home/.claude/agent-memory/keep", "");
    symlink(env.path("dotfiles"), env.path("home/.claude/agent-memory/x")).unwrap();
    let memory = opened(&env, MemoryScope::User, "x");
    assert_eq!((shown(&env, &memory).as_str(), memory.index.as_deref()), ("$ENV/dotfiles", Some("mine")));
}

#[test]
fn an_index_that_is_somebody_elses_file_is_not_read() {
    let env = TestEnv::new();
    env.write("secret", "key");
    env.write("project/.claude/agent-memory/x/keep", "");
    symlink(env.path("secret"), env.path("project/.claude/agent-memory/x/MEMORY.md")).unwrap();
    std::fs::create_dir_all(env.path("project/.claude/agent-memory/y/MEMORY.md")).unwrap();
    let memory = opened(&env, MemoryScope::Project, "x");
    assert_eq!(memory.index, None);
    assert!(memory.notes[0].contains("leads out of the memory"), "{:?}", memory.notes);
    let memory = opened(&env, MemoryScope::Project, "y");
    assert!(memory.index.is_none() && memory.notes[0].ends_with("it is no file"), "{:?}", memory.notes);
}

#[test]
fn a_snapshot_fills_an_empty_memory_and_no_other() {
    let mut env = TestEnv::new();
    env.write("project/.claude/agent-memory-snapshots/two-words/MEMORY.md", "base");
    env.write("project/.claude/agent-memory-snapshots/two-words/deep/er/note.md", "note");
    env.write("secret", "key");
    symlink(env.path("secret"), env.path("project/.claude/agent-memory-snapshots/two-words/link.md"))
        .unwrap();
    env.enter("project/sub");
    for (scope, place) in [
        (MemoryScope::Local, "project/sub/.claude/agent-memory-local"),
        (MemoryScope::Project, "project/sub/.claude/agent-memory"),
        (MemoryScope::User, "home/.claude/agent-memory"),
    ] {
        let memory = opened(&env, scope, "two words");
        assert_eq!(memory.index.as_deref(), Some("base"), "{place}");
        assert!(memory.filled_from.is_some_and(|from| from.ends_with("agent-memory-snapshots/two-words")));
        assert_eq!(read(&env, &format!("{place}/two-words/deep/er/note.md")), "note");
        assert!(!env.path(&format!("{place}/two-words/link.md")).exists());
        assert!(memory.notes[0].contains("link.md is left out"), "{:?}", memory.notes);
        let beside: Vec<_> = std::fs::read_dir(env.path(place)).unwrap().collect();
        assert_eq!(beside.len(), 1, "nothing is left of the work: {beside:?}");
        env.write(&format!("{place}/two-words/MEMORY.md"), "own");
        let again = opened(&env, scope, "two words");
        assert_eq!((again.index.as_deref(), again.filled_from), (Some("own"), None));
    }
}

#[test]
fn snapshots_of_strangers_stay_where_they_are() {
    let env = TestEnv::new();
    env.write("project/.claude/agent-memory-snapshots/x/MEMORY.md", "hostile");
    let memory = open(&layout(&env), MemoryScope::User, "x", false).unwrap();
    assert_eq!(memory.index, None);
    assert!(memory.notes[0].contains("nobody trusts this folder"), "{:?}", memory.notes);
    let memory = open(&layout(&env), MemoryScope::Local, "x", false).unwrap();
    assert_eq!(memory.index.as_deref(), Some("hostile"), "the project could have brought the memory itself");

    let env = TestEnv::new();
    env.write("outside/MEMORY.md", "elsewhere");
    std::fs::create_dir_all(env.path("project/.claude/agent-memory-snapshots")).unwrap();
    symlink(env.path("outside"), env.path("project/.claude/agent-memory-snapshots/x")).unwrap();
    let memory = opened(&env, MemoryScope::Local, "x");
    assert_eq!(memory.index, None);
    assert!(memory.notes[0].contains("leads out of the project"), "{:?}", memory.notes);
}

#[test]
fn a_snapshot_that_is_too_large_is_not_used_at_all() {
    let env = TestEnv::new();
    for number in 0..=500 {
        env.write(&format!("project/.claude/agent-memory-snapshots/x/{number}.md"), "n");
    }
    let memory = opened(&env, MemoryScope::Local, "x");
    assert!(
        memory.filled_from.is_none() && memory.notes[0].contains("more than 500 files"),
        "{:?}",
        memory.notes
    );
    assert_eq!(std::fs::read_dir(&memory.folder).unwrap().count(), 0);
}
