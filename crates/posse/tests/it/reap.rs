//! A run that ends leaves no process behind, however it ends and however its commands try to stay.
//!
//! A few dozen runs are killed by default; `POSSE_MANY=1` kills a thousand. A failure names its seed, and
//! `POSSE_REAP=<seed>` runs that one alone.

mod crowd;

use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use posse_testkit::FakeModel;
use posse_testkit::server::{Answer, Gate, MessagesReply, Recorded};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use self::crowd::{Crowd, Found, SHAPES, Shape};
use super::*;

const FEW: u64 = 42;
const MANY: u64 = 1000;
/// Runs side by side.
const LANES: usize = 4;

/// Who starts the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Foreground,
    Background,
    /// In the foreground, which is over at once: the command goes on by itself.
    Left,
    /// An agent, and one in the background.
    Agent,
    AgentBehind,
    Hook,
    HookBehind,
}

const PLACES: [Place; 7] = [
    Place::Foreground,
    Place::Background,
    Place::Left,
    Place::Agent,
    Place::AgentBehind,
    Place::Hook,
    Place::HookBehind,
];

/// How the run is ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Interrupt,
    /// Twice, which waits for nothing.
    InterruptTwice,
    Terminate,
    HangUp,
    Kill,
    /// Nobody reads what it prints any more.
    Closed,
}

const WAYS: [Way; 6] =
    [Way::Interrupt, Way::InterruptTwice, Way::Terminate, Way::HangUp, Way::Kill, Way::Closed];

/// When: after a time, or when so many leaves have started.
#[derive(Clone, Copy, Debug)]
enum Moment {
    After(Duration),
    Grown(usize),
}

struct Trial {
    seed: u64,
    shape: &'static Shape,
    place: Place,
    way: Way,
    moment: Moment,
    /// Whether commands run in a sandbox; their minders do not.
    confined: bool,
}

/// Numbers that look random and depend on the seed alone.
fn mix(seed: u64, which: u64) -> usize {
    let mut z =
        (seed.wrapping_mul(16).wrapping_add(which)).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    usize::try_from((z ^ (z >> 31)) % 1_000_003).unwrap_or_default()
}

impl Trial {
    /// Places go round, so that few trials have all of them; the rest is drawn.
    fn new(seed: u64) -> Self {
        let shape = &SHAPES[mix(seed, 2) % SHAPES.len()];
        let moment = match mix(seed, 0) % 3 {
            0 => Moment::After(Duration::from_millis(mix(seed, 1) as u64 % 400)),
            _ => Moment::Grown(1 + mix(seed, 1) % shape.leaves),
        };
        Self {
            seed,
            shape,
            place: PLACES[usize::try_from(seed).unwrap_or_default() % PLACES.len()],
            way: WAYS[mix(seed, 3) % WAYS.len()],
            moment,
            confined: mix(seed, 4).is_multiple_of(3),
        }
    }

    fn describe(&self) -> String {
        let Self { seed, shape, place, way, moment, confined } = self;
        format!("seed {seed}: {}, {place:?}, {way:?}, {moment:?}, confined {confined}", shape.name)
    }

    /// Runs it, and says how many leaves there were when the run was ended.
    fn run(&self) -> Result<usize, String> {
        let mut env = env();
        let crowd = Crowd::new(&mut env, self.seed);
        let gate = Gate::default();
        let server = self.model(&crowd, &gate);
        env.set("ANTHROPIC_BASE_URL", &server.url()).set("ANTHROPIC_API_KEY", "k");
        env.write("home/.claude/settings.json", self.settings(&crowd).to_string());
        let mut posse = start(&env);
        let output = posse.stdout.take();
        match self.moment {
            // Not a wait for anything: the moment is what is tried.
            Moment::After(time) => std::thread::sleep(time),
            Moment::Grown(count) => until(|| crowd.grown() >= count || over(&mut posse))
                .map_err(|()| format!("{}: nothing grew", self.describe()))?,
        }
        let grown = crowd.grown();
        self.end(&mut posse, output, &gate);
        until(|| over(&mut posse)).map_err(|()| format!("{}: posse does not end", self.describe()))?;
        let left = crowd.stragglers();
        if left.is_empty() { Ok(grown) } else { Err(format!("{}: {left:?}", self.describe())) }
    }

    fn settings(&self, crowd: &Crowd) -> Value {
        let mut settings = json!({ "sandbox": { "enabled": self.confined } });
        match self.place {
            Place::Hook | Place::HookBehind => {
                // A run whose output is closed finds out when it has something to print.
                let seconds = if self.way == Way::Closed { 1 } else { 1000 };
                let hook = json!({ "type": "command", "command": self.shape.command(crowd),
                    "timeout": seconds, "async": self.place == Place::HookBehind });
                settings["hooks"] = json!({ "UserPromptSubmit": [{ "hooks": [hook] }] });
            }
            Place::Foreground | Place::Background | Place::Left | Place::Agent | Place::AgentBehind => {}
        }
        settings
    }

