//! What a session may do: its rules, its hooks, its sandbox, put together from settings and flags.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use posse_core::definition::AgentDefinition;
use posse_core::hooks::HookGroup;
use posse_core::origin::Origin;
use posse_core::permission::{Behavior, Call, Rule, RuleSource, concerns};
use posse_core::settings::{Layer, ReadOnlyAgents, SandboxSettings, SetIn};
use posse_core::tools::{Capability, split_entries};

use super::{LaunchError, LaunchRequest};
use crate::authority::{Authority, Beginning, RealPaths, SettingsPlaces};
use crate::catalog::Catalog;
use crate::hooks::{HookPolicy, HookSource, Hooks, PluginEnv};
use crate::sandbox::asked::{self, Ground, is_on};
use crate::sandbox::{Network, Proxy, Sandbox, Support};
use crate::world::World;

/// The rules of settings and flags that count.
pub(super) fn rules(request: &LaunchRequest, catalog: &Catalog, world: &World) -> Vec<Rule> {
    let home = world.env.home().map(Path::to_owned);
    let cwd = &catalog.layout.cwd;
    let source = |by: &SetIn| {
        Arc::new(RuleSource {
            label: by.file.display().to_string().into(),
            base: match by.layer {
                // What a project says of its files is meant for those that are worked on.
                Layer::Project | Layer::Local if catalog.layout.project != *cwd => cwd.clone(),
                Layer::Project | Layer::Local | Layer::User | Layer::Flag | Layer::Managed => {
                    asked::folder_of(by, cwd)
                }
            },
            cwd: cwd.clone(),
            home: home.clone(),
        })
    };
    let mut rules: Vec<Rule> = catalog
        .effective_rules()
        .iter()
        .map(|rule| Rule::parse(rule.behavior, &rule.text, &source(&rule.by)))
        .collect();
    let managed_only = catalog.settings.managed_rules_only.is_some();
    let mut flag = |lists: &[String], behavior: Behavior, label: &str| {
        let source = Arc::new(RuleSource {
            label: label.into(),
            base: cwd.clone(),
            cwd: cwd.clone(),
            home: home.clone(),
        });
        let entries = lists.iter().flat_map(|list| split_entries(list));
        rules.extend(entries.map(|(_, entry)| Rule::parse(behavior, entry, &source)));
    };
    if !managed_only {
        flag(&request.allowed_tools, Behavior::Allow, "--allowedTools");
    }
    flag(&request.disallowed_tools, Behavior::Deny, "--disallowedTools");
    rules
}

/// The rules and folders of a session.
pub(super) fn authority(request: &LaunchRequest, catalog: &Catalog, world: &World) -> Arc<Authority> {
    let user = catalog.layout.user.as_ref().map(|user| user.join("settings.json"));
    let layout = &catalog.layout;
    Authority::new(Beginning {
        rules: rules(request, catalog, world),
        roots: roots(request, catalog),
        home: world.env.home().map(Path::to_owned),
        places: SettingsPlaces {
            user,
            project: layout.project.join(".claude/settings.json"),
            local: layout.project_top().join(".claude/settings.local.json"),
        },
        managed_only: catalog.settings.managed_rules_only.is_some(),
        may_bypass: request.may_bypass && catalog.settings.bypass_disabled.is_none(),
        auto_disabled: catalog.settings.auto_disabled.is_some(),
    })
}

/// The working directories: where the session begins, and what flags and settings add.
fn roots(request: &LaunchRequest, catalog: &Catalog) -> Vec<PathBuf> {
    let cwd = &catalog.layout.cwd;
    let flags = request.catalog.add_dirs.iter().map(|dir| cwd.join(dir));
    let settings = catalog.settings.additional_directories.iter().map(|set| expand(&set.value, cwd, catalog));
    std::iter::once(cwd.clone()).chain(flags).chain(settings).collect()
}

pub(super) fn expand(path: &str, cwd: &Path, catalog: &Catalog) -> PathBuf {
    let home = catalog.layout.user.as_deref().and_then(Path::parent);
    match (path.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => cwd.join(path),
    }
}

