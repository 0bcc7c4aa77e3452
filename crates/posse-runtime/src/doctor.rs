//! What works here and what does not, with what to do about it.
//!
//! Each check is one line: a state, a finding, a remedy. Knows where to look; refuses to mend anything itself.

mod sandbox;

use std::path::{Path, PathBuf};
use std::time::Duration;

use posse_core::diagnostic::{Diagnostic, Severity};
use rustix::fs::Access;

use crate::catalog::{Catalog, CatalogOptions, Layout, LoadError};
use crate::world::{Env, World};

/// How a check came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It works.
    Good,
    /// It works, but somebody should know.
    Note,
    /// It does not work.
    Broken,
    /// Nobody looked.
    Skipped,
}

impl State {
    /// One lower-case word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Note => "note",
            Self::Broken => "broken",
            Self::Skipped => "skipped",
        }
    }
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// What.
    pub name: &'static str,
    /// How it came out.
    pub state: State,
    /// What was found.
    pub text: String,
    /// What to do.
    pub fix: Option<String>,
}

impl Check {
    /// A finding.
    pub fn new(name: &'static str, state: State, text: impl Into<String>) -> Self {
        Self { name, state, text: text.into(), fix: None }
    }

    /// Adds what to do.
    pub fn fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = Some(fix.into());
        self
    }
}

/// How long an endpoint may take to answer the knock.
const PATIENCE: Duration = Duration::from_secs(3);
/// Less free space than this is worth a word: conversations are written down as they happen.
const LITTLE_SPACE: u64 = 100 * 1024 * 1024;

/// Looks at everything. `offline` leaves the network alone.
pub async fn examine(world: &World, options: &CatalogOptions, offline: bool) -> Vec<Check> {
    let layout = Layout::find(world, options);
    let loaded = Catalog::load(world, options);
    let mut checks = vec![config_folder(&layout), space(&layout)];
    let env = match &loaded {
        Ok(catalog) => {
            let added = catalog.settings.env.iter().map(|(name, set)| (&**name, &*set.value));
            world.env.with_defaults(added)
        }
        Err(_) => world.env.clone(),
    };
    let helper = loaded.as_ref().ok().is_some_and(|catalog| catalog.settings.api_key_helper.is_some());
    checks.push(key(&env, helper));
    checks.push(endpoint(&env, offline).await);
    checks.push(program("bash", State::Broken, "the Bash tool needs it: install bash", &env));
    checks.push(program("git", State::Note, "install git for worktrees and for what changed", &env));
    checks.push(program("tmux", State::Note, "only teams in panes need it", &env));
    match &loaded {
        Ok(catalog) => {
            checks.extend(sandbox::checks(catalog, world).await);
            checks.extend([settings(catalog), agents(catalog), trust(catalog)]);
        }
        Err(error) => checks.push(not_loaded(error)),
    }
    checks.extend(mcp_servers(&layout, &env));
    checks
}

fn config_folder(layout: &Layout) -> Check {
    const NAME: &str = "config folder";
    let Some(user) = &layout.user else {
        return Check::new(NAME, State::Broken, "there is no home folder")
            .fix("set HOME or CLAUDE_CONFIG_DIR");
    };
    let shown = user.display();
    let Some(existing) = user.ancestors().find(|folder| folder.exists()) else {
        return Check::new(NAME, State::Broken, format!("{shown} cannot be made"))
            .fix("set CLAUDE_CONFIG_DIR");
    };
    if !existing.is_dir() {
        let text = format!("{} is not a folder", existing.display());
        return Check::new(NAME, State::Broken, text).fix("move it away, or set CLAUDE_CONFIG_DIR");
    }
    match rustix::fs::access(existing, Access::WRITE_OK | Access::EXEC_OK) {
        Ok(()) => Check::new(NAME, State::Good, shown.to_string()),
        Err(_) => Check::new(NAME, State::Broken, format!("{} cannot be written", existing.display()))
            .fix(format!("make it yours: chown \"$USER\" {}", existing.display())),
    }
}

