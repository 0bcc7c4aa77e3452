//! Fixes: what is written back, and what is left alone.

use std::os::unix::fs::PermissionsExt;

use posse_core::origin::Origin;

use super::*;
use crate::catalog::fix;

#[test]
fn safe_fixes_keep_the_agent_and_leave_nothing_to_fix() {
    let env = TestEnv::new();
    let text = "\u{feff}---\r\nname: r\r\ndescription: Use when: needed\r\neffort: normal\r\n---\r\nBody\r\n";
    let path = env.agent("r.md", text);
    let fixed = fix::plan(&path, Origin::Project, false).unwrap().unwrap();
    assert_eq!(
        fixed.text,
        "---\r\nname: r\r\ndescription: \"Use when: needed\"\r\neffort: medium\r\n---\r\nBody\r\n"
    );
    assert_eq!(fixed.titles.len(), 3, "{:?}", fixed.titles);
    fix::write(&path, &fixed.text).unwrap();
    assert_eq!(fix::plan(&path, Origin::Project, false).unwrap(), None);
    assert_eq!(problems(&env, &CatalogOptions::default()), "");
}

#[test]
fn unsafe_fixes_are_only_made_when_asked_for() {
    let env = TestEnv::new();
    let path = env.agent("r.md", "---\nname: r\ndescription: d\nmax_turns: 3\ntools: read, Grpe\n---\n");
    assert_eq!(fix::plan(&path, Origin::Project, false).unwrap(), None);
    let fixed = fix::plan(&path, Origin::Project, true).unwrap().unwrap();
    assert_eq!(fixed.text, "---\nname: r\ndescription: d\nmaxTurns: 3\ntools: Read, Grep\n---\n");
}

#[test]
fn a_text_at_the_margin_becomes_a_block_with_the_same_meaning() {
    let env = TestEnv::new();
    let path = env.agent("r.md", "---\nname: r\ndescription: First: line\n\nExamples:\n<example>\nuser: hi\n</example>\ntools: Read\n---\nBody\n");
    let before = load(&env, &CatalogOptions::default()).registry.get("r").unwrap().clone();
    let fixed = fix::plan(&path, Origin::Project, false).unwrap().unwrap();
    fix::write(&path, &fixed.text).unwrap();
    let after = load(&env, &CatalogOptions::default()).registry.get("r").unwrap().clone();
    assert!(before.same_meaning(&after), "{}", fixed.text);
    assert_eq!(&*after.description, "First: line\n\nExamples:\n<example>\nuser: hi\n</example>");
    assert_eq!(problems(&env, &CatalogOptions::default()), "");
}

#[test]
fn writing_goes_through_links_and_keeps_permissions() {
    let env = TestEnv::new();
    let real = env.write("shared/real.md", "---\nname: r\ndescription: a: b\n---\n");
    std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o640)).unwrap();
    std::fs::create_dir_all(env.path("project/.claude/agents")).unwrap();
    let link = env.path("project/.claude/agents/link.md");
    std::os::unix::fs::symlink(&real, &link).unwrap();
    let fixed = fix::plan(&link, Origin::Project, false).unwrap().unwrap();
    fix::write(&link, &fixed.text).unwrap();
    assert!(link.symlink_metadata().unwrap().is_symlink());
    assert_eq!(env.read("shared/real.md"), "---\nname: r\ndescription: \"a: b\"\n---\n");
    assert_eq!(real.metadata().unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(std::fs::read_dir(env.path("shared")).unwrap().count(), 1, "no temporary file stays behind");
}
