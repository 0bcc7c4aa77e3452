//! May this call run? Rules, modes and limits go in, one verdict with its reason comes out.
//!
//! [`decide`] is the only place that answers the question, and it is pure: it is handed the call, the rules, the
//! folders and a way to ask where a path really leads. Refuses to know who can be asked, and what hooks say.

mod call;
mod command;
mod decide;
mod folders;
mod mode;
mod path;
mod reach;
mod rule;
mod suggest;
mod update;

pub use call::Call;
pub use decide::{Decision, HookSays, Reason, Ruling, Situation, all_fit, concerns, decide};
pub use folders::{Folders, Paths, Place, Unlinked, protected};
pub use mode::{Approval, Behavior, Mode};
pub use rule::{Rule, RuleSet, RuleSource};
pub use suggest::suggestions;
pub use update::{Destination, RuleText, Update};

#[cfg(test)]
mod tests;
