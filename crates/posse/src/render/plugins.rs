//! How plugins look: lists, what one may do, what an update adds.

use posse_core::plugin::{Manifest, Marketplace, OptionType, PluginSource, Power, Powers, Reach, Widening};
use posse_runtime::catalog::PluginFault;
use posse_runtime::plugins::{Installation, Known, Pin, Record, Scope};
use serde_json::{Value, json};

use super::style::{Style, plain};

/// An installed plugin, and how it stands.
pub struct Row<'a> {
    /// What is installed; nothing, if settings enable what is not.
    pub record: &'a Record,
    /// Whether settings switch it on.
    pub enabled: bool,
    /// Whether its content is what was installed.
    pub pin: Pin,
    /// What is missing of it.
    pub faults: Vec<&'a PluginFault>,
}

fn pin_words(pin: Pin) -> &'static str {
    match pin {
        Pin::Holds => "pinned",
        Pin::Absent => "not pinned",
        Pin::Broken => "changed",
        Pin::Gone => "gone",
    }
}

/// `posse plugin list`.
pub fn list(rows: &[Row<'_>], lost: &[&PluginFault], style: Style) -> String {
    let mut text = String::new();
    if rows.is_empty() && lost.is_empty() {
        let hint = "posse plugin marketplace add PATH|URL, then posse plugin install NAME";
        return format!("{}\n{}\n", style.dim("no plugin is installed"), style.hint(hint));
    }
    for row in rows {
        let Row { record, enabled, pin, faults } = row;
        let version = record.version.as_deref().filter(|version| *version != "unknown");
        let version = version.map(|version| format!(" {}", plain(version))).unwrap_or_default();
        let scope = record.scope.map_or("user", Scope::word);
        let on = if *enabled { "on" } else { "off" };
        let about = format!("{scope}, {on}, {}", pin_words(*pin));
        text.push_str(&format!("{}{version}  {}\n", style.bold(&plain(&record.id)), style.dim(&about)));
        for fault in faults {
            text.push_str(&format!("  {} {}\n", style.error("!"), plain(&fault.text)));
        }
    }
    for fault in lost {
        text.push_str(&format!("{} {}\n", style.error("!"), plain(&fault.text)));
    }
    text
}

/// `posse plugin list --json`.
pub fn list_json(rows: &[Row<'_>], lost: &[&PluginFault]) -> Value {
    let fault =
        |fault: &&PluginFault| json!({ "plugin": fault.plugin, "type": fault.kind, "message": fault.text });
    let row = |row: &Row<'_>| {
        let Row { record, enabled, pin, faults } = row;
        json!({
            "id": record.id,
            "version": record.version,
            "scope": record.scope.map_or("user", Scope::word),
            "projectPath": record.project,
            "installPath": record.path,
            "enabled": enabled,
            "content": pin_words(*pin),
            "digest": record.digest,
            "commit": record.commit,
            "problems": faults.iter().map(fault).collect::<Vec<_>>(),
        })
    };
    json!({
        "plugins": rows.iter().map(row).collect::<Vec<_>>(),
        "problems": lost.iter().map(fault).collect::<Vec<_>>(),
    })
}

fn reach(reach: &Reach) -> String {
    match reach {
        Reach::All => ": all tools".to_owned(),
        Reach::These(items) if items.is_empty() => String::new(),
        Reach::These(items) => {
            format!(": {}", items.iter().map(|item| &**item).collect::<Vec<_>>().join(", "))
        }
    }
}

fn power(power: &Power) -> String {
    plain(&format!("{} {}{}", power.kind.word(), power.name, reach(&power.reach))).to_string()
}

/// What a plugin may do, a line each.
pub fn powers(powers: &Powers) -> String {
    if powers.is_empty() {
        return "  nothing\n".to_owned();
    }
    powers.iter().map(|one| format!("  {}\n", power(&one))).collect()
}

/// What an update adds.
pub fn widening(widening: &[Widening], style: Style) -> String {
    let line = |one: &Widening| {
        let mark = if one.was_there { "~" } else { "+" };
        format!("  {} {}\n", style.error(mark), power(&one.more))
    };
    widening.iter().map(line).collect()
}

/// What was installed.
pub fn installed(done: &Installation, style: Style) -> String {
    let Installation { record, manifest, powers: all, .. } = done;
    let scope = record.scope.map_or("user", Scope::word);
    let version = record.version.as_deref().map(|version| format!(" {}", plain(version))).unwrap_or_default();
    let mut text = format!("installed {}{version} ({scope})\n", style.bold(&plain(&record.id)));
    if let Some(digest) = &record.digest {
        text.push_str(&format!("{}\n", style.dim(digest)));
    }
    text.push_str("It brings:\n");
    text.push_str(&powers(all));
    text.push_str(&options(manifest, &record.id));
    text
}

/// The options somebody has to set, or may.
fn options(manifest: &Manifest, id: &str) -> String {
    if manifest.user_config.is_empty() {
        return String::new();
    }
    let mut text = format!("Its options (posse plugin enable {} --config KEY=VALUE):\n", plain(id));
    for option in &manifest.user_config {
        let kind = if option.kind == OptionType::Text { "text" } else { option.kind.word() };
        let secret = if option.sensitive { ", secret" } else { "" };
        let needed = if option.required && option.default.is_none() { ", needed" } else { "" };
        let about = option.title.as_ref().or(option.description.as_ref());
        let about = about.map(|about| format!("  {}", plain(about))).unwrap_or_default();
        text.push_str(&format!("  {} ({kind}{secret}{needed}){about}\n", plain(&option.key)));
    }
    text
}

/// `posse plugin marketplace list`.
pub fn marketplaces(all: &[(Known, Result<Marketplace, String>)], style: Style) -> String {
    if all.is_empty() {
        let hint = "posse plugin marketplace add PATH|URL";
        return format!("{}\n{}\n", style.dim("no marketplace is known"), style.hint(hint));
    }
    let mut text = String::new();
    for (known, list) in all {
        let place = style.dim(&plain(&known.place.words()));
        text.push_str(&format!("{}  {place}\n", style.bold(&plain(&known.name))));
        match list {
            Ok(list) => text.push_str(&entries(list)),
            Err(error) => text.push_str(&format!("  {} {}\n", style.error("!"), plain(error))),
        }
    }
    text
}

/// The plugins of a marketplace, a line each.
pub fn entries(list: &Marketplace) -> String {
    let mut text = String::new();
    for entry in &list.plugins {
        let about = match (&entry.source, &entry.description) {
            (PluginSource::Unsupported(why), _) => format!("  not for posse: {}", plain(why)),
            (_, Some(about)) => format!("  {}", plain(about.lines().next().unwrap_or_default())),
            (_, None) => String::new(),
        };
        text.push_str(&format!("  {}{about}\n", plain(&entry.name)));
    }
    text
}

/// `posse plugin marketplace list --json`.
pub fn marketplaces_json(all: &[(Known, Result<Marketplace, String>)]) -> Value {
    let one = |(known, list): &(Known, Result<Marketplace, String>)| {
        let plugins = list.as_ref().map(|list| {
            let entry = |entry: &posse_core::plugin::PluginEntry| {
                json!({ "name": entry.name, "version": entry.version, "description": entry.description })
            };
            list.plugins.iter().map(entry).collect::<Vec<_>>()
        });
        json!({
            "name": known.name,
            "source": known.place.words(),
            "path": known.folder,
            "plugins": plugins.as_ref().ok(),
            "problem": list.as_ref().err(),
        })
    };
    json!({ "marketplaces": all.iter().map(one).collect::<Vec<_>>() })
}
