//! Settings for people and programs: each value with who set it, and what was said in vain.

use std::path::Path;

use posse_core::diagnostic::Diagnostic;
use posse_core::settings::{self, IgnoredKind, Part, Standing, Value, WhyIgnored};
use posse_runtime::catalog::Catalog;
use serde_json::{Value as Json, json as object};

use super::listing::{cut, pad};
use super::relative;
use super::style::{Style, plain};
use super::{diagnostics, json as wire};

/// What there is to show.
pub struct Page<'a> {
    /// Where it comes from.
    pub catalog: &'a Catalog,
    /// The settings.
    pub values: &'a [Value],
    /// What is wrong with the files.
    pub problems: &'a [Diagnostic],
    /// The one setting that was asked for.
    pub key: Option<&'a str>,
}

/// Stands for what should not be on a screen.
const HIDDEN: &str = "(not shown)";

/// A variable whose name speaks of a secret is not shown: screens and logs are read by others.
fn shown(key: &str, value: &Json) -> Json {
    let secret = key.strip_prefix("env.").is_some_and(|name| {
        let name = name.to_ascii_uppercase();
        ["KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL", "AUTH", "HEADERS"]
            .iter()
            .any(|word| name.contains(word))
    });
    if secret { Json::from(HIDDEN) } else { value.clone() }
}

/// On a terminal.
pub fn text(page: &Page<'_>, style: Style, width: usize) -> String {
    let mut text = String::new();
    if page.values.is_empty() {
        match page.key.and_then(settings::find_key) {
            Some(key) => text.push_str(&format!("{} is not set\n", key.name)),
            None => text.push_str("nothing is set\n"),
        }
    }
    if let Some(key) = page.key.and_then(settings::find_key) {
        text.push_str(&format!("{}\n\n", style.dim(key.does)));
    }
    for value in page.values {
        text.push_str(&setting(value, page.catalog, style, width));
    }
    if page.key.is_none() && page.catalog.trust.trusted {
        text.push_str(&format!(
            "\n{}\n",
            style.dim(&format!("{} is trusted", page.catalog.trust.folder.display()))
        ));
    } else if let Some(ignored) = page.catalog.ignored_for_trust().filter(|_| page.key.is_none()) {
        text.push_str(&format!("\n{}\n", plain(&ignored)));
    }
    for problem in page.problems {
        text.push('\n');
        text.push_str(&diagnostics::one(problem, style, |path| relative(path, &page.catalog.layout.cwd)));
    }
    text
}

fn setting(value: &Value, catalog: &Catalog, style: Style, width: usize) -> String {
    let said = match &value.value {
        Some(one) => cut(
            &plain(&shown(&value.key, one).to_string()),
            width.saturating_sub(value.key.len() + 4).max(40),
        ),
        None => style.dim("not in force"),
    };
    let unused = if value.used { "" } else { "  (posse does not use it)" };
    let mut text = format!("{} = {said}{}\n", style.bold(&plain(&value.key)), style.dim(unused));
    // The strongest first: that is the one people look for.
    for part in value.parts.iter().rev() {
        let place = place(part, &catalog.layout.cwd);
        let fate = match &part.standing {
            Standing::Counts => String::new(),
            Standing::Overridden => {
                format!("overridden: {}", cut(&plain(&shown(&value.key, &part.value).to_string()), 60))
            }
            Standing::Ignored(why) => format!("ignored: {}", plain(why)),
        };
        let line = format!("    {} {} {fate}", pad(part.by.layer.word(), 8), pad(&place, 36));
        text.push_str(&format!("{}\n", style.dim(line.trim_end())));
    }
    text
}

fn place(part: &Part, cwd: &Path) -> String {
    format!("{}:{}", plain(&relative(&part.by.file, cwd)), part.location.line)
}

/// For programs.
pub fn json(page: &Page<'_>) -> Json {
    let trust = &page.catalog.trust;
    let parts = |value: &Value| {
        let part = |part: &Part| {
            let (standing, why) = match &part.standing {
                Standing::Counts => ("counts", None),
                Standing::Overridden => ("overridden", None),
                Standing::Ignored(why) => ("ignored", Some(why)),
            };
            object!({
                "layer": part.by.layer.word(),
                "file": part.by.file.display().to_string(),
                "line": part.location.line,
                "column": part.location.column,
                "value": shown(&value.key, &part.value),
                "standing": standing,
                "why": why,
            })
        };
        value.parts.iter().map(part).collect::<Vec<_>>()
    };
    let ignored = page.catalog.settings.ignored.iter().map(|one| {
        object!({
            "kind": kind(one.kind),
            "text": one.text,
            "layer": one.by.layer.word(),
            "file": one.by.file.display().to_string(),
            "line": one.location.map(|at| at.line),
            "why": why(&one.why),
        })
    });
    object!({
        "trust": { "folder": trust.folder, "trusted": trust.trusted, "file": trust.by },
        "settings": page.values.iter().map(|value| object!({
            "key": value.key,
            "value": value.value.as_ref().map(|one| shown(&value.key, one)),
            "used": value.used,
            "setBy": parts(value),
        })).collect::<Vec<_>>(),
        "ignored": ignored.collect::<Vec<_>>(),
        "problems": page.problems.iter().map(wire::diagnostic).collect::<Vec<_>>(),
    })
}

fn kind(kind: IgnoredKind) -> &'static str {
    match kind {
        IgnoredKind::Rule => "rule",
        IgnoredKind::Hook => "hook",
        IgnoredKind::Directory => "directory",
        IgnoredKind::Environment => "environment",
        IgnoredKind::Mode => "mode",
        IgnoredKind::Sandbox => "sandbox",
        IgnoredKind::Switch => "switch",
        IgnoredKind::Plugin => "plugin",
        IgnoredKind::Server => "server",
    }
}

fn why(why: &WhyIgnored) -> &'static str {
    match why {
        WhyIgnored::Untrusted => "untrusted",
        WhyIgnored::ManagedOnly(_) => "managed-only",
        WhyIgnored::HooksOff(_) => "hooks-off",
        WhyIgnored::PluginsOnly(_) => "plugins-only",
        WhyIgnored::OwnYes => "own-yes",
    }
}

/// The table of settings as Markdown, for `docs/settings.md`.
pub fn markdown() -> String {
    let mut text = String::from(
        "| setting | takes | who may set it | layers | posse | what it does |\n|---|---|---|---|---|---|\n",
    );
    for key in settings::KEYS.iter().filter(|key| key.shape != settings::Shape::Group) {
        let setters = match key.setters {
            settings::Setters::Anyone => "anybody",
            settings::Setters::NotProject => "not a project",
            settings::Setters::Managed => "administrator",
        };
        let used = if key.used { "uses it" } else { "knows it" };
        text.push_str(&format!(
            "| `{}` | {} | {setters} | {} | {used} | {} |\n",
            key.name,
            key.shape.takes().replace('|', "\\|"),
            key.merging().words(),
            key.does
        ));
    }
    text
}
