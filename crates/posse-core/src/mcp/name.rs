//! What a server's tool is called towards the model: `mcp__server__tool`.

/// Names longer than this are refused by model providers.
pub const LONGEST_NAME: usize = 128;

/// A name as it may stand in a tool's name: what is not a letter, a digit, `_` or `-` becomes `_`.
pub fn normalized(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' }).collect()
}

/// Whether tools of two servers could have one name, or a rule for one could mean tools of the other: `my.server` and
/// `my_server`, `a` and `a__b`.
pub fn clash(one: &str, other: &str) -> bool {
    let (one, other) = (format!("{}__", normalized(one)), format!("{}__", normalized(other)));
    one.starts_with(&other) || other.starts_with(&one)
}

/// The name of a server's tool; `None` if no provider would take it.
pub fn full_name(server: &str, tool: &str) -> Option<Box<str>> {
    let name = format!("mcp__{}__{}", normalized(server), normalized(tool));
    (!server.is_empty() && !tool.is_empty() && name.len() <= LONGEST_NAME).then(|| name.into())
}