    /// The model has the command started, and then has nothing to say until the gate opens.
    fn model(&self, crowd: &Crowd, gate: &Gate) -> FakeModel {
        let (place, gate, command) = (self.place, gate.clone(), self.shape.command(crowd));
        // As above.
        let timeout = if self.way == Way::Closed { 400 } else { 600_000 };
        FakeModel::answering(move |request| {
            let is_agent = request.header("x-claude-code-agent-id").is_some();
            let first = request.body["messages"].as_array().is_some_and(|messages| messages.len() == 1);
            let behind = place == Place::AgentBehind;
            match place {
                _ if !first => text("Done.").behind(&gate),
                Place::Agent | Place::AgentBehind if !is_agent => {
                    let input = json!({ "subagent_type": "general-purpose", "description": "d", "prompt": "p",
                        "run_in_background": behind });
                    tool("Agent", &input)
                }
                Place::Foreground | Place::Agent | Place::AgentBehind => {
                    tool("Bash", &json!({ "command": command, "timeout": timeout }))
                }
                Place::Background => tool("Bash", &json!({ "command": command, "run_in_background": true })),
                Place::Left => {
                    let command = format!("( {command} ) &");
                    tool("Bash", &json!({ "command": command, "timeout": timeout }))
                }
                Place::Hook | Place::HookBehind => text("Done.").behind(&gate),
            }
        })
    }

    fn end(&self, posse: &mut Child, output: Option<std::process::ChildStdout>, gate: &Gate) {
        let pid = i32::try_from(posse.id()).ok().and_then(Pid::from_raw).expect("an id");
        // It may have ended by itself: it is not waited for yet, so that the id is nobody else's.
        let send = |signal| {
            let _ = kill_process(pid, signal);
        };
        match self.way {
            Way::Interrupt => send(Signal::INT),
            Way::InterruptTwice => [Signal::INT, Signal::TERM].map(send).into_iter().collect(),
            Way::Terminate => send(Signal::TERM),
            Way::HangUp => send(Signal::HUP),
            Way::Kill => send(Signal::KILL),
            Way::Closed => {
                drop(output);
                gate.open();
            }
        }
    }
}

fn text(text: &str) -> Answer {
    MessagesReply::new().text(text).usage(100, 10).answer()
}

fn tool(name: &str, input: &Value) -> Answer {
    MessagesReply::new().tool("t1", name, input).usage(100, 10).answer()
}

