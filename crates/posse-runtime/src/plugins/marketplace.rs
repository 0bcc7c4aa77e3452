//! Lists of plugins: where each comes from, its copy on this disk, and which plugin is meant by a name.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use posse_core::diagnostic::Diagnostic;
use posse_core::json;
use posse_core::node::Node;
use posse_core::plugin::{self, Marketplace, PluginEntry};
use posse_core::suggest;
use serde_json::{Value, json};

use super::git::{self, Wanted};
use super::{PluginError, Store, store};
use crate::world::World;

/// Where a list lies within its folder.
pub(super) const FILE: &str = ".claude-plugin/marketplace.json";

/// Where a list comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A folder of this machine; it is read where it is.
    Folder(PathBuf),
    /// A repository; a copy is kept.
    Git {
        /// What to clone.
        url: String,
        /// Which branch or tag.
        reference: Option<String>,
    },
}

impl Place {
    /// What somebody typed: a folder, `owner/repo`, or the address of a repository, with `#branch` behind it.
    pub fn parse(given: &str, cwd: &Path) -> Result<Self, PluginError> {
        let path = cwd.join(given);
        let looks_local = given.starts_with(['.', '/', '~']) || path.exists();
        if looks_local && !given.starts_with("git@") {
            // A bare repository has no files to read: it is cloned.
            let is_repository = path.join("HEAD").is_file() && path.join("objects").is_dir();
            if is_repository {
                return Ok(Self::Git { url: path.display().to_string(), reference: None });
            }
            let folder = match path.file_name() {
                Some(name) if name == "marketplace.json" => {
                    let folder = path.parent().unwrap_or(&path);
                    let inner = folder.file_name().is_some_and(|name| name == ".claude-plugin");
                    if inner { folder.parent().unwrap_or(folder).to_owned() } else { folder.to_owned() }
                }
                Some(_) | None => path,
            };
            let folder = folder.canonicalize().map_err(PluginError::io(&folder))?;
            return Ok(Self::Folder(folder));
        }
        let (address, reference) = match given.split_once('#') {
            Some((address, reference)) => (address, Some(reference.to_owned())),
            None => (given, None),
        };
        let is_json = address.ends_with(".json") && address.starts_with("http");
        if is_json {
            let text = format!("{address} is a single file; posse adds folders and git repositories");
            return Err(PluginError::Unsupported(text));
        }
        if address.contains("://") || address.starts_with("git@") {
            return Ok(Self::Git { url: address.to_owned(), reference });
        }
        let word = |part: &str| {
            !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
        };
        match address.split_once('/') {
            Some((owner, repo)) if word(owner) && word(repo) => {
                Ok(Self::Git { url: format!("https://github.com/{address}.git"), reference })
            }
            Some(_) | None => Err(PluginError::Unsupported(format!(
                "`{given}` is neither a folder, nor owner/repo, nor the address of a repository"
            ))),
        }
    }

    fn read(node: &Node) -> Option<Self> {
        let text = |key: &str| node.text_of(key).map(String::from);
        match &*node.text_of("source")? {
            "directory" | "local" => Some(Self::Folder(text("path")?.into())),
            "file" => {
                let file = PathBuf::from(text("path")?);
                Some(Self::Folder(file.parent()?.parent()?.to_owned()))
            }
            "github" => {
                let url = format!("https://github.com/{}.git", text("repo")?);
                Some(Self::Git { url, reference: text("ref") })
            }
            "git" => Some(Self::Git { url: text("url")?, reference: text("ref") }),
            _ => None,
        }
    }

    fn to_json(&self) -> Value {
        match self {
            Self::Folder(path) => json!({ "source": "directory", "path": path }),
            Self::Git { url, reference } => {
                let github =
                    url.strip_prefix("https://github.com/").and_then(|rest| rest.strip_suffix(".git"));
                let mut value = match github {
                    Some(repo) => json!({ "source": "github", "repo": repo }),
                    None => json!({ "source": "git", "url": url }),
                };
                if let Some(reference) = reference {
                    value["ref"] = reference.as_str().into();
                }
                value
            }
        }
    }