/// The hooks of plugins. What the administrator keeps to himself, only plugins that he enables may bring.
fn plugin_hooks(catalog: &Catalog) -> impl Iterator<Item = (Arc<HookSource>, Vec<HookGroup>)> {
    catalog.plugins.iter().flat_map(|plugin| {
        let environment = PluginEnv::of(plugin);
        let source = Arc::new(HookSource {
            label: format!("plugin {}", plugin.id).into(),
            plugin: Some(environment),
            is_managed: plugin.is_managed,
        });
        plugin.filled_hooks().into_iter().map(move |groups| (Arc::clone(&source), groups))
    })
}

/// Says which plugins' hooks do not run because the administrator lets only his own.
fn withheld_hooks(catalog: &Catalog, notes: &mut Vec<String>) {
    let settings = &catalog.settings;
    let strict = settings.plugin_only_by.as_ref().filter(|_| settings.plugin_only.hooks);
    let Some(by) = settings.managed_hooks_only.as_ref().or(strict) else { return };
    for plugin in catalog.plugins.iter().filter(|plugin| !plugin.is_managed && !plugin.hooks.is_empty()) {
        let file = by.file.display();
        notes.push(format!(
            "the hooks of the plugin {} do not run: {file} keeps hooks to the administrator",
            plugin.id
        ));
    }
}

/// The hooks of a session: those of settings, then those of plugins, then those of the agent it runs as.
pub(super) fn hooks(catalog: &Catalog, agent: Option<&AgentDefinition>, notes: &mut Vec<String>) -> Hooks {
    let settings = &catalog.settings;
    let off = settings.hooks_off.as_ref();
    if off.is_some_and(|by| by.layer == Layer::Managed) {
        return Hooks::new(HookPolicy { only_managed: true, ..HookPolicy::default() }, [], []);
    }
    let policy = HookPolicy {
        only_managed: off.is_some() || settings.managed_hooks_only.is_some() || settings.plugin_only.hooks,
        only_managed_allow: settings.managed_leave_only.is_some(),
        http_urls: settings.hook_urls.as_ref().map(|set| set.value.clone()),
        http_env: settings.hook_env.as_ref().map(|set| set.value.clone()),
    };
    let mut groups: Vec<(Arc<HookSource>, Vec<HookGroup>)> = catalog
        .effective_hooks()
        .iter()
        .map(|(group, by)| {
            let source = HookSource {
                label: by.file.display().to_string().into(),
                plugin: None,
                is_managed: by.layer == Layer::Managed,
            };
            (Arc::new(source), vec![group.clone()])
        })
        .collect();
    groups.extend(plugin_hooks(catalog));
    withheld_hooks(catalog, notes);
    if let Some(agent) = agent.filter(|agent| !agent.hooks.is_empty()) {
        if agent.source.origin == Origin::Project && !catalog.trust.trusted {
            let folder = catalog.trust.folder.display();
            notes.push(format!("the hooks of {} are ignored because {folder} is not trusted", agent.name));
        } else {
            let source = HookSource {
                label: format!("agent {}", agent.name).into(),
                plugin: None,
                is_managed: agent.source.origin == Origin::Managed,
            };
            groups.push((Arc::new(source), agent.hooks.clone()));
        }
    }
    Hooks::new(policy, groups, [])
}

/// Whether a rule in the `if` of a hook speaks of a call.
pub(super) fn condition(
    authority: &Arc<Authority>,
    world: &Arc<World>,
) -> impl Fn(&str, &str, &serde_json::Value) -> bool + use<> {
    let (authority, world) = (Arc::clone(authority), Arc::clone(world));
    move |rule, tool, input| {
        let folders = posse_core::permission::Folders {
            cwd: world.cwd.clone(),
            roots: authority.roots().to_vec(),
            home: world.env.home().map(Path::to_owned),
            ..Default::default()
        };
        concerns(rule, &Call::new(tool, input), &folders, &RealPaths)
    }
}

