//! One thing at a time: how a worktree is made, what counts as a change, what becomes of it.

use super::*;

#[tokio::test]
async fn made_locked_recorded_and_removed_without_a_trace() {
    let scene = Scene::new().await;
    let trees = scene.trees().await;
    let tree = trees.create("0123456789abcdef", Base::Head, &options()).await.unwrap();
    assert_eq!((tree.name(), tree.branch()), ("agent-01234567", "worktree-agent-01234567"));
    assert_eq!(tree.path(), scene.root().join(".claude/worktrees/agent-01234567"));
    assert_eq!(std::fs::read_to_string(tree.path().join("a.txt")).unwrap(), "one\n");
    let listed = scene.git(&["worktree", "list", "--porcelain"]).await;
    let lock = format!("locked posse agent 0123456789abcdef (pid {} start ", process::own_id());
    assert!(listed.contains(&lock) && listed.contains("session s-1"), "{listed}");
    assert_eq!(scene.git(&["status", "--porcelain"]).await, "", "the main checkout does not see it");

    // One id, and another that begins the same.
    let second = trees.create("0123456789abcdef", Base::Head, &options()).await.unwrap();
    assert_eq!(second.name(), "agent-012345678");
    assert_eq!(trees.inspect(&tree).await.unwrap(), State::Unchanged { ignored: 0 });
    for tree in [tree, second] {
        assert_eq!(trees.finish(tree).await, Finished::Removed { saved: None, left: Left::default() });
    }
    assert_clean(&scene, &trees).await;
    assert!(trees.saved().await.unwrap().is_empty());
}

async fn assert_clean(scene: &Scene, trees: &Worktrees) {
    assert!(trees.list().await.unwrap().is_empty());
    assert_eq!(scene.git(&["worktree", "list", "--porcelain"]).await.matches("worktree ").count(), 1);
    assert_eq!(scene.git(&["branch", "--list", "worktree-*"]).await, "");
    let names = |folder: PathBuf| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().into_string().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(names(trees.folder()), [".gitignore"]);
    assert_eq!(names(trees.common.join("posse/worktrees")), Vec::<String>::new());
    assert_eq!(names(trees.common.join("worktrees")), Vec::<String>::new());
}

/// Each does something to a worktree; the words are what is said of it. All of it must be kept, and all of it must be
/// saved and gone after a drop.
#[tokio::test]
async fn whatever_an_agent_does_counts() {
    let cases: &[(&str, &str)] = &[
        ("echo new > n.txt", "1 new file"),
        ("echo x >> a.txt; rm sub/b.txt", "2 changed files"),
        ("echo x >> a.txt; git add a.txt", "1 changed file"),
        ("echo x >> a.txt; git commit -qam x", "1 commit"),
        ("echo x >> a.txt; git commit -qam x; git checkout -q --detach", "1 commit, it is on no branch"),
        ("git switch -qc other", "it is on the branch other"),
        (
            "git checkout -q --detach; echo x > l.txt; git add l.txt; git commit -qm l; git switch -q -",
            "1 commit is on no branch",
        ),
        (
            "git checkout -q --detach; git branch -qD worktree-agent-x",
            "it is on no branch, its branch is gone",
        ),
        (
            "git update-index --assume-unchanged a.txt; echo x > a.txt",
            "git was told not to look at some files",
        ),
        ("git update-index --skip-worktree a.txt; echo x > a.txt", "git was told not to look at some files"),
        ("rm .git; echo x > a.txt", "1 changed file, its .git was replaced"),
        ("git worktree add -q inner; echo x > inner/i.txt", "1 new file, the worktree $W/inner lies inside"),
        ("echo x > a.txt; git stash -q; touch kept", "1 new file"),
        (
            "git switch -qc o HEAD; echo o > a.txt; git commit -qam o; git switch -q -; echo p > a.txt; git commit -qam p; git merge -q o",
            "1 commit, 1 changed file, a merge is in progress",
        ),
        ("git commit -q --allow-empty -m e", "1 commit"),
        ("cd .. ; git worktree move -f -f agent-x agent-y; cd agent-y; touch n", "1 new file"),
        ("rm -rf ../agent-x", "its files are gone"),
        ("git worktree unlock . ; touch n", "1 new file"),
    ];
    for (script, said) in cases {
        let scene = Scene::new().await;
        let trees = scene.trees().await;
        let tree = trees.create("x", Base::Head, &options()).await.unwrap();
        let mut command = process::command("/bin/sh", tree.path());
        command.env_clear().envs(scene.world.env.iter()).arg("-c").arg(script);
        command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
        let _ = command.status().await.unwrap();
        let place = tree.path().display().to_string();
        let finished = trees.finish(tree).await;
        let Finished::Kept { why, .. } = finished else { panic!("{script}: {finished:?}") };
        assert_eq!(why.replace(&place, "$W"), *said, "{script}");
        let list = trees.list().await.unwrap();
        assert_eq!(list[0].standing, Standing::Kept, "{script}");
        trees.drop("x", false).await.unwrap_or_else(|error| panic!("{script}: {error}"));
        assert_clean(&scene, &trees).await;
    }
}

