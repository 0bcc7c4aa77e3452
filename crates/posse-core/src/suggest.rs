//! "Did you mean …?": the nearest of a set of names, if it is near enough to be a slip of the fingers.

/// The closest candidate, unless all are too far away. Case, `-` and `_` do not count.
pub fn closest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Nobody misspells a novel; and the distance of long texts costs their product.
    const LONGEST: usize = 40;
    if word.is_empty() || word.len() > LONGEST {
        return None;
    }
    let plain = simplify(word);
    let allowed = (plain.chars().count() / 3).clamp(1, 3);
    candidates
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(&plain, &simplify(candidate)), candidate))
        .filter(|(distance, candidate)| *distance <= allowed && *distance < candidate.chars().count())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Lower case without blanks, `-` and `_`: how names are compared when a person may have typed them.
pub fn simplify(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, ' ' | '-' | '_')).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_found_and_strangers_are_not() {
        let names = ["description", "tools", "maxTurns", "mcpServers"];
        for (word, want) in [
            ("descripton", Some("description")),
            ("Tool", Some("tools")),
            ("max_turns", Some("maxTurns")),
            ("mcp-servers", Some("mcpServers")),
            ("emoji", None),
            ("", None),
        ] {
            assert_eq!(closest(word, names), want, "{word}");
        }
    }
}
