//! What can be typed besides things to say to the agent.

use posse_core::permission::Mode;

/// A line, understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Command {
    /// Say this to the agent.
    Say(String),
    /// Show what can be typed.
    Help,
    /// Summarise the conversation; the whole line, which the run understands by itself.
    Compact(String),
    /// Begin a new conversation.
    Clear,
    /// Show what was spent.
    Cost,
    /// Show the mode, or change it.
    Mode(Option<Mode>),
    /// Show the model, or go on with another.
    Model(Option<String>),
    /// End.
    Exit,
    /// None of these; perhaps a skill. The whole line, and what to say if it is none.
    Other { text: String, hint: String },
    /// It looks like a command and is none; what to say about it.
    Unknown(String),
    /// Nothing was typed.
    Nothing,
}

/// What can be typed, and what it does. The one table of commands.
pub(super) const COMMANDS: [(&str, &str, &str); 7] = [
    ("help", "", "this list"),
    ("compact", "[WHAT]", "replace the conversation by a summary that keeps WHAT in mind"),
    ("clear", "", "begin a new conversation; the old one stays in `posse sessions`"),
    ("cost", "", "what was used so far"),
    ("mode", "[MODE]", "how actions are approved: default, acceptEdits, plan or dontAsk"),
    ("model", "[NAME]", "which model answers; with NAME, go on with that one"),
    ("exit", "", "end; Ctrl-D does the same"),
];

/// Modes that can be chosen on the way. Approving everything is a matter of how posse is started.
const CHOOSABLE: [Mode; 4] = [Mode::Default, Mode::AcceptEdits, Mode::Plan, Mode::DontAsk];

impl Command {
    /// Understands what was typed. A command begins at the very start; whoever means to say it puts a space before it.
    pub(super) fn parse(text: &str) -> Self {
        if text.trim().is_empty() {
            return Self::Nothing;
        }
        let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let name = word.strip_prefix('/').filter(|name| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_:".contains(c))
        });
        let Some(name) = name else { return Self::Say(text.trim().to_owned()) };
        match name {
            "help" => Self::Help,
            "compact" => Self::Compact(text.trim().to_owned()),
            "clear" => Self::Clear,
            "cost" => Self::Cost,
            "mode" => mode(rest.trim()),
            "model" => Self::Model(Some(rest.trim().to_owned()).filter(|name| !name.is_empty())),
            "exit" | "quit" => Self::Exit,
            _ => {
                let close = posse_core::suggest::closest(name, COMMANDS.map(|(name, _, _)| name));
                let hint = close
                    .map_or_else(|| "/help lists them".to_owned(), |close| format!("did you mean /{close}?"));
                let hint = format!(
                    "There is no command /{name}; {hint}. To say it to the agent, put a space before it."
                );
                Self::Other { text: text.trim().to_owned(), hint }
            }
        }
    }
}

fn mode(name: &str) -> Command {
    if name.is_empty() {
        return Command::Mode(None);
    }
    match Mode::parse(name).filter(|mode| CHOOSABLE.contains(mode)) {
        Some(mode) => Command::Mode(Some(mode)),
        None => Command::Unknown(format!("The mode can be {}.", CHOOSABLE.map(Mode::name).join(", "))),
    }
}

/// The answer to `/help`, with the skills there are.
pub(super) fn help(skills: &[String]) -> String {
    let mut text =
        String::from("\nType what you want the agent to do. A line that ends in \\ goes on in the next.\n");
    for (name, argument, what) in COMMANDS {
        text.push_str(&format!("  {:18} {what}\n", format!("/{name} {argument}")));
    }
    if !skills.is_empty() {
        let names: Vec<String> = skills.iter().map(|name| format!("/{name}")).collect();
        text.push_str(&format!(
            "Skills and commands, which `posse skills` describes: {}\n",
            names.join(", ")
        ));
    }
    text.push_str("Ctrl-C interrupts the agent; twice ends posse.\n");
    text
}

#[cfg(test)]
mod tests;