#[tokio::test]
async fn what_is_dropped_is_saved_and_can_be_restored() {
    let scene = Scene::new().await;
    let trees = scene.trees().await;
    let tree = trees.create("x", Base::Head, &options()).await.unwrap();
    write(tree.path(), "a.txt", "committed\n");
    scene.git_in(tree.path(), &["commit", "-qam", "work"]).await;
    write(tree.path(), "sub/b.txt", "changed\n");
    write(tree.path(), "new/file with\nbreak", "new\n");
    write(tree.path(), "note.log", "ignored\n");
    let error = trees.drop("x", true).await.unwrap_err();
    assert!(matches!(error, WorktreeError::Running { .. }), "{error}");
    trees.finish(tree).await;
    let dropped = trees.drop("agent-x", false).await.unwrap();
    let [saved] = dropped.saved.as_slice() else { panic!("{dropped:?}") };
    assert_eq!(saved.name, "refs/posse/saved/agent-x/20260102T030405Z");
    for (path, text) in [
        ("a.txt", "committed"),
        ("sub/b.txt", "changed"),
        ("new/file with\nbreak", "new"),
        ("note.log", "ignored"),
    ] {
        assert_eq!(scene.shown(&saved.name, path).await, text);
    }
    assert_clean(&scene, &trees).await;
    assert_eq!(trees.saved().await.unwrap(), dropped.saved);
    let restored = trees.restore("x").await.unwrap();
    assert_eq!(restored.branch, "restored-agent-x");
    assert_eq!(trees.restore("agent-x/20260102T030405Z").await.unwrap(), restored);
    assert_eq!(scene.shown("restored-agent-x", "note.log").await, "ignored");
    assert!(matches!(trees.restore("y").await, Err(WorktreeError::Unknown(_))));
}

#[tokio::test]
async fn ignored_files_alone_are_no_change_and_are_saved_as_far_as_they_fit() {
    let scene = Scene::new().await;
    scene.write(".worktreeinclude", "*.log\n!big.log\na.txt\n");
    scene.write("env.log", "secret\n");
    scene.write("big.log", "not copied\n");
    scene.write("deep/er/x.log", "x\n");
    scene.write("node_modules/p/index.js", "js\n");
    let mut trees = scene.trees().await;
    trees.ignored_cap = 20;
    let links = vec!["node_modules".to_owned(), "missing".to_owned(), "../up".to_owned()];
    let tree = trees
        .create("x", Base::Head, &CreateOptions { symlink_directories: links, ..options() })
        .await
        .unwrap();
    assert_eq!(tree.notes(), ["../up is not a folder below the repository and is not linked"]);
    let read = |path: &str| std::fs::read_to_string(tree.path().join(path)).ok();
    assert_eq!(read("env.log").as_deref(), Some("secret\n"));
    assert_eq!(read("deep/er/x.log").as_deref(), Some("x\n"));
    assert_eq!(read("node_modules/p/index.js").as_deref(), Some("js\n"));
    assert_eq!((read("big.log"), read("a.txt").as_deref()), (None, Some("one\n")));
    write(tree.path(), "small.log", "mine\n");
    write(tree.path(), "build/large.o", &"o".repeat(50));
    let finished = trees.finish(tree).await;
    let Finished::Removed { saved: Some(saved), left } = finished else { panic!("{finished:?}") };
    assert_eq!(left, Left { files: 1, bytes: 50 });
    let files = scene.git(&["ls-tree", "-r", "--name-only", &saved.commit]).await;
    assert_eq!(files, ".gitignore\na.txt\nsmall.log\nsub/b.txt");
    assert_eq!(std::fs::read_to_string(scene.root().join("node_modules/p/index.js")).unwrap(), "js\n");
    assert_clean(&scene, &trees).await;
}

#[tokio::test]
async fn the_last_of_several_holders_finishes() {
    let scene = Scene::new().await;
    let trees = scene.trees().await;
    let tree = trees.create("x", Base::Head, &options()).await.unwrap();
    let (second, third) = (tree.hold(), tree.hold());
    let path = tree.path().to_owned();
    assert_eq!(trees.finish(tree).await, Finished::InUse);
    drop(third);
    assert!(path.exists());
    assert!(matches!(trees.finish(second).await, Finished::Removed { .. }));
    assert!(!path.exists());
}

