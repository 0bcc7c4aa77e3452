//! Installing, updating and removing. Content is fetched and looked at beside the cache, then moved into it under its
//! digest: whoever reads sees a whole plugin or none.

use std::fs;
use std::path::{Path, PathBuf};

use posse_core::diagnostic::{Diagnostic, Severity};
use posse_core::plugin::{self, Manifest, PluginEntry, PluginSource, Powers, Variables, Widening};
use posse_core::suggest;
use serde_json::Value;

use super::digest::Tree;
use super::git::{self, Wanted};
use super::marketplace::{Known, Place, replace};
use super::parts::{Parts, is_plugin};
use super::records::{Pin, Record, Scope, short};
use super::store::Staging;
use super::switch::{self, Project};
use super::{PluginError, Store, copy};
use crate::world::World;

/// A plugin that was installed.
#[derive(Clone, Debug)]
pub struct Installation {
    /// What was written down.
    pub record: Record,
    /// Its manifest.
    pub manifest: Manifest,
    /// What it may do.
    pub powers: Powers,
    /// What is wrong with it; it works all the same.
    pub diagnostics: Vec<Diagnostic>,
}

/// A plugin that was fetched and lies ready to be installed.
#[derive(Debug)]
pub struct Prepared {
    /// What would be written down.
    pub record: Record,
    /// What is installed in its place, or for another scope, and has another content.
    pub earlier: Option<Record>,
    /// What it may do that the one which is installed may not. Nothing, if none is: whoever installs a plugin accepts
    /// what it brings.
    pub widening: Vec<Widening>,
    scope: Scope,
    staged: Staged,
}

/// A newer version that lies ready.
#[derive(Debug)]
pub struct Update {
    /// What is installed.
    pub record: Record,
    /// The version it would be.
    pub version: Option<String>,
    /// What it may do that the installed one may not.
    pub widening: Vec<Widening>,
    /// What is wrong with it.
    pub diagnostics: Vec<Diagnostic>,
    staged: Staged,
}

/// Content that was fetched and is whole.
#[derive(Debug)]
struct Staged {
    /// Removed when dropped.
    folder: Staging,
    content: PathBuf,
    parts: Parts,
    powers: Powers,
    digest: String,
    commit: Option<String>,
    diagnostics: Vec<Diagnostic>,
}

impl Store {
    /// Fetches a plugin and compares it with the one that is installed, if one is.
    pub async fn prepare(
        &self,
        world: &World,
        wanted: &str,
        scope: Scope,
        project: &Project,
    ) -> Result<Prepared, PluginError> {
        let (known, entry) = self.find(wanted)?;
        let staged = self.fetch(world, &known, &entry).await?;
        let record = Record {
            id: format!("{}@{}", entry.name, known.name),
            scope: Some(scope),
            project: (scope != Scope::User).then(|| project.top.clone()),
            path: self.home_of(&known.name, &entry.name, &staged.digest),
            version: version(&staged, &entry),
            digest: Some(staged.digest.clone()),
            commit: staged.commit.clone(),
        };
        let installed = self.installed()?;
        let mut others: Vec<&Record> = installed.iter().filter(|other| other.id == record.id).collect();
        // Content that was accepted once is no news, also where somebody changed the files since.
        if others.iter().any(|other| other.digest == record.digest) {
            others.clear();
        }
        let is_same = |other: &&&Record| other.scope == record.scope && other.project == record.project;
        let earlier = others.iter().find(is_same).or(others.first()).map(|earlier| (*earlier).clone());
        let widening = earlier.as_ref().map(|earlier| plugin::widening(&accepted(earlier), &staged.powers));
        Ok(Prepared { record, earlier, widening: widening.unwrap_or_default(), scope, staged })
    }

    /// Installs what was prepared, or brings its content back if it is installed, and switches it on.
    pub fn install(
        &self,
        world: &World,
        prepared: Prepared,
        project: &Project,
    ) -> Result<Installation, PluginError> {
        let Prepared { record, scope, staged, .. } = prepared;
        let _lock = self.lock()?;
        let installation = Installation {
            manifest: staged.parts.manifest.clone(),
            powers: staged.powers.clone(),
            diagnostics: staged.diagnostics.clone(),
            record,
        };
        let earlier = self.installed()?;
        settle(staged, &installation.record.path)?;
        self.record(&installation.record, &world.clock.stamp())?;
        switch::switch(project, scope, &installation.record.id, Some(true))?;
        self.sweep(&earlier)?;
        Ok(installation)
    }

