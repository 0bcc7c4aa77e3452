//! `${…}` in what a plugin brings. What is not set stays as written, so that a missing value can be seen.

/// What the variables of one plugin stand for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Variables {
    /// `${CLAUDE_PLUGIN_ROOT}`: the plugin's folder.
    pub root: String,
    /// `${CLAUDE_PLUGIN_DATA}`: where it may keep things.
    pub data: String,
    /// `${CLAUDE_PROJECT_DIR}`: the project.
    pub project: String,
    /// `${user_config.KEY}`.
    pub user_config: Vec<(Box<str>, Box<str>)>,
}

impl Variables {
    fn get(&self, name: &str) -> Option<&str> {
        // No folder is called nothing: an empty one is not set, and `rm -r ${…}/x` must not become `rm -r /x`.
        let folder = |path| Some(path).filter(|path: &&str| !path.is_empty());
        match name {
            "CLAUDE_PLUGIN_ROOT" => folder(&self.root),
            "CLAUDE_PLUGIN_DATA" => folder(&self.data),
            "CLAUDE_PROJECT_DIR" => folder(&self.project),
            other => {
                let key = other.strip_prefix("user_config.")?;
                self.user_config.iter().find(|(name, _)| &**name == key).map(|(_, value)| &**value)
            }
        }
    }
}

/// Puts values in place of variables, in one pass: a value that looks like a variable is not replaced again.
pub fn substitute(text: &str, variables: &Variables) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let value = from.find('}').and_then(|end| Some((variables.get(&from[2..end])?, end + 1)));
        let (text, used) = value.unwrap_or((&from[..2], 2));
        out.push_str(text);
        rest = &from[used..];
    }
    out.push_str(rest);
    out
}
