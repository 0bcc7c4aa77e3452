//! Servers of a session: shared, started late, ended surely; and what hostile ones cannot do.

mod config;
mod given;
mod hostile;
mod lists;
mod real;
mod sharing;
mod web;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use posse_core::mcp::{McpConfig, McpSource, Reach, Standing};
use posse_core::message::Content;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::ask::Desk;
use crate::tool::{AnyTool, ToolCx, ToolOutput};
use crate::world::{Env, World};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/mcp/tests/server.sh");

/// A home, a folder for a server to run in, and the world around them.
struct Rig {
    folder: TempDir,
    world: Arc<World>,
    limits: Limits,
    desk: Desk,
}

impl Rig {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let home = folder.path().join("home");
        std::fs::create_dir_all(&home).expect("a home");
        let env =
            Env::new([("HOME", home.to_str().expect("text")), ("PATH", "/usr/local/bin:/usr/bin:/bin")]);
        let world = World { env, cwd: folder.path().to_owned(), ..World::default() };
        let limits = Limits { farewell: Duration::from_millis(500), ..Limits::default() };
        let rig = Self { folder, world: Arc::new(world), limits, desk: Desk::default() };
        rig.list(&json!([tool("echo"), tool("crash"), tool("hang"), tool("relist"), tool("environment")]));
        rig
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// What the server lists from now on.
    fn list(&self, tools: &Value) {
        std::fs::write(self.path().join("tools.json"), tools.to_string()).expect("a list");
    }

    fn servers(&self, configured: Vec<Configured>) -> Servers {
        let setup = Setup {
            world: Arc::clone(&self.world),
            desk: self.desk.clone(),
            roots: vec![self.path().to_owned()],
            limits: self.limits,
            host: None,
        };
        Servers::new(setup, configured)
    }

    fn cx(&self) -> ToolCx {
        ToolCx::new(Arc::clone(&self.world), self.path().join("spool")).for_call("toolu_1")
    }

    /// The ids of all servers that were ever started.
    fn started(&self) -> Vec<i32> {
        let text = std::fs::read_to_string(self.path().join("started")).unwrap_or_default();
        text.lines().map(|line| line.parse().expect("an id")).collect()
    }

    fn is_running(id: i32) -> bool {
        crate::world::process::started(id).is_some()
    }

    /// Ends the session; afterwards nobody may be left.
    async fn end(&self, servers: &Servers) {
        servers.shutdown().await;
        for id in self.started() {
            assert!(!Self::is_running(id), "{id} is still there");
        }
    }
}

fn tool(name: &str) -> Value {
    json!({"name": name, "description": format!("Does {name}."), "inputSchema": {"type": "object", "properties": {}}})
}

/// The script, behaving in one of its ways.
fn script(mode: &str) -> McpConfig {
    let args = vec![SCRIPT.into(), mode.into()];
    McpConfig::new(Reach::Stdio { command: "sh".into(), args, env: Vec::new(), cwd: None })
}

fn configured(name: &str, config: McpConfig) -> Configured {
    Configured {
        name: name.into(),
        config: Some(config),
        source: McpSource::User,
        file: Path::new("test").into(),
        standing: Standing::Ready,
        consent: None,
    }
}

const MAIN: Holder<'_> = Holder { agent: "", own: false };

/// Calls a tool as the model would.
async fn call(lease: &Arc<Lease>, name: &str, input: Value, cx: &ToolCx) -> ToolOutput {
    let facts = lease.facts().await.expect("what it offers");
    let tools = tools_of(lease, &facts);
    let tool = tools.iter().find(|tool| tool.fact().name == name).expect("the tool");
    tool.run(input, cx).await
}

fn text(output: &ToolOutput) -> String {
    let texts = output.content.iter().filter_map(|part| match part {
        Content::Text(text) => Some(text.as_str()),
        Content::Media(_) => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// Waits until nothing is under way that was begun by dropping a lease.
async fn settled(servers: &Servers) {
    servers.settled().await;
}

/// Writes a file below a folder, with the folders above it.
fn write(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
    std::fs::write(&path, text).expect("a file");
    path
}
