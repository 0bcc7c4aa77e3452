//! Problems as values: what is wrong, where, how bad, and how to mend it.
//!
//! Every reader of user files returns a value *and* its diagnostics; nothing is skipped without one. This room knows
//! the catalogue of rules and the shape of a report. It refuses to know how a report is printed.

use std::path::Path;
use std::sync::Arc;

use crate::text::{self, Location, Span};

/// How bad a problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing; nothing is lost.
    Note,
    /// Loaded, but not as written: something is ignored, repaired or doubtful.
    Warning,
    /// Not loaded, or loaded in a way the author cannot have meant.
    Error,
}

impl Severity {
    /// Lower-case word, as printed and as written in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// One row of the catalogue of rules.
#[derive(Debug)]
pub struct RuleInfo {
    /// Stable id, kebab-case: what users search for and what tools filter on.
    pub id: &'static str,
    /// Severity unless the place that raises it knows better.
    pub severity: Severity,
    /// What the rule is about, one sentence.
    pub summary: &'static str,
}

macro_rules! rules {
    ($($variant:ident $id:literal $severity:ident $summary:literal;)*) => {
        /// Every rule posse can report. One table feeds messages, the SARIF rule list and the docs page.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Rule { $(#[doc = $summary] $variant,)* }

        impl Rule {
            /// All rules in the order of the catalogue.
            pub const ALL: &'static [Rule] = &[$(Rule::$variant,)*];

            /// The rule's row in the catalogue.
            pub fn info(self) -> &'static RuleInfo {
                match self {
                    $(Rule::$variant => &RuleInfo { id: $id, severity: Severity::$severity, summary: $summary },)*
                }
            }
        }
    };
}

