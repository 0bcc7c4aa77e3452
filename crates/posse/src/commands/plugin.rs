//! `posse plugin`: installing, switching, updating, checking.

mod validate;

use std::io::{IsTerminal, Read};

use posse_core::diagnostic::Severity;
use posse_core::plugin::UserOption;
use posse_runtime::catalog::{Catalog, CatalogOptions, Layout, PluginFault};
use posse_runtime::plugins::{
    Known, Parts, Pin, Place, PluginError, Project, Record, Scope, Store, settings_file,
};
use posse_runtime::world::World;

use super::load;
use super::run::runtime;
use crate::args::{ConfigArg, MarketplaceCommand, PluginArgs, PluginCommand, ScopeArgs};
use crate::render::plugins::{self as page, Row};
use crate::render::style::Style;
use crate::render::{diagnostics, json as as_json, relative};
use crate::report::{CommandResult, Error, Failure, Outcome};
use crate::terminal::Terminal;

pub(super) fn run(args: &PluginArgs, world: &World, terminal: &mut Terminal) -> CommandResult {
    if let Some(PluginCommand::Validate { path, strict }) = &args.command {
        return validate::run(path, *strict, args.json, world, terminal);
    }
    let layout = Layout::find(world, &CatalogOptions::default());
    let user = layout.user.clone().ok_or_else(|| failure(&PluginError::NoHome))?;
    let top = layout.repository.clone().unwrap_or_else(|| layout.cwd.clone());
    let desk = Desk { store: Store::new(&user), project: Project { user, cwd: layout.cwd, top }, world };
    desk.store.tidy().map_err(|error| failure(&error))?;
    let command = args.command.as_ref().unwrap_or(&PluginCommand::List);
    match command {
        PluginCommand::List => desk.list(args.json, terminal),
        PluginCommand::Install { name, scope, config, yes } => {
            desk.install(name, *scope, config, *yes, terminal)
        }
        PluginCommand::Uninstall { name, scope } => desk.uninstall(name, *scope, terminal),
        PluginCommand::Enable { name, scope, config } => desk.enable(name, *scope, config, terminal),
        PluginCommand::Disable { name, scope } => desk.switch(name, *scope, false, terminal),
        PluginCommand::Update { name, yes } => desk.update(name.as_deref(), *yes, terminal),
        PluginCommand::Marketplace { command } => desk.marketplace(command, args.json, terminal),
        PluginCommand::Validate { .. } => Ok(Outcome::Fine),
    }
}

/// What every command needs.
struct Desk<'a> {
    store: Store,
    project: Project,
    world: &'a World,
}

