//! The environment, as it was when the program started.

mod limits;

use std::collections::BTreeMap;
use std::path::Path;

pub use limits::{BadLimit, LIMITS, LimitVariable};

/// The switch for leaving credentials out.
const SCRUB: &str = "CLAUDE_CODE_SUBPROCESS_ENV_SCRUB";
/// Beginnings of names that belong to model providers and clouds.
const PROVIDERS: &[&str] = &[
    "ANTHROPIC_",
    "AWS_",
    "AZURE_",
    "CEREBRAS_",
    "CLAUDE_CODE_",
    "COHERE_",
    "DEEPSEEK_",
    "FIREWORKS_",
    "GEMINI_",
    "GOOGLE_",
    "GROQ_",
    "HF_",
    "HUGGINGFACE_",
    "HUGGING_FACE_",
    "MISTRAL_",
    "OPENAI_",
    "OPENROUTER_",
    "PERPLEXITY_",
    "REPLICATE_",
    "TOGETHER_",
    "VERTEX_",
    "XAI_",
];
/// Words in names of what is secret.
const SECRETS: &[&str] =
    &["CREDENTIAL", "HEADERS", "KEY", "PASSWORD", "SECRET", "TOKEN", "PROFILE", "IDENTITY", "CERTIFICATE"];

/// Whether a variable lets its holder act as the user at a model provider or a cloud. Others, such as `GITHUB_TOKEN`, are
/// what commands are given them for.
fn is_credential(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let has_word = |words: &[&str]| words.iter().any(|word| name.contains(word));
    // Limits such as CLAUDE_CODE_MAX_OUTPUT_TOKENS are numbers of tokens.
    let counts = name.ends_with("_TOKENS");
    PROVIDERS.iter().any(|provider| name.starts_with(provider)) && has_word(SECRETS) && !counts
}

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

    /// What programs get that an agent or a hook starts. With `CLAUDE_CODE_SUBPROCESS_ENV_SCRUB` the credentials of model
    /// providers and clouds are left out; where it says neither yes nor no, `scrub` decides.
    pub fn for_programs(&self, scrub: bool) -> Self {
        let scrubs = match self.get(SCRUB) {
            Some(_) => self.is_on(SCRUB),
            None => scrub,
        };
        let mut vars = self.vars.clone();
        vars.retain(|name, _| !scrubs || !is_credential(name));
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

#[cfg(test)]
mod tests;
