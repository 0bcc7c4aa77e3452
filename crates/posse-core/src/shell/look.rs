//! Runs that only look, and at which files.
//!
//! Knows for each program the options that leave it a looker; one that is not in its table may do anything. Refuses to
//! know redirections and variables: those are judged by whoever asks.

use super::{Run, Word};

mod git;
mod tables;

use tables::{LOOKERS, Looker, Operands};

/// What a run that only looks looks at: `None` if it may change something, else the words that name files.
///
/// Where it is not clear whether a word is a file, it is among them.
pub fn looks_at(run: &Run) -> Option<Vec<Word>> {
    let (program, arguments) = run.words.split_first()?;
    let program = program.known()?;
    match program {
        "git" => git::looks_at(arguments),
        "find" => find(arguments),
        "[" | "test" | "[[" => {
            let operator = |word: &&Word| {
                word.known().is_some_and(|word| word.starts_with('-') || word == "]" || word == "]]")
            };
            Some(arguments.iter().filter(|word| !operator(word)).cloned().collect())
        }
        "echo" => Some(Vec::new()),
        "printf" => arguments.first()?.known().filter(|first| !first.starts_with("-v")).map(|_| Vec::new()),
        "jq" => jq(arguments),
        // In its old style `e` shows every program's environment.
        "ps" if arguments
            .iter()
            .any(|word| word.known().is_none_or(|word| !word.starts_with('-') && word.contains('e'))) =>
        {
            None
        }
        "cd" => cd(arguments),
        "command" => arguments
            .first()
            .and_then(Word::known)
            .filter(|first| matches!(*first, "-v" | "-V"))
            .map(|_| Vec::new()),
        "cargo" | "rustc" | "node" | "npm" | "python" | "python3" | "go" | "ruby" | "deno" | "bun" => {
            let [only] = arguments else { return None };
            let asks = match only.known()? {
                "--version" => program != "go",
                "-V" => matches!(program, "cargo" | "rustc" | "python" | "python3"),
                // To most of these it would be the name of a script.
                "version" => matches!(program, "go" | "cargo"),
                _ => false,
            };
            asks.then(Vec::new)
        }
        _ => with_table(LOOKERS.iter().find(|looker| looker.name == program)?, arguments),
    }
}

/// A filter can show the environment and load other filters.
fn jq(arguments: &[Word]) -> Option<Vec<Word>> {
    let harmless = |word: &Word| {
        let text = word.known()?.to_lowercase();
        (!["env", "import", "include", "input_"].iter().any(|part| text.contains(part))).then_some(())
    };
    for argument in arguments {
        harmless(argument)?;
    }
    with_table(LOOKERS.iter().find(|looker| looker.name == "jq")?, arguments)
}

fn cd(arguments: &[Word]) -> Option<Vec<Word>> {
    match arguments {
        [only] if only.known().is_none_or(|only| !only.starts_with('-')) => Some(vec![only.clone()]),
        _ => None,
    }
}

/// The options of a program as written, taken apart.
struct Given<'a> {
    /// Values of options that name files.
    files: Vec<&'a Word>,
    operands: Vec<&'a Word>,
    /// Whether an option has said what the pattern is.
    pattern: bool,
}

/// Sorts arguments by a table; none if one is not in it.
fn sort_out<'a>(looker: &Looker, arguments: &'a [Word]) -> Option<Given<'a>> {
    let mut given = Given { files: Vec::new(), operands: Vec::new(), pattern: false };
    let mut words = arguments.iter();
    let mut options = true;
    while let Some(word) = words.next() {
        let text = match word.known() {
            Some(text) => text,
            None if looker.open => {
                given.operands.push(word);
                continue;
            }
            None => return None,
        };
        if options && text == "--" {
            options = false;
        } else if options && text.starts_with("--") {
            long(looker, word, text, &mut words, &mut given)?;
        } else if options && text.len() > 1 && text.starts_with('-') {
            short(looker, word, text, &mut words, &mut given)?;
        } else {
            given.operands.push(word);
        }
    }
    Some(given)
}

fn long<'a>(
    looker: &Looker,
    word: &'a Word,
    text: &str,
    words: &mut std::slice::Iter<'a, Word>,
    given: &mut Given<'a>,
) -> Option<()> {
    let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
    given.pattern |= matches!(name, "--regexp" | "--file" | "--files" | "--type-list");
    if looker.long_files.contains(&name) {
        given.files.push(if value.is_some() { word } else { words.next()? });
    } else if looker.long_valued.contains(&name) {
        if value.is_none() {
            words.next()?.known()?;
        }
    } else if !looker.long.contains(&name) {
        return None;
    }
    Some(())
}