    /// For people; without a password in an address.
    pub fn words(&self) -> String {
        match self {
            Self::Folder(path) => path.display().to_string(),
            Self::Git { url, reference: None } => git::without_secrets(url),
            Self::Git { url, reference: Some(reference) } => {
                format!("{}#{reference}", git::without_secrets(url))
            }
        }
    }
}

/// A list that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// Its name.
    pub name: String,
    /// Where it comes from.
    pub place: Place,
    /// Where it lies on this disk.
    pub folder: PathBuf,
}

/// A list as read, with what is wrong with it.
pub type Listed = (Marketplace, Vec<Diagnostic>);

impl Known {
    /// Reads the list.
    pub fn read(&self) -> Result<Listed, PluginError> {
        read_list(&self.folder)
    }
}

/// Reads the list in a folder.
pub fn read_list(folder: &Path) -> Result<Listed, PluginError> {
    let path = folder.join(FILE);
    if !path.is_file() {
        return Err(PluginError::NotAMarketplace(folder.to_owned()));
    }
    let file: Arc<Path> = path.as_path().into();
    let broken = |diagnostics| PluginError::Invalid { what: path.display().to_string(), diagnostics };
    let (text, _) = crate::read::text(&path).map_err(|problem| broken(vec![problem.located(&file, "")]))?;
    let (root, mut problems) = json::parse(&text);
    let list = root.as_ref().and_then(|root| {
        let (list, more) = plugin::read_marketplace(root);
        problems.extend(more);
        list
    });
    let diagnostics: Vec<Diagnostic> =
        problems.into_iter().map(|problem| problem.located(&file, &text)).collect();
    match list {
        Some(list) => Ok((list, diagnostics)),
        None => Err(broken(diagnostics)),
    }
}

impl Store {
    /// The lists that are known.
    pub fn marketplaces(&self) -> Result<Vec<Known>, PluginError> {
        let Some((root, _)) = store::read(&self.known_file())? else { return Ok(Vec::new()) };
        let known = |entry: &posse_core::node::Entry| {
            let place = Place::read(entry.node.get("source")?)?;
            let folder = entry.node.text_of("installLocation").map(|path| PathBuf::from(&*path));
            let folder = folder.unwrap_or_else(|| self.marketplaces_folder().join(&*entry.key));
            Some(Known { name: entry.key.to_string(), place, folder })
        };
        Ok(root.as_map().unwrap_or_default().iter().filter_map(known).collect())
    }

    /// One of them.
    pub fn marketplace(&self, name: &str) -> Result<Known, PluginError> {
        let all = self.marketplaces()?;
        let known = all.iter().map(|known| known.name.clone()).collect();
        all.into_iter()
            .find(|known| known.name == name)
            .ok_or_else(|| PluginError::UnknownMarketplace { name: name.to_owned(), known })
    }

    /// Adds a list, or reads it again if it is known from the same place.
    pub async fn add_marketplace(&self, world: &World, place: Place) -> Result<(Known, Listed), PluginError> {
        match &place {
            Place::Folder(folder) => {
                let listed = read_list(folder)?;
                let known = Known { name: listed.0.name.to_string(), folder: folder.clone(), place };
                let _lock = self.lock()?;
                self.refuse_twin(&known)?;
                self.know(&known, world)?;
                Ok((known, listed))
            }
            Place::Git { url, reference } => {
                let staging = self.staging()?;
                let clone = staging.path().join("clone");
                let wanted = Wanted { url, reference: reference.as_deref(), commit: None };
                git::clone(world, &wanted, &clone).await?;
                let listed = read_list(&clone)?;
                let name = listed.0.name.to_string();
                let folder = self.marketplaces_folder().join(&name);
                let known = Known { name, folder, place };
                let _lock = self.lock()?;
                self.refuse_twin(&known)?;
                replace(&clone, &known.folder)?;
                self.know(&known, world)?;
                Ok((known, listed))
            }
        }
    }