    /// The newest version of a plugin, if it is not the installed one. The list is fetched again first.
    pub async fn look(&self, world: &World, record: &Record) -> Result<Option<Update>, PluginError> {
        let (name, marketplace) = record.id.split_once('@').unwrap_or((&record.id, ""));
        let known = self.marketplace(marketplace)?;
        if matches!(known.place, Place::Git { .. }) {
            self.update_marketplace(world, &known).await?;
        }
        let (known, entry) = self.find(&format!("{name}@{marketplace}"))?;
        let staged = self.fetch(world, &known, &entry).await?;
        if record.digest.as_deref() == Some(&*staged.digest) && record.pin() == Pin::Holds {
            return Ok(None);
        }
        Ok(Some(Update {
            record: record.clone(),
            version: version(&staged, &entry),
            widening: plugin::widening(&accepted(record), &staged.powers),
            diagnostics: staged.diagnostics.clone(),
            staged,
        }))
    }

    /// Takes an update over, for every scope that has the plugin.
    pub fn adopt(&self, world: &World, update: Update) -> Result<Record, PluginError> {
        let Update { record, version, staged, .. } = update;
        let _lock = self.lock()?;
        let (name, marketplace) = record.id.split_once('@').unwrap_or((&record.id, ""));
        let path = self.home_of(marketplace, name, &staged.digest);
        let (digest, commit) = (staged.digest.clone(), staged.commit.clone());
        let earlier = self.installed()?;
        settle(staged, &path)?;
        let mut now = record.clone();
        for other in earlier.iter().filter(|other| other.id == record.id && other.path == record.path) {
            now = Record {
                path: path.clone(),
                version: version.clone(),
                digest: Some(digest.clone()),
                commit: commit.clone(),
                ..other.clone()
            };
            self.record(&now, &world.clock.stamp())?;
        }
        self.sweep(&earlier)?;
        Ok(now)
    }

    /// Removes a plugin from a scope; its content too, if no other scope has it. Its data stay.
    pub fn uninstall(&self, record: &Record, project: &Project) -> Result<(), PluginError> {
        let _lock = self.lock()?;
        let earlier = self.installed()?;
        switch::switch(project, record.scope.unwrap_or(Scope::User), &record.id, None)?;
        self.strike(record)?;
        self.sweep(&earlier)?;
        if !self.installed()?.iter().any(|other| other.id == record.id) {
            self.forget_secrets(&record.id)?;
        }
        Ok(())
    }

    /// The installation somebody means: by `name@marketplace`, or by a name that is unique.
    pub fn find_installed(
        &self,
        wanted: &str,
        scope: Option<Scope>,
        project: &Project,
    ) -> Result<Record, PluginError> {
        let all = self.installed()?;
        let is_meant = |record: &&Record| {
            let bare = record.id.split('@').next() == Some(wanted);
            (record.id == wanted || bare) && record.is_for(&project.top)
        };
        let meant: Vec<&Record> = all.iter().filter(is_meant).collect();
        let mut ids: Vec<String> = meant.iter().map(|record| record.id.clone()).collect();
        ids.dedup();
        if ids.len() > 1 {
            return Err(PluginError::Ambiguous { name: wanted.to_owned(), ids });
        }
        let in_scope = |record: &&&Record| scope.is_none() || record.scope == scope;
        // The nearest scope is the one that is meant if nobody says.
        let found = meant.iter().filter(in_scope).max_by_key(|record| record.scope);
        found.map(|record| (*record).clone()).ok_or_else(|| {
            let installed: Vec<String> = all.iter().map(|record| record.id.clone()).collect();
            let close = suggest::closest(wanted, installed.iter().map(String::as_str)).map(str::to_owned);
            let installed = close.map_or(installed, |close| vec![close]);
            PluginError::NotInstalled { name: wanted.to_owned(), installed }
        })
    }

    fn home_of(&self, marketplace: &str, name: &str, digest: &str) -> PathBuf {
        self.cache().join(marketplace).join(name).join(short(digest))
    }

