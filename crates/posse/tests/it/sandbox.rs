//! The sandbox, by trying to get out of it: what is outside must look the same afterwards, and the same attempt without
//! a sandbox must show, so that no test passes because its attempt never worked.

// What was not tried, and why, is for whoever runs the suite.
#![allow(clippy::print_stdout)]

mod bash;
mod hosts;
mod ways;
mod work;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use posse_runtime::sandbox::{Bwrap, Network, Profile, Sandbox, Support};
use posse_runtime::world::{Env, World};

use ways::{Needs, REACHES, SELDOM_POSSIBLE, WRITES, Way, With};

const POSSE: &str = env!("CARGO_BIN_EXE_posse");
const PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";
const KEEPER: &str = include_str!("sandbox/keeper.py");
/// What every attempt in Python begins with.
const PROLOGUE: &str = "
import ctypes, mmap, os, socket, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
def check(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), 'refused')
scratch, sockets = os.environ['TMPDIR'], os.environ['SOCKETS']
keeper, flag, held, tcp, udp = (int(os.environ[name]) for name in ('KEEPER', 'FLAG', 'HELD', 'TCP', 'UDP'))
";

fn has(program: &str) -> bool {
    PATH.split(':').any(|folder| Path::new(folder).join(program).is_file())
}

fn support() -> Support {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let world = World { env: Env::new([("PATH", PATH)]), ..World::default() };
    runtime.block_on(Support::probe(&world))
}

/// What the machine has, or why there is nothing to test.
pub(crate) fn support_or_say(test: &str) -> Option<Support> {
    let support = support();
    let usable = support.seccomp && (support.landlock >= 3 || matches!(support.bwrap, Bwrap::Works { .. }));
    if !usable || !has("python3") {
        println!("{test} is skipped: it needs python3 and a sandbox. {:?}", support.report());
        return None;
    }
    Some(support)
}

/// Folders outside and a scratch folder, with a process outside.
struct Place {
    root: tempfile::TempDir,
    keeper: Option<(Child, ChildStdin)>,
    facts: Vec<(String, String)>,
}

