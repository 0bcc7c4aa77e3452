//! Which servers are configured: every file and flag that may name one, read and judged. Nothing is silent: what cannot
//! be used is in the list with the reason.

use std::collections::HashMap;
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use posse_core::diagnostic::{Diagnostic, Problem, Rule};
use posse_core::mcp::{self, Approvals, McpConfig, McpSource, Offered, Reach, Rules, Standing, expand};
use posse_core::settings::{Layer, SettingsServer};
use serde::Deserialize;
use serde_json::Value;

use super::kept;
use super::roster::Roster;
use crate::catalog::{Catalog, Plugin, SettingSources};
use crate::trust;
use crate::world::{Env, World};

/// A file of servers is small; `.claude.json` also holds what others keep there.
const MAX_FILE: u64 = 64 * 1024 * 1024;

/// What the command line says about servers.
#[derive(Clone, Debug, Default)]
pub struct McpOptions {
    /// `--mcp-config`: JSON, or paths of JSON files.
    pub configs: Vec<String>,
    /// `--strict-mcp-config`.
    pub strict: bool,
    /// `--bare`: no files of anybody's but the administrator's.
    pub bare: bool,
    /// `--setting-sources`.
    pub sources: SettingSources,
}

/// A server somebody configured.
#[derive(Clone, Debug, PartialEq)]
pub struct Configured {
    /// Its name.
    pub name: Box<str>,
    /// How to reach it, with its variables filled in if it is ready; nothing if nobody can tell.
    pub config: Option<McpConfig>,
    /// Who says so.
    pub source: McpSource,
    /// The file or flag.
    pub file: Arc<Path>,
    /// Whether it can be used.
    pub standing: Standing,
    /// What a yes to it is a yes to.
    pub consent: Option<Box<str>>,
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// The servers, by name; of one name, the one that counts first.
    pub servers: Vec<Configured>,
    /// What is wrong with the files.
    pub diagnostics: Vec<Diagnostic>,
    /// What they were chosen from.
    pub roster: Roster,
}

/// Why the session cannot start.
#[derive(Debug, thiserror::Error)]
pub enum McpConfigError {
    /// `--mcp-config` cannot be used.
    #[error("--mcp-config cannot be used")]
    Flag(Vec<Diagnostic>),
    /// The administrator forbids it.
    #[error("--mcp-config is switched off by {}", by.display())]
    Forbidden {
        /// The settings file that says so.
        by: Arc<Path>,
    },
}

/// Reads everything. Fails only on what was typed for this very run.
pub fn read(world: &World, catalog: &Catalog, options: &McpOptions) -> Result<Found, McpConfigError> {
    let env = world.env.with_defaults(catalog.settings.env.iter().map(|(name, set)| (&**name, &*set.value)));
    let mut reading = Reading::default();
    if let (Some(by), false) = (&catalog.settings.no_sideload, options.configs.is_empty()) {
        return Err(McpConfigError::Forbidden { by: Arc::clone(&by.file) });
    }
    let managed_only = reading.managed(&catalog.layout.managed);
    let record = reading.record(world);
    let mut own = record.project(&catalog.trust.folder);
    if !options.bare {
        if let Some(file) = record.file.as_ref().filter(|_| options.sources.user) {
            reading.values(file, record.servers.as_ref(), &McpSource::User);
        }
        if let Some(file) = record.file.as_ref().filter(|_| options.sources.local) {
            reading.values(file, own.servers.as_ref(), &McpSource::Local);
        }
        if options.sources.project {
            reading.project(&catalog.layout.project, catalog.layout.project_repository());
        }
        for plugin in &catalog.plugins {
            reading.plugin(plugin, catalog);
        }
    }
    reading.settings(&catalog.settings.mcp.servers);
    for given in &options.configs {
        reading.flag(given, &world.cwd)?;
    }
    // A yes to one program is none to another that came in its place.
    let consents = std::mem::take(&mut own.consents);
    own.enabled.retain(|name| {
        consents
            .get(&**name)
            .is_none_or(|given| reading.consent(name, &McpSource::Project).as_ref() == Some(given))
    });
    let said = &catalog.settings.mcp;
    let approvals = Approvals {
        all: said.approvals.all || own.all,
        enabled: [said.approvals.enabled.clone(), own.enabled].concat(),
        disabled: [said.approvals.disabled.clone(), own.disabled].concat(),
    };
    let rules = Rules {
        policy: said.policy.clone(),
        approvals,
        trusted: catalog.trust.trusted,
        strict: options.strict,
        managed_only,
        plugin_only: catalog.settings.plugin_only.mcp,
    };
    let Reading { offers, diagnostics } = reading;
    let no_sideload = catalog.settings.no_sideload.as_ref().map(|by| Arc::clone(&by.file));
    let switched_off = own.switched_off;
    let roster = Roster { env, offers, rules, switched_off, no_sideload, given: Vec::new() };
    Ok(Found { servers: roster.judged(), diagnostics, roster })
}

