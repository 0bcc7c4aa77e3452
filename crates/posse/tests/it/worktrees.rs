//! `posse worktrees`.

use std::process::Command;

use posse_runtime::worktree::{Base, CreateOptions, Finished, Worktrees};
use posse_runtime::world::{Clock, Env, World};

use super::*;

#[allow(clippy::disallowed_methods)] // Tests start programs with a cwd and environment of their own.
pub(super) fn git(env: &TestEnv, folder: &str, args: &[&str]) -> String {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(args);
    command.env_clear().envs(env.vars()).env("PATH", env!("PATH")).env("GIT_CONFIG_NOSYSTEM", "1");
    let output = command.current_dir(env.path(folder)).output().expect("git runs");
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A repository with an agent's worktree in which it left a commit and a new file.
fn scene() -> TestEnv {
    let mut env = env();
    env.set("GIT_CONFIG_NOSYSTEM", "1").set("POSSE_CLOCK", "2026-01-02T05:04:05Z");
    for name in ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"] {
        env.set(name, "a");
    }
    env.write("project/a.txt", "one\n");
    git(&env, "project", &["init", "-q", "-b", "main", "."]);
    git(&env, "project", &["add", "-A"]);
    git(&env, "project", &["commit", "-qm", "first"]);
    let vars = env.vars().into_iter().chain([("PATH".to_owned(), env!("PATH").to_owned())]);
    let clock = Clock::fixed("2026-01-02T03:04:05Z".parse().expect("a time"));
    let world = World { env: Env::new(vars), cwd: env.cwd().to_owned(), clock, ..World::default() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let trees = Worktrees::of(&world.cwd, &world).await.expect("a repository");
        let options = CreateOptions { session: "s".to_owned(), ..CreateOptions::default() };
        let tree = trees.create("0123456789", Base::Head, &options).await.expect("a worktree");
        let folder = "project/.claude/worktrees/agent-01234567";
        env.write(&format!("{folder}/b.txt"), "committed\n");
        git(&env, folder, &["add", "-A"]);
        git(&env, folder, &["commit", "-qm", "b"]);
        env.write(&format!("{folder}/c.txt"), "not committed\n");
        assert!(matches!(trees.finish(tree).await, Finished::Kept { .. }));
    });
    env
}

#[test]
fn listed_merged_dropped_and_restored() {
    let env = scene();
    let list = env.posse(&["worktrees"]).success();
    let base = git(&env, "project", &["rev-parse", "HEAD"]);
    assert_eq!(
        list,
        format!(
            "agent-01234567  kept      1 commit, 1 new file\n  worktree-agent-01234567, from head {}, agent 0123456789, 2 hours ago\n",
            &base[..10]
        )
    );
    let value = json(&env.posse(&["worktrees", "--json"]).success());
    let of = |key: &str| pluck(&value["worktrees"], key);
    assert_eq!(of("/standing") + " " + &of("/state") + " " + &of("/changes/commits"), "kept changed 1");
    let diff = env.posse(&["worktrees", "diff", "0123"]).success();
    assert!(diff.contains("+committed\n") && diff.contains("+not committed\n"), "{diff}");

    let merged = env.posse(&["worktrees", "merge", "0123"]).success();
    assert_eq!(merged, "merged agent-01234567: 2 files\nposse worktrees drop agent-01234567\n");
    assert_eq!(env.read("project/c.txt"), "not committed\n");

    let dropped = env.posse(&["worktrees", "drop", "0123"]).success();
    assert_eq!(
        dropped,
        "agent-01234567 is removed\nsaved as refs/posse/saved/agent-01234567/20260102T050405Z\n\
         posse worktrees restore agent-01234567/20260102T050405Z\n"
    );
    assert!(!env.path("project/.claude/worktrees/agent-01234567").exists());
    let list = env.posse(&["worktrees", "list"]).success();
    assert!(
        list.starts_with("no worktrees of agents\n\nSaved of removed worktrees\n  agent-01234567/"),
        "{list}"
    );
    let restored = env.posse(&["worktrees", "restore", "agent-01234567/20260102T050405Z"]).success();
    assert!(restored.ends_with("git switch restored-agent-01234567\n"), "{restored}");
    assert_eq!(git(&env, "project", &["show", "restored-agent-01234567:c.txt"]), "not committed\n");
}

#[test]
fn conflicts_and_mistakes_are_said_and_change_nothing() {
    let env = scene();
    env.write("project/b.txt", "mine\n");
    git(&env, "project", &["add", "-A"]);
    git(&env, "project", &["commit", "-qm", "mine"]);
    let (_, stderr) = env.posse(&["worktrees", "merge", "0123"]).fails_with(1);
    assert!(stderr.contains("agent-01234567 cannot be merged without conflicts in b.txt"), "{stderr}");
    assert_eq!(git(&env, "project", &["status", "--porcelain"]), "");
    let (_, stderr) = env.posse(&["worktrees", "drop", "nobody"]).fails_with(2);
    assert!(stderr.contains("there is no worktree called `nobody`"), "{stderr}");
    let (_, stderr) = env.posse(&["worktrees", "restore", "nobody"]).fails_with(2);
    assert!(stderr.contains("hint:"), "{stderr}");
    let mut bare = super::env();
    bare.enter("elsewhere");
    bare.posse(&["worktrees"]).fails_with(2);
}