#[allow(clippy::disallowed_methods)] // Attempts need an environment of their own.
fn command(program: impl AsRef<std::ffi::OsStr>, cwd: &Path) -> Command {
    let mut command = Command::new(program);
    let git = ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"];
    command.env_clear().envs(git.map(|name| (name, "x"))).env("PATH", PATH).env("HOME", cwd.join("home"));
    command.current_dir(cwd).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

impl Place {
    /// With a process outside.
    fn new() -> Self {
        Self::with_keeper(true)
    }

    fn with_keeper(has_repository: bool) -> Self {
        let mut place = Self::folders(has_repository);
        place.start_keeper();
        place
    }

    /// With a process outside if the attempt knows of one; starting it takes longer than most attempts.
    fn for_way(way: &Way) -> Self {
        let words = ["keeper", "KEEPER", "sockets", "tcp", "udp", "TCP", "TERMINAL"];
        let has_repository = way.attempt.contains("repo");
        if words.iter().any(|word| way.attempt.contains(word)) {
            Self::with_keeper(has_repository)
        } else {
            Self::folders(has_repository)
        }
    }

    fn without_keeper() -> Self {
        Self::folders(true)
    }

    fn folders(has_repository: bool) -> Self {
        let root = tempfile::tempdir().expect("a folder");
        let at = |name: &str| root.path().join(name);
        for folder in ["scratch", "sockets", "outside/dir", "outside/empty", "outside/home"] {
            std::fs::create_dir_all(at(folder)).expect("a folder");
        }
        for folder in ["outside/repo/src", "outside/repo/.claude"] {
            std::fs::create_dir_all(at(folder)).expect("a folder");
        }
        let settings = "repo/.claude/settings.json";
        for file in ["victim.txt", "held.txt", "fd.txt", "dir/inner.txt", "home/.bashrc", settings] {
            std::fs::write(at("outside").join(file), "before\n").expect("a file");
        }
        std::os::unix::fs::symlink("victim.txt", at("outside/link")).expect("a link");
        if has_repository && has("git") {
            let status = command("git", &at("outside")).args(["init", "-q", "repo"]).status();
            assert!(status.expect("git").success());
        }
        let facts = ["KEEPER", "FLAG", "HELD", "TCP", "UDP", "SOCKETS"].map(|name| (name.into(), "0".into()));
        Self { root, keeper: None, facts: facts.into() }
    }

    fn start_keeper(&mut self) {
        let mut keeper = command("python3", &self.path("outside"))
            .args(["-c", KEEPER])
            .arg(self.path("sockets"))
            .stdin(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .expect("python3");
        let mut line = String::new();
        BufReader::new(keeper.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
        let fact = |fact: &str| fact.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
        self.facts = line.split_whitespace().filter_map(fact).collect();
        let input = keeper.stdin.take().expect("a pipe");
        self.keeper = Some((keeper, input));
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().canonicalize().expect("a folder").join(name)
    }

    fn fact(&self, name: &str) -> &str {
        self.facts.iter().find(|(fact, _)| fact == name).map(|(_, value)| value).expect("a fact")
    }

    /// Runs an attempt to its end, and that of all it started; what it said.
    fn attempt(&self, way: &Way, sandbox: Option<&Sandbox>) -> String {
        let (shell, text) = match way.with {
            With::Shell => ("/bin/bash", way.attempt.to_owned()),
            With::Python => ("/usr/bin/env", format!("{PROLOGUE}{}\n", way.attempt.trim_start())),
        };
        let args: Vec<&str> = match way.with {
            With::Shell => vec!["-c", &text],
            With::Python => vec!["python3", "-c", &text],
        };
        // Descriptor 9 is one that posse's parent forgot to close.
        let mut command = command("/bin/bash", &self.path("outside"));
        command.args(["-c", "exec 9>>fd.txt; exec \"$@\"", "bash"]).envs(self.facts.iter().cloned());
        command.env("TMPDIR", self.path("scratch"));
        match sandbox {
            None => command.arg(shell).args(args),
            Some(sandbox) => {
                let wrapped = sandbox.wrap(Path::new(shell), args).expect("a command");
                command.arg(wrapped.program).args(wrapped.args).envs(wrapped.env)
            }
        };
        let output = command.output().expect("bash");
        let said = [output.stdout, output.stderr].concat();
        format!("{} {}", output.status, String::from_utf8_lossy(&said))
    }

    /// Lets the process outside finish what it was asked for, and looks.
    fn look(&mut self) -> Look {
        if let Some((mut keeper, input)) = self.keeper.take() {
            drop(input);
            keeper.wait().expect("the keeper ends");
        }
        look(&self.path("outside"))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some((keeper, _)) = &mut self.keeper {
            let _ = keeper.kill();
            let _ = keeper.wait();
        }
    }
}

type Look = BTreeMap<PathBuf, String>;

/// Everything there is to see of a tree, but when it was read.
fn look(folder: &Path) -> Look {
    let mut seen = Look::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let meta = path.symlink_metadata().expect("a file");
            let mut text = format!(
                "{:?} {:o} {}:{} {} {}.{}",
                meta.file_type(),
                meta.mode(),
                meta.uid(),
                meta.gid(),
                meta.nlink(),
                meta.mtime(),
                meta.mtime_nsec()
            );
            if meta.is_dir() {
                folders.push(path.clone());
            } else if meta.is_file() {
                let mut value = [0; 16];
                let attribute = rustix::fs::getxattr(&path, "user.x", &mut value[..]);
                let file = std::fs::File::open(&path).expect("a file");
                let flags = rustix::fs::ioctl_getflags(&file);
                let content = std::fs::read(&path).expect("a file");
                text += &format!(" {attribute:?} {flags:?} {}", String::from_utf8_lossy(&content));
            }
            seen.insert(path, text);
        }
    }
    seen
}

/// What changed, by name.
fn changes(before: &Look, after: &Look) -> Vec<String> {
    let names = before.keys().chain(after.keys());
    let mut changed: Vec<String> = names
        .filter(|name| before.get(*name) != after.get(*name))
        .map(|name| name.display().to_string())
        .collect();
    changed.sort_unstable();
    changed.dedup();
    changed
}

fn possible(way: &Way) -> Result<(), String> {
    match way.needs {
        Needs::Programs(programs) => match programs.iter().find(|program| !has(program)) {
            Some(missing) => Err(format!("{missing} is not installed")),
            None => Ok(()),
        },
        Needs::Root if posse_runtime::world::is_root() => Ok(()),
        Needs::Root => Err("only root can".to_owned()),
    }
}

/// Tries a way; what changed that must not, and what it said.
fn changed_by(
    place: &mut Place,
    way: &Way,
    sandbox: Option<&Sandbox>,
    may_change: Allowed,
) -> (Vec<String>, String) {
    let before = look(&place.path("outside"));
    let said = place.attempt(way, sandbox);
    let mut changed = changes(&before, &place.look());
    changed.retain(|name| !may_change(name));
    (changed, said)
}

/// Whether a path outside may change.
type Allowed = fn(&str) -> bool;

/// What came of the attempts.
#[derive(Default)]
struct Tally {
    escapes: Vec<String>,
    /// Those that do nothing even without a sandbox.
    idle: Vec<String>,
    tried: usize,
}

/// Tries every way without a sandbox, and with one of each kind; several at a time, since most of it is waiting.
fn try_all(ways: &[Way], kinds: &[Support], profile: fn(&Place) -> Profile, may_change: Allowed) {
    let next = std::sync::atomic::AtomicUsize::new(0);
    let work = || {
        let mut tally = Tally::default();
        while let Some(way) = ways.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) {
            try_one(way, kinds, profile, may_change, &mut tally);
        }
        tally
    };
    let threads = std::thread::available_parallelism().map_or(2, usize::from).clamp(2, 8);
    let tallies: Vec<Tally> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().map(|worker| worker.join().expect("a worker")).collect()
    });
    let tried: usize = tallies.iter().map(|tally| tally.tried).sum();
    let escapes: Vec<&str> = tallies.iter().flat_map(|tally| &tally.escapes).map(String::as_str).collect();
    let idle: Vec<&str> = tallies.iter().flat_map(|tally| &tally.idle).map(String::as_str).collect();
    println!("{tried} attempts, {} escapes", escapes.len());
    assert!(escapes.is_empty(), "{} escapes:\n{}", escapes.len(), escapes.join("\n"));
    assert!(idle.is_empty(), "{} do nothing even without a sandbox:\n{}", idle.len(), idle.join("\n"));
}

