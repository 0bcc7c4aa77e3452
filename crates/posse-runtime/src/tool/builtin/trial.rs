//! For tests: a folder and a run whose tools work in it, called as the engine calls them.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use posse_core::message::Content;
use posse_testkit::TestEnv;
use serde_json::Value;

use crate::tool::{AnyTool, ToolCx, ToolOutput};
use crate::world::{Clock, Env, Ids, World};

/// A folder and a run.
pub(super) struct Trial {
    pub(super) env: TestEnv,
    pub(super) cx: ToolCx,
}

impl Trial {
    pub(super) fn new() -> Self {
        Self::with(|_| {})
    }

    /// With more in the environment.
    pub(super) fn with(prepare: impl FnOnce(&mut TestEnv)) -> Self {
        let mut env = TestEnv::new();
        prepare(&mut env);
        let world = World {
            env: Env::new(env.vars()),
            cwd: env.cwd().to_owned(),
            clock: Clock::fixed("2026-01-02T03:04:05Z".parse().expect("a time")),
            ids: Arc::new(Ids::seeded(1)),
            ..World::default()
        };
        let cx = ToolCx::new(Arc::new(world), env.path("spool"));
        Self { env, cx }
    }

    /// A path in the run's folder.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.env.cwd().join(name)
    }

    /// Puts a file into the run's folder.
    pub(super) fn put(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        self.env.write(&format!("project/{name}"), content)
    }

    /// A file of the run's folder.
    pub(super) fn get(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    /// Calls a built-in tool.
    pub(super) async fn call(&self, tool: &str, input: Value) -> ToolOutput {
        tool_named(tool).run(input, &self.cx).await
    }

    /// Calls a tool and gives its text, after `error: ` if it failed, with the test's folder as `$ENV`.
    pub(super) async fn say(&self, tool: &str, input: Value) -> String {
        let output = self.call(tool, input).await;
        let text = self.env.normalize(text(&output).as_bytes());
        if output.is_error { format!("error: {text}") } else { text }
    }

    /// Puts a file and has the run read it.
    pub(super) async fn known(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.put(name, content);
        let output = self.call("Read", serde_json::json!({ "file_path": name })).await;
        assert!(!output.is_error, "{output:?}");
        path
    }

    /// Makes a file look changed, whatever the file system's sense of time.
    pub(super) fn touch(&self, name: &str) {
        let file = std::fs::File::options().write(true).open(self.path(name)).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000)).unwrap();
    }

    /// What lies in the run's folder, to see that nothing was left behind.
    pub(super) fn names(&self) -> Vec<String> {
        let entries = self.env.cwd().read_dir().unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.retain(|name| name != ".git");
        names.sort();
        names
    }

    /// Files of the project, each older than the one before it.
    pub(super) fn files(&self, files: &[(&str, &str)]) -> &Self {
        for (age, (name, content)) in files.iter().enumerate() {
            self.file(name, content, age as u64);
        }
        self
    }

    /// A file of the project that was last changed so many seconds before a certain moment.
    pub(super) fn file(&self, name: &str, content: impl AsRef<[u8]>, age: u64) -> PathBuf {
        let path = self.env.write(&format!("project/{name}"), content);
        let modified = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000 - age);
        let file = std::fs::File::options().write(true).open(&path).expect("a file");
        file.set_modified(modified).expect("a time");
        path
    }

    /// Calls any tool, with paths of the test's folder as `$ENV`.
    pub(super) async fn ask(&self, tool: &dyn AnyTool, input: Value) -> Answer {
        let ToolOutput { content, is_error, structured } = tool.run(input, &self.cx.for_call("call-1")).await;
        let texts = content.into_iter().map(|content| match content {
            Content::Text(text) => self.env.normalize(text.as_bytes()),
            Content::Media(media) => format!("<{}>", media.media_type),
        });
        Answer { text: texts.collect::<Vec<_>>().join("\n"), is_error, structured }
    }
}

/// An answer, taken apart.
#[derive(Debug, PartialEq)]
pub(super) struct Answer {
    pub(super) text: String,
    pub(super) is_error: bool,
    pub(super) structured: Option<Value>,
}

impl Answer {
    /// A field of the structured result.
    #[track_caller]
    pub(super) fn field(&self, name: &str) -> &Value {
        let structured = self.structured.as_ref().expect("a structured result");
        structured.get(name).unwrap_or_else(|| panic!("no {name} in {structured}"))
    }
}

/// A built-in tool.
pub(super) fn tool_named(name: &str) -> Arc<dyn AnyTool> {
    super::all().into_iter().find(|tool| tool.name() == name).unwrap()
}

/// All text of an answer; media as its type.
pub(super) fn text(output: &ToolOutput) -> String {
    let parts = output.content.iter().map(|content| match content {
        Content::Text(text) => text.clone(),
        Content::Media(media) => format!("[{}]", media.media_type),
    });
    parts.collect::<Vec<_>>().join("\n")
}
