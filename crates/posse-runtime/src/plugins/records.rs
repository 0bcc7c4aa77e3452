//! `installed_plugins.json`: what is installed, for whom, from where, and the digest of its content.

use std::path::{Path, PathBuf};

use posse_core::node::Node;
use serde_json::{Map, Value, json};

use super::digest::Tree;
use super::{PluginError, Store, store};

/// For whom a plugin is switched on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// Everywhere, for this user.
    User,
    /// In this project, for everybody.
    Project,
    /// In this project, for this user.
    Local,
}

impl Scope {
    /// One word, as in files.
    pub fn word(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
            Self::Local => "local",
        }
    }

    fn parse(word: &str) -> Option<Self> {
        [Self::User, Self::Project, Self::Local].into_iter().find(|scope| scope.word() == word)
    }
}

/// One installation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// `plugin@marketplace`.
    pub id: String,
    /// For whom.
    pub scope: Option<Scope>,
    /// In which project, unless everywhere.
    pub project: Option<PathBuf>,
    /// Where its content lies.
    pub path: PathBuf,
    /// Its version.
    pub version: Option<String>,
    /// The digest of its content, if posse installed it.
    pub digest: Option<String>,
    /// The commit it was taken from.
    pub commit: Option<String>,
}

/// Whether the content is what was installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pin {
    /// It is.
    Holds,
    /// Nobody wrote down what was installed.
    Absent,
    /// It is not.
    Broken,
    /// It is gone.
    Gone,
}

/// The end of a digest's folder name.
pub(super) fn short(digest: &str) -> &str {
    let hex = digest.rsplit(':').next().unwrap_or(digest);
    hex.get(..16).unwrap_or(hex)
}

impl Record {
    /// All records of a file; an object per plugin, or a list of one object per scope.
    pub fn read(root: &Node) -> Vec<Self> {
        let plugins = root.get("plugins").and_then(Node::as_map).unwrap_or_default();
        let of_plugin = |entry: &posse_core::node::Entry| {
            let list = entry.node.as_list().unwrap_or(std::slice::from_ref(&entry.node));
            list.iter().filter_map(|node| Self::one(&entry.key, node)).collect::<Vec<_>>()
        };
        plugins.iter().flat_map(of_plugin).collect()
    }

    fn one(id: &str, node: &Node) -> Option<Self> {
        let text = |key: &str| node.text_of(key).map(String::from);
        let path = PathBuf::from(text("installPath")?);
        // Another program that updates the plugin moves it, and may leave our digest behind.
        let digest =
            text("digest").filter(|digest| path.file_name().is_some_and(|name| *name == *short(digest)));
        Some(Self {
            id: id.to_owned(),
            scope: text("scope").and_then(|scope| Scope::parse(&scope)),
            project: text("projectPath").map(PathBuf::from),
            path,
            version: text("version"),
            digest,
            commit: text("gitCommitSha"),
        })
    }

    /// Whether its content is what was installed.
    pub fn pin(&self) -> Pin {
        if !self.path.is_dir() {
            return Pin::Gone;
        }
        match &self.digest {
            None => Pin::Absent,
            Some(digest) => match Tree::read(&self.path) {
                Ok(tree) if tree.digest() == *digest => Pin::Holds,
                Ok(_) | Err(_) => Pin::Broken,
            },
        }
    }

    /// Whether it counts in a project.
    pub fn is_for(&self, project: &Path) -> bool {
        self.project.as_deref().is_none_or(|own| own == project)
    }

    fn to_json(&self, now: &str, installed: &str) -> Value {
        let Self { id: _, scope, project, path, version, digest, commit } = self;
        let mut value = json!({
            "scope": scope.map_or("user", Scope::word),
            "installPath": path,
            "version": version.as_deref().unwrap_or("unknown"),
            "installedAt": installed,
            "lastUpdated": now,
        });
        for (key, text) in [("digest", digest), ("gitCommitSha", commit)] {
            if let Some(text) = text {
                value[key] = text.as_str().into();
            }
        }
        if let Some(project) = project {
            value["projectPath"] = json!(project);
        }
        value
    }
}

impl Store {
    /// All that is installed.
    pub fn installed(&self) -> Result<Vec<Record>, PluginError> {
        let read = store::read(&self.installed_file())?;
        Ok(read.map(|(root, _)| Record::read(&root)).unwrap_or_default())
    }

    /// Writes a record in the place of the one of its scope and project.
    pub(super) fn record(&self, record: &Record, now: &str) -> Result<(), PluginError> {
        store::edit(&self.installed_file(), |root| {
            root.insert("version".into(), 2.into());
            let plugins = store::object(root, "plugins");
            let mut list = of_one(plugins, &record.id);
            let place = list.iter().position(|other| is_same_place(other, record));
            let earlier = place.and_then(|at| list[at]["installedAt"].as_str()).unwrap_or(now).to_owned();
            let value = record.to_json(now, &earlier);
            match place {
                Some(at) => list[at] = value,
                None => list.push(value),
            }
            plugins.insert(record.id.clone(), Value::Array(list));
        })
    }

    /// Takes a record out.
    pub(super) fn strike(&self, record: &Record) -> Result<(), PluginError> {
        store::edit(&self.installed_file(), |root| {
            let plugins = store::object(root, "plugins");
            let mut list = of_one(plugins, &record.id);
            list.retain(|other| !is_same_place(other, record));
            if list.is_empty() {
                plugins.remove(&record.id);
            } else {
                plugins.insert(record.id.clone(), Value::Array(list));
            }
        })
    }
}

fn of_one(plugins: &Map<String, Value>, id: &str) -> Vec<Value> {
    match plugins.get(id) {
        Some(Value::Array(list)) => list.clone(),
        Some(one @ Value::Object(_)) => vec![one.clone()],
        Some(_) | None => Vec::new(),
    }
}

fn is_same_place(value: &Value, record: &Record) -> bool {
    let scope = value["scope"].as_str().unwrap_or("user");
    let project = value["projectPath"].as_str().map(Path::new);
    scope == record.scope.map_or("user", Scope::word) && project == record.project.as_deref()
}