fn try_one(
    way: &Way,
    kinds: &[Support],
    profile: fn(&Place) -> Profile,
    may_change: Allowed,
    tally: &mut Tally,
) {
    if let Err(reason) = possible(way) {
        println!("not tried: {}: {reason}", way.name);
        return;
    }
    let (changed, said) = changed_by(&mut Place::for_way(way), way, None, may_change);
    if changed.is_empty() && SELDOM_POSSIBLE.contains(&way.name) {
        println!("not tried: {}: this system refuses it to everybody: {said}", way.name);
        return;
    }
    if changed.is_empty() {
        tally.idle.push(format!("{}: {said}", way.name));
    }
    for support in kinds {
        tally.tried += 1;
        let mut place = Place::for_way(way);
        let sandbox = Sandbox::new(profile(&place), support, POSSE).expect("a sandbox");
        let (changed, said) = changed_by(&mut place, way, Some(&sandbox), may_change);
        if !changed.is_empty() {
            tally.escapes.push(format!("{}: {changed:?} {said} {support:?}", way.name));
        }
        assert!(!said.contains("posse: ") && !said.contains("bwrap: "), "{}: {said}", way.name);
    }
}

/// What can hold a reader: the kernel, and mounts as on a kernel without Landlock.
fn kinds_for_readers(support: &Support) -> Vec<Support> {
    let mut kinds = Vec::new();
    kinds.extend((support.landlock >= 3).then(|| support.clone()));
    let mounts = matches!(support.bwrap, Bwrap::Works { .. });
    kinds.extend(mounts.then(|| Support { landlock: 0, ..support.clone() }));
    kinds
}

fn reader(place: &Place) -> Profile {
    Profile::read_only(place.path("scratch"))
}

#[test]
fn a_reader_changes_nothing() {
    let Some(support) = support_or_say("the escape suite") else { return };
    try_all(WRITES, &kinds_for_readers(&support), reader, |_| false);
}

#[test]
fn nobody_is_reached_where_the_network_is_closed() {
    let Some(support) = support_or_say("the closed network") else { return };
    let closed = |place: &Place| reader(place).with_network(Network::Closed);
    try_all(REACHES, &kinds_for_readers(&support), closed, |_| false);
}