    async fn fetch(&self, world: &World, known: &Known, entry: &PluginEntry) -> Result<Staged, PluginError> {
        let staging = self.staging()?;
        // A plugin without a manifest is called like its folder.
        let content = staging.path().join("content").join(&*entry.name);
        fs::create_dir(staging.path().join("content")).map_err(PluginError::io(staging.path()))?;
        let mut commit = None;
        match &entry.source {
            PluginSource::Folder(folder) => {
                let from = known.folder.join(&**folder);
                if !from.is_dir() {
                    let text =
                        format!("{} lists {} in {folder}, which does not exist", known.name, entry.name);
                    return Err(PluginError::Unsupported(text));
                }
                copy::copy(&from, &content, &known.folder)?;
            }
            PluginSource::Git { url, reference, commit: wanted, folder } => {
                let clone = staging.path().join("clone");
                let wanted = Wanted { url, reference: reference.as_deref(), commit: wanted.as_deref() };
                commit = Some(git::clone(world, &wanted, &clone).await?);
                let from = folder.as_ref().map_or_else(|| clone.clone(), |folder| clone.join(&**folder));
                copy::copy(&from, &content, &clone)?;
            }
            PluginSource::Unsupported(why) => return Err(PluginError::Unsupported(why.clone())),
        }
        if !is_plugin(&content) {
            write_manifest(entry, &content)?;
        }
        stage(staging, content, commit, entry)
    }

    /// Removes content that was used before and is not any more.
    fn sweep(&self, earlier: &[Record]) -> Result<(), PluginError> {
        let now = self.installed()?;
        let cache = self.cache();
        for record in earlier {
            let used = now.iter().any(|other| other.path == record.path);
            // What another program put elsewhere is not ours to remove.
            if !used && record.path.starts_with(&cache) && record.path != cache && record.path.is_dir() {
                fs::remove_dir_all(&record.path).map_err(PluginError::io(&record.path))?;
                // The folders of the plugin and of its list, unless they hold something else.
                for above in record.path.ancestors().skip(1).take_while(|above| **above != cache) {
                    if fs::remove_dir(above).is_err() {
                        break;
                    }
                }
            }
        }
        Ok(())
    }
}

/// Looks at content that was fetched.
fn stage(
    folder: Staging,
    content: PathBuf,
    commit: Option<String>,
    entry: &PluginEntry,
) -> Result<Staged, PluginError> {
    let mut diagnostics = Vec::new();
    let parts = Parts::read(&content, &mut diagnostics);
    let Some(parts) = parts else {
        return Err(PluginError::Invalid { what: format!("the plugin {}", entry.name), diagnostics });
    };
    let tree = Tree::read(&content)?;
    let powers = parts.powers(&tree);
    diagnostics.retain(|one| one.severity >= Severity::Warning);
    Ok(Staged { folder, content, powers, digest: tree.digest(), parts, commit, diagnostics })
}

/// The entry of the list is the manifest of a plugin that has none.
fn write_manifest(entry: &PluginEntry, content: &Path) -> Result<(), PluginError> {
    const OF_THE_LIST: [&str; 5] = ["source", "strict", "category", "tags", "relevance"];
    let mut value = plugin::expand(&entry.node, &Variables::default());
    if let Value::Object(fields) = &mut value {
        fields.retain(|key, _| !OF_THE_LIST.contains(&key.as_str()));
    }
    let folder = content.join(".claude-plugin");
    fs::create_dir_all(&folder).map_err(PluginError::io(&folder))?;
    let file = folder.join("plugin.json");
    fs::write(&file, format!("{value:#}\n")).map_err(PluginError::io(&file))
}

fn version(staged: &Staged, entry: &PluginEntry) -> Option<String> {
    staged.parts.manifest.version.as_ref().or(entry.version.as_ref()).map(ToString::to_string)
}

/// Moves content to its place. What lies there already is replaced if somebody changed it.
fn settle(staged: Staged, path: &Path) -> Result<(), PluginError> {
    let is_there = Tree::read(path).is_ok_and(|tree| tree.digest() == staged.digest);
    if !is_there {
        replace(&staged.content, path)?;
    }
    drop(staged.folder);
    Ok(())
}

/// What the user accepted. What is not as it was installed tells nothing about what was accepted then.
fn accepted(record: &Record) -> Powers {
    match record.pin() {
        Pin::Holds | Pin::Absent => powers_of(&record.path),
        Pin::Broken | Pin::Gone => Powers::default(),
    }
}

/// What a plugin's folder could do once it is installed; fails where installing it would. `to` must not exist.
pub fn rehearse(folder: &Path, fence: &Path, to: &Path) -> Result<Powers, PluginError> {
    copy::copy(folder, to, fence)?;
    let tree = Tree::read(to)?;
    let parts = Parts::read(to, &mut Vec::new());
    Ok(parts.map(|parts| parts.powers(&tree)).unwrap_or_default())
}

fn powers_of(folder: &Path) -> Powers {
    let parts = Parts::read(folder, &mut Vec::new());
    let tree = Tree::read(folder);
    match (parts, tree) {
        (Some(parts), Ok(tree)) => parts.powers(&tree),
        (_, Err(_)) | (None, _) => Powers::default(),
    }
}
