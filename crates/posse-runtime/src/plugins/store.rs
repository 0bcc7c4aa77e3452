//! The folder `plugins`: where its files lie, and how they are changed whole or not at all.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use posse_core::json;
use posse_core::node::Node;
use serde_json::{Map, Value};

use super::PluginError;

/// The folder `plugins` of a user's folder.
#[derive(Clone, Debug)]
pub struct Store {
    pub(super) root: PathBuf,
}

impl Store {
    /// In the user's folder (`~/.claude`); it need not exist.
    pub fn new(user: &Path) -> Self {
        Self { root: user.join("plugins") }
    }

    /// What is installed.
    pub fn installed_file(&self) -> PathBuf {
        self.root.join("installed_plugins.json")
    }

    /// The lists of plugins that are known.
    pub(super) fn known_file(&self) -> PathBuf {
        self.root.join("known_marketplaces.json")
    }

    /// Where copies of lists lie.
    pub(super) fn marketplaces_folder(&self) -> PathBuf {
        self.root.join("marketplaces")
    }

    /// Where the content of plugins lies.
    pub(super) fn cache(&self) -> PathBuf {
        self.root.join("cache")
    }

    /// Where archives of the command line are unpacked.
    pub fn inline(&self) -> PathBuf {
        self.cache().join("inline")
    }

    /// Where a plugin, by its full name, may keep things.
    pub fn data(&self, id: &str) -> PathBuf {
        let word = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '-' };
        self.root.join("data").join(id.chars().map(word).collect::<String>())
    }

    /// One writer at a time, as long as the file is held.
    pub(super) fn lock(&self) -> Result<File, PluginError> {
        let path = self.root.join(".posse-lock");
        fs::create_dir_all(&self.root).map_err(PluginError::io(&self.root))?;
        let file = File::create(&path).map_err(PluginError::io(&path))?;
        rustix::fs::flock(&file, rustix::fs::FlockOperation::LockExclusive)
            .map_err(|error| PluginError::Io { path, source: error.into() })?;
        Ok(file)
    }

    /// A folder for what is not whole yet, on the same disk. Dropping it removes it.
    pub(super) fn staging(&self) -> Result<Staging, PluginError> {
        let cache = self.cache();
        fs::create_dir_all(&cache).map_err(PluginError::io(&cache))?;
        // Nobody sweeps between the making and the holding.
        let _lock = self.lock()?;
        let builder = || tempfile::Builder::new().prefix(STAGING).tempdir_in(&cache);
        let folder = builder().map_err(PluginError::io(&cache))?;
        let held = hold(folder.path()).map_err(PluginError::io(folder.path()))?;
        Ok(Staging { folder, _held: held })
    }

    /// Removes what processes that were killed left behind. What a running one works on is held by it, and stays.
    pub fn tidy(&self) -> Result<(), PluginError> {
        let Ok(entries) = fs::read_dir(self.cache()) else { return Ok(()) };
        let is_ours =
            |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(STAGING));
        let left: Vec<PathBuf> =
            entries.filter_map(|entry| Some(entry.ok()?.path())).filter(is_ours).collect();
        if left.is_empty() {
            return Ok(());
        }
        let _lock = self.lock()?;
        for folder in left {
            if hold(&folder).is_ok() {
                fs::remove_dir_all(&folder).map_err(PluginError::io(&folder))?;
            }
        }
        Ok(())
    }
}

/// How the names of folders begin that are not whole yet.
const STAGING: &str = ".posse-";

/// A folder for what is not whole yet. As long as it is held nobody sweeps it away; dropping it removes it.
#[derive(Debug)]
pub(super) struct Staging {
    folder: tempfile::TempDir,
    _held: File,
}

impl Staging {
    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Holds a folder, unless somebody does. The system lets go of it when the process ends, however it ends.
fn hold(folder: &Path) -> io::Result<File> {
    let file = File::open(folder)?;
    rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive)?;
    Ok(file)
}

/// A file of ours, read with places; nothing if it is not there.
pub(super) fn read(file: &Path) -> Result<Option<(Node, String)>, PluginError> {
    let broken = |why: String| PluginError::Broken { file: file.to_owned(), why };
    if matches!(file.try_exists(), Ok(false)) {
        return Ok(None);
    }
    let (text, _) = crate::read::text(file).map_err(|problem| broken(problem.text))?;
    match json::parse(&text) {
        (Some(node), _) => Ok(Some((node, text))),
        (None, problems) => match problems.into_iter().next() {
            Some(problem) => Err(broken(problem.text)),
            None => Ok(None),
        },
    }
}

/// Changes a JSON file that may hold anything else. Only plain JSON: comments are somebody's work and would be lost.
pub(super) fn edit(file: &Path, change: impl FnOnce(&mut Map<String, Value>)) -> Result<(), PluginError> {
    edit_with(file, 0o644, change)
}

/// The same; a new file gets this mode.
pub(super) fn edit_with(
    file: &Path,
    mode: u32,
    change: impl FnOnce(&mut Map<String, Value>),
) -> Result<(), PluginError> {
    let text = match fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(source) => return Err(PluginError::Io { path: file.to_owned(), source }),
    };
    let broken = |why: String| PluginError::Broken { file: file.to_owned(), why };
    let content = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let mut root = match content.trim() {
        "" => Map::new(),
        json => match serde_json::from_str(json) {
            Ok(Value::Object(root)) => root,
            Ok(_) => return Err(broken("it is not an object".into())),
            Err(error) => return Err(broken(format!("it is not plain JSON: {error}"))),
        },
    };
    change(&mut root);
    write(file, mode, &Value::Object(root))
}

/// Replaces a file; readers see the old one or the new one.
fn write(file: &Path, mode: u32, value: &Value) -> Result<(), PluginError> {
    let failed = |source| PluginError::Io { path: file.to_owned(), source };
    // A link is followed, or the file it leads to would be left behind.
    let real = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let parent = real.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(parent).map_err(failed)?;
    let replace = || -> io::Result<()> {
        let mut temporary = tempfile::NamedTempFile::new_in(parent)?;
        temporary.write_all(format!("{value:#}\n").as_bytes())?;
        let earlier = fs::metadata(&real).map(|metadata| metadata.permissions());
        let permissions = earlier.unwrap_or_else(|_| fs::Permissions::from_mode(mode));
        temporary.as_file().set_permissions(permissions)?;
        temporary.as_file().sync_all()?;
        temporary.persist(&real).map_err(|error| error.error)?;
        Ok(())
    };
    replace().map_err(failed)
}

/// The object below a key; what is no object there is replaced.
pub(super) fn object<'m>(map: &'m mut Map<String, Value>, key: &str) -> &'m mut Map<String, Value> {
    let slot = map.entry(key).or_insert_with(|| Value::Object(Map::new()));
    if !slot.is_object() {
        *slot = Value::Object(Map::new());
    }
    match slot {
        Value::Object(object) => object,
        // It was made one just now.
        _ => unreachable!("an object"),
    }
}
