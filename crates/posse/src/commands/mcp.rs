//! `posse mcp`: which servers there are, how they are, and who is logged in.

mod serve;

use std::sync::Arc;

use posse_core::mcp::{McpConfig, McpSource, Reach, Standing, read_config, without_keys};
use posse_runtime::ask::Desk;
use posse_runtime::catalog::{Catalog, CatalogOptions};
use posse_runtime::mcp::config::{self, McpConfigError};
use posse_runtime::mcp::edit::{self, EditError, Scope};
use posse_runtime::mcp::{Limits, Login, LoginError, McpOptions, Servers, Setup, Status, logout};
use posse_runtime::world::World;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::run::runtime;
use super::{load, signals};
use crate::args::{McpArgs, McpCommand, ServerScopeArg, TransportArg};
use crate::render::style::{Style, plain};
use crate::render::{json as as_json, mcp as page};
use crate::report::{CommandResult, Failure, Outcome};
use crate::terminal::Terminal;

pub(super) fn run(args: &McpArgs, world: &World, terminal: &mut Terminal) -> CommandResult {
    let catalog = load(world, &CatalogOptions { headless: true, ..CatalogOptions::default() })?;
    match args.command.as_ref().unwrap_or(&McpCommand::List) {
        McpCommand::List => list(None, args.json, &catalog, world, terminal),
        McpCommand::Get { name } => list(Some(name), args.json, &catalog, world, terminal),
        McpCommand::Add { name, target, args: words, transport, env, header, scope } => {
            let config = match transport {
                TransportArg::Stdio => {
                    let env = pairs(env, "=", "--env")?;
                    json!({ "type": "stdio", "command": target, "args": words, "env": env })
                }
                TransportArg::Http | TransportArg::Sse => {
                    let kind = if *transport == TransportArg::Http { "http" } else { "sse" };
                    json!({ "type": kind, "url": target, "headers": pairs(header, ":", "--header")? })
                }
            };
            add(name, &config, *scope, &catalog, world, terminal)
        }
        McpCommand::AddJson { name, config, scope } => {
            let config: Value = serde_json::from_str(config)
                .map_err(|error| Failure::new(format!("that is no JSON: {error}")).usage())?;
            add(name, &config, *scope, &catalog, world, terminal)
        }
        McpCommand::Remove { name, scope } => remove(name, *scope, &catalog, world, terminal),
        McpCommand::Enable { name } => decide(name, true, &catalog, world, terminal),
        McpCommand::Disable { name } => decide(name, false, &catalog, world, terminal),
        McpCommand::Login { name } => login(name, &catalog, world, terminal),
        McpCommand::Serve(args) => serve::run(args, world, terminal),
        McpCommand::Logout { name } => {
            let config = find(name, &catalog, world)?;
            let had = logout(&config, &world.env).map_err(|error| login_failure(&error, &config))?;
            let said = if had { "you are logged out of" } else { "you were not logged in to" };
            writeln!(terminal.out, "{said} {name}")?;
            Ok(Outcome::Fine)
        }
    }
}

/// `NAME=VALUE`s as an object.
fn pairs(given: &[String], between: &str, flag: &str) -> Result<Value, Failure> {
    let pair = |text: &String| {
        let (name, value) = text.split_once(between)?;
        Some((name.trim().to_owned(), Value::from(value.trim())))
    };
    let all: Option<serde_json::Map<String, Value>> = given.iter().map(pair).collect();
    let wrong = || Failure::new(format!("{flag} takes NAME{between}VALUE")).usage();
    all.map(Value::Object).ok_or_else(wrong)
}

fn found(catalog: &Catalog, world: &World) -> Result<config::Found, Failure> {
    config::read(world, catalog, &McpOptions::default()).map_err(|error| config_failure(&error))
}

/// What is said of servers on the command line that cannot be used.
pub(super) fn config_failure(error: &McpConfigError) -> Failure {
    match error {
        McpConfigError::Flag(diagnostics) => {
            Failure { diagnostics: diagnostics.clone(), ..Failure::new(error.to_string()) }.usage()
        }
        McpConfigError::Forbidden { .. } => Failure::new(error.to_string()),
    }
}

/// The configuration that counts under a name.
fn find(name: &str, catalog: &Catalog, world: &World) -> Result<McpConfig, Failure> {
    let servers = found(catalog, world)?.servers;
    let one = servers.iter().find(|one| *one.name == *name);
    let one = one.ok_or_else(|| Failure::new(format!("no MCP server is called `{name}`")).usage())?;
    match (&one.standing, &one.config) {
        (Standing::Ready | Standing::NeedsApproval | Standing::NeedsTrust, Some(config)) => {
            Ok(config.clone())
        }
        (Standing::Denied(why), _) => Err(Failure::new(format!("{name} may not be used: {why}"))),
        (Standing::Broken(why), _) => Err(Failure::new(format!("{name} cannot be used: {why}"))),
        (Standing::Ready | Standing::NeedsApproval | Standing::NeedsTrust, None) => {
            Err(Failure::new("nobody can tell how to reach it"))
        }
    }
}

fn list(
    only: Option<&str>,
    json: bool,
    catalog: &Catalog,
    world: &World,
    terminal: &mut Terminal,
) -> CommandResult {
    let mut found = found(catalog, world)?;
    if let Some(name) = only {
        found.servers.retain(|one| *one.name == *name);
        if found.servers.is_empty() {
            return Err(Failure::new(format!("no MCP server is called `{name}`")).usage().into());
        }
    }
    let statuses = reached(&found, catalog, world)?;
    let style = Style { color: terminal.color };
    if json {
        as_json::print(&page::list_json(&found, &statuses), &mut terminal.out)?;
    } else {
        let text = match only {
            Some(_) => page::details(&found, &statuses, style),
            None => page::list(&found, &statuses, style),
        };
        terminal.out.write_all(text.as_bytes())?;
    }
    Ok(Outcome::Fine)
}

