use std::os::unix::fs::{PermissionsExt, symlink};

use posse_testkit::TestEnv;

use super::*;

fn digest(env: &TestEnv, folder: &str) -> String {
    Tree::read(&env.path(folder)).expect("a tree").digest()
}

#[test]
fn a_digest_sees_every_name_byte_and_mode_and_nothing_else() {
    let env = TestEnv::new();
    env.write("p/a/b", "x");
    env.write("p/c", "");
    let first = digest(&env, "p");
    env.write("q/c", "");
    env.write("q/a/b", "x");
    assert_eq!(digest(&env, "q"), first);
    // Written again, with another date.
    env.write("p/a/b", "x");
    assert_eq!(digest(&env, "p"), first);
    type Change = fn(&TestEnv);
    let changes: [Change; 6] = [
        |env| drop(env.write("q/a/b", "y")),
        |env| drop(env.write("q/d", "")),
        |env| std::fs::rename(env.path("q/a/b"), env.path("q/a/e")).unwrap(),
        |env| std::fs::rename(env.path("q/a"), env.path("q/ab")).unwrap(),
        |env| std::fs::set_permissions(env.path("q/c"), std::fs::Permissions::from_mode(0o755)).unwrap(),
        |env| {
            std::fs::remove_file(env.path("q/a/b")).unwrap();
            std::fs::write(env.path("outside"), "x").unwrap();
            symlink(env.path("outside"), env.path("q/a/b")).unwrap();
        },
    ];
    for (at, change) in changes.iter().enumerate() {
        std::fs::remove_dir_all(env.path("q")).unwrap();
        env.write("q/a/b", "x");
        env.write("q/c", "");
        assert_eq!(digest(&env, "q"), first);
        change(&env);
        assert_ne!(digest(&env, "q"), first, "change {at}");
    }
}

#[test]
fn a_copy_follows_links_as_far_as_the_fence_and_leaves_repositories_behind() {
    let env = TestEnv::new();
    env.write("market/shared/lib.sh", "lib");
    env.write("market/kit/a.md", "a");
    env.write("market/kit/.git/config", "secret");
    symlink("../shared", env.path("market/kit/shared")).unwrap();
    symlink("nowhere", env.path("market/kit/dangling")).unwrap();
    copy::copy(&env.path("market/kit"), &env.path("one"), &env.path("market")).expect("a copy");
    assert_eq!(env.read("one/shared/lib.sh"), "lib");
    assert!(!env.path("one/shared").is_symlink() && !env.path("one/.git").exists());
    // The same links, with the plugin alone behind the fence.
    let out = copy::copy(&env.path("market/kit"), &env.path("two"), &env.path("market/kit"));
    assert!(matches!(out, Err(PluginError::LeadsOut(_))), "{out:?}");
    env.write("market/own/a.md", "a");
    symlink("/etc/hostname", env.path("market/own/host")).unwrap();
    let out = copy::copy(&env.path("market/own"), &env.path("three"), &env.path("market"));
    assert!(matches!(out, Err(PluginError::LeadsOut(_))), "{out:?}");
    std::fs::remove_file(env.path("market/own/host")).unwrap();
    symlink(".", env.path("market/own/circle")).unwrap();
    let out = copy::copy(&env.path("market/own"), &env.path("four"), &env.path("market"));
    assert!(matches!(out, Err(PluginError::TooMuch(_))), "{out:?}");
}

#[test]
fn places_of_marketplaces() {
    let env = TestEnv::new();
    env.write("project/m/.claude-plugin/marketplace.json", "{}");
    for (given, want) in [
        ("./m", "$ENV/project/m"),
        ("m", "$ENV/project/m"),
        ("m/.claude-plugin/marketplace.json", "$ENV/project/m"),
        ("owner/repo", "https://github.com/owner/repo.git"),
        ("owner/repo#v1", "https://github.com/owner/repo.git#v1"),
        ("https://me:secret@example.org/x.git", "https://example.org/x.git"),
        ("git@example.org:a/b.git", "git@example.org:a/b.git"),
        ("file:///srv/x", "file:///srv/x"),
        ("https://example.org/marketplace.json", "! single file"),
        ("--upload-pack=x", "! neither"),
        ("a/b/c", "! neither"),
    ] {
        let said = match Place::parse(given, env.cwd()) {
            Ok(place) => env.normalize(place.words().as_bytes()),
            Err(error) => format!("! {error}"),
        };
        match want.strip_prefix("! ") {
            Some(part) => assert!(said.starts_with("! ") && said.contains(part), "{given}: {said}"),
            None => assert_eq!(said, want, "{given}"),
        }
    }
}