fn space(layout: &Layout) -> Check {
    const NAME: &str = "disk";
    let folder = layout.user.as_deref().unwrap_or(&layout.cwd);
    let existing = folder.ancestors().find(|folder| folder.exists()).unwrap_or(Path::new("/"));
    match rustix::fs::statvfs(existing) {
        Ok(disk) => {
            let free = disk.f_bavail.saturating_mul(disk.f_frsize);
            let text = format!("{} MiB free", free / (1024 * 1024));
            if free < LITTLE_SPACE {
                return Check::new(NAME, State::Note, text).fix("make room: conversations are written down");
            }
            Check::new(NAME, State::Good, text)
        }
        Err(error) => Check::new(NAME, State::Note, format!("cannot be looked at: {error}")),
    }
}

fn key(env: &Env, helper: bool) -> Check {
    const NAME: &str = "key";
    let known = ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY"];
    if let Some(name) = known.into_iter().find(|name| env.get(name).is_some()) {
        return Check::new(NAME, State::Good, format!("{name} is set"));
    }
    if helper {
        return Check::new(NAME, State::Good, "apiKeyHelper in settings prints one");
    }
    if env.get("OPENAI_BASE_URL").is_some() {
        return Check::new(NAME, State::Note, "none; local endpoints may need none");
    }
    Check::new(NAME, State::Broken, "there is none").fix("set ANTHROPIC_API_KEY; `posse demo` needs no key")
}

async fn endpoint(env: &Env, offline: bool) -> Check {
    const NAME: &str = "endpoint";
    let (variable, address) = match (env.get("ANTHROPIC_BASE_URL"), env.get("OPENAI_BASE_URL")) {
        (Some(url), _) => ("ANTHROPIC_BASE_URL", url),
        (None, Some(url)) => ("OPENAI_BASE_URL", url),
        (None, None) => ("ANTHROPIC_BASE_URL", "https://api.anthropic.com"),
    };
    let target = url::Url::parse(address).ok().and_then(|url| {
        Some((url.host_str()?.trim_matches(['[', ']']).to_owned(), url.port_or_known_default()?))
    });
    let Some((host, port)) = target else {
        return Check::new(NAME, State::Broken, format!("{variable} is not an address"))
            .fix(format!("write it as https://host, not `{address}`"));
    };
    if offline {
        return Check::new(NAME, State::Skipped, format!("{host}:{port} (--offline)"));
    }
    let proxied =
        ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"].iter().any(|name| env.get(name).is_some());
    let connecting = tokio::net::TcpStream::connect((host.as_str(), port));
    let problem = match tokio::time::timeout(PATIENCE, connecting).await {
        Ok(Ok(_)) => return Check::new(NAME, State::Good, format!("{host}:{port} answers")),
        Ok(Err(error)) => error.to_string(),
        Err(_) => format!("no answer within {} seconds", PATIENCE.as_secs()),
    };
    if proxied {
        let text = format!("{host}:{port} does not answer directly; a proxy is set");
        return Check::new(NAME, State::Note, text);
    }
    Check::new(NAME, State::Broken, format!("{host}:{port} does not answer: {problem}"))
        .fix(format!("check the network, and {variable} if it is set"))
}

fn program(name: &'static str, missing: State, fix: &str, env: &Env) -> Check {
    match find_program(name, env) {
        Some(path) => Check::new(name, State::Good, path.display().to_string()),
        None => Check::new(name, missing, "not found on PATH").fix(fix),
    }
}

fn find_program(name: &str, env: &Env) -> Option<PathBuf> {
    let runs = |path: &Path| path.is_file() && rustix::fs::access(path, Access::EXEC_OK).is_ok();
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(|path| runs(path));
    }
    let folders = env.get("PATH").unwrap_or_default().split(':').filter(|folder| !folder.is_empty());
    folders.map(|folder| Path::new(folder).join(name)).find(|path| runs(path))
}

