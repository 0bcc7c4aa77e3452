//! Random histories of an agent in its worktree, with a git that fails or a posse that dies at any call. Whatever the
//! agent wrote and did not delete itself must be found again, and after everything was dropped no trace may be left.
//!
//! `POSSE_MANY=1` runs a thousand. A failure names its seed; `POSSE_HISTORY=<seed>` runs that one alone.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::PermissionsExt;

use tokio::net::unix::pipe;

use super::*;

const FEW: u64 = 120;
const MANY: u64 = 1000;

/// git, until its calls are counted down: then it fails, or does its work and says that it failed, or the program that
/// called it dies before or after the work.
const WRAPPER: &str = r#"#!/bin/sh
n=
[ -s "$0.count" ] && read -r n < "$0.count"
case "$n" in
'') ;;
1)
    : > "$0.count"
    read -r mode < "$0.mode"
    case "$mode" in
    fail) echo planned >&2; exit 128 ;;
    lie) REAL "$@" > /dev/null 2>&1; echo planned >&2; exit 128 ;;
    before) echo x > "$0.fifo"; exec sleep 1000 ;;
    after) REAL "$@"; echo x > "$0.fifo"; exec sleep 1000 ;;
    esac ;;
*) echo $((n - 1)) > "$0.count" ;;
esac
exec REAL "$@"
"#;

#[tokio::test]
async fn no_history_loses_work_or_leaves_a_trace_even() {
    run_histories(0).await;
}

#[tokio::test]
async fn no_history_loses_work_or_leaves_a_trace_odd() {
    run_histories(1).await;
}

async fn run_histories(part: u64) {
    let env = World::from_process().unwrap().env;
    let seeds: Vec<u64> = match env.number("POSSE_HISTORY") {
        Some(seed) => vec![seed],
        None => {
            (0..if env.is_on("POSSE_MANY") { MANY } else { FEW }).filter(|seed| seed % 2 == part).collect()
        }
    };
    let template = Scene::empty();
    template.git(&["init", "-q", "-b", "main", "--template=", "."]).await;
    template.write("a.txt", "one\n");
    template.write("sub/b.txt", "two\n");
    template.write(".gitignore", "*.log\nbuild/\n");
    template.git(&["add", "-A"]).await;
    template.git(&["commit", "-qm", "first"]).await;
    for seed in seeds {
        History::new(seed, &template).run().await;
    }
}

/// How an operation of posse ended.
enum Ended<T> {
    With(T),
    /// The process died in it.
    Dead,
}

struct History {
    seed: u64,
    chance: u64,
    scene: Scene,
    trees: Option<Worktrees>,
    wrapper: PathBuf,
    stop: pipe::Receiver,
    /// What was written to files that still hold it, as far as the agent knows.
    live: BTreeMap<PathBuf, String>,
    /// What was committed.
    committed: BTreeSet<String>,
    written: usize,
    /// git was told not to look at `a.txt`: it does not commit it, and would overwrite it without a word.
    hidden: bool,
    /// Whether posse has died.
    died: bool,
    log: Vec<String>,
}

