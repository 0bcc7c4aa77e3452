//! What a plugin may do, as a value that can be compared: an update that widens it is not for posse to accept.
//!
//! Pure sets. Who reads them off a folder, and who is asked, is told elsewhere.

use std::collections::{BTreeMap, BTreeSet};

/// Kinds of what a plugin brings, in the order of reports: what acts by itself first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PowerKind {
    /// Runs at an event.
    Hook,
    /// A server with tools.
    Server,
    /// A file that hooks or servers may run.
    Program,
    /// An agent.
    Agent,
    /// A skill.
    Skill,
    /// A command.
    Command,
    /// Something its user sets.
    Option,
}

impl PowerKind {
    /// All kinds, in order.
    pub const ALL: [Self; 7] =
        [Self::Hook, Self::Server, Self::Program, Self::Agent, Self::Skill, Self::Command, Self::Option];

    /// One word, as printed and in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Hook => "hook",
            Self::Server => "server",
            Self::Program => "program",
            Self::Agent => "agent",
            Self::Skill => "skill",
            Self::Command => "command",
            Self::Option => "option",
        }
    }
}

/// How far a power goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Everything there is: an agent without a list of tools.
    All,
    /// Just these: commands of a hook, the address of a server, tools.
    These(BTreeSet<Box<str>>),
}

impl Reach {
    /// Just these.
    pub fn these<T: Into<Box<str>>>(items: impl IntoIterator<Item = T>) -> Self {
        Self::These(items.into_iter().map(Into::into).collect())
    }

    /// Both together.
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::These(mut one), Self::These(other)) => {
                one.extend(other);
                Self::These(one)
            }
            (Self::All, _) | (_, Self::All) => Self::All,
        }
    }

    /// What is in here and not in the other.
    fn beyond(&self, other: &Self) -> Option<Self> {
        match (self, other) {
            (_, Self::All) => None,
            (Self::All, Self::These(_)) => Some(Self::All),
            (Self::These(new), Self::These(old)) => {
                let more: BTreeSet<Box<str>> = new.difference(old).cloned().collect();
                (!more.is_empty()).then_some(Self::These(more))
            }
        }
    }
}

/// One thing a plugin may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Power {
    /// What kind.
    pub kind: PowerKind,
    /// Which: an event with its matcher, a server, a file, an agent.
    pub name: Box<str>,
    /// How far it goes.
    pub reach: Reach,
}

/// All a plugin may do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Powers {
    all: BTreeMap<(PowerKind, Box<str>), Reach>,
    /// Its options, and whether each is kept secret.
    options: BTreeMap<Box<str>, bool>,
}

impl Powers {
    /// Adds one; two of one name go as far as both together.
    pub fn add(&mut self, kind: PowerKind, name: impl Into<Box<str>>, reach: Reach) {
        let key = (kind, name.into());
        let reach = match self.all.remove(&key) {
            Some(earlier) => earlier.and(reach),
            None => reach,
        };
        self.all.insert(key, reach);
    }

    /// Notes an option. That it is there is no power; that it stops being secret is one.
    pub fn option(&mut self, key: impl Into<Box<str>>, is_secret: bool) {
        self.options.insert(key.into(), is_secret);
    }

    /// Each of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = Power> {
        self.all.iter().map(|((kind, name), reach)| Power {
            kind: *kind,
            name: name.clone(),
            reach: reach.clone(),
        })
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
}

/// What a new version may do that the old one may not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Widening {
    /// What is new: the whole of it, or what is added to its reach.
    pub more: Power,
    /// Whether the old version had something of this name.
    pub was_there: bool,
}

/// What `new` may do beyond `old`. Nothing, if it may do the same or less.
pub fn widening(old: &Powers, new: &Powers) -> Vec<Widening> {
    let beyond = |((kind, name), reach): (&(PowerKind, Box<str>), &Reach)| {
        let earlier = old.all.get(&(*kind, name.clone()));
        let more = match earlier {
            Some(earlier) => reach.beyond(earlier)?,
            None => reach.clone(),
        };
        let more = Power { kind: *kind, name: name.clone(), reach: more };
        Some(Widening { more, was_there: earlier.is_some() })
    };
    let is_told = |key: &str| new.options.get(key) == Some(&false) && old.options.get(key) == Some(&true);
    let told = new.options.keys().filter(|key| is_told(key)).map(|key| Widening {
        more: Power {
            kind: PowerKind::Option,
            name: key.clone(),
            reach: Reach::these(["no longer kept secret"]),
        },
        was_there: true,
    });
    new.all.iter().filter_map(beyond).chain(told).collect()
}
