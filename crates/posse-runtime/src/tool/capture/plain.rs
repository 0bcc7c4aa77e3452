//! Taking escape sequences out of a program's output.

const ESCAPE: u8 = 0x1b;
/// A string sequence (a title, a link, a picture) that is longer is none: somebody printed the start of one by chance.
const LONGEST: usize = 65_536;

/// Where in a sequence the stream is. Output arrives in pieces, and a sequence may be spread over two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Text,
    /// After ESC.
    Escape,
    /// After `ESC [`: parameters until a final byte.
    Control,
    /// After `ESC ]`, `ESC P`, `ESC X`, `ESC ^` or `ESC _`: until BEL or `ESC \`; so many bytes of it went by.
    String(usize),
}

/// Takes escape sequences out of one stream.
#[derive(Debug, Default)]
pub(crate) struct Plain {
    state: State,
    text: Vec<u8>,
}

impl Plain {
    /// The bytes that are text.
    pub(crate) fn strip<'a>(&'a mut self, bytes: &'a [u8]) -> &'a [u8] {
        if self.state == State::Text && !bytes.contains(&ESCAPE) {
            return bytes;
        }
        self.text.clear();
        for byte in bytes.iter().copied() {
            self.state = self.step(byte);
        }
        &self.text
    }

    fn step(&mut self, byte: u8) -> State {
        match (self.state, byte) {
            (_, ESCAPE) => State::Escape,
            (State::Text, _) => {
                self.text.push(byte);
                State::Text
            }
            // A line break is never part of a sequence anybody means; a sequence that was cut must not eat the rest.
            (State::Escape | State::Control | State::String(_), b'\n') => {
                self.text.push(byte);
                State::Text
            }
            (State::Escape, b'[') => State::Control,
            (State::Escape, b']' | b'P' | b'X' | b'^' | b'_') => State::String(0),
            // Intermediate bytes, as in `ESC ( B`.
            (State::Escape, 0x20..=0x2f) => State::Escape,
            (State::Escape, _) => State::Text,
            (State::Control, 0x20..=0x3f) => State::Control,
            (State::Control, _) => State::Text,
            (State::String(_), 0x07 | 0x18 | 0x1a) => State::Text,
            (State::String(length), _) if length >= LONGEST => State::Text,
            (State::String(length), _) => State::String(length + 1),
        }
    }
}
