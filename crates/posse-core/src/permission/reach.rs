//! Which files the words of a command may name, and which of them it would change.
//!
//! Knows how programs take files. Refuses to know rules; it only says where they should look. Too many is an extra
//! question, too few would be a hole, so whatever may be a file is one.

use crate::shell::{Run, Word};

/// The parts of a word that may name a file: the word itself, what an option has behind its letter, and what follows
/// `=`, `@` or `:` (`--file=x`, `-d@x`, `field=@x`, `HEAD:x`, `host:x`).
pub(super) fn path_like(word: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    match word.strip_prefix('-') {
        // A long option has its value behind `=`; a number is a count far more often than a file.
        Some(option) if option.starts_with('-') || option.bytes().all(|byte| byte.is_ascii_digit()) => {}
        Some(option) => parts.extend(option.char_indices().nth(1).map(|(at, _)| &option[at..])),
        None => parts.push(word),
    }
    let signs = word.char_indices().filter(|(_, sign)| matches!(sign, '=' | '@' | ':' | ','));
    for (at, _) in signs.take(MOST_PARTS) {
        parts.push(&word[at + 1..]);
        parts.push(&word[..at]);
    }
    parts.retain(|part| !part.is_empty() && !part.contains('\n'));
    parts
}

/// A word with more signs in it than this is no list of files.
const MOST_PARTS: usize = 16;

/// Whether a program that looks shows what is in the files it names, and not only that they are there.
pub(super) fn shows_contents(run: &Run) -> bool {
    const ONLY_NAMES: [&str; 20] = [
        "[", "[[", "basename", "cd", "command", "df", "dirname", "du", "echo", "file", "find", "ls", "pwd",
        "readlink", "realpath", "stat", "test", "tree", "type", "which",
    ];
    !run.words.first().and_then(Word::known).is_some_and(|program| ONLY_NAMES.contains(&program))
}

/// How a program names what it changes.
enum Changes {
    /// Every operand.
    All,
    /// The last operand, or the folder of an option; in a folder, what is put there.
    Last,
    /// Every operand, if it is told to change files in place.
    InPlace,
    /// The value of `of=`.
    OutputFile,
}

/// Programs that are known to change the files they name.
fn changes(program: &str) -> Option<Changes> {
    Some(match program {
        "tee" | "touch" | "mkdir" | "rmdir" | "rm" | "mv" | "chmod" | "chown" | "chgrp" | "truncate"
        | "shred" | "unlink" | "mkfifo" | "mknod" | "setfacl" | "gzip" | "gunzip" | "bzip2" | "xz" => {
            Changes::All
        }
        "cp" | "ln" | "install" | "link" | "rsync" | "scp" => Changes::Last,
        "sed" | "perl" | "gsed" => Changes::InPlace,
        "dd" => Changes::OutputFile,
        _ => return None,
    })
}

/// The files that a run of a known program would change.
pub(super) fn changed_by(run: &Run) -> Vec<String> {
    let Some((program, arguments)) = run.words.split_first() else { return Vec::new() };
    let Some(program) = program.known() else { return Vec::new() };
    let name = program.rsplit('/').next().unwrap_or(program);
    let Some(how) = changes(name) else { return Vec::new() };
    let words: Vec<&str> = arguments.iter().filter_map(Word::known).collect();
    let is_option = |word: &&str| word.starts_with('-') && word.len() > 1;
    let operands: Vec<&str> = words.iter().copied().filter(|word| !is_option(word)).collect();
    let all = |operands: &[&str]| operands.iter().map(|word| (*word).to_owned()).collect();
    match how {
        Changes::All => all(&operands),
        Changes::Last => put(&words, &operands),
        Changes::InPlace => {
            let in_place = |word: &&str| {
                word.starts_with("--in-place")
                    || (word.starts_with('-') && !word.starts_with("--") && word.contains('i'))
            };
            if words.iter().any(in_place) { all(&operands) } else { Vec::new() }
        }
        Changes::OutputFile => {
            words.iter().filter_map(|word| word.strip_prefix("of=")).map(str::to_owned).collect()
        }
    }
}

/// What copying and linking would write: the target, and the sources' names in it if it is a folder.
fn put(words: &[&str], operands: &[&str]) -> Vec<String> {
    let has_folder_option = words.iter().any(|word| {
        word.starts_with("--target")
            || (word.starts_with('-') && !word.starts_with("--") && word.contains('t'))
    });
    if has_folder_option {
        // Which word is the folder is not worth knowing: all of them, and what stands behind the option.
        return words.iter().flat_map(|word| path_like(word)).map(str::to_owned).collect();
    }
    let Some((target, sources)) = operands.split_last() else { return Vec::new() };
    let mut written = vec![(*target).to_owned()];
    for source in sources {
        let name = source.trim_end_matches('/').rsplit('/').next().unwrap_or(source);
        written.push(format!("{}/{name}", target.trim_end_matches('/')));
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_words() {
        for (word, expected) in [
            ("a", "a"),
            ("-x", ""),
            ("-20", ""),
            ("-fx", "x"),
            ("--file=x", "x --file"),
            ("HEAD:x", "HEAD:x x HEAD"),
            ("f=@x", "f=@x @x f x f="),
        ] {
            assert_eq!(path_like(word).join(" "), expected, "{word}");
        }
    }

    #[test]
    fn what_would_be_changed() {
        for (line, expected) in [
            ("tee -a x y", "x y"),
            ("cp a b", "b b/a"),
            ("cp d/a .", ". ./a"),
            ("sed s/a/b/ x", ""),
            ("sed -i s/a/b/ x", "s/a/b/ x"),
            ("dd if=a of=b", "b"),
            ("/bin/touch x", "x"),
            ("cat x", ""),
        ] {
            let script = crate::shell::parse(line);
            assert_eq!(changed_by(&script.runs[0]).join(" "), expected, "{line}");
        }
    }
}
