//! Writes a project full of agent files that look like what people keep: same header fields, same length, same
//! kinds of paragraphs, no two alike. The same files on every machine, so that numbers can be compared.

use std::fs;
use std::io;
use std::path::Path;

const TOPICS: &[&str] = &[
    "rust",
    "python",
    "database",
    "frontend",
    "security",
    "release",
    "docs",
    "kubernetes",
    "payments",
    "search",
];
const ROLES: &[&str] = &[
    "reviewer",
    "debugger",
    "planner",
    "tester",
    "migrator",
    "writer",
    "auditor",
    "optimizer",
    "researcher",
];
const TOOLS: &[&str] =
    &["Read", "Grep", "Glob", "Bash", "Edit", "Write", "WebFetch", "WebSearch", "TodoWrite"];
const MODELS: &[&str] = &["sonnet", "opus", "haiku", "inherit"];
const WHEN: &[&str] = &[
    "Use after a change to this area and before it is merged.",
    "Use proactively when a test fails and the cause is not obvious.",
    "Use when somebody asks for a second opinion on a design.",
    "Must be used before anything is released to customers.",
];
const SENTENCES: &[&str] = &[
    "Read the surrounding code before you form an opinion, and say which files you looked at.",
    "Prefer the smallest change that solves the problem; leave unrelated clean-ups for another day.",
    "When two explanations fit, name both and describe the experiment that would tell them apart.",
    "Quote the exact line that worries you, together with the input that makes it go wrong.",
    "Never guess a version number: look it up in the lock file.",
    "If the tests do not cover the case, write the test first and show that it fails.",
    "Report findings in order of severity, at most one paragraph each.",
    "Stop and ask when a step would delete data or cannot be undone.",
    "Keep the existing style of the file even where you would have chosen another.",
    "End with a short list of what you did not check.",
];

/// The name of agent number `index`, also the stem of its file.
pub(crate) fn name(index: u32) -> String {
    let i = index as usize;
    format!("{}-{}-{index:05}", TOPICS[i % TOPICS.len()], ROLES[i / TOPICS.len() % ROLES.len()])
}

/// Puts `count` agents of `bytes` bytes each under `project/.claude/agents`, unless they are there already.
pub(crate) fn generate(project: &Path, count: u32, bytes: usize) -> io::Result<()> {
    // Changing what is written below means changing this number, or old files stay.
    let stamp = format!("format 1, {count} agents of {bytes} bytes\n");
    let stamp_file = project.join("generated.txt");
    if fs::read_to_string(&stamp_file).is_ok_and(|found| found == stamp) {
        return Ok(());
    }
    let agents = project.join(".claude/agents");
    if agents.exists() {
        fs::remove_dir_all(&agents)?;
    }
    fs::create_dir_all(&agents)?;
    for index in 0..count {
        fs::write(agents.join(format!("{}.md", name(index))), agent(index, bytes))?;
    }
    end_project_here(project)?;
    fs::write(stamp_file, stamp)
}

/// The least that git calls a repository: the project must end here and not at the checkout around it.
pub(super) fn end_project_here(project: &Path) -> io::Result<()> {
    for dir in [".git/objects", ".git/refs"] {
        fs::create_dir_all(project.join(dir))?;
    }
    fs::write(project.join(".git/HEAD"), "ref: refs/heads/main\n")
}

fn agent(index: u32, bytes: usize) -> String {
    let mut dice = Dice(u64::from(index) + 1);
    let tools = tools(&mut dice);
    let mut text = format!(
        "---\nname: {}\ndescription: Looks after {} as a {}. {}\ntools: {tools}\nmodel: {}\n---\n\n",
        name(index),
        TOPICS[index as usize % TOPICS.len()],
        ROLES[index as usize / TOPICS.len() % ROLES.len()],
        dice.pick(WHEN),
        dice.pick(MODELS),
    );
    while text.len() < bytes {
        if dice.below(6) == 0 {
            text.push_str("## How to go about it\n\n");
        }
        for _ in 0..2 + dice.below(4) {
            text.push_str(dice.pick(SENTENCES));
            text.push(' ');
        }
        text.pop();
        text.push_str("\n\n");
    }
    text.truncate(bytes - 1);
    text.push('\n');
    text
}

fn tools(dice: &mut Dice) -> String {
    let first = dice.below(TOOLS.len());
    let count = 2 + dice.below(4);
    (0..count).map(|i| TOOLS[(first + i) % TOOLS.len()]).collect::<Vec<_>>().join(", ")
}

/// Repeatable chance (the well-known 64-bit linear congruential generator; the high bits are the good ones).
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }

    pub(super) fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }
}

#[cfg(test)]
mod tests;
