//! Colours, or none. Text from files is stripped of control characters on its way to a terminal.

use anstyle::{AnsiColor, Color as Ansi, Effects, RgbColor, Style as Paint};
use posse_core::definition::Color;
use posse_core::diagnostic::Severity;
pub use posse_core::text::plain;

/// Whether to use colours.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// Whether to.
    pub color: bool,
}

impl Style {
    fn paint(self, text: &str, paint: Paint) -> String {
        if self.color { format!("{paint}{text}{paint:#}") } else { text.to_owned() }
    }

    fn ansi(self, text: &str, color: AnsiColor) -> String {
        self.paint(text, Paint::new().fg_color(Some(Ansi::Ansi(color))))
    }

    /// A heading or a name.
    pub fn bold(self, text: &str) -> String {
        self.paint(text, Paint::new().effects(Effects::BOLD))
    }

    /// What matters less.
    pub fn dim(self, text: &str) -> String {
        self.paint(text, Paint::new().effects(Effects::DIMMED))
    }

    /// What went wrong.
    pub fn error(self, text: &str) -> String {
        self.paint(text, Paint::new().fg_color(Some(Ansi::Ansi(AnsiColor::Red))).effects(Effects::BOLD))
    }

    /// What went well.
    pub fn good(self, text: &str) -> String {
        self.ansi(text, AnsiColor::Green)
    }

    /// What to do.
    pub fn hint(self, text: &str) -> String {
        self.ansi(text, AnsiColor::Cyan)
    }

    /// In the colour of a severity.
    pub fn severity(self, severity: Severity, text: &str) -> String {
        match severity {
            Severity::Error => self.error(text),
            Severity::Warning => self.paint(
                text,
                Paint::new().fg_color(Some(Ansi::Ansi(AnsiColor::Yellow))).effects(Effects::BOLD),
            ),
            Severity::Note => self.paint(text, Paint::new().fg_color(Some(Ansi::Ansi(AnsiColor::Blue)))),
        }
    }

    /// In an agent's colour.
    pub fn agent(self, color: Color, text: &str) -> String {
        let ansi = |color| Ansi::Ansi(color);
        let color = match color {
            Color::Red => ansi(AnsiColor::Red),
            Color::Blue => ansi(AnsiColor::Blue),
            Color::Green => ansi(AnsiColor::Green),
            Color::Yellow => ansi(AnsiColor::Yellow),
            Color::Purple => ansi(AnsiColor::Magenta),
            Color::Orange => Ansi::Rgb(RgbColor(255, 140, 0)),
            Color::Pink => Ansi::Rgb(RgbColor(255, 120, 180)),
            Color::Cyan => ansi(AnsiColor::Cyan),
        };
        self.paint(text, Paint::new().fg_color(Some(color)))
    }
}
