//! The order in which names are listed: as a dictionary would, so that `alpha`, `Beta` and `gamma` stand together.
//!
//! Blanks and punctuation come before digits, digits before letters, case counts only between equals: the order of the
//! Unicode root collation as far as names of agents need it, without its tables.

use std::cmp::Ordering;

/// Root collation's order of ASCII punctuation.
const PUNCTUATION: &str = " _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$";

/// Compares two names for listing.
pub fn compare(a: &str, b: &str) -> Ordering {
    let primary =
        |s: &str| -> Vec<(u8, u32)> { s.chars().flat_map(char::to_lowercase).map(weight).collect() };
    primary(a)
        .cmp(&primary(b))
        // Root collation puts the lower-case twin first.
        .then_with(|| b.cmp(a))
}

fn weight(c: char) -> (u8, u32) {
    match PUNCTUATION.find(c) {
        Some(place) => (0, u32::try_from(place).unwrap_or(u32::MAX)),
        None if c.is_ascii_digit() => (1, c as u32),
        None if c.is_ascii_alphabetic() => (2, c as u32),
        None => (3, c as u32),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn punctuation_then_digits_then_letters_whatever_the_case() {
        let mut names = ["b", "Alpha", "a-b", "a_b", "ab", "a b", "1st", "alpha", "Zoo", "élan", "_x"];
        names.sort_by(|a, b| compare(a, b));
        assert_eq!(names, ["_x", "1st", "a b", "a_b", "a-b", "ab", "alpha", "Alpha", "b", "Zoo", "élan"]);
    }
}
