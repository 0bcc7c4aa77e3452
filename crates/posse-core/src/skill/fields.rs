//! The one table of fields a skill or command can have. It feeds the parser, "did you mean" and the docs page.

use crate::frontmatter::Shape;
use crate::suggest;

/// Names a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)] // The table below says what each is.
pub enum SkillFieldId {
    Name,
    Description,
    WhenToUse,
    ArgumentHint,
    Arguments,
    AllowedTools,
    Model,
    Effort,
    Context,
    Agent,
    Background,
    DisableModelInvocation,
    UserInvocable,
    Paths,
    Shell,
    Hooks,
    Version,
    License,
    Compatibility,
    Metadata,
}

/// One row of the table.
#[derive(Debug)]
pub struct SkillField {
    /// Which field.
    pub id: SkillFieldId,
    /// Its key. Case counts.
    pub name: &'static str,
    /// How its value is written.
    pub shape: Shape,
    /// What it takes, a few words.
    pub takes: &'static str,
    /// What holds when it is left out.
    pub default: &'static str,
    /// What it does, one sentence.
    pub does: &'static str,
    /// What people write when they mean this field. Not honoured: only suggested.
    pub mistaken_for: &'static [&'static str],
}

const fn field(
    id: SkillFieldId,
    name: &'static str,
    shape: Shape,
    takes: &'static str,
    default: &'static str,
    does: &'static str,
) -> SkillField {
    SkillField { id, name, shape, takes, default, does, mistaken_for: &[] }
}

impl SkillField {
    const fn not(self, mistaken_for: &'static [&'static str]) -> Self {
        Self { mistaken_for, ..self }
    }
}

const YES_OR_NO: &str = "`true` or `false`";

/// All fields, in the order of the docs.
pub static SKILL_FIELDS: &[SkillField] = &[
    field(
        SkillFieldId::Name,
        "name",
        Shape::Word,
        "text",
        "the name of the folder or file",
        "What listings show; a skill is always called by the name of its folder or file.",
    )
    .not(&["title", "id", "displayName"]),
    field(
        SkillFieldId::Description,
        "description",
        Shape::Prose,
        "text",
        "the first line of the body",
        "What it does and when to use it, written for the model that chooses.",
    )
    .not(&["desc", "summary", "purpose"]),
    field(
        SkillFieldId::WhenToUse,
        "when_to_use",
        Shape::Prose,
        "text",
        "none",
        "Put behind the description in the listing.",
    )
    .not(&["when-to-use", "whenToUse"]),
    field(
        SkillFieldId::ArgumentHint,
        "argument-hint",
        Shape::Prose,
        "text",
        "none",
        "What to type behind the name, for people.",
    )
    .not(&["argument_hint", "argumentHint", "args", "usage"]),
    field(
        SkillFieldId::Arguments,
        "arguments",
        Shape::List,
        "a list or text of names, separated by blanks or commas",
        "none",
        "Names for the arguments by place: the first name is `$0`, and so on.",
    ),
    field(
        SkillFieldId::AllowedTools,
        "allowed-tools",
        Shape::List,
        "a list or text of tools and rules, such as `Bash(git diff:*)`",
        "none",
        "What may be used without asking while the skill is at work: for its own commands, and until the turn ends.",
    )
    .not(&["allowed_tools", "allowedTools", "tools"]),
    field(
        SkillFieldId::Model,
        "model",
        Shape::Word,
        "`sonnet`, `opus`, `haiku`, `fable`, `inherit` or a model id",
        "the session's",
        "The model that answers until the turn ends.",
    ),
    field(
        SkillFieldId::Effort,
        "effort",
        Shape::Word,
        "`low`, `medium`, `high`, `xhigh`, `max` or a whole number",
        "the session's",
        "How hard the model thinks until the turn ends.",
    ),
    field(
        SkillFieldId::Context,
        "context",
        Shape::Word,
        "`fork`",
        "the conversation",
        "With `fork` an agent of its own does it, and only its report comes back.",
    ),
    field(
        SkillFieldId::Agent,
        "agent",
        Shape::Word,
        "the name of an agent",
        "`general-purpose`",
        "With `context: fork`, which agent does it.",
    ),
    field(
        SkillFieldId::Background,
        "background",
        Shape::Word,
        YES_OR_NO,
        "true in a conversation, false with `-p`",
        "With `context: fork`, whether the conversation goes on meanwhile.",
    ),
    field(
        SkillFieldId::DisableModelInvocation,
        "disable-model-invocation",
        Shape::Word,
        YES_OR_NO,
        "false",
        "Only people can use it: the model is not told of it.",
    )
    .not(&["disable_model_invocation", "disableModelInvocation"]),
    field(
        SkillFieldId::UserInvocable,
        "user-invocable",
        Shape::Word,
        YES_OR_NO,
        "true",
        "Whether people can use it as `/name`.",
    )
    .not(&["user_invocable", "userInvocable", "user-invokable", "user_invokable"]),
    field(
        SkillFieldId::Paths,
        "paths",
        Shape::List,
        "a list or comma-separated text of patterns, such as `src/**/*.rs`",
        "everywhere",
        "The model is told of it only once a file that fits has been read or changed.",
    )
    .not(&["globs", "path"]),
    field(
        SkillFieldId::Shell,
        "shell",
        Shape::Word,
        "`bash`",
        "`bash`",
        "What runs the commands in the body.",
    ),
    field(
        SkillFieldId::Hooks,
        "hooks",
        Shape::Tree,
        "a mapping of events to groups of handlers, as in settings",
        "none",
        "Run in the conversation that uses the skill, from then on; an agent that follows it has them, too. Those of a project need its folder to be trusted.",
    )
    .not(&["hook"]),
    field(SkillFieldId::Version, "version", Shape::Word, "text", "none", "For people; not used."),
    field(SkillFieldId::License, "license", Shape::Prose, "text", "none", "For people; not used."),
    field(
        SkillFieldId::Compatibility,
        "compatibility",
        Shape::Prose,
        "text",
        "none",
        "For people; not used.",
    ),
    field(
        SkillFieldId::Metadata,
        "metadata",
        Shape::Tree,
        "a mapping",
        "none",
        "For other programs; not used.",
    ),
];

/// Finds a field by its key.
pub fn find(name: &str) -> Option<&'static SkillField> {
    SKILL_FIELDS.iter().find(|field| field.name == name)
}

/// The row of a field.
pub fn row(id: SkillFieldId) -> &'static SkillField {
    // The table is in the order of the enum (a test holds it so).
    &SKILL_FIELDS[id as usize]
}

/// What a reader of headers needs to know.
pub fn vocabulary(name: &str) -> Option<Shape> {
    // As with agents: a misspelt key that can be no word of a text ends the description above it.
    let is_no_word = name.contains(['-', '_']) || name.contains(|c: char| c.is_ascii_uppercase());
    let meant = || SKILL_FIELDS.iter().find(|field| is_no_word && field.mistaken_for.contains(&name));
    find(name).or_else(meant).map(|field| field.shape)
}

/// The field somebody probably meant.
pub fn meant_by(name: &str) -> Option<&'static SkillField> {
    let listed = SKILL_FIELDS.iter().find(|field| field.mistaken_for.contains(&name));
    listed.or_else(|| find(suggest::closest(name, SKILL_FIELDS.iter().map(|field| field.name))?))
}
