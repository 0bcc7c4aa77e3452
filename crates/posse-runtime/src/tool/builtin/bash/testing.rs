//! A world to run commands in, and a look at what they left running.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use posse_core::message::Content;
use posse_testkit::TestEnv;
use serde_json::Value;

use crate::tool::{AnyTool, ToolCx};
use crate::world::{Env, Ids, World};

/// A project with a folder `sub`, and an environment whose every process can be told from all others.
pub(crate) struct Bench {
    pub(crate) env: TestEnv,
    pub(crate) cx: ToolCx,
    mark: String,
}

/// What a tool answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) text: String,
    pub(crate) is_error: bool,
    pub(crate) structured: Value,
    pub(crate) content: Vec<Content>,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self::with(&[])
    }

    pub(crate) fn with(vars: &[(&str, &str)]) -> Self {
        let env = TestEnv::new();
        for folder in ["project/sub", "tmp"] {
            std::fs::create_dir_all(env.path(folder)).unwrap();
        }
        let mark = Ids::default().uuid();
        let mut all = env.vars();
        all.push(("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into()));
        all.push(("TMPDIR".into(), env.path("tmp").display().to_string()));
        all.push(("TEST_MARK".into(), mark.clone()));
        all.extend(vars.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        let cwd = env.path("project").canonicalize().unwrap();
        let world = World { env: Env::new(all), cwd, ..World::default() };
        let cx = ToolCx::new(Arc::new(world), env.path("spool"));
        Self { env, cx, mark }
    }

    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.cx.world.cwd.join(relative)
    }

    /// One call.
    pub(crate) async fn run(&self, tool: &dyn AnyTool, input: Value) -> Answer {
        let cx = self.cx.for_call("call");
        let output = tool.run(input, &cx).await;
        let texts = output.content.iter().filter_map(|content| match content {
            Content::Text(text) => Some(text.as_str()),
            Content::Media(_) => None,
        });
        Answer {
            text: texts.collect::<Vec<_>>().join("\n"),
            is_error: output.is_error,
            structured: output.structured.unwrap_or_default(),
            content: output.content,
        }
    }

    /// How many processes of this world run: by their environment, or by what they were called with.
    #[cfg(target_os = "linux")]
    pub(crate) fn running(&self) -> usize {
        let is_ours = |process: &std::path::Path| {
            let has = |file: &str| {
                let bytes = std::fs::read(process.join(file)).unwrap_or_default();
                bytes.windows(self.mark.len()).any(|part| part == self.mark.as_bytes())
            };
            has("environ") || has("cmdline")
        };
        let processes = std::fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path());
        processes.filter(|process| is_ours(process)).count()
    }
}

/// Waits for something that processes do.
pub(crate) async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..1500 {
        if is_so() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{what} did not happen");
}