/// A sandbox that let nothing through at all would pass every test above.
#[test]
fn a_reader_can_read_and_use_its_scratch_folder() {
    let Some(support) = support_or_say("what a reader can do") else { return };
    let cases = [
        ("cat victim.txt", "before\n"),
        ("cat < victim.txt | tr a-z A-Z", "BEFORE\n"),
        ("echo x > /dev/null; echo $?", "0\n"),
        ("echo x > $TMPDIR/f && mv $TMPDIR/f $TMPDIR/g && cat $TMPDIR/g", "x\n"),
        ("mkdir -p $TMPDIR/a/b && ln -s b $TMPDIR/a/c && ls $TMPDIR/a", "b\nc\n"),
        ("cat <<X\nhere\nX", "here\n"),
        ("cat <(echo sub) > >(cat); wait $!", "sub\n"),
        ("f=$(mktemp) && echo made > $f && cat $f", "made\n"),
        ("git -C repo status --short -uno && echo clean", "clean\n"),
        ("ls / > /dev/null && test -r /etc/passwd && echo read", "read\n"),
        ("sleep 100 & kill $! && wait $!; echo $?", "143\n"),
        ("python3 -c 'import asyncio; asyncio.run(asyncio.sleep(0)); print(1)'", "1\n"),
        ("bash -c 'echo $0'; nonsense 2>&1 | grep -o 'not found'", "bash\nnot found\n"),
        ("exit 7", ""),
    ];
    for support in kinds_for_readers(&support) {
        let place = Place::without_keeper();
        let sandbox = Sandbox::new(reader(&place), &support, POSSE).expect("a sandbox");
        for (attempt, expected) in cases {
            let way = Way { name: "", with: With::Shell, needs: Needs::Programs(&[]), attempt };
            let said = place.attempt(&way, Some(&sandbox));
            let code = if attempt == "exit 7" { 7 } else { 0 };
            assert_eq!(said, format!("exit status: {code} {expected}"), "{attempt} {support:?}");
        }
    }
}

#[test]
fn an_order_that_cannot_be_held_runs_nothing() {
    let env = super::env();
    let order = r#"{"landlock":true,"writable":["FOLDER"],"protected":[],"unreadable":[],"read_only":true,
        "freeze_metadata":true,"private_dev":false,"reach":"anybody","local_sockets":false}"#;
    std::os::unix::fs::symlink("/", env.path("link")).unwrap();
    let through_a_link = order.replace("FOLDER", env.path("link/etc").to_str().unwrap());
    let bad: [&[&str]; 6] = [
        &[],
        &["{}", "--", "touch", "ran"],
        &["nonsense", "--", "touch", "ran"],
        &["{}", "touch", "ran"],
        &[&through_a_link, "--", "touch", "ran"],
        &[&through_a_link, "--"],
    ];
    for args in bad {
        let output = env.posse(&[&["__confine"], args].concat());
        assert_eq!((output.code, output.stdout.as_str()), (Some(125), ""), "{args:?}");
        assert!(output.stderr.starts_with("posse: the "), "{}", output.stderr);
        assert!(!env.path("project/ran").exists(), "{args:?}");
    }
    for args in [["--help"].as_slice(), &["agents", "--help"]] {
        assert!(!env.posse(args).success().contains("confine"));
    }
}

/// Settings of the kernel belong to root, who may write them without any capability. The same value is written, so that
/// an escape would harm nobody.
#[test]
fn settings_of_the_kernel_are_not_written() {
    let Some(support) = support_or_say("settings of the kernel") else { return };
    let attempt = "read -r v < /proc/sys/vm/swappiness && echo $v > /proc/sys/vm/swappiness";
    let way = Way { name: "", with: With::Shell, needs: Needs::Root, attempt };
    let place = Place::without_keeper();
    let free = place.attempt(&way, None);
    if !free.starts_with("exit status: 0") {
        println!("not tried: not even possible without a sandbox: {free}");
        return;
    }
    for support in kinds_for_readers(&support) {
        let sandbox = Sandbox::new(reader(&place), &support, POSSE).expect("a sandbox");
        let said = place.attempt(&way, Some(&sandbox));
        assert!(said.starts_with("exit status: 1 bash"), "{said} {support:?}");
    }
}

/// Folders whose files others run, on the machine itself. Only tried confined; the name is one that nobody runs, and an
/// escape is cleaned up.
#[test]
fn folders_others_run_from_are_not_written() {
    use rustix::fs::{Access, access};
    let Some(support) = support_or_say("folders others run from") else { return };
    let folders = [
        "/etc/cron.d",
        "/var/spool/cron",
        "/var/spool/cron/crontabs",
        "/etc/profile.d",
        "/etc/systemd/system",
    ];
    let open_to_us = |folder: &&str| access(*folder, Access::WRITE_OK).is_ok();
    let place = Place::without_keeper();
    for folder in folders.into_iter().filter(open_to_us) {
        let file = Path::new(folder).join(".posse-escape");
        let attempt: &'static str = Box::leak(format!(": > {}", file.display()).into_boxed_str());
        let way = Way { name: "", with: With::Shell, needs: Needs::Root, attempt };
        for support in kinds_for_readers(&support) {
            let sandbox = Sandbox::new(reader(&place), &support, POSSE).expect("a sandbox");
            let said = place.attempt(&way, Some(&sandbox));
            let escaped = std::fs::remove_file(&file).is_ok();
            assert!(!escaped && said.starts_with("exit status: 1 bash"), "{folder}: {said} {support:?}");
        }
    }
}
