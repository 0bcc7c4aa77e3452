//! The second reader: the tree-sitter grammar, asked what it takes for a command.
//!
//! Knows where that grammar sees command names. Refuses to decide: it can only add doubts, and the commands that only
//! it has seen so that rules which deny get to see them. Where our reader gave up, it goes on.

use tree_sitter::{Node, Parser};

use super::reader::{Argument, Found, Simple};
use super::{Doubt, Word};

/// Compares what was found with what the grammar sees.
pub(super) fn compare(source: &str, found: &mut Found) {
    let mut parser = Parser::new();
    let language = tree_sitter_bash::LANGUAGE.into();
    let tree = parser.set_language(&language).ok().and_then(|()| parser.parse(ascii(source), None));
    let Some(tree) = tree else {
        found.doubts.push(Doubt { text: "".into(), why: "could not be read a second time" });
        return;
    };
    found.starts.sort_unstable();
    if tree.root_node().has_error() && found.doubts.is_empty() {
        let text: String = source.chars().take(200).collect();
        found.doubts.push(Doubt { text: text.into(), why: "is not understood by the second reader" });
    }
    let mut cursor = tree.walk();
    let mut going_down = true;
    loop {
        if going_down {
            note(source, cursor.node(), found);
        }
        if going_down && cursor.goto_first_child() {
            continue;
        }
        going_down = cursor.goto_next_sibling();
        if !going_down && !cursor.goto_parent() {
            return;
        }
    }
}

/// The text with a letter for each byte that is no plain character, so that places stay the same. The grammar's own
/// scanner hands characters to C functions that are only made for bytes, and may crash on others.
fn ascii(source: &str) -> Vec<u8> {
    let plain = |byte: u8| matches!(byte, b' '..=b'~' | b'\n' | b'\t');
    source.bytes().map(|byte| if plain(byte) { byte } else { b'x' }).collect()
}

fn note(source: &str, node: Node<'_>, found: &mut Found) {
    let named = match node.kind() {
        "command" => node.child_by_field_name("name"),
        "declaration_command" | "unset_command" | "test_command" => Some(node),
        _ => None,
    };
    let Some(named) = named else { return };
    let text = source.get(named.byte_range()).unwrap_or_default();
    // The grammar lets some nodes begin with the blanks before them.
    let start = named.start_byte() + text.len() - text.trim_start_matches([' ', '\t', '\n', '\\']).len();
    let here = source.get(named.start_byte()..start).unwrap_or_default();
    let blank = if here.contains('\\') && !here.contains("\\\n") { named.start_byte() } else { start };
    if found.starts.binary_search(&blank).is_ok() {
        return;
    }
    let text = source.get(node.byte_range()).unwrap_or_default();
    if text.trim().is_empty() {
        return;
    }
    if found.doubts.is_empty() {
        found.doubts.push(Doubt { text: text.into(), why: "may be a command of its own" });
    }
    found.commands.push(Simple { words: words(source, node), text: text.into(), ..Simple::default() });
}

/// The words as the grammar cuts them, known only where nothing needs unquoting.
fn words(source: &str, node: Node<'_>) -> Vec<Argument> {
    let mut cursor = node.walk();
    let children = node.children(&mut cursor);
    children
        .filter_map(|child| source.get(child.byte_range()))
        .map(|text| {
            let quotes = |text: &str, quote| Some(text.strip_prefix(quote)?.strip_suffix(quote)?.to_owned());
            let inner = quotes(text, '\'').or_else(|| quotes(text, '"')).unwrap_or_else(|| text.to_owned());
            let special = |character: char| "$`\\\"'*?[]{}<>()|&;~\n".contains(character);
            let word =
                if inner.contains(special) { Word::Open(text.into()) } else { Word::Known(inner.into()) };
            Argument::plain(word)
        })
        .collect()
}
