//! The two ends of a conversation with a person: what is shown, and what they type.

use std::io;

use super::lines::Lines;
use crate::render::style::Style;
use crate::terminal::Terminal;

/// A terminal that can be read and written, line by line.
pub(super) struct Console<'t> {
    pub(super) terminal: &'t mut Terminal,
    pub(super) lines: Lines,
}

impl Console<'_> {
    /// How to write.
    pub(super) fn style(&self) -> Style {
        Style { color: self.terminal.color }
    }

    /// Shows a text, at once.
    pub(super) fn say(&mut self, text: &str) -> io::Result<()> {
        self.terminal.out.write_all(text.as_bytes())?;
        self.terminal.out.flush()
    }

    /// Shows what is asked and waits for a line; `None` if there will be none.
    pub(super) async fn read(&mut self, prompt: &str) -> io::Result<Option<String>> {
        self.say(prompt)?;
        let line = self.lines.next().await;
        if line.is_none() {
            // The cursor still stands behind the prompt.
            self.say("\n")?;
        }
        Ok(line)
    }
}
