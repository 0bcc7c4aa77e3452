mod asked;
mod commands;
mod http;
mod scope;
mod waiting;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use posse_core::hooks::occasion::{SessionSource, Stopping, ToolUse};
use posse_core::hooks::{Common, HookEvent, HookGroup, Merged, Occasion};
use posse_testkit::TestEnv;
use serde_json::{Value, json};

use super::*;
use crate::world::{Env, Ids, World};

/// A project to run hooks in, whose every process can be told from all others.
struct Bench {
    env: TestEnv,
    cx: HookCx,
    notices: Arc<Mutex<Vec<HookNotice>>>,
    mail: Arc<Mutex<Vec<HookMail>>>,
    mark: String,
}

fn taken<T>(shared: &Mutex<Vec<T>>) -> Vec<T> {
    std::mem::take(&mut *shared.lock().unwrap_or_else(PoisonError::into_inner))
}

impl Bench {
    fn new() -> Self {
        Self::with(|_| {})
    }

    fn with(change: impl FnOnce(&mut Services)) -> Self {
        let env = TestEnv::new();
        let mark = Ids::default().uuid();
        let mut vars = env.vars();
        vars.push(("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into()));
        vars.push(("TEST_MARK".into(), mark.clone()));
        vars.push(("SECRET".into(), "s3cret".into()));
        let cwd = env.path("project").canonicalize().expect("a folder");
        let world = Arc::new(World { env: Env::new(vars), cwd: cwd.clone(), ..World::default() });
        let common = Common {
            session_id: "session-1".into(),
            cwd: cwd.display().to_string(),
            effort: Some("high".into()),
            ..Common::default()
        };
        let (notices, mail) =
            (Arc::<Mutex<Vec<HookNotice>>>::default(), Arc::<Mutex<Vec<HookMail>>>::default());
        let mut services = Services::default();
        let seen = Arc::clone(&notices);
        services.notices =
            Arc::new(move |notice| seen.lock().unwrap_or_else(PoisonError::into_inner).push(notice));
        let box_ = Arc::clone(&mail);
        services.mail = Arc::new(move |mail| box_.lock().unwrap_or_else(PoisonError::into_inner).push(mail));
        change(&mut services);
        let mut cx = HookCx::new(world, common, env.path("spool"));
        cx.services = Arc::new(services);
        Self { env, cx, notices, mail, mark }
    }

    fn path(&self, relative: &str) -> PathBuf {
        self.cx.project_dir.join(relative)
    }

    /// How many processes of this bench run.
    #[cfg(target_os = "linux")]
    fn running(&self) -> usize {
        let is_ours = |process: &std::path::Path| {
            let bytes = std::fs::read(process.join("environ")).unwrap_or_default();
            bytes.windows(self.mark.len()).any(|part| part == self.mark.as_bytes())
        };
        let processes = std::fs::read_dir("/proc").expect("a table of processes");
        processes.filter(|entry| entry.as_ref().is_ok_and(|entry| is_ours(&entry.path()))).count()
    }
}

/// Waits for something that processes do.
async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..1500 {
        if is_so() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{what} did not happen");
}

/// Groups as a settings file has them.
fn groups(hooks: &Value) -> Vec<HookGroup> {
    let (root, mut problems) = posse_core::json::parse(&hooks.to_string());
    let groups = posse_core::hooks::read(&root.expect("JSON"), &mut problems);
    assert!(problems.is_empty(), "{problems:?}");
    groups
}

fn source(label: &str) -> Arc<HookSource> {
    Arc::new(HookSource { label: label.into(), ..HookSource::default() })
}

/// The hooks of one settings file.
fn hooks(written: &Value) -> Hooks {
    Hooks::new(HookPolicy::default(), [(source("settings"), groups(written))], [])
}

/// One command at an event.
fn command(event: HookEvent, command: &str) -> Hooks {
    hooks(&json!({event.name(): [{"hooks": [{"type": "command", "command": command}]}]}))
}

fn before(tool: &str) -> Occasion {
    let input = json!({"command": "ls -l"});
    Occasion::PreToolUse { tool: ToolUse { name: tool.into(), input, id: "call-1".into(), mcp_server: None } }
}

fn stop() -> Occasion {
    Occasion::Stop(Stopping::default())
}

fn startup() -> Occasion {
    Occasion::SessionStart { source: SessionSource::Startup, model: None, session_title: None }
}

fn nothing(merged: &Merged) -> bool {
    *merged == Merged { prevents: merged.prevents, ..Merged::default() }
}