#[tokio::test]
async fn a_dirty_base_has_the_files_as_they_are_and_gives_back_the_difference() {
    let scene = Scene::new().await;
    scene.write("a.txt", "one\nuncommitted\n");
    scene.write("sub/b.txt", "staged\n");
    scene.git(&["add", "sub/b.txt"]).await;
    scene.write("new.txt", "untracked\n");
    scene.write("x.log", "ignored\n");
    let before = scene.git(&["status", "--porcelain"]).await;
    let trees = scene.trees().await;
    let tree = trees.create("x", Base::Dirty, &options()).await.unwrap();
    assert_eq!(scene.git(&["status", "--porcelain"]).await, before);
    let read = |path: &str| std::fs::read_to_string(tree.path().join(path)).ok();
    assert_eq!(read("a.txt").as_deref(), Some("one\nuncommitted\n"));
    assert_eq!(read("sub/b.txt").as_deref(), Some("staged\n"));
    assert_eq!(read("new.txt").as_deref(), Some("untracked\n"));
    assert_eq!(read("x.log"), None);
    assert_eq!(trees.inspect(&tree).await.unwrap(), State::Unchanged { ignored: 0 });
    write(tree.path(), "a.txt", "agent\none\nuncommitted\n");
    write(tree.path(), "made.txt", "made\n");
    let merged = trees.merge("x", false).await.unwrap();
    assert_eq!((merged.files, merged.committed), (2, false));
    assert_eq!(std::fs::read_to_string(scene.root().join("a.txt")).unwrap(), "agent\none\nuncommitted\n");
    assert_eq!(std::fs::read_to_string(scene.root().join("made.txt")).unwrap(), "made\n");
    // A second time it does not fit any more, and nothing is touched.
    let error = trees.merge("x", false).await.unwrap_err();
    assert!(matches!(error, WorktreeError::Refused { .. }), "{error}");
    assert!(matches!(trees.finish(tree).await, Finished::Kept { .. }));
}

#[tokio::test]
async fn a_merge_takes_over_commits_and_what_is_not_committed() {
    let scene = Scene::new().await;
    let trees = scene.trees().await;
    let tree = trees.create("x", Base::Head, &options()).await.unwrap();
    write(tree.path(), "c.txt", "committed\n");
    scene.git_in(tree.path(), &["add", "-A"]).await;
    scene.git_in(tree.path(), &["commit", "-qm", "c"]).await;
    write(tree.path(), "a.txt", "agent\n");
    let diff = String::from_utf8(trees.diff("x", false).await.unwrap()).unwrap();
    assert!(diff.contains("+agent") && diff.contains("+committed"), "{diff}");

    scene.write("a.txt", "mine\n");
    let error = trees.merge("x", false).await.unwrap_err();
    assert!(matches!(error, WorktreeError::Refused { .. }), "{error}");
    scene.git(&["commit", "-qam", "mine"]).await;
    let error = trees.merge("x", true).await.unwrap_err();
    assert_eq!(error.to_string(), "agent-x cannot be merged without conflicts in a.txt");
    assert_eq!(scene.git(&["status", "--porcelain"]).await, "");
    scene.git(&["reset", "-q", "--hard", "HEAD^"]).await;

    let squashed = trees.merge("x", true).await.unwrap();
    assert_eq!((squashed.files, squashed.committed), (2, false));
    assert_eq!(scene.git(&["status", "--porcelain"]).await, "M  a.txt\nA  c.txt");
    scene.git(&["reset", "-q", "--hard"]).await;
    assert!(trees.merge("x", false).await.unwrap().committed);
    assert_eq!(scene.shown("HEAD", "a.txt").await, "agent");
    assert_eq!(scene.git(&["log", "-1", "--format=%s|%an"]).await, "Merge the work of agent-x|a");
    trees.finish(tree).await;
    trees.drop("x", false).await.unwrap();
    assert_clean(&scene, &trees).await;
}