/// Judges a server that an agent brings along, by the same rules.
pub fn judge_own(name: &str, config: &McpConfig, catalog: &Catalog, env: &Env) -> Result<McpConfig, String> {
    let config = expand(config, &|name| env.get(name)).map_err(|missing| missing.to_string())?;
    let judged = catalog.settings.mcp.policy.judge(name, &config);
    judged.map(|()| config).map_err(|denied| denied.to_string())
}

/// What a program of a plugin finds in its environment.
fn know_plugin(config: &mut McpConfig, plugin: &Plugin) {
    let Reach::Stdio { env, .. } = &mut config.reach else { return };
    let own = [
        ("CLAUDE_PLUGIN_ROOT", plugin.path.display().to_string()),
        ("CLAUDE_PLUGIN_DATA", plugin.data.display().to_string()),
        // Compiled files beside the source would change what the plugin is pinned by.
        ("PYTHONDONTWRITEBYTECODE", "1".to_owned()),
    ];
    for (name, value) in own {
        if !env.iter().any(|(known, _)| &**known == name) {
            env.push((name.into(), value.into()));
        }
    }
}

#[derive(Default)]
struct Reading {
    /// Each with its file.
    offers: Vec<(Offered, Arc<Path>)>,
    diagnostics: Vec<Diagnostic>,
}

impl Reading {
    /// The administrator's servers; says whether they are all there may be.
    fn managed(&mut self, folder: &Path) -> bool {
        let path = folder.join("managed-mcp.json");
        match text(&path) {
            Ok(text) => self.file(&path.into(), &text, &McpSource::Managed),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return false;
            }
            // A limit that cannot be read is not taken for no limit.
            Err(error) => self.unreadable(&path, &error),
        }
        true
    }

    /// Servers of settings files. They were read, and complained of, with the rest of those.
    fn settings(&mut self, servers: &[SettingsServer]) {
        for one in servers {
            let source = match one.by.layer {
                Layer::User => McpSource::User,
                Layer::Project => McpSource::Project,
                // `--settings` is no `--mcp-config`.
                Layer::Local | Layer::Flag => McpSource::Local,
                Layer::Managed => McpSource::Managed,
            };
            let offer = Offered { name: one.name.clone(), config: one.config.clone(), source };
            self.offers.push((offer, Arc::clone(&one.by.file)));
        }
    }

    /// What a yes to the server that counts would be a yes to.
    fn consent(&self, name: &str, source: &McpSource) -> Option<Box<str>> {
        let mut offers = self.offers.iter().map(|(offer, _)| offer);
        let offer = offers.find(|offer| *offer.name == *name && offer.source == *source)?;
        offer.config.as_ref().ok().map(kept::consent)
    }

    fn project(&mut self, cwd: &Path, top: Option<&Path>) {
        for folder in cwd.ancestors() {
            let path = folder.join(".mcp.json");
            match text(&path) {
                Ok(text) => self.file(&path.into(), &text, &McpSource::Project),
                Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {}
                Err(error) => self.unreadable(&path, &error),
            }
            // Without a repository only the folder itself is the project.
            if top.is_none_or(|top| top == folder) {
                break;
            }
        }
    }

    /// A plugin's servers, named after it, with what it knows of itself in their environment.
    fn plugin(&mut self, plugin: &Plugin, catalog: &Catalog) {
        let source = McpSource::Plugin((&*plugin.name).into());
        let only_admins = catalog.settings.plugin_only.mcp && !plugin.is_managed;
        for server in &plugin.servers {
            let before = (self.offers.len(), self.diagnostics.len());
            let text = serde_json::json!({ "mcpServers": { &*server.name: server.config } }).to_string();
            self.file(&server.file, &text, &source);
            // What is wrong with it was said where the plugin was read, with the places in its own file.
            self.diagnostics.truncate(before.1);
            for (offer, _) in &mut self.offers[before.0..] {
                if only_admins {
                    offer.config =
                        Err("only plugins that the administrator enables may bring servers".into());
                } else if let Ok(config) = &mut offer.config {
                    know_plugin(config, plugin);
                    let options = plugin.variables.user_config.iter();
                    config.hidden = options.map(|(_, value)| value.clone()).collect();
                }
            }
        }
    }

    fn flag(&mut self, given: &str, cwd: &Path) -> Result<(), McpConfigError> {
        let inline = given.trim_start().starts_with('{');
        let file: Arc<Path> =
            if inline { Path::new("<--mcp-config>").into() } else { cwd.join(given).into() };
        let before = self.diagnostics.len();
        if inline {
            self.file(&file, given, &McpSource::Flag);
        } else {
            match text(&file) {
                Ok(text) => self.file(&file, &text, &McpSource::Flag),
                Err(error) => self.unreadable(&file, &error),
            }
        }
        let wrong = self.diagnostics.split_off(before);
        let (refused, told): (Vec<_>, Vec<_>) =
            wrong.into_iter().partition(|one| one.rule != Rule::OldSpelling);
        self.diagnostics.extend(told);
        if refused.is_empty() { Ok(()) } else { Err(McpConfigError::Flag(refused)) }
    }

    /// A file of servers.
    fn file(&mut self, file: &Arc<Path>, text: &str, source: &McpSource) {
        let (root, problems) = posse_core::json::parse(text);
        self.diagnostics.extend(problems.into_iter().map(|problem| problem.located(file, text)));
        let Some(root) = root else { return };
        let (servers, problems) = mcp::read_file(&root);
        self.diagnostics.extend(problems.into_iter().map(|problem| problem.located(file, text)));
        for (name, config) in servers {
            let config = config.map_err(|problem| {
                let said = problem.text.clone();
                self.diagnostics.push(problem.located(file, text));
                said
            });
            self.offers.push((Offered { name, config, source: source.clone() }, Arc::clone(file)));
        }
    }

    /// Servers inside a file that holds other things too.
    fn values(&mut self, file: &Arc<Path>, servers: Option<&Value>, source: &McpSource) {
        for (name, value) in servers.and_then(Value::as_object).into_iter().flatten() {
            let (root, _) = posse_core::json::parse(&value.to_string());
            let read = root.as_ref().map(mcp::read_config);
            let config =
                read.unwrap_or_else(|| Err(Problem::whole(Rule::InvalidMcpServer, "it cannot be read")));
            let config = config.map_err(|problem| {
                let text = format!("the server {name}: {}", problem.text);
                self.diagnostics.push(Diagnostic::of_file(Rule::InvalidMcpServer, file, None, text));
                problem.text
            });
            let offer = Offered { name: name.as_str().into(), config, source: source.clone() };
            self.offers.push((offer, Arc::clone(file)));
        }
    }

    /// The user's own record, which other tools share.
    fn record(&mut self, world: &World) -> Record {
        let Some(path) = trust::file(&world.env) else { return Record::default() };
        let file: Arc<Path> = path.clone().into();
        let written = match text(&path) {
            Ok(text) if text.trim().is_empty() => Written::default(),
            Ok(text) => match serde_json::from_str(text.trim_start_matches('\u{feff}')) {
                Ok(written) => written,
                Err(error) => {
                    let said = format!("cannot be understood, so its MCP servers do not count: {error}");
                    self.diagnostics.push(Diagnostic::of_file(Rule::JsonSyntax, &file, None, said));
                    Written::default()
                }
            },
            Err(error) if error.kind() == ErrorKind::NotFound => Written::default(),
            Err(error) => {
                self.unreadable(&path, &error);
                Written::default()
            }
        };
        Record {
            file: Some(file),
            servers: written.mcp_servers,
            projects: written.projects.unwrap_or_default(),
        }
    }

    fn unreadable(&mut self, path: &Path, error: &std::io::Error) {
        let text = format!("cannot be read: {error}");
        self.diagnostics.push(Diagnostic::of_file(Rule::UnreadableFile, &path.into(), None, text));
    }
}

