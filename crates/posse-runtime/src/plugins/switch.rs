//! Switching plugins on and off, and their options: both are settings of one scope.

use std::path::{Path, PathBuf};

use posse_core::plugin::{OptionType, UserOption};
use serde_json::Value;

use super::{PluginError, Scope, Store, store};

/// Where somebody works.
#[derive(Clone, Debug)]
pub struct Project {
    /// The user's folder.
    pub user: PathBuf,
    /// The working directory.
    pub cwd: PathBuf,
    /// The top of the repository, or the working directory.
    pub top: PathBuf,
}

/// The settings file of a scope.
pub fn settings_file(project: &Project, scope: Scope) -> PathBuf {
    match scope {
        Scope::User => project.user.join("settings.json"),
        Scope::Project => project.cwd.join(".claude/settings.json"),
        Scope::Local => project.top.join(".claude/settings.local.json"),
    }
}

impl Store {
    /// Switches a plugin on or off in a scope, or says nothing about it there any more.
    pub fn switch(
        &self,
        project: &Project,
        scope: Scope,
        id: &str,
        on: Option<bool>,
    ) -> Result<PathBuf, PluginError> {
        let _lock = self.lock()?;
        switch(project, scope, id, on)
    }

    /// Sets options of a plugin: secrets apart, the rest in the settings of a scope. All or none.
    pub fn configure(
        &self,
        project: &Project,
        scope: Scope,
        id: &str,
        options: &[UserOption],
        values: &[(String, String)],
    ) -> Result<(), PluginError> {
        let _lock = self.lock()?;
        let kept = self.secrets(id)?;
        let mut plain = Vec::new();
        let mut secret = Vec::new();
        for (key, value) in values {
            let option = find(options, id, key)?;
            check(option, value)?;
            // What was given as a secret stays one.
            if option.sensitive || kept.contains_key(key) {
                secret.push((key, value));
            } else {
                plain.push((key, as_json(option.kind, value)));
            }
        }
        if !plain.is_empty() {
            store::edit(&settings_file(project, scope), |root| {
                let configs = store::object(root, "pluginConfigs");
                let chosen = store::object(store::object(configs, id), "options");
                for (key, value) in plain {
                    chosen.insert(key.clone(), value);
                }
            })?;
        }
        for (key, value) in secret {
            self.keep_secret(id, key, value)?;
        }
        Ok(())
    }
}

pub(super) fn switch(
    project: &Project,
    scope: Scope,
    id: &str,
    on: Option<bool>,
) -> Result<PathBuf, PluginError> {
    let file = settings_file(project, scope);
    if on.is_none() && !file.exists() {
        return Ok(file);
    }
    store::edit(&file, |root| match on {
        Some(on) => {
            store::object(root, "enabledPlugins").insert(id.to_owned(), on.into());
        }
        None => {
            if let Some(Value::Object(plugins)) = root.get_mut("enabledPlugins") {
                plugins.remove(id);
                if plugins.is_empty() {
                    root.remove("enabledPlugins");
                }
            }
        }
    })?;
    Ok(file)
}

fn find<'o>(options: &'o [UserOption], id: &str, key: &str) -> Result<&'o UserOption, PluginError> {
    options.iter().find(|option| &*option.key == key).ok_or_else(|| {
        let known: Vec<&str> = options.iter().map(|option| &*option.key).collect();
        let known =
            if known.is_empty() { "it has none".to_owned() } else { format!("it has {}", known.join(", ")) };
        PluginError::Option(format!("{id} has no option `{key}`: {known}"))
    })
}

/// The value itself is not repeated: it may be a secret.
fn check(option: &UserOption, value: &str) -> Result<(), PluginError> {
    let UserOption { key, kind, .. } = option;
    if !kind.accepts(value) {
        return Err(PluginError::Option(format!("the option `{key}` takes {}", kind.takes())));
    }
    let missing = match kind {
        OptionType::Directory => !Path::new(value).is_dir(),
        OptionType::File => !Path::new(value).is_file(),
        OptionType::Text | OptionType::Number | OptionType::Boolean => false,
    };
    if missing {
        return Err(PluginError::Option(format!("the option `{key}` takes {}; there is none", kind.takes())));
    }
    Ok(())
}

fn as_json(kind: OptionType, value: &str) -> Value {
    match kind {
        OptionType::Number | OptionType::Boolean => {
            serde_json::from_str(value).unwrap_or_else(|_| value.into())
        }
        OptionType::Text | OptionType::Directory | OptionType::File => value.into(),
    }
}