#[tokio::test]
async fn links_are_refused_and_so_is_a_folder_without_commits() {
    let scene = Scene::new().await;
    let trees = scene.trees().await;
    let elsewhere = scene.folder.path().join("elsewhere");
    std::fs::create_dir_all(elsewhere.join("worktrees")).unwrap();
    let link = |path: &str| {
        let path = scene.root().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
        path
    };
    for place in [".claude", ".claude/worktrees", ".claude/worktrees/agent-x"] {
        let path = link(place);
        let error = trees.create("x", Base::Head, &options()).await.unwrap_err();
        assert!(matches!(&error, WorktreeError::Link(at) if *at == path), "{error}");
        std::fs::remove_file(path).unwrap();
    }
    assert!(matches!(trees.create("../..", Base::Head, &options()).await, Err(WorktreeError::Id(_))));
    assert_clean(&scene, &trees).await;
    let empty = Scene::empty();
    assert!(matches!(
        Worktrees::of(&empty.root(), &empty.world).await,
        Err(WorktreeError::NotARepository { .. })
    ));
    empty.git(&["init", "-q", "."]).await;
    let trees = empty.trees().await;
    assert!(matches!(trees.create("x", Base::Head, &options()).await, Err(WorktreeError::NoCommit)));
}

#[tokio::test]
async fn the_default_branch_is_the_remotes_else_main_else_what_is_checked_out() {
    let scene = Scene::new().await;
    let first = scene.git(&["rev-parse", "HEAD"]).await;
    scene.git(&["switch", "-qc", "topic"]).await;
    scene.git(&["commit", "-q", "--allow-empty", "-m", "t"]).await;
    let trees = scene.trees().await;
    let fresh = Base::from_setting("fresh").unwrap();
    let base = async |id: &str| trees.create(id, fresh, &options()).await.unwrap().base().to_owned();
    assert_eq!(base("one").await, first);
    let remote = scene.folder.path().join("remote");
    let remote_text = remote.display().to_string();
    scene.git(&["clone", "-q", "--bare", ".", &remote_text]).await;
    scene.git_in(&remote, &["symbolic-ref", "HEAD", "refs/heads/topic"]).await;
    scene.git(&["remote", "add", "origin", &remote_text]).await;
    scene.git(&["symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/topic"]).await;
    let topic = scene.git(&["rev-parse", "topic"]).await;
    scene.git(&["switch", "-q", "main"]).await;
    assert_eq!(base("two").await, topic, "fetched");
    std::fs::remove_dir_all(&remote).unwrap();
    std::fs::remove_file(scene.root().join(".git/FETCH_HEAD")).unwrap();
    let tree = trees.create("three", fresh, &options()).await.unwrap();
    assert_eq!(tree.base(), topic);
    assert!(tree.notes()[0].starts_with("the remote could not be asked"), "{:?}", tree.notes());
    scene.git(&["remote", "remove", "origin"]).await;
    scene.git(&["branch", "-qm", "main", "trunk"]).await;
    let tree = trees.create("four", fresh, &options()).await.unwrap();
    assert_eq!((tree.base(), tree.notes().len()), (first.as_str(), 1));
}

#[tokio::test]
async fn sparse_worktrees_have_some_folders_and_are_saved_whole() {
    let scene = Scene::new().await;
    scene.write("other/c.txt", "three\n");
    scene.git(&["add", "-A"]).await;
    scene.git(&["commit", "-qm", "second"]).await;
    let trees = scene.trees().await;
    let sparse = || CreateOptions { sparse_paths: vec!["sub".to_owned()], ..options() };
    let tree = trees.create("x", Base::Head, &sparse()).await.unwrap();
    assert!(tree.path().join("sub/b.txt").exists() && !tree.path().join("other").exists());
    assert_eq!(trees.inspect(&tree).await.unwrap(), State::Unchanged { ignored: 0 });
    assert!(matches!(trees.finish(tree).await, Finished::Removed { saved: None, .. }));
    let tree = trees.create("x", Base::Head, &sparse()).await.unwrap();
    write(tree.path(), "other/new.txt", "outside\n");
    trees.finish(tree).await;
    let dropped = trees.drop("x", false).await.unwrap();
    let files = scene.git(&["ls-tree", "-r", "--name-only", &dropped.saved[0].commit]).await;
    assert_eq!(files, ".gitignore\na.txt\nother/c.txt\nother/new.txt\nsub/b.txt");
}

#[tokio::test]
async fn repositories_inside_are_never_removed_but_can_be_moved_away() {
    let scene = Scene::new().await;
    let trees = scene.trees().await;
    let tree = trees.create("x", Base::Head, &options()).await.unwrap();
    let inner = tree.path().join("build/inner");
    std::fs::create_dir_all(&inner).unwrap();
    scene.git_in(&inner, &["init", "-q", "."]).await;
    write(&inner, "deep.txt", "deep\n");
    let finished = trees.finish(tree).await;
    let Finished::Kept { why, .. } = finished else { panic!("{finished:?}") };
    assert!(why.contains("build/inner lies inside"), "{why}");
    let error = trees.drop("x", false).await.unwrap_err();
    assert!(matches!(error, WorktreeError::Nested(_)), "{error}");
    let moved = trees.drop("x", true).await.unwrap().moved.unwrap();
    assert_eq!(std::fs::read_to_string(moved.join("build/inner/deep.txt")).unwrap(), "deep\n");
    assert_clean(&scene, &trees).await;
}