rules! {
    // The file itself.
    UnreadableFile "unreadable-file" Error "The file or folder cannot be read.";
    NotAFile "not-a-file" Warning "A name ending in .md is not a regular file (FIFO, socket, device); it is left alone.";
    BrokenLink "broken-link" Warning "A symbolic link leads nowhere, or to itself.";
    LinkCircle "link-circle" Note "A symbolic link leads to a folder that is read already.";
    LinkLeadsOut "link-leads-out" Error "A symbolic link leads out of the project or plugin it lies in; it is not read.";
    FileTooLarge "file-too-large" Error "The file exceeds the size limit and is not read.";
    BinaryFile "binary-file" Error "The file holds NUL bytes: it is not text.";
    InvalidUtf8 "invalid-utf8" Warning "Bytes that are not UTF-8 were replaced by U+FFFD.";
    TooDeep "too-deep" Error "Folders are nested deeper than posse follows.";
    // Fences.
    NoFrontmatter "no-frontmatter" Note "The file has no frontmatter: documentation, not an agent.";
    FrontmatterNotFirst "frontmatter-not-first" Error "Frontmatter must start on the first line with exactly `---`.";
    UnclosedFrontmatter "unclosed-frontmatter" Error "The opening `---` has no closing `---`.";
    MidlineFence "midline-fence" Warning "The frontmatter is closed by a `---` in the middle of a line.";
    ByteOrderMark "byte-order-mark" Warning "The file begins with a byte order mark, which other tools take for content.";
    // YAML.
    YamlSyntax "yaml-syntax" Error "The frontmatter is not valid YAML and could not be repaired.";
    YamlTooComplex "yaml-too-complex" Error "The frontmatter exceeds the limits on nesting, aliases or size.";
    UnquotedColon "unquoted-colon" Warning "A value holds `: ` without quotes; it was read as text.";
    UnquotedSpecial "unquoted-special" Warning "A value holds a character with a meaning in YAML; it was read as text.";
    UnindentedText "unindented-text" Warning "Text continues at the margin without being a field; it was taken as part of the value.";
    TabIndent "tab-indent" Warning "A line is indented with a tab, which YAML does not allow.";
    UnclosedQuote "unclosed-quote" Warning "A quoted value is not closed; it was read as text.";
    FieldRepaired "field-repaired" Warning "A field is not valid YAML; it was read as its author must have meant it.";
    FieldLost "field-lost" Error "A field is not valid YAML and is ignored.";
    DuplicateKey "duplicate-key" Warning "A key stands twice; the last one counts.";
    TextLost "text-lost" Warning "YAML drops part of what is written here.";
    // Fields.
    MissingName "missing-name" Error "An agent needs a name.";
    InvalidName "invalid-name" Error "The name cannot be used.";
    UnusualName "unusual-name" Warning "The name works here but not everywhere.";
    MissingDescription "missing-description" Error "An agent needs a description: it is how other agents know when to use it.";
    InvalidDescription "invalid-description" Error "The description must be text.";
    UnknownField "unknown-field" Warning "No such field; it is ignored.";
    InvalidValue "invalid-value" Warning "The field has a value it does not take; the field is ignored.";
    BadModel "bad-model" Warning "No model goes by this name.";
    BadColor "bad-color" Warning "Not one of the eight colours; one is assigned instead.";
    OldSpelling "old-spelling" Warning "An older spelling, still understood.";
    PluginFieldIgnored "plugin-field-ignored" Warning "A plugin's agents may not set this field.";
    PolicyFieldIgnored "policy-field-ignored" Warning "The managed policy keeps this field to trusted sources.";
    UnknownHookEvent "unknown-hook-event" Warning "No such hook event; its hooks never run.";
    InvalidHook "invalid-hook" Error "A hook that cannot run as written.";
    InvalidMcpServer "invalid-mcp-server" Error "An MCP server entry that cannot be used.";
    // Tools.
    UnknownTool "unknown-tool" Warning "No tool has this name; the entry matches nothing.";
    RetiredTool "retired-tool" Warning "The tool no longer exists; the entry matches nothing.";
    InvalidToolPattern "invalid-tool-pattern" Warning "The tool entry is malformed.";
    UselessEntry "useless-entry" Note "The entry changes nothing.";
    NoTools "no-tools" Note "The agent has no tools at all, as written.";
    EmptyPool "empty-pool" Error "The tool list resolves to nothing: the agent cannot be started.";
    UnknownSpawnTarget "unknown-spawn-target" Warning "The agent may spawn an agent that does not exist.";
    UnknownSkill "unknown-skill" Warning "The agent starts with a skill that does not exist, or that only people may use.";
    SpawnCycle "spawn-cycle" Warning "Agents can spawn each other in a circle.";
    // The set of files.
    DuplicateName "duplicate-name" Warning "Two files of one folder define the same agent; the first path wins.";
    Shadowed "shadowed" Note "Another source defines the same agent and wins.";
    // Other files and flags.
    JsonSyntax "json-syntax" Error "The file is not valid JSON.";
    JsonComment "json-comment" Note "Comments and trailing commas are accepted here but not by other tools.";
    InvalidSetting "invalid-setting" Warning "A setting has a value it does not take and is ignored.";
    UnknownSetting "unknown-setting" Note "No such setting; it is ignored.";
    InvalidDefinition "invalid-definition" Error "An agent given as JSON cannot be used.";
    InvalidPlugin "invalid-plugin" Error "The plugin cannot be loaded.";
    PluginPath "plugin-path" Warning "A path of the plugin does not exist or leaves its folder.";
    OldManifest "old-manifest" Warning "A form of plugin manifest that posse accepts and newer tools refuse.";
    PluginNotFound "plugin-not-found" Warning "An enabled plugin is not installed.";
    PluginChanged "plugin-changed" Error "The files of an installed plugin are not those that were installed; it is not loaded.";
    PluginUnpinned "plugin-unpinned" Note "A plugin was installed by another program; whether its files changed cannot be told.";
    PluginOption "plugin-option" Error "A plugin needs an option that is not set, or set to what it does not take.";
    PluginPartUnused "plugin-part-unused" Note "A part of a plugin that posse has no use for.";
    InvalidMarketplace "invalid-marketplace" Error "A list of plugins, or an entry of it, cannot be used.";
    SourceDisabled "source-disabled" Note "A switch or policy keeps this source from being read.";
}