    /// Fetches a list again.
    pub async fn update_marketplace(&self, world: &World, known: &Known) -> Result<Listed, PluginError> {
        let (again, listed) = self.add_marketplace(world, known.place.clone()).await?;
        if again.name != known.name {
            // It calls itself something else now; the old name must not stay behind with old content.
            self.remove_marketplace(&known.name)?;
        }
        Ok(listed)
    }

    /// Forgets a list. Plugins that were installed from it stay.
    pub fn remove_marketplace(&self, name: &str) -> Result<Known, PluginError> {
        let known = self.marketplace(name)?;
        let _lock = self.lock()?;
        store::edit(&self.known_file(), |root| {
            root.remove(name);
        })?;
        // Only copies are ours to remove.
        let copies = self.marketplaces_folder();
        if known.folder.parent() == Some(&copies) && known.folder.exists() {
            fs::remove_dir_all(&known.folder).map_err(PluginError::io(&known.folder))?;
        }
        Ok(known)
    }

    /// The plugin somebody means: `name@marketplace`, or a name that only one list has.
    pub fn find(&self, wanted: &str) -> Result<(Known, PluginEntry), PluginError> {
        let (name, marketplace) = match wanted.split_once('@') {
            Some((name, marketplace)) => (name, Some(marketplace)),
            None => (wanted, None),
        };
        let lists = match marketplace {
            Some(marketplace) => vec![self.marketplace(marketplace)?],
            None => self.marketplaces()?,
        };
        let mut found: Vec<(Known, PluginEntry)> = Vec::new();
        let mut names: Vec<Box<str>> = Vec::new();
        for known in lists {
            // With a list named, its faults are what somebody wants to hear; without, another one may have it.
            let list = match (known.read(), marketplace) {
                (Ok((list, _)), _) => list,
                (Err(error), Some(_)) => return Err(error),
                (Err(_), None) => continue,
            };
            names.extend(list.plugins.iter().map(|entry| entry.name.clone()));
            let entry = list.plugins.into_iter().find(|entry| &*entry.name == name);
            found.extend(entry.map(|entry| (known, entry)));
        }
        if found.len() > 1 {
            let ids = found.iter().map(|(known, entry)| format!("{}@{}", entry.name, known.name)).collect();
            return Err(PluginError::Ambiguous { name: name.to_owned(), ids });
        }
        found.pop().ok_or_else(|| {
            let close = suggest::closest(name, names.iter().map(|name| &**name)).map(str::to_owned);
            PluginError::UnknownPlugin { name: wanted.to_owned(), close }
        })
    }

    fn refuse_twin(&self, known: &Known) -> Result<(), PluginError> {
        match self.marketplaces()?.into_iter().find(|other| other.name == known.name) {
            Some(other) if other.place != known.place => {
                Err(PluginError::KnownAlready { name: other.name, from: other.place.words() })
            }
            Some(_) | None => Ok(()),
        }
    }

    fn know(&self, known: &Known, world: &World) -> Result<(), PluginError> {
        let value = json!({
            "source": known.place.to_json(),
            "installLocation": known.folder,
            "lastUpdated": world.clock.stamp(),
        });
        store::edit(&self.known_file(), |root| {
            root.insert(known.name.clone(), value);
        })
    }
}

/// Puts a folder in the place of another, which may exist.
pub(super) fn replace(new: &Path, old: &Path) -> Result<(), PluginError> {
    if let Some(parent) = old.parent() {
        fs::create_dir_all(parent).map_err(PluginError::io(parent))?;
    }
    if old.symlink_metadata().is_ok() {
        // Beside the new one, in what is removed anyway.
        let aside = new.with_file_name(".old");
        fs::rename(old, &aside).map_err(PluginError::io(old))?;
    }
    fs::rename(new, old).map_err(PluginError::io(old))
}