fn not_loaded(error: &LoadError) -> Check {
    Check::new("settings", State::Broken, error.to_string()).fix("`posse config` shows where")
}

fn settings(catalog: &Catalog) -> Check {
    const NAME: &str = "settings";
    let files = catalog.settings_files.len();
    let problems = catalog.settings_problems();
    let of = |severity| problems.iter().filter(|one| one.severity == severity).count();
    let read = if files == 1 { "1 file".to_owned() } else { format!("{files} files") };
    let (errors, warnings) = (of(Severity::Error), of(Severity::Warning));
    if errors + warnings == 0 {
        return Check::new(NAME, State::Good, format!("{read}, no problems"));
    }
    let first = problems.iter().find(|one| one.severity != Severity::Note).map(place).unwrap_or_default();
    let state = if errors > 0 { State::Broken } else { State::Note };
    let text = format!("{read}, {errors} errors, {warnings} warnings; first: {first}");
    Check::new(NAME, state, text).fix("`posse config` shows them all")
}

fn place(one: &Diagnostic) -> String {
    let file = one.file.display();
    match one.location {
        Some(at) => format!("{file}:{}:{} {}", at.line, at.column, one.text),
        None => format!("{file} {}", one.text),
    }
}

fn agents(catalog: &Catalog) -> Check {
    let (active, failed) = (catalog.registry.active.len(), &catalog.registry.failed);
    match failed.first() {
        None => Check::new("agents", State::Good, format!("{active} loaded")),
        Some(first) => {
            let file = first.source.file.display();
            let text = format!("{active} loaded, {} not; first: {file}", failed.len());
            Check::new("agents", State::Broken, text).fix("`posse lint` shows why")
        }
    }
}

fn trust(catalog: &Catalog) -> Check {
    let folder = catalog.trust.folder.display();
    if catalog.trust.trusted {
        return Check::new("trust", State::Good, format!("{folder} is trusted"));
    }
    match catalog.ignored_for_trust() {
        Some(ignored) => Check::new("trust", State::Note, ignored).fix("`posse trust --show` lists them"),
        None => {
            Check::new("trust", State::Good, format!("{folder} is not trusted, and nothing waits for it"))
        }
    }
}

/// Servers of `.mcp.json`: whether what they start is there.
fn mcp_servers(layout: &Layout, env: &Env) -> Vec<Check> {
    const NAME: &str = "mcp servers";
    let top = layout.repository.as_deref().unwrap_or(&layout.cwd);
    let file = top.join(".mcp.json");
    let Ok(text) = std::fs::read_to_string(&file) else { return Vec::new() };
    let parsed = serde_json::from_str::<serde_json::Value>(text.trim_start_matches('\u{feff}'));
    let servers = match parsed.as_ref().map(|root| root.get("mcpServers").and_then(|map| map.as_object())) {
        Ok(Some(servers)) => servers,
        Ok(None) => {
            let text = format!("{} has no object `mcpServers`", file.display());
            return vec![Check::new(NAME, State::Broken, text).fix("write {\"mcpServers\": {…}}")];
        }
        Err(error) => {
            let text = format!("{} is not valid JSON: {error}", file.display());
            return vec![Check::new(NAME, State::Broken, text).fix("mend the file")];
        }
    };
    let command = |server: &serde_json::Value| server.get("command")?.as_str().map(str::to_owned);
    let lost: Vec<Check> = servers
        .iter()
        .filter_map(|(name, server)| Some((name, command(server)?)))
        // What names a variable is only known when it starts.
        .filter(|(_, command)| !command.contains("${") && find_program(command, env).is_none())
        .map(|(name, command)| {
            Check::new(NAME, State::Broken, format!("{name}: `{command}` is not found on PATH"))
                .fix(format!("install {command}, or take {name} out of {}", file.display()))
        })
        .collect();
    if lost.is_empty() {
        return vec![Check::new(NAME, State::Good, format!("{} in {}", servers.len(), file.display()))];
    }
    lost
}