/// A replacement of part of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// What is replaced.
    pub span: Span,
    /// By what.
    pub text: String,
}

/// How sure posse is that a fix is what the author wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Safety {
    /// The agent stays exactly what posse already made of the file.
    Safe,
    /// The agent changes: probably what was meant, but a person should look.
    Unsafe,
}

/// A change to the file that removes the problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// What the fix does, in the imperative.
    pub title: String,
    /// Whether it may be applied without asking.
    pub safety: Safety,
    /// Disjoint edits of the same file.
    pub edits: Vec<Edit>,
}

impl Fix {
    /// A fix that keeps the meaning.
    pub fn safe(title: impl Into<String>, span: Span, text: impl Into<String>) -> Self {
        Self { title: title.into(), safety: Safety::Safe, edits: vec![Edit { span, text: text.into() }] }
    }

    /// A fix that changes the meaning to what was probably intended.
    pub fn likely(title: impl Into<String>, span: Span, text: impl Into<String>) -> Self {
        Self { safety: Safety::Unsafe, ..Self::safe(title, span, text) }
    }
}

/// A problem in a text that has not been told yet which file it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Which rule.
    pub rule: Rule,
    /// How bad, here.
    pub severity: Severity,
    /// Where in the text; `None` means the file as a whole.
    pub span: Option<Span>,
    /// What is wrong, one sentence.
    pub text: String,
    /// How to mend it.
    pub hint: Option<String>,
    /// A change that mends it.
    pub fix: Option<Fix>,
}

impl Problem {
    /// A problem at a place.
    pub fn at(rule: Rule, span: Span, text: impl Into<String>) -> Self {
        Self { span: Some(span), ..Self::whole(rule, text) }
    }

    /// A problem of the file as a whole.
    pub fn whole(rule: Rule, text: impl Into<String>) -> Self {
        Self { rule, severity: rule.info().severity, span: None, text: text.into(), hint: None, fix: None }
    }

    /// Adds a hint.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds a fix.
    pub fn fix(mut self, fix: Fix) -> Self {
        self.fix = Some(fix);
        self
    }

    /// Changes how bad it is.
    pub fn severity(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }

    /// Names the file and turns bytes into lines and columns.
    pub fn located(self, file: &Arc<Path>, source: &str) -> Diagnostic {
        let Self { rule, severity, span, text, hint, fix } = self;
        Diagnostic {
            rule,
            severity,
            file: Arc::clone(file),
            location: span.map(|span| text::locate(source, span)),
            excerpt: span.map(|span| excerpt(source, span)),
            text,
            hint,
            fix,
        }
    }
}

/// The source line is kept with the report, so that it shows what was read even if the file changes meanwhile.
fn excerpt(source: &str, span: Span) -> Box<str> {
    const LONGEST: usize = 8192;
    text::line_at(source, span.start as usize).chars().take(LONGEST).collect::<String>().into()
}

/// A problem of a known file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Which rule.
    pub rule: Rule,
    /// How bad, here.
    pub severity: Severity,
    /// The file, or a name in angle brackets for what is not a file (`<--agents>`).
    pub file: Arc<Path>,
    /// Where in the file.
    pub location: Option<Location>,
    /// The line at `location`.
    pub excerpt: Option<Box<str>>,
    /// What is wrong, one sentence.
    pub text: String,
    /// How to mend it.
    pub hint: Option<String>,
    /// A change that mends it.
    pub fix: Option<Fix>,
}

impl Diagnostic {
    /// A diagnostic about a file whose text is not at hand, or that concerns several files.
    pub fn of_file(
        rule: Rule,
        file: &Arc<Path>,
        location: Option<Location>,
        text: impl Into<String>,
    ) -> Self {
        Self { location, ..Problem::whole(rule, text).located(file, "") }
    }

    /// Adds a hint.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

#[cfg(test)]
mod tests;
