//! What the model is told of the skills there are, within a number of characters. The same skills always give the same
//! bytes, so that what stands before and behind them stays cached.

use super::SkillDefinition;

/// Characters for the whole list, where nothing else says so.
pub const DEFAULT_BUDGET: usize = 8_000;
/// Characters of one description, where nothing else says so.
pub const MAX_DESCRIPTION: usize = 1_536;
/// A description shorter than this says nothing; names alone are better.
const LEAST_DESCRIPTION: usize = 20;

/// What the model is told of the tool that loads skills.
pub fn description(listing: &str) -> String {
    let list = if listing.is_empty() { "(none for now)" } else { listing };
    format!("{}\n{list}", include_str!("skill-tool.md").trim_end())
}

/// How much may be said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Characters for the whole list.
    pub characters: usize,
    /// Characters of one description.
    pub description: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self { characters: DEFAULT_BUDGET, description: MAX_DESCRIPTION }
    }
}

/// The list, one line each, in the order given. If it does not fit, long descriptions are cut first, then all of them
/// are left out, then names; how many are missing is said.
pub fn listing(skills: &[&SkillDefinition], budget: Budget) -> String {
    let names: Vec<String> = skills.iter().map(|skill| one_line(&skill.name)).collect();
    let about: Vec<String> =
        skills.iter().map(|skill| cut(&one_line(&skill.about()), budget.description)).collect();
    // `- `, `: ` and the line's end.
    let overhead: usize = names.iter().map(|name| count(name) + 5).sum();
    let lengths: Vec<usize> = about.iter().map(|text| count(text)).collect();
    let room = budget.characters.saturating_sub(overhead);
    let limit = fair_share(&lengths, room);
    if limit >= LEAST_DESCRIPTION || lengths.iter().sum::<usize>() <= room {
        let line = |(name, about): (&String, &String)| format!("- {name}: {}", cut(about, limit));
        return names.iter().zip(&about).map(line).collect::<Vec<_>>().join("\n");
    }
    names_only(&names, budget.characters)
}

fn names_only(names: &[String], budget: usize) -> String {
    let mut used = 0;
    let fits = |name: &&String| {
        used += count(name) + 3;
        used <= budget
    };
    let kept: Vec<String> = names.iter().take_while(fits).map(|name| format!("- {name}")).collect();
    let left = names.len() - kept.len();
    let mut lines = kept;
    if left > 0 {
        lines.push(format!("({left} more are not listed, for lack of room.)"));
    }
    lines.join("\n")
}

/// The longest that each may be so that all fit: short ones leave their room to the others.
fn fair_share(lengths: &[usize], room: usize) -> usize {
    let mut sorted = lengths.to_vec();
    sorted.sort_unstable();
    let mut room = room;
    for (at, length) in sorted.iter().enumerate() {
        let share = room / (sorted.len() - at);
        if *length > share {
            return share;
        }
        room -= length;
    }
    usize::MAX
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn count(text: &str) -> usize {
    text.chars().count()
}

fn cut(text: &str, most: usize) -> String {
    if count(text) <= most {
        return text.to_owned();
    }
    let kept: String = text.chars().take(most.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}
