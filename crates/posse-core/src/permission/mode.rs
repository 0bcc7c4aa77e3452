//! Permission modes and how they narrow from parent to child.

/// What a rule says of the calls it matches, weakest first: a deny anywhere wins, then an ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Behavior {
    /// Without asking.
    Allow,
    /// Ask, even where it would be allowed otherwise.
    Ask,
    /// Never.
    Deny,
}

impl Behavior {
    /// The key in settings and the word on the wire.
    pub fn word(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// How an agent's actions are approved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Look, do not touch; ends with a plan.
    Plan,
    /// What the rules do not allow is refused without asking.
    DontAsk,
    /// What the rules leave open is asked.
    Default,
    /// Like default, with every ask handed to the parent.
    Bubble,
    /// File edits in the working directories need no ask.
    AcceptEdits,
    /// What the rules leave open is judged by a model; doubt asks.
    Auto,
    /// Nothing is asked.
    BypassPermissions,
}

impl Mode {
    /// All modes, narrowest first.
    pub const ALL: [Self; 7] = [
        Self::Plan,
        Self::DontAsk,
        Self::Default,
        Self::Bubble,
        Self::AcceptEdits,
        Self::Auto,
        Self::BypassPermissions,
    ];

    /// The name in files, flags and on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::DontAsk => "dontAsk",
            Self::Default => "default",
            Self::Bubble => "bubble",
            Self::AcceptEdits => "acceptEdits",
            Self::Auto => "auto",
            Self::BypassPermissions => "bypassPermissions",
        }
    }

    /// Reads a name; `manual` is another word for `default`. Case counts.
    pub fn parse(name: &str) -> Option<Self> {
        if name == "manual" {
            return Some(Self::Default);
        }
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }

    /// What may happen without a person saying yes: the higher, the more.
    fn reach(self) -> u8 {
        match self {
            Self::Plan => 0,
            Self::DontAsk | Self::Default | Self::Bubble => 1,
            Self::AcceptEdits => 2,
            Self::Auto => 3,
            Self::BypassPermissions => 4,
        }
    }
}

/// A mode together with whether asks may reach a person at all.
///
/// The two are separate because they narrow separately: a planning child of a `dontAsk` parent may neither write nor ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Approval {
    /// The mode.
    pub mode: Mode,
    /// Whether what the mode leaves open may be asked; if not, it is refused.
    pub may_ask: bool,
}

impl Approval {
    /// A mode as somebody sets it.
    pub fn of(mode: Mode) -> Self {
        Self { mode, may_ask: mode != Mode::DontAsk }
    }

    /// What a child gets that wants `wanted` under this parent: never wider than either.
    pub fn narrowed_to(self, wanted: Mode) -> Self {
        let wanted = Self::of(wanted);
        let mode = if wanted.mode.reach() <= self.mode.reach() { wanted.mode } else { self.mode };
        let may_ask = self.may_ask && wanted.may_ask;
        // With asking forbidden the two asking modes are the mode that never asks.
        let mode = match mode {
            Mode::Default | Mode::Bubble | Mode::DontAsk if !may_ask => Mode::DontAsk,
            other => other,
        };
        Self { mode, may_ask }
    }

    /// Whether everything allowed here is allowed there.
    pub fn is_within(self, other: Self) -> bool {
        self.mode.reach() <= other.mode.reach() && (other.may_ask || !self.may_ask)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrowing_is_within_both_sides_for_every_pair() {
        for parent in Mode::ALL.map(Approval::of) {
            for wanted in Mode::ALL {
                let child = parent.narrowed_to(wanted);
                assert!(child.is_within(parent), "{parent:?} {wanted:?} {child:?}");
                assert!(child.is_within(Approval::of(wanted)), "{parent:?} {wanted:?} {child:?}");
                for grandchild in Mode::ALL.map(|mode| child.narrowed_to(mode)) {
                    assert!(grandchild.is_within(parent));
                }
            }
        }
    }

    #[test]
    fn examples() {
        let under = |parent, wanted| Approval::of(parent).narrowed_to(wanted).mode;
        assert_eq!(under(Mode::Default, Mode::AcceptEdits), Mode::Default);
        assert_eq!(under(Mode::AcceptEdits, Mode::Default), Mode::Default);
        assert_eq!(under(Mode::BypassPermissions, Mode::Plan), Mode::Plan);
        assert_eq!(under(Mode::DontAsk, Mode::Default), Mode::DontAsk);
        assert_eq!(under(Mode::Default, Mode::Bubble), Mode::Bubble);
        let quiet_plan = Approval::of(Mode::DontAsk).narrowed_to(Mode::Plan);
        assert_eq!(quiet_plan, Approval { mode: Mode::Plan, may_ask: false });
    }

    #[test]
    fn names_round_trip() {
        for mode in Mode::ALL {
            assert_eq!(Mode::parse(mode.name()), Some(mode));
        }
        assert_eq!(Mode::parse("manual"), Some(Mode::Default));
        assert_eq!(Mode::parse("acceptedits"), None);
    }
}
