//! Commands whose children try to stay, and a way to find every process of one test.

use std::path::{Path, PathBuf};

use posse_testkit::TestEnv;
use rustix::process::{Pid, Signal, kill_process};

/// A command that leaves processes behind, if one lets it. `LEAF` starts one that never ends by itself.
pub(super) struct Shape {
    pub(super) name: &'static str,
    script: &'static str,
    /// How many there will be.
    pub(super) leaves: usize,
}

pub(super) const SHAPES: &[Shape] = &[
    Shape { name: "a session of its own", script: "setsid LEAF & wait", leaves: 1 },
    Shape { name: "a daemon", script: "(setsid LEAF >/dev/null 2>&1 &); sleep MARK", leaves: 1 },
    Shape { name: "nohup", script: "nohup LEAF >/dev/null 2>&1 & wait", leaves: 1 },
    Shape { name: "deaf", script: "trap '' TERM INT HUP; LEAF", leaves: 1 },
    Shape { name: "shells in shells", script: "bash -c \"sh -c 'LEAF & LEAF & wait' & wait\"", leaves: 2 },
    Shape {
        name: "hidden",
        script: "(env -i PATH=\"$PATH\" setsid sh -c '(trap \"\" TERM; setsid LEAF &)' &); sleep MARK",
        leaves: 1,
    },
    // Never the same process for longer than a moment, and each in a session of its own.
    Shape { name: "a comet", script: "sh COMET MARK & LEAF", leaves: 1 },
    Shape {
        name: "a brood",
        script: "for i in 1 2 3 4 5 6 7 8 9; do (setsid LEAF &); done; wait; sleep MARK",
        leaves: 9,
    },
];

impl Shape {
    /// The command, for processes with this mark.
    pub(super) fn command(&self, crowd: &Crowd) -> String {
        let leaf = format!("sh {} {}", crowd.leaf.display(), crowd.mark);
        let comet = crowd.comet.display().to_string();
        self.script.replace("LEAF", &leaf).replace("COMET", &comet).replace("MARK", &crowd.mark)
    }
}

/// The processes of one test. Whatever becomes of it, none of them stays.
pub(super) struct Crowd {
    /// In the environment or the arguments of each of them. It is a number of seconds, so that `sleep` takes it.
    pub(super) mark: String,
    leaf: PathBuf,
    comet: PathBuf,
    ready: PathBuf,
}

impl Crowd {
    /// Those of a world, which has its own mark.
    pub(super) fn new(env: &mut TestEnv, number: u64) -> Self {
        let mark = format!("40000.{:010}{number:08}", std::process::id());
        let leaf = env.write("project/leaf.sh", "echo >> \"$0.ready\"\nexec sleep \"$1\"\n");
        let comet = env.write("project/comet.sh", "setsid sh \"$0\" \"$1\" &\n");
        let ready = env.path("project/leaf.sh.ready");
        env.set("REAP_MARK", &mark);
        Self { mark, leaf, comet, ready }
    }

    /// How many leaves have started so far.
    pub(super) fn grown(&self) -> usize {
        std::fs::read(&self.ready).map_or(0, |lines| lines.len())
    }

    /// Everybody who carries the mark.
    pub(super) fn alive(&self) -> Vec<Found> {
        self.find(&["environ", "cmdline"])
    }

    /// Those who carry it in their arguments: commands and their minders, not posse.
    pub(super) fn at_work(&self) -> Vec<Found> {
        self.find(&["cmdline"])
    }

    fn find(&self, files: &[&str]) -> Vec<Found> {
        let processes = std::fs::read_dir("/proc").expect("/proc").flatten();
        let ids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        ids.filter_map(|id| {
            let read = |file: &str| std::fs::read(Path::new("/proc").join(id.to_string()).join(file));
            let has = |file: &&str| {
                let bytes = read(file).unwrap_or_default();
                bytes.windows(self.mark.len()).any(|part| part == self.mark.as_bytes())
            };
            let command = String::from_utf8_lossy(&read("cmdline").ok()?).replace('\0', " ");
            files.iter().any(has).then_some(Found { id, command })
        })
        .collect()
    }

    /// Waits until nobody is left, and says who would not go.
    pub(super) fn stragglers(&self) -> Vec<Found> {
        let mut alive = self.alive();
        for _ in 0..2000 {
            if alive.is_empty() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
            alive = self.alive();
        }
        alive
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        // Some are gone before one can reach them, and have left others.
        for _ in 0..1000 {
            let alive = self.alive();
            if alive.is_empty() {
                break;
            }
            for pid in alive.iter().filter_map(|found| Pid::from_raw(found.id)) {
                let _ = kill_process(pid, Signal::KILL);
            }
        }
    }
}

/// A process.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) id: i32,
    pub(super) command: String,
}
