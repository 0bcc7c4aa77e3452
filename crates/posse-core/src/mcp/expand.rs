//! `${VAR}` and `${VAR:-default}` in configurations. A pure function over a lookup: where variables come from is the
//! caller's business.

use std::cell::RefCell;

use super::{McpConfig, Reach, veil};

/// A variable that is needed and not set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the environment variable {name} is not set; set it, or write ${{{name}:-default}}")]
pub struct Missing {
    /// The variable.
    pub name: Box<str>,
}

/// The configuration with its variables filled in: in command, arguments, environment, folder, address and headers.
pub fn expand<'e>(
    config: &McpConfig,
    lookup: &impl Fn(&str) -> Option<&'e str>,
) -> Result<McpConfig, Missing> {
    let hidden = RefCell::new(config.hidden.clone());
    let look = |name: &str| {
        let value = lookup(name)?;
        if veil::is_secret(name, value) {
            hidden.borrow_mut().push(value.into());
        }
        Some(value)
    };
    let text = |text: &str| expand_text(text, &look);
    let pairs = |pairs: &[(Box<str>, Box<str>)]| -> Result<Vec<_>, Missing> {
        pairs.iter().map(|(name, value)| Ok((name.clone(), text(value)?))).collect()
    };
    let reach = match &config.reach {
        Reach::Stdio { command, args, env, cwd } => Reach::Stdio {
            command: text(command)?,
            args: args.iter().map(|arg| text(arg)).collect::<Result<_, _>>()?,
            env: pairs(env)?,
            cwd: cwd.as_deref().map(text).transpose()?,
        },
        Reach::Remote { transport, url, headers } => {
            Reach::Remote { transport: *transport, url: text(url)?, headers: pairs(headers)? }
        }
        Reach::Sdk { name } => Reach::Sdk { name: name.clone() },
    };
    let written = Some(config.words().into());
    Ok(McpConfig { reach, written, hidden: hidden.into_inner(), ..config.clone() })
}

/// Fills in one text. What is no reference stays as it is: `$HOME`, `${}`, `${1x}`, an open `${`.
fn expand_text<'e>(text: &str, lookup: &impl Fn(&str) -> Option<&'e str>) -> Result<Box<str>, Missing> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        out.push_str(&rest[..start]);
        let after = &rest[start + 2..];
        match reference(after) {
            Some((name, default, length)) => {
                let value = lookup(name).or(default).ok_or_else(|| Missing { name: name.into() })?;
                out.push_str(value);
                rest = &after[length..];
            }
            None => {
                out.push_str("${");
                rest = after;
            }
        }
    }
    out.push_str(rest);
    Ok(out.into())
}

/// What stands behind a `${`: the name, the default, and how long it is with its brace.
fn reference(text: &str) -> Option<(&str, Option<&str>, usize)> {
    let end = text.find('}')?;
    let inner = &text[..end];
    let (name, default) = match inner.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (inner, None),
    };
    is_name(name).then_some((name, default, end + 1))
}

fn is_name(name: &str) -> bool {
    // What a plugin's user chose is written like a member.
    let name = name.strip_prefix("user_config.").unwrap_or(name);
    let mut characters = name.chars();
    characters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && characters.all(|c| c.is_ascii_alphanumeric() || c == '_')
}
