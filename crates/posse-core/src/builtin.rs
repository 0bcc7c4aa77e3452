//! The agents that come with posse. They are Markdown like anybody's, read by the same parser at start-up, so a field
//! means the same in them as everywhere.

use std::path::Path;
use std::sync::Arc;

use crate::definition::{AgentDefinition, Naming, Parsed, parse};
use crate::origin::{Origin, Source, Standing};

/// What stands in for a file name.
pub const PLACE: &str = "<built-in>";

/// Which of the built-in agents are wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// None at all (`CLAUDE_AGENT_SDK_DISABLE_BUILTIN_AGENTS`).
    pub none: bool,
    /// Without Explore and Plan (`CLAUDE_CODE_DISABLE_EXPLORE_PLAN_AGENTS`).
    pub no_explore_plan: bool,
    /// Without the guide, which has no use where a program drives posse.
    pub no_guide: bool,
}

const FILES: &[&str] = &[
    include_str!("builtin/general-purpose.md"),
    include_str!("builtin/claude.md"),
    include_str!("builtin/explore.md"),
    include_str!("builtin/plan.md"),
    include_str!("builtin/verification.md"),
    include_str!("builtin/bash.md"),
    include_str!("builtin/statusline-setup.md"),
    include_str!("builtin/guide.md"),
    include_str!("builtin/fork.md"),
];

/// The built-in agents, in the order of the docs.
pub fn agents(wanted: Wanted) -> Vec<AgentDefinition> {
    if wanted.none {
        return Vec::new();
    }
    let place: Arc<Path> = Path::new(PLACE).into();
    let source = Source {
        origin: Origin::BuiltIn,
        standing: Standing::Folder(0),
        file: Arc::clone(&place),
        root: place,
        plugin: None,
    };
    let read = FILES.iter().filter_map(|text| match parse(text, &source, Naming::Field).0 {
        Parsed::Agent(agent) => Some(*agent),
        // A test reads every file; there is nothing to do about it at run time.
        Parsed::Document | Parsed::Failed => None,
    });
    read.filter(|agent| match &*agent.name {
        "Explore" | "Plan" => !wanted.no_explore_plan,
        "claude-code-guide" => !wanted.no_guide,
        _ => true,
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_an_agent_without_a_single_problem() {
        let source = agents(Wanted::default()).remove(0).source;
        for text in FILES {
            let (parsed, diagnostics) = parse(text, &source, Naming::Field);
            assert!(matches!(parsed, Parsed::Agent(_)) && diagnostics.is_empty(), "{diagnostics:?}");
        }
    }

    #[test]
    fn switches_take_agents_away() {
        let names =
            |wanted| agents(wanted).into_iter().map(|agent| agent.name.to_string()).collect::<Vec<_>>();
        let all = names(Wanted::default());
        assert_eq!(all.len(), FILES.len());
        assert!(names(Wanted { none: true, ..Wanted::default() }).is_empty());
        let fewer = names(Wanted { no_explore_plan: true, no_guide: true, ..Wanted::default() });
        assert_eq!(fewer.len(), all.len() - 3);
    }
}