fn short<'a>(
    looker: &Looker,
    word: &'a Word,
    text: &str,
    words: &mut std::slice::Iter<'a, Word>,
    given: &mut Given<'a>,
) -> Option<()> {
    if looker.numbers && text[1..].bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(());
    }
    for (at, letter) in text.char_indices().skip(1) {
        let last = at + letter.len_utf8() == text.len();
        if looker.files.contains(letter) {
            given.pattern |= letter == 'f';
            // Behind the letter or as the next word; the whole word stands for what cannot be cut off.
            given.files.push(if last { words.next()? } else { word });
            return Some(());
        }
        if looker.valued.contains(letter) {
            given.pattern |= letter == 'e';
            if last {
                words.next()?.known()?;
            }
            return Some(());
        }
        if !looker.flags.contains(letter) {
            return None;
        }
    }
    Some(())
}

fn with_table(looker: &Looker, arguments: &[Word]) -> Option<Vec<Word>> {
    let given = sort_out(looker, arguments)?;
    let mut files: Vec<Word> = given.files.iter().map(|word| file_of(word)).collect();
    let operands = match looker.operands {
        Operands::None if !given.operands.is_empty() => return None,
        Operands::AtMostOne if given.operands.len() > 1 => return None,
        Operands::PatternFirst if !given.pattern => given.operands.get(1..).unwrap_or_default(),
        Operands::Text => &[],
        Operands::None | Operands::AtMostOne | Operands::PatternFirst | Operands::Files => {
            &given.operands[..]
        }
    };
    files.extend(operands.iter().map(|word| (*word).clone()));
    if looker.name == "date"
        && given.operands.iter().any(|word| !word.known().is_some_and(|it| it.starts_with('+')))
    {
        return None;
    }
    Some(files)
}

/// The file in `--option=file` or `-ofile`.
fn file_of(word: &Word) -> Word {
    let Word::Known(text) = word else { return word.clone() };
    match text.strip_prefix('-') {
        Some(option) if option.starts_with('-') => {
            Word::Known(option.split_once('=').map_or(&**text, |(_, file)| file).into())
        }
        Some(option) if option.len() > 1 => {
            // Which letters are flags was checked before; the path begins behind the first that takes one.
            Word::Open(option.into())
        }
        _ => word.clone(),
    }
}

/// `find` runs, deletes and writes by words that look like its others, so each must be known.
fn find(arguments: &[Word]) -> Option<Vec<Word>> {
    const ALONE: [&str; 30] = [
        "-print",
        "-print0",
        "-ls",
        "-prune",
        "-quit",
        "-depth",
        "-d",
        "-xdev",
        "-mount",
        "-follow",
        "-empty",
        "-readable",
        "-writable",
        "-executable",
        "-true",
        "-false",
        "-daystart",
        "-noleaf",
        "-nouser",
        "-nogroup",
        "-o",
        "-or",
        "-a",
        "-and",
        "-not",
        "!",
        "(",
        ")",
        ",",
        "-H",
    ];
    const VALUED: [&str; 31] = [
        "-name",
        "-iname",
        "-path",
        "-ipath",
        "-wholename",
        "-regex",
        "-iregex",
        "-regextype",
        "-type",
        "-xtype",
        "-size",
        "-mtime",
        "-mmin",
        "-atime",
        "-amin",
        "-ctime",
        "-cmin",
        "-maxdepth",
        "-mindepth",
        "-perm",
        "-user",
        "-group",
        "-uid",
        "-gid",
        "-links",
        "-inum",
        "-lname",
        "-ilname",
        "-printf",
        "-fstype",
        "-newermt",
    ];
    let mut files = Vec::new();
    let mut words = arguments.iter();
    let mut expression = false;
    while let Some(word) = words.next() {
        let text = word.known()?;
        if matches!(text, "-newer" | "-anewer" | "-cnewer" | "-samefile") {
            expression = true;
            let file = words.next()?;
            file.known()?;
            files.push(file.clone());
        } else if VALUED.contains(&text) {
            expression = true;
            words.next()?.known()?;
        } else if matches!(text, "-P" | "-E") {
        } else if ALONE.contains(&text) {
            expression |= text != "-H";
        } else if text.starts_with('-') || expression {
            return None;
        } else {
            files.push(word.clone());
        }
    }
    if files.is_empty() {
        files.push(Word::Known(".".into()));
    }
    Some(files)
}