/// What `.claude.json` says about servers.
#[derive(Default)]
struct Record {
    file: Option<Arc<Path>>,
    servers: Option<Value>,
    projects: HashMap<String, Project>,
}

/// What it says about one project.
#[derive(Default)]
struct Own {
    servers: Option<Value>,
    all: bool,
    enabled: Vec<Box<str>>,
    disabled: Vec<Box<str>>,
    switched_off: Vec<Box<str>>,
    consents: HashMap<String, Box<str>>,
}

impl Record {
    fn project(&self, folder: &Path) -> Own {
        let real: Option<PathBuf> = folder.canonicalize().ok();
        let by_name = |path: &Path| self.projects.get(path.to_str()?);
        let Some(project) = by_name(folder).or_else(|| by_name(real.as_deref()?)) else {
            return Own::default();
        };
        let names = |value: &Option<Value>| -> Vec<Box<str>> {
            let items = value.as_ref().and_then(Value::as_array).into_iter().flatten();
            items.filter_map(Value::as_str).map(Box::from).collect()
        };
        Own {
            servers: project.mcp_servers.clone(),
            all: project.enable_all_project_mcp_servers == Some(Value::Bool(true)),
            enabled: names(&project.enabled_mcpjson_servers),
            disabled: names(&project.disabled_mcpjson_servers),
            switched_off: names(&project.disabled_mcp_servers),
            consents: {
                let given =
                    project.posse_mcp_consents.as_ref().and_then(Value::as_object).into_iter().flatten();
                given.filter_map(|(name, digest)| Some((name.clone(), digest.as_str()?.into()))).collect()
            },
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Written {
    mcp_servers: Option<Value>,
    projects: Option<HashMap<String, Project>>,
}

/// Whatever is there is taken as it is: a slip in one project must not cost the others.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Project {
    mcp_servers: Option<Value>,
    enable_all_project_mcp_servers: Option<Value>,
    enabled_mcpjson_servers: Option<Value>,
    disabled_mcpjson_servers: Option<Value>,
    disabled_mcp_servers: Option<Value>,
    posse_mcp_consents: Option<Value>,
}

fn text(path: &Path) -> std::io::Result<String> {
    let metadata = std::fs::metadata(path)?;
    if !metadata.is_file() {
        return Err(std::io::Error::other("not a regular file"));
    }
    let mut text = String::new();
    std::fs::File::open(path)?.take(MAX_FILE + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_FILE {
        return Err(std::io::Error::other("the file is too large"));
    }
    Ok(text)
}