fn start(env: &TestEnv) -> Child {
    let mut command = env.command();
    command.args(["-p", "go", "--output-format", "stream-json", "--verbose"]);
    command.args(["--allowedTools", "Bash,Agent,TaskStop"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    command.spawn().expect("posse starts")
}

fn over(child: &mut Child) -> bool {
    child.try_wait().expect("a status").is_some()
}

/// Waits for something that processes do.
fn until(mut is_so: impl FnMut() -> bool) -> Result<(), ()> {
    for _ in 0..4000 {
        if is_so() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Err(())
}

fn number(name: &str) -> Option<u64> {
    posse_runtime::world::World::from_process().ok()?.env.number(name)
}

#[test]
fn a_killed_run_leaves_no_process_behind() {
    let seeds: Vec<u64> = match (number("POSSE_REAP"), number("POSSE_MANY")) {
        (Some(seed), _) => vec![seed],
        (None, Some(1)) => (0..MANY).collect(),
        (None, _) => (0..FEW).collect(),
    };
    let (next, grown) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let failures = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..LANES {
            scope.spawn(|| {
                while let Some(seed) = seeds.get(next.fetch_add(1, Ordering::Relaxed)) {
                    match Trial::new(*seed).run() {
                        Ok(leaves) => drop(grown.fetch_add(usize::from(leaves > 0), Ordering::Relaxed)),
                        Err(failure) => failures.lock().unwrap().push(failure),
                    }
                }
            });
        }
    });
    let (failures, grown) = (failures.into_inner().unwrap(), grown.into_inner());
    assert!(failures.is_empty(), "{} of {}:\n{}", failures.len(), seeds.len(), failures.join("\n"));
    // Otherwise there was nothing to leave behind.
    assert!(seeds.len() == 1 || grown * 2 > seeds.len(), "{grown} of {} had started anything", seeds.len());
    println!("{} runs killed, {grown} of them with commands at work: nobody is left", seeds.len());
}

/// What the others are compared with: under a shell that is killed, each of these commands does leave somebody.
#[test]
fn the_same_commands_do_stay_where_nobody_minds_them() {
    for (shape, number) in SHAPES.iter().zip(90_000_000..) {
        let mut env = env();
        let crowd = Crowd::new(&mut env, number);
        let mut shell = plain_shell(&env, &format!("{}; :", shape.command(&crowd)));
        until(|| crowd.grown() > 0).unwrap();
        shell.kill().unwrap();
        shell.wait().unwrap();
        let is_leaf = |found: &Found| found.command.starts_with("sleep ");
        assert!(crowd.alive().iter().any(is_leaf), "{}: nobody stays", shape.name);
    }
}

#[allow(clippy::disallowed_methods)] // Beside posse, not through it.
fn plain_shell(env: &TestEnv, script: &str) -> Child {
    let mut command = std::process::Command::new("sh");
    command.arg("-c").arg(script).envs(env.vars()).current_dir(env.cwd());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("a shell")
}

/// While the run goes on: by the time the model hears that a command was stopped, nothing of it runs.
#[test]
fn a_stopped_command_is_gone_when_its_end_is_told() {
    let numbers = AtomicU64::new(91_000_000);
    for shape in SHAPES {
        for by_time in [true, false] {
            let mut env = env();
            let crowd = Arc::new(Crowd::new(&mut env, numbers.fetch_add(1, Ordering::Relaxed)));
            let seen = Arc::new(Mutex::new(Vec::new()));
            let (command, watched, noted) = (shape.command(&crowd), Arc::clone(&crowd), Arc::clone(&seen));
            let server = FakeModel::answering(move |request| {
                match (request.body["messages"].as_array().map_or(0, Vec::len), by_time) {
                    (1, true) => tool("Bash", &json!({ "command": command, "timeout": 300 })),
                    (1, false) => tool("Bash", &json!({ "command": command, "run_in_background": true })),
                    (3, false) => {
                        until(|| watched.grown() > 0).unwrap();
                        tool("TaskStop", &json!({ "task_id": task(request) }))
                    }
                    _ => {
                        noted.lock().unwrap().push((watched.grown(), watched.at_work()));
                        text("Done.")
                    }
                }
            });
            env.set("ANTHROPIC_BASE_URL", &server.url()).set("ANTHROPIC_API_KEY", "k");
            let posse = start(&env).wait_with_output().unwrap();
            assert!(posse.status.success(), "{}", String::from_utf8_lossy(&posse.stdout));
            let seen = seen.lock().unwrap();
            let [(grown, at_work)] = &seen[..] else { panic!("{}: {seen:?}", shape.name) };
            assert!(*grown > 0 && at_work.is_empty(), "{}, by time {by_time}: {at_work:?}", shape.name);
        }
    }
}

/// The id of the task in the answer of the tool that started it.
fn task(request: &Recorded) -> String {
    let answer = request.body["messages"][2].to_string();
    let id = answer.split(|c: char| !c.is_ascii_alphanumeric()).find(|word| {
        word.len() == 9 && word.starts_with('b') && word[1..].chars().all(|c| c.is_ascii_hexdigit())
    });
    id.unwrap_or_else(|| panic!("no task in {answer}")).to_owned()
}

/// Whoever kills its minder comes to posse itself.
#[test]
fn a_command_that_kills_its_minder_ends_with_the_run() {
    for (shape, number) in SHAPES.iter().zip(92_000_000..) {
        let mut env = env();
        let crowd = Crowd::new(&mut env, number);
        let command = format!("kill -KILL $PPID; {}", shape.command(&crowd));
        let gate = Gate::default();
        let never = gate.clone();
        let server = FakeModel::answering(move |request| {
            match request.body["messages"].as_array().map_or(0, Vec::len) {
                1 => tool("Bash", &json!({ "command": command })),
                _ => text("Done.").behind(&never),
            }
        });
        env.set("ANTHROPIC_BASE_URL", &server.url()).set("ANTHROPIC_API_KEY", "k");
        let mut posse = start(&env);
        until(|| crowd.grown() > 0).unwrap();
        until(|| server.requests().len() > 1).unwrap();
        kill_process(Pid::from_raw(i32::try_from(posse.id()).unwrap()).unwrap(), Signal::INT).unwrap();
        until(|| over(&mut posse)).unwrap();
        let left = crowd.stragglers();
        assert!(left.is_empty(), "{}: {left:?}", shape.name);
        drop(gate);
    }
}

#[test]
fn how_a_command_ended_is_told_exactly() {
    let cases = [
        ("exit 0", "(no output)"),
        ("exit 7", "Exit code 7"),
        ("kill -KILL $$", "Killed by SIGKILL (9)"),
        ("kill -TERM $$", "Killed by SIGTERM (15)"),
        ("sh -c 'kill -SEGV $$'; exit $?", "Exit code 139 (SIGSEGV)"),
        ("cat; echo read nothing", "read nothing"),
    ];
    for (command, said) in cases {
        let call = tool("Bash", &json!({ "command": command }));
        let server = FakeModel::serving([call, text("Done.")]);
        let mut env = env();
        env.set("ANTHROPIC_BASE_URL", &server.url()).set("ANTHROPIC_API_KEY", "k");
        assert!(start(&env).wait_with_output().unwrap().status.success());
        let answer = server.requests()[1].body["messages"][2].to_string();
        assert!(answer.contains(said), "{command}: {answer}");
    }
}
