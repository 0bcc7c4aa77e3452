//! Names of models: aliases, families, and what a name in a file probably means.
//!
//! Knows spellings only. Which id an alias stands for depends on the environment and is decided in [`Names::id_of`]
//! from what the caller read there.

/// A family of models with an alias of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// Small and fast.
    Haiku,
    /// The middle.
    Sonnet,
    /// Large.
    Opus,
    /// Beyond opus.
    Fable,
}

impl Family {
    /// All families.
    pub const ALL: [Self; 4] = [Self::Haiku, Self::Sonnet, Self::Opus, Self::Fable];

    /// The alias.
    pub fn alias(self) -> &'static str {
        match self {
            Self::Haiku => "haiku",
            Self::Sonnet => "sonnet",
            Self::Opus => "opus",
            Self::Fable => "fable",
        }
    }

    /// The id the alias stands for unless the environment pins another.
    pub fn default_id(self) -> &'static str {
        match self {
            Self::Haiku => "claude-haiku-4-5",
            Self::Sonnet => "claude-sonnet-4-5",
            Self::Opus => "claude-opus-4-5",
            Self::Fable => "claude-fable-5",
        }
    }

    /// The family a model name belongs to, if its name says so.
    pub fn of(name: &str) -> Option<Self> {
        let lower = name.to_ascii_lowercase();
        Self::ALL.into_iter().find(|family| lower.contains(family.alias()))
    }
}

/// Words that stand for a model besides the families.
const OTHER_ALIASES: [&str; 3] = ["best", "opusplan", "default"];

/// A model as a definition or call asks for it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub enum ModelChoice {
    /// The parent's.
    #[default]
    Inherit,
    /// By alias or id, as written.
    Named(Box<str>),
}

impl ModelChoice {
    /// Reads a name: trimmed; empty and `inherit` in any case mean the parent's.
    pub fn parse(name: &str) -> Self {
        let name = name.trim();
        if name.is_empty() || name.eq_ignore_ascii_case("inherit") {
            Self::Inherit
        } else {
            Self::Named(name.into())
        }
    }

    /// The name, unless inherited.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Inherit => None,
            Self::Named(name) => Some(name),
        }
    }
}

/// What is odd about a model's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Oddity {
    /// Not a possible id (blanks and the like); perhaps this was meant.
    Impossible(Option<String>),
    /// A word that is no alias and no id; perhaps this was meant.
    NoSuchAlias(Option<&'static str>),
    /// Some other provider's model; fine with an endpoint that serves it.
    Foreign,
}

/// Looks a name over; `None` means nothing is odd.
pub fn oddity(name: &str) -> Option<Oddity> {
    let lower = name.to_ascii_lowercase();
    let base = lower.strip_suffix("[1m]").unwrap_or(&lower);
    if OTHER_ALIASES.contains(&base) || Family::ALL.iter().any(|family| family.alias() == base) {
        return None;
    }
    let possible =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':' | '/' | '@' | '[' | ']');
    if !name.chars().all(possible) {
        return Some(Oddity::Impossible(family_hint(name)));
    }
    if lower.contains("claude") || lower.starts_with("anthropic") || lower.starts_with("rehearsal:") {
        return None;
    }
    let has_number = name.bytes().any(|b| b.is_ascii_digit());
    if let Some(family) = Family::of(name) {
        return Some(Oddity::NoSuchAlias(Some(family.alias())));
    }
    if has_number || name.contains(['/', ':']) {
        return Some(Oddity::Foreign);
    }
    let aliases = Family::ALL.iter().map(|family| family.alias()).chain(OTHER_ALIASES).chain(["inherit"]);
    Some(Oddity::NoSuchAlias(crate::suggest::closest(name, aliases)))
}

fn family_hint(name: &str) -> Option<String> {
    Family::of(name).map(|family| family.alias().to_owned())
}

/// What the environment says of models.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// `ANTHROPIC_DEFAULT_HAIKU_MODEL`, `…_SONNET_…`, `…_OPUS_…`, in the order of [`Family::ALL`].
    pub family_ids: [Option<Box<str>>; 4],
}

impl Names {
    /// The id to send for a name: aliases become ids, the `[1m]` suffix falls away, everything else stays as written.
    pub fn wire_id(&self, name: &str) -> Box<str> {
        let lower = name.to_ascii_lowercase();
        let base = lower.strip_suffix("[1m]").unwrap_or(&lower);
        let family = match base {
            "default" => Some(Family::Sonnet),
            "best" | "opusplan" => Some(Family::Opus),
            other => Family::ALL.into_iter().find(|family| family.alias() == other),
        };
        match family {
            Some(family) => match self.id_of(family.alias()) {
                alias if alias == family.alias() => family.default_id().into(),
                pinned => pinned.into(),
            },
            None => name[..base.len()].into(),
        }
    }

    /// The id an alias stands for, where the environment pins one; everything else goes to the endpoint as written.
    pub fn id_of<'a>(&'a self, name: &'a str) -> &'a str {
        let lower = name.to_ascii_lowercase();
        let pinned = Family::ALL.iter().zip(&self.family_ids).find(|(family, _)| family.alias() == lower);
        match pinned {
            Some((_, Some(id))) => id,
            Some((_, None)) | None => name,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_people_write() {
        let no_such = |hint| Some(Oddity::NoSuchAlias(hint));
        for (name, want) in [
            ("sonnet", None),
            ("Opus", None),
            ("sonnet[1m]", None),
            ("best", None),
            ("claude-sonnet-4-20250514", None),
            ("anthropic/claude-opus-4-5", None),
            ("rehearsal:demo.yaml", None),
            ("sonet", no_such(Some("sonnet"))),
            ("sonnet4.5", no_such(Some("sonnet"))),
            ("fast", no_such(None)),
            ("no-such-model", no_such(None)),
            ("Claude Sonnet 4.5", Some(Oddity::Impossible(Some("sonnet".into())))),
            ("GPT-4.1", Some(Oddity::Foreign)),
            ("gemini-2.5-pro", Some(Oddity::Foreign)),
        ] {
            assert_eq!(oddity(name), want, "{name}");
        }
    }

    #[test]
    fn inherit_in_any_case_and_emptiness_mean_the_parent() {
        for name in ["inherit", " Inherit ", "INHERIT", "", "  "] {
            assert_eq!(ModelChoice::parse(name), ModelChoice::Inherit);
        }
        assert_eq!(ModelChoice::parse(" Sonnet ").name(), Some("Sonnet"));
    }

    #[test]
    fn what_goes_over_the_wire_is_an_id() {
        let names = Names { family_ids: [Some("tiny-1".into()), None, None, None] };
        for (name, want) in [
            ("haiku", "tiny-1"),
            ("Sonnet", "claude-sonnet-4-5"),
            ("sonnet[1m]", "claude-sonnet-4-5"),
            ("default", "claude-sonnet-4-5"),
            ("claude-opus-4-1[1m]", "claude-opus-4-1"),
            ("gpt-5", "gpt-5"),
        ] {
            assert_eq!(&*names.wire_id(name), want, "{name}");
        }
    }

    #[test]
    fn the_environment_pins_families() {
        let names = Names { family_ids: [Some("tiny-1".into()), None, None, None] };
        assert_eq!(names.id_of("Haiku"), "tiny-1");
        assert_eq!(names.id_of("opus"), "opus");
        assert_eq!(names.id_of("claude-haiku-9"), "claude-haiku-9");
    }
}