#[tokio::test]
async fn trees_of_runs_that_are_gone_are_found_and_reopened() {
    let scene = Scene::new().await;
    let trees = scene.trees().await;
    for id in ["gone", "here"] {
        // A run that dies hands nothing back.
        drop(trees.create(id, Base::Head, &options()).await.unwrap());
    }
    abandon(&trees, "agent-gone");
    let names =
        |list: Vec<Entry>| list.into_iter().map(|one| format!("{} {}", one.name, one.standing.word()));
    assert_eq!(
        names(trees.list().await.unwrap()).collect::<Vec<_>>(),
        ["agent-gone stale", "agent-here running"]
    );
    assert_eq!(names(trees.sweep().await.unwrap()).collect::<Vec<_>>(), ["agent-gone stale"]);
    assert!(matches!(trees.reopen("here", "s").await, Err(WorktreeError::Running { .. })));
    let tree = trees.reopen("gone", "s-2").await.unwrap();
    assert!(scene.git(&["worktree", "list", "--porcelain"]).await.contains("session s-2"));
    assert!(trees.sweep().await.unwrap().is_empty());
    assert!(matches!(trees.finish(tree).await, Finished::Removed { .. }));
    // What cannot be read is shown, not skipped.
    std::fs::write(trees.common.join("posse/worktrees/agent-here.json"), "{").unwrap();
    let list = trees.list().await.unwrap();
    assert_eq!((list.len(), list[0].state.is_err()), (1, true));
    assert!(trees.drop("here", true).await.is_err());
}

#[tokio::test]
async fn no_variable_of_the_caller_leads_elsewhere_and_no_hook_runs() {
    let mut scene = Scene::new().await;
    let marker = scene.folder.path().join("ran");
    for hook in ["post-checkout", "reference-transaction", "pre-commit"] {
        let path = scene.root().join(".git/hooks").join(hook);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, format!("#!/bin/sh\ntouch {}\n", marker.display())).unwrap();
        std::os::unix::fs::PermissionsExt::set_mode(&mut path.metadata().unwrap().permissions(), 0o755);
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    let clean = scene.world.env.clone();
    let wrong = [
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_OBJECT_DIRECTORY",
        "GIT_COMMON_DIR",
        "GIT_NAMESPACE",
    ];
    scene.world.env = clean.with_defaults(wrong.map(|name| (name, "/nowhere")));
    let trees = scene.trees().await;
    let tree = trees.create("x", Base::Dirty, &options()).await.unwrap();
    write(tree.path(), "n", "n");
    trees.finish(tree).await;
    trees.drop("x", false).await.unwrap();
    scene.world.env = clean;
    assert_clean(&scene, &trees).await;
    assert!(!marker.exists());
}

/// What an agent committed and another started from is saved with the first, in whatever order the two go.
#[tokio::test]
async fn work_that_another_worktree_started_from_is_not_lost_with_both() {
    for (base, outer_first) in
        [(Base::Head, true), (Base::Head, false), (Base::Dirty, true), (Base::Dirty, false)]
    {
        let scene = Scene::new().await;
        let trees = scene.trees().await;
        let outer = trees.create("outer", Base::Head, &options()).await.unwrap();
        write(outer.path(), "work.txt", "done");
        scene.git_in(outer.path(), &["add", "-A"]).await;
        scene.git_in(outer.path(), &["commit", "-qm", "work"]).await;
        let commit = scene.git_in(outer.path(), &["rev-parse", "HEAD"]).await;
        let within = Worktrees::of(outer.path(), &scene.world).await.unwrap();
        let inner = within.create("inner", base, &options()).await.unwrap();
        assert!(matches!(trees.keep(inner).await, Finished::Kept { .. }));
        assert!(matches!(trees.finish(outer).await, Finished::Kept { .. }));
        let names = if outer_first { ["outer", "inner"] } else { ["inner", "outer"] };
        for name in names {
            trees.drop(name, false).await.unwrap();
        }
        let holding = scene.git(&["for-each-ref", "--contains", &commit, "refs/posse/saved"]).await;
        assert!(holding.contains("agent-outer"), "{base:?}, outer first {outer_first}: {holding}");
        assert_clean(&scene, &trees).await;
    }
}
