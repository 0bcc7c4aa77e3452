//! The environment, as it was when the program started.

use std::collections::BTreeMap;
use std::path::Path;

/// Environment variables.
#[derive(Clone, Debug, Default)]
pub struct Env {
    vars: BTreeMap<String, String>,
}

impl Env {
    /// An environment of one's own making.
    pub fn new<N: Into<String>, V: Into<String>>(vars: impl IntoIterator<Item = (N, V)>) -> Self {
        Self { vars: vars.into_iter().map(|(name, value)| (name.into(), value.into())).collect() }
    }

    /// A variable that is set and not empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.vars.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// A switch: `1`, `true`, `yes` or `on`, in any case.
    pub fn is_on(&self, name: &str) -> bool {
        let on = |value: &str| matches!(value.to_ascii_lowercase().as_str(), "1" | "true" | "yes" | "on");
        self.get(name).is_some_and(on)
    }

    /// A number, if the variable holds one.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.get(name)?.trim().parse().ok()
    }

    /// The same environment with what settings add; what is already set stays.
    pub fn with_defaults<'a>(&self, defaults: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut vars = self.vars.clone();
        for (name, value) in defaults {
            vars.entry(name.to_owned()).or_insert_with(|| value.to_owned());
        }
        Self { vars }
    }

    /// All variables.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.vars.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The user's home folder.
    pub fn home(&self) -> Option<&Path> {
        self.get("HOME").map(Path::new)
    }
}
