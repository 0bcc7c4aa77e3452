use std::path::{Path, PathBuf};

use super::*;
use crate::world::{Clock, Env, Ids, process};

mod histories;
mod single;

/// A repository of its own, with a commit, and a world around it.
struct Scene {
    folder: tempfile::TempDir,
    world: World,
}

impl Scene {
    /// A repository with `a.txt` and a `.gitignore` that ignores `*.log` and `build/`.
    async fn new() -> Self {
        let scene = Self::empty();
        scene.git(&["init", "-q", "-b", "main", "."]).await;
        scene.write("a.txt", "one\n");
        scene.write("sub/b.txt", "two\n");
        scene.write(".gitignore", "*.log\nbuild/\nnode_modules/\n");
        scene.git(&["add", "-A"]).await;
        scene.git(&["commit", "-qm", "first"]).await;
        scene
    }

    fn empty() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let place = |name: &str| folder.path().join(name).display().to_string();
        for name in ["home", "tmp", "project"] {
            std::fs::create_dir(folder.path().join(name)).expect("a folder");
        }
        let vars = [
            ("HOME", place("home")),
            ("TMPDIR", place("tmp")),
            ("PATH", env!("PATH").to_owned()),
            ("GIT_CONFIG_NOSYSTEM", "1".to_owned()),
            ("GIT_AUTHOR_NAME", "a".to_owned()),
            ("GIT_AUTHOR_EMAIL", "a@b".to_owned()),
            ("GIT_COMMITTER_NAME", "a".to_owned()),
            ("GIT_COMMITTER_EMAIL", "a@b".to_owned()),
        ];
        let world = World {
            env: Env::new(vars),
            cwd: folder.path().join("project"),
            clock: Clock::fixed("2026-01-02T03:04:05Z".parse().expect("a time")),
            ids: Arc::new(Ids::seeded(1)),
            ..World::default()
        };
        Self { folder, world }
    }

    fn root(&self) -> PathBuf {
        self.world.cwd.canonicalize().expect("a folder")
    }

    async fn trees(&self) -> Worktrees {
        Worktrees::of(&self.root(), &self.world).await.expect("a repository")
    }

    fn write(&self, path: &str, text: &str) {
        write(&self.world.cwd, path, text);
    }

    async fn git(&self, args: &[&str]) -> String {
        self.git_in(&self.world.cwd, args).await
    }

    async fn git_in(&self, folder: &Path, args: &[&str]) -> String {
        let (ok, text) = self.try_git(folder, args).await;
        assert!(ok, "git {args:?}: {text}");
        text
    }

    /// git as an agent runs it: whatever it is told, in a folder.
    async fn try_git(&self, folder: &Path, args: &[&str]) -> (bool, String) {
        let mut command = process::command("git", folder);
        command.env_clear().envs(self.world.env.iter()).args(args);
        let output = command.output().await.expect("git runs");
        let text = if output.status.success() { output.stdout } else { output.stderr };
        (output.status.success(), String::from_utf8_lossy(&text).trim_end().to_owned())
    }

    /// The text of a file in a commit.
    async fn shown(&self, commit: &str, path: &str) -> String {
        self.git(&["show", &format!("{commit}:{path}")]).await
    }
}

fn write(folder: &Path, path: &str, text: &str) {
    let path = folder.join(path);
    std::fs::create_dir_all(path.parent().expect("a folder above")).expect("folders");
    std::fs::write(path, text).expect("a file");
}

fn options() -> CreateOptions {
    CreateOptions { session: "s-1".to_owned(), ..CreateOptions::default() }
}

/// Makes it look as if the process that made a worktree were gone.
fn abandon(trees: &Worktrees, name: &str) {
    let mut record = trees.records.read(name).expect("readable").expect("a record");
    record.started = Some(1);
    trees.records.write(&record).expect("written");
}