/// Reaches every server that may be used, all at once, and ends them again.
fn reached(found: &config::Found, catalog: &Catalog, world: &World) -> Result<Vec<Status>, Failure> {
    let settings = catalog.settings.env.iter().map(|(name, set)| (&**name, &*set.value));
    let world = Arc::new(World { env: world.env.with_defaults(settings), ..world.clone() });
    let limits = Limits::from_env(&world.env);
    let roots = vec![world.cwd.clone()];
    let setup = Setup { world, desk: Desk::default(), roots, limits, host: None };
    let runtime = runtime()?;
    Ok(runtime.block_on(async {
        let servers = Servers::new(setup, found.servers.clone());
        servers.reach_all().await;
        let statuses = servers.status();
        servers.shutdown().await;
        statuses
    }))
}

fn scope(scope: ServerScopeArg) -> Scope {
    match scope {
        ServerScopeArg::Local => Scope::Local,
        ServerScopeArg::Project => Scope::Project,
        ServerScopeArg::User => Scope::User,
    }
}

fn edit_failure(error: &EditError) -> Failure {
    Failure::new(error.to_string()).hint("nothing was changed")
}

/// What is wrong with a server that is to be written down.
fn objection(name: &str, config: &Value) -> Option<String> {
    if !name.chars().any(char::is_alphanumeric) {
        return Some("a server needs a name with a letter or a digit in it".to_owned());
    }
    let (root, _) = posse_core::json::parse(&config.to_string());
    let config = match read_config(root.as_ref()?) {
        Ok(config) => config,
        Err(problem) => return Some(problem.text),
    };
    match &config.reach {
        Reach::Remote { url, .. } if !is_address(url) => {
            Some(format!("`{url}` is no address of a server: it begins with http:// or https://"))
        }
        Reach::Stdio { .. } | Reach::Remote { .. } | Reach::Sdk { .. } => None,
    }
}

/// Whether an address can be one; a variable may hold any part of it.
fn is_address(url: &str) -> bool {
    ["http://", "https://", "ws://", "wss://", "${"].iter().any(|start| url.starts_with(start))
}

fn add(
    name: &str,
    config: &Value,
    at: ServerScopeArg,
    catalog: &Catalog,
    world: &World,
    terminal: &mut Terminal,
) -> CommandResult {
    if let Some(problem) = objection(name, config) {
        return Err(Failure::new(problem).hint("nothing was changed").usage().into());
    }
    let (file, replaced) =
        edit::add(scope(at), name, config, catalog, world).map_err(|error| edit_failure(&error))?;
    let place = if replaced { ", in place of what was there" } else { "" };
    writeln!(terminal.out, "{} is in {}{place}", plain(name), file.display())?;
    Ok(Outcome::Fine)
}

fn remove(
    name: &str,
    at: Option<ServerScopeArg>,
    catalog: &Catalog,
    world: &World,
    terminal: &mut Terminal,
) -> CommandResult {
    let places = match at {
        Some(one) => vec![scope(one)],
        None => vec![Scope::Local, Scope::Project, Scope::User],
    };
    let mut removed = false;
    for place in places {
        let file = edit::remove(place, name, catalog, world).map_err(|error| edit_failure(&error))?;
        if let Some(file) = file {
            writeln!(terminal.out, "{name} is not in {} any more", file.display())?;
            removed = true;
        }
    }
    if removed {
        Ok(Outcome::Fine)
    } else {
        Err(Failure::new(format!("`{name}` is written down nowhere")).into())
    }
}

fn decide(name: &str, yes: bool, catalog: &Catalog, world: &World, terminal: &mut Terminal) -> CommandResult {
    let servers = found(catalog, world)?.servers;
    let one = servers.iter().find(|one| *one.name == *name);
    let one = one.ok_or_else(|| Failure::new(format!("no MCP server is called `{name}`")).usage())?;
    edit::decide(one, yes, catalog, world).map_err(|error| edit_failure(&error))?;
    let word = if yes { "on" } else { "off" };
    writeln!(terminal.out, "{name} is switched {word} in {}", catalog.trust.folder.display())?;
    if yes && one.source == McpSource::Project && !catalog.trust.trusted {
        writeln!(terminal.out, "it runs once you trust the folder: posse trust")?;
    }
    Ok(Outcome::Fine)
}

fn login_failure(error: &LoginError, config: &McpConfig) -> Failure {
    Failure::new(without_keys(&config.veiled(&error.to_string())))
}

fn login(name: &str, catalog: &Catalog, world: &World, terminal: &mut Terminal) -> CommandResult {
    let config = find(name, catalog, world)?;
    let runtime = runtime()?;
    runtime.block_on(async {
        let login =
            Login::begin(name, &config, world).await.map_err(|error| login_failure(&error, &config))?;
        writeln!(terminal.out, "Open this address to log in to {name}:\n\n  {}\n", login.url())?;
        terminal.out.flush()?;
        let stop = CancellationToken::new();
        let finished = tokio::select! {
            finished = login.finish(stop.clone()) => finished,
            never = signals::interrupts(stop) => match never {},
        };
        match finished {
            Ok(()) => {
                writeln!(terminal.out, "you are logged in to {name}")?;
                Ok(Outcome::Fine)
            }
            Err(LoginError::Stopped) => Ok(Outcome::Interrupted),
            Err(error) => Err(login_failure(&error, &config).into()),
        }
    })
}
