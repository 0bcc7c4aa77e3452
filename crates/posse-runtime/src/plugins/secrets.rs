//! Values of options that are secret: in a file of their own that nobody else can read, never in settings.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::Value;

use super::{PluginError, Store, store};

impl Store {
    /// The file of secrets.
    pub fn secrets_file(&self) -> PathBuf {
        self.root.join("posse-secrets.json")
    }

    /// The secret options of a plugin.
    pub fn secrets(&self, id: &str) -> Result<BTreeMap<String, String>, PluginError> {
        let Some((root, _)) = store::read(&self.secrets_file())? else { return Ok(BTreeMap::new()) };
        let pairs = root.get(id).map(posse_core::node::Node::scalar_pairs).unwrap_or_default();
        Ok(pairs.into_iter().map(|(key, value)| (key.into(), value.into())).collect())
    }

    /// Keeps a secret.
    pub(super) fn keep_secret(&self, id: &str, key: &str, value: &str) -> Result<(), PluginError> {
        let file = self.secrets_file();
        // One that somebody opened up is closed before anything is written to it.
        if file.exists() {
            let mode = std::fs::Permissions::from_mode(0o600);
            std::fs::set_permissions(&file, mode).map_err(PluginError::io(&file))?;
        }
        store::edit_with(&file, 0o600, |root| {
            store::object(root, id).insert(key.to_owned(), Value::from(value));
        })
    }

    /// Forgets the secrets of a plugin.
    pub(super) fn forget_secrets(&self, id: &str) -> Result<(), PluginError> {
        let file = self.secrets_file();
        if !file.exists() {
            return Ok(());
        }
        store::edit(&file, |root| {
            root.remove(id);
        })
    }
}
