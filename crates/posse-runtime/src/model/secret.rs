//! Texts nobody should see: keys and header values. They cannot be printed by accident, and are taken out of whatever
//! a server echoes.

use posse_core::failure::Failure;

/// A key or a token.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Takes a text as a secret; blanks around it are never part of one.
    pub fn new(text: &str) -> Self {
        Self(text.trim().to_owned())
    }

    /// The text, for the header it belongs into.
    pub(super) fn expose(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// Shorter values are words that occur in any text, not secrets.
const SHORTEST: usize = 8;

/// A failure whose text holds none of these.
pub(super) fn scrub<'a>(mut failure: Failure, secrets: impl IntoIterator<Item = &'a str>) -> Failure {
    for secret in secrets.into_iter().filter(|secret| secret.len() >= SHORTEST) {
        if failure.message.contains(secret) {
            failure.message = failure.message.replace(secret, "***");
        }
    }
    failure
}
