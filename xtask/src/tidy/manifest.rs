//! The dependencies a `Cargo.toml` names. Reads the lines people write, not all of TOML.

/// Why a crate is needed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    Normal,
    Dev,
    Build,
}

/// Direct dependencies, by the name of the package (renames undone), in the order of the file.
pub(crate) fn dependencies(manifest: &str) -> Vec<(Kind, String)> {
    let mut found: Vec<(Kind, String)> = Vec::new();
    let mut section = None;
    for line in manifest.lines().map(str::trim) {
        if let Some(header) = line.strip_prefix('[') {
            let (kind, single) = match read_header(header.split(']').next().unwrap_or_default()) {
                Some((kind, single)) => (Some(kind), single),
                None => (None, None),
            };
            section = kind.map(|kind| (kind, single.is_some()));
            found.extend(kind.zip(single));
            continue;
        }
        let (Some((kind, single)), Some((key, value))) = (section, line.split_once('=')) else { continue };
        if line.starts_with('#') {
            continue;
        }
        if single {
            if key.trim() == "package"
                && let Some(last) = found.last_mut()
            {
                last.1 = unquote(value).to_owned();
            }
        } else {
            let name = unquote(key.split('.').next().unwrap_or(key));
            found.push((kind, renamed(value).unwrap_or(name).to_owned()));
        }
    }
    found
}

/// What a section header is about: `dependencies`, `target.'cfg(unix)'.dev-dependencies`, `dependencies.clap`. The
/// second part is the crate if the header names one.
fn read_header(header: &str) -> Option<(Kind, Option<String>)> {
    let words = [
        ("dev-dependencies", Kind::Dev),
        ("build-dependencies", Kind::Build),
        ("dependencies", Kind::Normal),
    ];
    words.into_iter().find_map(|(word, kind)| {
        let at = header.find(word)?;
        let before = &header[..at];
        if !(before.is_empty() || before.ends_with('.')) {
            return None;
        }
        let rest = &header[at + word.len()..];
        if rest.is_empty() {
            Some((kind, None))
        } else {
            Some((kind, Some(unquote(rest.strip_prefix('.')?).to_owned())))
        }
    })
}

/// The `package = "…"` of an inline table.
fn renamed(value: &str) -> Option<&str> {
    let (_, rest) = value.split_once("package")?;
    let (_, rest) = rest.trim_start().strip_prefix('=')?.split_once('"')?;
    Some(rest.split('"').next().unwrap_or(rest))
}

fn unquote(text: &str) -> &str {
    text.trim().trim_matches(['"', '\''])
}

#[cfg(test)]
mod tests;