impl History {
    fn new(seed: u64, template: &Scene) -> Self {
        let scene = Scene::empty();
        copy_folder(&template.root(), &scene.world.cwd);
        let bin = scene.folder.path().join("bin");
        std::fs::create_dir(&bin).expect("a folder");
        let wrapper = bin.join("git");
        let real =
            env!("PATH").split(':').map(|folder| Path::new(folder).join("git")).find(|git| git.is_file());
        let real = real.expect("git").display().to_string();
        std::fs::write(&wrapper, WRAPPER.replace("REAL", &real)).expect("a file");
        std::fs::set_permissions(&wrapper, std::fs::Permissions::from_mode(0o755)).expect("a mode");
        let fifo = bin.join("git.fifo");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o600.into(), 0)
            .expect("a fifo");
        let stop = pipe::OpenOptions::new().read_write(true).open_receiver(&fifo).expect("a fifo");
        Self {
            seed,
            chance: seed,
            scene,
            trees: None,
            wrapper,
            stop,
            live: BTreeMap::new(),
            committed: BTreeSet::new(),
            written: 0,
            hidden: false,
            died: false,
            log: Vec::new(),
        }
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.chance = self.chance.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.chance;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % limit
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        let at = self.below(from.len() as u64);
        from[usize::try_from(at).expect("small")]
    }

    fn trees(&self) -> Worktrees {
        self.trees.clone().expect("a repository")
    }

    async fn run(mut self) {
        let mut world = self.scene.world.clone();
        let path = format!("{}:{}", self.scene.folder.path().join("bin").display(), env!("PATH"));
        world.env = Env::new([("PATH".to_owned(), path)]).with_defaults(self.scene.world.env.iter());
        self.trees = Some(Worktrees::of(&self.scene.root(), &world).await.expect("a repository"));
        if self.below(3) == 0 {
            let root = self.scene.root();
            self.put(&root, "a.txt");
            self.put(&root, "mine.txt");
        }
        for id in ["first", "second"].into_iter().take(1 + usize::from(self.seed.is_multiple_of(5))) {
            self.live_one(id).await;
        }
        self.end().await;
    }

    /// One agent from its start to its end.
    async fn live_one(&mut self, id: &str) {
        let base = match self.below(3) {
            0 => Base::Head,
            1 => Base::Dirty,
            _ => Base::DefaultBranch { fetch: false },
        };
        let trees = self.trees();
        let Some(tree) = self.make(&trees, id, base).await else {
            self.abandon_all();
            return;
        };
        let steps = self.below(8);
        self.hidden = false;
        let mut blind = false;
        for _ in 0..steps {
            self.act(&tree, &mut blind).await;
        }
        let survived = self.below(3) != 0 || self.nested(&tree, id).await;
        match self.below(5) {
            // The process dies while the agent works.
            _ if !survived => drop(tree),
            0 => drop(tree),
            2 => {
                self.plan(2, 8);
                let kept = self.survive("keep", trees.keep(tree)).await;
                assert!(!matches!(kept, Ended::With(Finished::Removed { .. })), "seed {}", self.seed);
            }
            1 => {
                let held = tree.hold();
                assert_eq!(self.trees().finish(tree).await, Finished::InUse, "seed {}", self.seed);
                self.finish(held).await;
            }
            _ => self.finish(tree).await,
        }
        self.check("finish").await;
        self.abandon_all();
        for _ in 0..self.below(3) {
            self.plan(2, 25);
            if self.below(2) == 0 {
                let _ = self.survive("sweep", trees.sweep()).await;
            } else {
                let force = self.below(2) == 0;
                let _ = self.survive("drop", trees.drop(id, force)).await;
            }
            self.check("drop").await;
        }
    }

    /// A worktree for an agent, or one that somebody named.
    async fn make(&mut self, trees: &Worktrees, id: &str, base: Base) -> Option<Worktree> {
        let is_named = self.below(4) == 0;
        self.plan(8, 12);
        let made = if is_named {
            self.survive("create by name", trees.create_or_reopen(id, base, &options())).await
        } else {
            self.survive("create", trees.create(id, base, &options())).await
        };
        self.check("create").await;
        match made {
            Ended::With(made) => made.ok(),
            Ended::Dead => None,
        }
    }

    /// The agent starts another one from within its worktree, which works beside it and ends before. False if the
    /// process dies meanwhile.
    async fn nested(&mut self, outer: &Worktree, id: &str) -> bool {
        // An agent that broke its checkout cannot start another in one.
        let Ok(inner) = Worktrees::of(outer.path(), &self.trees().world).await else { return true };
        if inner.here != outer.path() {
            return true;
        }
        let base = if self.below(2) == 0 { Base::Head } else { Base::Dirty };
        self.died = false;
        self.log.push("another agent, from within".to_owned());
        let Some(tree) = self.make(&inner, &format!("{id}-inner"), base).await else { return !self.died };
        assert_eq!(tree.path().parent(), outer.path().parent(), "beside, not inside; seed {}", self.seed);
        let (hidden, mut blind) = (std::mem::take(&mut self.hidden), false);
        for _ in 0..self.below(5) {
            self.act(&tree, &mut blind).await;
        }
        self.hidden = hidden;
        if self.below(4) == 0 {
            drop(tree);
            return false;
        }
        self.died = false;
        self.finish(tree).await;
        self.check("the end of an agent within").await;
        !self.died
    }

    async fn finish(&mut self, tree: Worktree) {
        let trees = self.trees();
        self.plan(2, 25);
        let was = tree.path().to_owned();
        let finished = self.survive("finish", trees.finish(tree)).await;
        if let Ended::With(Finished::Kept { path, why, .. }) = finished {
            assert!(!why.is_empty(), "seed {}", self.seed);
            assert_eq!(path, was, "seed {}", self.seed);
        }
    }

    /// Plans, once in a while, what happens to one of the next calls of git.
    fn plan(&mut self, one_in: u64, calls: u64) {
        let _ = std::fs::write(self.wrapper.with_extension("count"), "");
        if self.below(one_in) == 0 {
            let (mode, count) = (self.pick(&["fail", "lie", "before", "after"]), 1 + self.below(calls));
            self.log.push(format!("plan {mode} at call {count}"));
            std::fs::write(self.wrapper.with_extension("mode"), format!("{mode}\n")).expect("a file");
            std::fs::write(self.wrapper.with_extension("count"), format!("{count}\n")).expect("a file");
        }
    }

    /// Does something as posse, unless it dies in it.
    async fn survive<T>(&mut self, what: &str, work: impl Future<Output = T>) -> Ended<T> {
        self.log.push(what.to_owned());
        let ended = tokio::select! {
            done = work => Ended::With(done),
            _ = self.stop.readable() => Ended::Dead,
        };
        while self.stop.try_read(&mut [0; 16]).is_ok() {}
        let _ = std::fs::write(self.wrapper.with_extension("count"), "");
        if matches!(ended, Ended::Dead) {
            self.died = true;
            self.log.push("died".to_owned());
        }
        ended
    }

    /// The process that made the worktrees is gone.
    fn abandon_all(&self) {
        let trees = self.trees();
        for name in trees.records.names().expect("readable") {
            abandon(&trees, &name);
        }
    }

    /// Writes something nobody has written before.
    fn put(&mut self, folder: &Path, path: &str) {
        self.written += 1;
        let token = format!("token-{}-{}.", self.seed, self.written);
        let full = folder.join(path);
        std::fs::create_dir_all(full.parent().expect("a folder above")).expect("folders");
        std::fs::write(&full, &token).expect("a file");
        self.log.push(format!("{token} in {path}"));
        self.live.insert(full, token);
    }

    fn delete(&mut self, path: &Path) {
        let _ = std::fs::remove_file(path);
        self.live.remove(path);
    }

    /// One step of the agent.
    async fn act(&mut self, tree: &Worktree, blind: &mut bool) {
        let top = tree.path().to_owned();
        let what = self.pick(&[
            "write", "write", "new", "new", "ignored", "ignored", "delete", "folder", "commit", "commit",
            "amend", "switch", "back", "detach", "branch", "hide", "within", "blind", "link", "stage",
        ]);
        self.log.push(format!("agent: {what}"));
        let written = self.written;
        match what {
            "write" => {
                let path = self.pick(&["sub/b.txt", "a.txt"]);
                if !top.join(path).is_dir() {
                    self.put(&top, path);
                }
            }
            "new" => {
                let path = self.pick(&["n1", "deep/er/n2", "with blank", "-dash", "n\u{e9}w", ":(top)odd"]);
                self.put(&top, path);
            }
            "ignored" => {
                let path = self.pick(&["x.log", "sub/y.log", "build/out/z"]);
                self.put(&top, path);
            }
            "delete" => {
                let mine: Vec<PathBuf> =
                    self.live.keys().filter(|path| path.starts_with(&top)).cloned().collect();
                if let Some(path) = mine.first() {
                    self.delete(path);
                }
            }
            "folder" => {
                let file = top.join("a.txt");
                if !file.is_dir() {
                    self.delete(&file);
                    self.put(&top, "a.txt/inside");
                }
            }
            "link" => {
                let _ = std::os::unix::fs::symlink("/etc/hostname", top.join(format!("link{written}")));
            }
            "blind" => {
                // From here on, git would take this for a part of the main checkout.
                *blind = true;
                let _ = std::fs::remove_file(top.join(".git"));
            }
            git if !*blind => self.act_with_git(git, tree, &top).await,
            _ => {}
        }
    }

    async fn act_with_git(&mut self, what: &str, tree: &Worktree, top: &Path) {
        if self.hidden && matches!(what, "switch" | "back") {
            return;
        }
        self.hidden |= what == "hide";
        let number = self.written.to_string();
        let other = format!("other{number}");
        let args: Vec<&str> = match what {
            "stage" => vec!["add", "-A"],
            "commit" | "amend" => {
                if !self.scene.try_git(top, &["add", "-A"]).await.0 {
                    return;
                }
                let mut args = vec!["commit", "-q", "-m", "work"];
                if what == "amend" {
                    args.push("--amend");
                }
                args
            }
            "switch" => vec!["switch", "-q", "-c", &other],
            "back" => vec!["switch", "-q", tree.branch()],
            "detach" => vec!["checkout", "-q", "--detach"],
            "branch" => vec!["branch", "-q", "-D", tree.branch()],
            "hide" => vec!["update-index", "--assume-unchanged", "a.txt"],
            "within" => {
                let inner = top.join("inner");
                if !inner.exists() && self.scene.try_git(top, &["worktree", "add", "-q", "inner"]).await.0 {
                    self.put(&inner, "in.txt");
                    self.put(&inner, "in.log");
                }
                vec!["status"]
            }
            other => panic!("no such step: {other}"),
        };
        let (ok, _) = self.scene.try_git(top, &args).await;
        if ok && matches!(what, "commit" | "amend") {
            let ignored = |path: &Path| {
                path.extension().is_some_and(|end| end == "log") || path.starts_with(top.join("build"))
            };
            let mine = self
                .live
                .iter()
                .filter(|(path, _)| path.starts_with(top) && !path.starts_with(top.join("inner")));
            let mine = mine.filter(|(path, _)| !self.hidden || **path != top.join("a.txt"));
            let mine: Vec<String> =
                mine.filter(|(path, _)| !ignored(path)).map(|(_, token)| token.clone()).collect();
            self.committed.extend(mine);
        }
    }

    /// Everything written is on the disk or in the repository.
    async fn check(&self, when: &str) {
        let mut text = String::new();
        collect(&self.scene.root(), &mut text);
        let script = "ids=$(git rev-list --objects --all --reflog) || exit 9
            echo \"$ids\" | cut -d' ' -f1 | git cat-file --batch --buffer";
        let mut command = process::command("/bin/sh", &self.scene.root());
        command.env_clear().envs(self.scene.world.env.iter()).arg("-c").arg(script);
        let output = command.output().await.expect("sh runs");
        assert!(output.status.success(), "seed {}: {}", self.seed, String::from_utf8_lossy(&output.stderr));
        text.push_str(&String::from_utf8_lossy(&output.stdout));
        for token in self.live.values().chain(&self.committed) {
            assert!(
                text.contains(token),
                "seed {}: {token} is lost after {when}; {:#?}",
                self.seed,
                self.log
            );
        }
    }

    /// A person drops everything; nothing is left of it, and everything is saved.
    async fn end(&mut self) {
        let trees = self.trees();
        let (seed, log) = (self.seed, self.log.join("; "));
        for entry in trees.list().await.expect("a list") {
            let dropped = trees.drop(&entry.name, true).await;
            assert!(dropped.is_ok(), "seed {seed}: {dropped:?}; {log}");
        }
        self.check("the end").await;
        assert!(trees.list().await.expect("a list").is_empty(), "seed {seed}; {log}");
        let names = |folder: PathBuf| {
            let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect::<Vec<_>>()
        };
        let mut left = names(trees.folder());
        left.retain(|name| name != ".gitignore");
        left.extend(names(trees.common.join("posse/worktrees")));
        left.extend(names(trees.common.join("worktrees")));
        left.extend(self.scene.git(&["branch", "--list", "worktree-*"]).await.lines().map(str::to_owned));
        assert_eq!(left, Vec::<String>::new(), "seed {seed}; {log}");
    }
}

/// The text of all files of a folder, but for those of the repository that are not kept there on purpose.
fn collect(folder: &Path, text: &mut String) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let kind = entry.file_type().expect("a kind");
        if kind.is_dir() && entry.file_name() == ".git" {
            collect(&path.join("posse/kept"), text);
        } else if kind.is_dir() {
            collect(&path, text);
        } else if kind.is_file() {
            text.push_str(&String::from_utf8_lossy(&std::fs::read(&path).expect("readable")));
        }
    }
}

fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        if entry.file_type().expect("a kind").is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).expect("a copy");
        }
    }
}