impl Desk<'_> {
    fn catalog(&self) -> Result<Catalog, Failure> {
        load(self.world, &CatalogOptions { headless: true, ..CatalogOptions::default() })
    }

    fn list(&self, json: bool, terminal: &mut Terminal) -> CommandResult {
        let catalog = self.catalog()?;
        let records = self.store.installed().map_err(|error| failure(&error))?;
        let faults = &catalog.plugin_faults;
        let row = |record| -> Row<'_> {
            let record: &Record = record;
            let on = catalog.settings.plugins.iter().find(|(id, _)| **id == *record.id);
            Row {
                record,
                enabled: on.is_some_and(|(_, set)| set.value) && record.is_for(&self.project.top),
                pin: record.pin(),
                faults: faults.iter().filter(|fault| *fault.plugin == *record.id).collect(),
            }
        };
        let rows: Vec<Row<'_>> = records.iter().map(row).collect();
        let is_lost = |fault: &&PluginFault| !records.iter().any(|record| *record.id == *fault.plugin);
        let lost: Vec<&PluginFault> = faults.iter().filter(is_lost).collect();
        if json {
            as_json::print(&page::list_json(&rows, &lost), &mut terminal.out)?;
        } else {
            let text = page::list(&rows, &lost, Style { color: terminal.color });
            terminal.out.write_all(text.as_bytes())?;
        }
        let broken = rows.iter().any(|row| matches!(row.pin, Pin::Broken | Pin::Gone));
        Ok(if broken { Outcome::Problems } else { Outcome::Fine })
    }

    fn install(
        &self,
        name: &str,
        scope: ScopeArgs,
        config: &ConfigArg,
        yes: bool,
        terminal: &mut Terminal,
    ) -> CommandResult {
        let values = values(config)?;
        let scope = scope.scope.map_or(Scope::User, Scope::from);
        let prepare = self.store.prepare(self.world, name, scope, &self.project);
        let prepared = runtime()?.block_on(prepare).map_err(|error| failure(&error))?;
        let style = Style { color: terminal.color };
        if !prepared.widening.is_empty() {
            let id = &prepared.record.id;
            writeln!(terminal.out, "{id} may do more than the one that is installed:")?;
            terminal.out.write_all(page::widening(&prepared.widening, style).as_bytes())?;
            if !yes && !confirm(Change::Install, id, terminal)? {
                writeln!(terminal.out, "{id} stays as it is")?;
                return Ok(Outcome::Problems);
            }
        }
        let done =
            self.store.install(self.world, prepared, &self.project).map_err(|error| failure(&error))?;
        terminal.out.write_all(page::installed(&done, style).as_bytes())?;
        self.show(&done.diagnostics, terminal)?;
        let id = &done.record.id;
        self.configure(scope, id, &done.manifest.user_config, &values, terminal)?;
        self.say_if_untrusted(scope, terminal)?;
        Ok(Outcome::Fine)
    }

    fn uninstall(&self, name: &str, scope: ScopeArgs, terminal: &mut Terminal) -> CommandResult {
        let record = self.installed(name, scope)?;
        self.store.uninstall(&record, &self.project).map_err(|error| failure(&error))?;
        let scope = record.scope.map_or("user", Scope::word);
        writeln!(terminal.out, "uninstalled {} ({scope})", record.id)?;
        let data = self.store.data(&record.id);
        if data.exists() {
            writeln!(terminal.out, "what it kept stays in {}", data.display())?;
        }
        Ok(Outcome::Fine)
    }

    fn enable(
        &self,
        name: &str,
        scope: ScopeArgs,
        config: &ConfigArg,
        terminal: &mut Terminal,
    ) -> CommandResult {
        let values = values(config)?;
        let record = self.installed(name, ScopeArgs { scope: None })?;
        let options = Parts::read(&record.path, &mut Vec::new()).map(|parts| parts.manifest.user_config);
        let place = scope.scope.map(Scope::from).or(record.scope).unwrap_or(Scope::User);
        self.configure(place, &record.id, &options.unwrap_or_default(), &values, terminal)?;
        self.switch(&record.id, scope, true, terminal)
    }

    fn switch(&self, name: &str, scope: ScopeArgs, on: bool, terminal: &mut Terminal) -> CommandResult {
        let record = self.installed(name, ScopeArgs { scope: None })?;
        let scope = scope.scope.map(Scope::from).or(record.scope).unwrap_or(Scope::User);
        let switched = self.store.switch(&self.project, scope, &record.id, Some(on));
        let file = switched.map_err(|error| failure(&error))?;
        let word = if on { "on" } else { "off" };
        let file = relative(&file, &self.world.cwd);
        writeln!(terminal.out, "{} is switched {word} in {file}", record.id)?;
        self.say_if_untrusted(scope, terminal)?;
        // A stronger layer may say otherwise.
        let catalog = self.catalog()?;
        if let Some((_, set)) = catalog.settings.plugins.iter().find(|(id, _)| **id == *record.id)
            && set.value != on
        {
            let by = relative(&set.by.file, &self.world.cwd);
            writeln!(terminal.out, "but {by} says otherwise, which counts here")?;
        }
        Ok(Outcome::Fine)
    }

    fn update(&self, name: Option<&str>, yes: bool, terminal: &mut Terminal) -> CommandResult {
        let records = match name {
            Some(name) => vec![self.installed(name, ScopeArgs { scope: None })?],
            None => {
                let mut all = self.store.installed().map_err(|error| failure(&error))?;
                all.sort_by(|a, b| (&a.id, &a.path).cmp(&(&b.id, &b.path)));
                all.dedup_by(|a, b| a.id == b.id && a.path == b.path);
                all
            }
        };
        let mut refused = Vec::new();
        for record in &records {
            match self.update_one(record, yes, terminal) {
                Ok(true) => {}
                Ok(false) => refused.push(record.id.clone()),
                // One that cannot be fetched does not keep the others from it.
                Err(Error::Failure(failure)) if name.is_none() => {
                    refused.push(record.id.clone());
                    let text = crate::report::text(&failure, Style { color: terminal.color });
                    terminal.err.write_all(text.as_bytes())?;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(if refused.is_empty() { Outcome::Fine } else { Outcome::Problems })
    }

    /// Whether the plugin is the newest now.
    fn update_one(&self, record: &Record, yes: bool, terminal: &mut Terminal) -> Result<bool, Error> {
        let look =
            runtime()?.block_on(self.store.look(self.world, record)).map_err(|error| failure(&error))?;
        let Some(update) = look else {
            writeln!(terminal.out, "{} is up to date", record.id)?;
            return Ok(true);
        };
        let style = Style { color: terminal.color };
        let versions = |version: &Option<String>| version.clone().unwrap_or_else(|| "?".to_owned());
        let (from, to) = (versions(&record.version), versions(&update.version));
        if !update.widening.is_empty() {
            writeln!(terminal.out, "{} {from} -> {to} may do more than before:", record.id)?;
            terminal.out.write_all(page::widening(&update.widening, style).as_bytes())?;
            if !yes && !confirm(Change::Update, &record.id, terminal)? {
                writeln!(terminal.out, "{} stays as it is", record.id)?;
                return Ok(false);
            }
        }
        self.show(&update.diagnostics, terminal)?;
        let now = self.store.adopt(self.world, update).map_err(|error| failure(&error))?;
        writeln!(terminal.out, "updated {} {from} -> {to}", now.id)?;
        Ok(true)
    }

    fn marketplace(
        &self,
        command: &MarketplaceCommand,
        json: bool,
        terminal: &mut Terminal,
    ) -> CommandResult {
        let style = Style { color: terminal.color };
        match command {
            MarketplaceCommand::Add { place } => {
                let place = Place::parse(place, &self.world.cwd).map_err(|error| failure(&error))?;
                let add = self.store.add_marketplace(self.world, place);
                let (known, (list, found)) = runtime()?.block_on(add).map_err(|error| failure(&error))?;
                writeln!(terminal.out, "added {} from {}", known.name, known.place.words())?;
                terminal.out.write_all(page::entries(&list).as_bytes())?;
                self.show(&found, terminal)?;
                writeln!(terminal.out, "posse plugin install NAME@{}", known.name)?;
            }
            MarketplaceCommand::List => {
                let all = self.store.marketplaces().map_err(|error| failure(&error))?;
                let read = |known: Known| {
                    let list = known.read().map(|(list, _)| list).map_err(|error| error.to_string());
                    (known, list)
                };
                let all: Vec<_> = all.into_iter().map(read).collect();
                if json {
                    as_json::print(&page::marketplaces_json(&all), &mut terminal.out)?;
                } else {
                    terminal.out.write_all(page::marketplaces(&all, style).as_bytes())?;
                }
            }
            MarketplaceCommand::Update { name } => {
                let all = match name {
                    Some(name) => self.store.marketplace(name).map(|known| vec![known]),
                    None => self.store.marketplaces(),
                };
                for known in all.map_err(|error| failure(&error))? {
                    let update = self.store.update_marketplace(self.world, &known);
                    let (list, found) = runtime()?.block_on(update).map_err(|error| failure(&error))?;
                    let count = list.plugins.len();
                    writeln!(terminal.out, "{} is up to date: {count} plugins", known.name)?;
                    self.show(&found, terminal)?;
                }
            }
            MarketplaceCommand::Remove { name } => {
                let known = self.store.remove_marketplace(name).map_err(|error| failure(&error))?;
                writeln!(terminal.out, "removed {}", known.name)?;
                let records = self.store.installed().map_err(|error| failure(&error))?;
                let from_it = |record: &&Record| record.id.ends_with(&format!("@{name}"));
                for record in records.iter().filter(from_it) {
                    writeln!(
                        terminal.out,
                        "{} stays installed; posse plugin uninstall removes it",
                        record.id
                    )?;
                }
            }
        }
        Ok(Outcome::Fine)
    }

    fn installed(&self, name: &str, scope: ScopeArgs) -> Result<Record, Failure> {
        let scope = scope.scope.map(Scope::from);
        self.store.find_installed(name, scope, &self.project).map_err(|error| failure(&error))
    }

    fn configure(
        &self,
        scope: Scope,
        id: &str,
        options: &[UserOption],
        values: &[(String, String)],
        terminal: &mut Terminal,
    ) -> Result<(), Error> {
        if values.is_empty() {
            return Ok(());
        }
        self.store.configure(&self.project, scope, id, options, values).map_err(|error| failure(&error))?;
        let kept = self.store.secrets(id).map_err(|error| failure(&error))?;
        for (key, _) in values {
            let secret = kept.contains_key(key);
            let file = if secret { self.store.secrets_file() } else { settings_file(&self.project, scope) };
            writeln!(terminal.out, "set {key} in {}", relative(&file, &self.world.cwd))?;
        }
        Ok(())
    }

    fn say_if_untrusted(&self, scope: Scope, terminal: &mut Terminal) -> Result<(), Error> {
        let catalog = self.catalog()?;
        if scope != Scope::User && !catalog.trust.trusted {
            let folder = catalog.trust.folder.display();
            writeln!(terminal.out, "it counts once {folder} is trusted: posse trust")?;
        }
        Ok(())
    }

    fn show(
        &self,
        found: &[posse_core::diagnostic::Diagnostic],
        terminal: &mut Terminal,
    ) -> Result<(), Error> {
        let style = Style { color: terminal.color };
        for one in found.iter().filter(|one| one.severity >= Severity::Warning) {
            let text = diagnostics::one(one, style, |path| relative(path, &self.world.cwd));
            terminal.err.write_all(text.as_bytes())?;
        }
        Ok(())
    }
}

/// What brings new content.
#[derive(Clone, Copy)]
enum Change {
    Install,
    Update,
}

/// Asks whether new content may be taken over; nobody to ask is a failure, not a no.
fn confirm(change: Change, id: &str, terminal: &mut Terminal) -> Result<bool, Error> {
    let (ask, done, command) = match change {
        Change::Install => ("Install", "installed", "install"),
        Change::Update => ("Update", "updated", "update"),
    };
    let input = std::io::stdin();
    if !input.is_terminal() || !terminal.is_terminal {
        terminal.out.flush()?;
        let text = format!("{id} was not {done}: it may do more than before, and nobody can be asked");
        return Err(Failure::new(text).hint(format!("posse plugin {command} {id} --yes accepts it")).into());
    }
    write!(terminal.out, "{ask} {id}? [y/N] ")?;
    terminal.out.flush()?;
    let mut line = String::new();
    input.read_line(&mut line)?;
    Ok(matches!(line.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}

/// What `--config` and `--config-file` say.
fn values(config: &ConfigArg) -> Result<Vec<(String, String)>, Failure> {
    let mut values = Vec::new();
    let pair = |given: &str| -> Result<(String, String), Failure> {
        let (key, value) = given.split_once('=').ok_or_else(|| {
            // Not repeated: it may be a secret that was meant to follow a key.
            Failure::new("an option is set by KEY=VALUE").usage()
        })?;
        Ok((key.to_owned(), value.to_owned()))
    };
    for given in &config.config {
        values.push(pair(given)?);
    }
    for given in &config.config_file {
        let (key, file) = pair(given)?;
        let mut text = String::new();
        let read = match file.as_str() {
            "-" => std::io::stdin().read_to_string(&mut text).map(|_| ()),
            path => std::fs::read_to_string(path).map(|content| text = content),
        };
        read.map_err(|error| Failure::new(format!("{file}: {error}")).usage())?;
        values.push((key, text.trim_end_matches(['\n', '\r']).to_owned()));
    }
    Ok(values)
}

/// An error of plugins as the end of a command, with what to do about it.
fn failure(error: &PluginError) -> Failure {
    let end = Failure::new(error.to_string());
    match error {
        PluginError::NoHome => end.hint("set HOME or CLAUDE_CONFIG_DIR"),
        PluginError::Broken { .. } => end.hint("nothing was changed; mend the file, or move it away"),
        PluginError::UnknownMarketplace { known, .. } if known.is_empty() => {
            end.hint("posse plugin marketplace add PATH|URL").usage()
        }
        PluginError::UnknownMarketplace { known, .. } => {
            end.hint(format!("there are {}", known.join(", "))).usage()
        }
        PluginError::KnownAlready { name, .. } => {
            end.hint(format!("posse plugin marketplace remove {name}, if the new one is meant"))
        }
        PluginError::UnknownPlugin { close: Some(close), .. } => {
            end.hint(format!("did you mean `{close}`?")).usage()
        }
        PluginError::UnknownPlugin { close: None, .. } => {
            end.hint("posse plugin marketplace list shows what there is").usage()
        }
        PluginError::Ambiguous { ids, .. } => end.hint(format!("write one of {}", ids.join(", "))).usage(),
        PluginError::NotInstalled { installed, .. } if installed.is_empty() => {
            end.hint("posse plugin install installs one").usage()
        }
        PluginError::NotInstalled { installed, .. } => {
            end.hint(format!("installed: {}", installed.join(", "))).usage()
        }
        PluginError::NotAMarketplace(_) => end.hint(
            "a marketplace has a .claude-plugin/marketplace.json; a plugin alone is used with --plugin-dir",
        ),
        PluginError::Invalid { diagnostics, .. } => {
            Failure { diagnostics: diagnostics.clone(), ..end.hint("nothing was installed") }
        }
        PluginError::Git { .. } => end.hint("posse asks for no passwords: what git needs must be set up"),
        PluginError::LeadsOut(_) | PluginError::TooMuch(_) | PluginError::Archive { .. } => {
            end.hint("nothing was installed; tell the plugin's author")
        }
        PluginError::Option(_) => end.usage(),
        PluginError::Unsupported(_) | PluginError::Io { .. } => end,
    }
}
