//! Where conversations lie: `<config>/projects/<key of the working directory>/<session>.jsonl`.

use std::path::{Path, PathBuf};

/// Longer keys are cut and get a hash, so that the file system takes them.
const LONGEST_KEY: usize = 200;

/// A working directory as the name of a folder: everything but letters and digits becomes `-`.
pub fn project_key(cwd: &Path) -> String {
    let text = cwd.to_string_lossy();
    let key: String = text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    if key.len() <= LONGEST_KEY {
        return key;
    }
    format!("{}-{}", &key[..LONGEST_KEY], base36(hash(&text)))
}

/// The hash the SDKs' readers expect: `h = h * 31 + c` over UTF-16 units in 32 bits, its absolute value.
fn hash(text: &str) -> u32 {
    let folded = text.encode_utf16().fold(0i32, |h, unit| h.wrapping_mul(31).wrapping_add(i32::from(unit)));
    folded.unsigned_abs()
}

fn base36(mut number: u32) -> String {
    let mut digits = Vec::new();
    loop {
        digits.push(char::from_digit(number % 36, 36).unwrap_or('0'));
        number /= 36;
        if number == 0 {
            break;
        }
    }
    digits.iter().rev().collect()
}

/// The folder of a project's conversations.
pub fn project_folder(config: &Path, cwd: &Path) -> PathBuf {
    let real = cwd.canonicalize().unwrap_or_else(|_| cwd.to_owned());
    config.join("projects").join(project_key(&real))
}

/// The file of a conversation.
pub fn session_file(config: &Path, cwd: &Path, session: &str) -> PathBuf {
    project_folder(config, cwd).join(format!("{session}.jsonl"))
}