/// The sandbox of a run, with what must live as long as it.
#[derive(Debug, Default)]
pub(super) struct Confinement {
    pub(super) sandbox: Option<Arc<Sandbox>>,
    /// The same, if settings take being confined for a yes to a command.
    pub(super) allows_commands: Option<Arc<Sandbox>>,
    /// Where allowed hosts are reached through.
    _proxy: Option<Proxy>,
    /// The scratch folder, removed at the end.
    _scratch: Option<tempfile::TempDir>,
}

/// Whether a run whose tools are these must not write.
pub(super) fn is_reader(capability: &Capability) -> bool {
    let writes = |tool: &str| capability.grant(tool).is_some();
    writes("Bash") && !["Edit", "NotebookEdit", "Write"].into_iter().any(writes)
}

/// Confines the commands of a run as settings and its tools ask.
pub(super) async fn confine(
    catalog: &Catalog,
    reader: Option<&str>,
    authority: &Authority,
    world: &World,
    notes: &mut Vec<String>,
) -> Result<Confinement, LaunchError> {
    let settings = &catalog.settings.sandbox;
    let enabled = is_on(settings.enabled.as_ref());
    let readers = settings.read_only_agents.as_ref().map_or(ReadOnlyAgents::default(), |set| set.value);
    let reader = reader.filter(|_| readers != ReadOnlyAgents::Off);
    if !enabled && reader.is_none() {
        return Ok(Confinement::default());
    }
    let must = (enabled && is_on(settings.fail_if_unavailable.as_ref()))
        || (reader.is_some() && readers == ReadOnlyAgents::Require);
    match build(settings, reader.is_some(), authority, world, notes).await {
        // What the sandbox cannot hold is for `posse doctor` to say; a run does not repeat it each time.
        Ok(confinement) => Ok(confinement),
        Err(why) if must => Err(LaunchError::Sandbox(why)),
        Err(why) => {
            let who = reader.map_or_else(|| "commands".to_owned(), |agent| format!("commands of {agent}"));
            notes.push(format!("{who} run without a sandbox: {why} (posse doctor says more)"));
            Ok(Confinement::default())
        }
    }
}

async fn build(
    settings: &SandboxSettings,
    reader: bool,
    authority: &Authority,
    world: &World,
    notes: &mut Vec<String>,
) -> Result<Confinement, String> {
    let scratch =
        tempfile::Builder::new().prefix("posse-scratch-").tempdir_in(world.temp_dir()).map_err(|error| {
            format!("no scratch folder can be made in {}: {error}", world.temp_dir().display())
        })?;
    let ground = Ground {
        roots: &authority.roots(),
        cwd: &world.cwd,
        home: world.env.home(),
        scratch: scratch.path(),
    };
    let profile = asked::profile(settings, reader, ground, notes);
    // Looking for bubblewrap starts it; what only reads does not need it where the kernel can hold it.
    let plain = profile.protected.is_empty() && profile.unreadable.is_empty();
    let kernel = Support::of_kernel();
    let support = if plain && kernel.landlock > 0 { kernel } else { Support::probe(world).await };
    let proxy = match &profile.network {
        Network::Only(hosts) => Some(
            Proxy::start(hosts.clone(), asked::denied_hosts(settings))
                .await
                .map_err(|error| format!("its proxy cannot start: {error}"))?,
        ),
        Network::Open | Network::Closed => None,
    };
    let sandbox = Sandbox::new(profile, &support, &world.program).map_err(|error| error.to_string())?;
    let mut sandbox = sandbox.with_exits(asked::exits(settings, reader));
    if let Some(proxy) = &proxy {
        sandbox = sandbox.with_proxy(proxy.port());
    }
    let sandbox = Arc::new(sandbox);
    let is_a_yes =
        is_on(settings.enabled.as_ref()) && settings.auto_allow_bash.as_ref().is_none_or(|set| set.value);
    Ok(Confinement {
        allows_commands: is_a_yes.then(|| Arc::clone(&sandbox)),
        sandbox: Some(sandbox),
        _proxy: proxy,
        _scratch: Some(scratch),
    })
}
