//! Command lines by the thousand: bash's grammar at random, with a character damaged now and then.
//!
//! Knows what is safe to run among stand-ins: no absolute files, no endless loops, no real programs but starters.

/// A small generator of numbers, so that a failure comes back.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % sides as u64) as usize
    }

    fn pick<'a>(&mut self, among: &[&'a str]) -> &'a str {
        among[self.roll(among.len())]
    }
}

const PROGRAMS: [&str; 16] = [
    "rm",
    "git",
    "ls",
    "cat",
    "touch",
    "a",
    "b",
    "r\\m",
    "\"rm\"",
    "r''m",
    "$'rm'",
    "$'\\x72m'",
    "'git'",
    "wc",
    "curl",
    "tee",
];
const WORDS: [&str; 44] = [
    "x",
    "y",
    "-f",
    "--",
    "diff",
    "'a b'",
    "\"a b\"",
    "a\\ b",
    "''",
    "\"\"",
    "$x",
    "\"$x\"",
    "${x}",
    "${x:-y}",
    "\"${x:-y z}\"",
    "${x:-'q'}",
    "*",
    "[ab]",
    "{a,b}",
    "{1..3}",
    "{}",
    "~",
    "~/x",
    "'~'",
    "\\~",
    "a=~",
    "a=b",
    "$'a\\tb'",
    "$'a\\'b'",
    "\"$'q'\"",
    "a#b",
    "#c",
    "\\#c",
    "\\;",
    "';'",
    "$?",
    "\"$@\"",
    "${#x}",
    "$((1+2))",
    "\"`a`\"",
    "`a x`",
    "a\\\nb",
    "$\"hi\"",
    "\"a\\\"b\"",
];
const DAMAGE: [&str; 32] = [
    "'", "\"", "\\", "$", "`", "(", ")", "{", "}", "[", "]", "<", ">", "|", "&", ";", "#", "\n", " ", "=",
    "~", "*", "$(", "<(", "!", "\\\n", "((", "))", ";;", "<<", "$'", "\t",
];

/// One command line.
pub(super) fn command(seed: u64) -> String {
    let mut dice = Dice(seed);
    let mut text = list(&mut dice, 3);
    if dice.roll(3) == 0 {
        for _ in 0..=dice.roll(2) {
            damage(&mut dice, &mut text);
        }
    }
    text
}

fn damage(dice: &mut Dice, text: &mut String) {
    let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    let at = places[dice.roll(places.len())];
    match dice.roll(3) {
        0 => {
            text.remove(at);
        }
        1 => text.insert_str(at, dice.pick(&DAMAGE)),
        _ => {
            text.remove(at);
            text.insert_str(at, dice.pick(&DAMAGE));
        }
    }
    if text.is_empty() {
        text.push('a');
    }
}

fn list(dice: &mut Dice, depth: usize) -> String {
    let mut text = pipeline(dice, depth);
    for _ in 0..dice.roll(3) {
        text.push_str(dice.pick(&["; ", ";", " && ", "||", " & ", "\n", " | ", "|", " |& ", "|\n", "&&\n"]));
        text.push_str(&pipeline(dice, depth));
    }
    text
}

fn pipeline(dice: &mut Dice, depth: usize) -> String {
    let command =
        if depth > 0 && dice.roll(4) == 0 { compound(dice, depth - 1) } else { simple(dice, depth) };
    match dice.roll(14) {
        0 => format!("! {command}"),
        1 => format!("time {command}"),
        _ => command,
    }
}

fn compound(dice: &mut Dice, depth: usize) -> String {
    let one = list(dice, depth);
    let two = list(dice, depth);
    let text = match dice.roll(16) {
        0 => format!("({one})"),
        1 => format!("{{ {one}; }}"),
        2 => format!("if {one}; then {two}; fi"),
        3 => format!("if {one}\nthen {two}\nelse a; fi"),
        4 => format!("for i in {} x; do {one}; done", word(dice, depth)),
        5 => format!("while false; do {one}; break; done"),
        6 => format!("case {} in x|y) {one};; *) {two};; esac", word(dice, depth)),
        7 => format!("case x in (x) {one};& y) {two}; esac"),
        8 => format!("fn{depth}() {{ {one}; }}; fn{depth} x"),
        9 => format!("function fn{depth} {{ {one}; }}; fn{depth}"),
        10 => format!("[[ {} == {} ]]", word(dice, depth), word(dice, depth)),
        11 => format!("[ -n {} ]", word(dice, depth)),
        12 => format!("until {one}; true; do {two}; break; done"),
        13 => format!("(({}))", dice.pick(&["1", "1+2", "x", "x=1"])),
        14 => format!("up{depth}(){{ {one}\n}}\nup{depth} diff"),
        _ => format!("{{ {one}\n}} > out"),
    };
    if dice.roll(6) == 0 { format!("{text} {}", redirect(dice, depth)) } else { text }
}

fn simple(dice: &mut Dice, depth: usize) -> String {
    let mut parts: Vec<String> = Vec::new();
    if dice.roll(6) == 0 {
        parts.push(assignment(dice, depth));
    }
    if dice.roll(10) == 0 {
        parts.push(redirect(dice, depth));
    }
    if dice.roll(4) == 0 {
        parts.push(wrapper(dice, depth));
    }
    if dice.roll(25) > 0 {
        parts.push(dice.pick(&PROGRAMS).to_owned());
        for _ in 0..dice.roll(4) {
            parts.push(word(dice, depth));
        }
    }
    if dice.roll(5) == 0 {
        parts.push(redirect(dice, depth));
    }
    if parts.is_empty() {
        parts.push("a".to_owned());
    }
    let text = parts.join(dice.pick(&[" ", " ", " ", "  ", "\t", " \\\n"]));
    match dice.roll(14) {
        0 => heredoc(dice, depth, &text),
        1 => format!("{text} # rm {}\n", dice.pick(&["x", "'", "$(rm y)", "\""])),
        _ => text,
    }
}

fn heredoc(dice: &mut Dice, depth: usize, text: &str) -> String {
    let body = format!("hi {}", word(dice, depth));
    match dice.roll(4) {
        0 => format!("{text} <<E\n{body}\nE\n"),
        1 => format!("{text} <<'E'\n{body}\nE\n"),
        2 => format!("{text} <<-E && rm z\n\t{body}\n\tE\n"),
        _ => format!("{text} <<E | cat\n{body}\nE\nls after"),
    }
}

fn assignment(dice: &mut Dice, depth: usize) -> String {
    let name = dice.pick(&["x", "EVIL", "A", "x+", "a[1]", "EVIL+"]);
    let value = if dice.roll(8) == 0 {
        format!("({} {})", word(dice, depth), word(dice, depth))
    } else {
        word(dice, depth)
    };
    match dice.roll(6) {
        0 => format!("export {name}={value};"),
        1 => format!("declare -x {name}={value};"),
        _ => format!("{name}={value}"),
    }
}

fn redirect(dice: &mut Dice, depth: usize) -> String {
    let operator = dice.pick(&[
        ">",
        "> ",
        ">>",
        "2>",
        ">|",
        "&>",
        "&>>",
        ">&",
        "<>",
        "2>&1 >",
        "3>&- >",
        "<",
        "<<<",
        "< ",
        "2>&1 <<< ",
    ]);
    let target = match dice.roll(5) {
        0 => word(dice, depth),
        1 => "'o u'".to_owned(),
        2 => "d/o".to_owned(),
        _ => "out".to_owned(),
    };
    format!("{operator}{target}")
}

fn wrapper(dice: &mut Dice, depth: usize) -> String {
    let word = word(dice, depth);
    match dice.roll(16) {
        0 => "env".to_owned(),
        1 => "env EVIL=1".to_owned(),
        2 => format!("env A={word}"),
        3 => "timeout 5".to_owned(),
        4 => "timeout -k 3 5".to_owned(),
        5 => "nice -n 1".to_owned(),
        6 => "command".to_owned(),
        7 => "exec".to_owned(),
        8 => "xargs".to_owned(),
        9 => "xargs -I{} ".to_owned(),
        10 => "nohup".to_owned(),
        11 => format!("bash -c {word}"),
        12 => "bash -c 'rm c; ls \"$0\"'".to_owned(),
        13 => "sh -c 'rm d' x".to_owned(),
        14 => format!("find . -maxdepth 0 -exec a {{}} {} \\; -o", dice.pick(&["x", "'y z'", "{}{}"])),
        _ => "find . -maxdepth 0 -exec".to_owned(),
    }
}

fn word(dice: &mut Dice, depth: usize) -> String {
    if depth == 0 || dice.roll(4) > 0 {
        return dice.pick(&WORDS).to_owned();
    }
    let inner = list(dice, depth - 1);
    match dice.roll(9) {
        0 | 1 => format!("$({inner})"),
        2 => format!("\"$({inner})\""),
        3 => format!("<({inner})"),
        4 => format!("`{inner}`"),
        5 => format!("\"`{inner}`\""),
        6 => format!("${{x:-$({inner})}}"),
        7 => format!("\"${{x:-$({inner})}} y\""),
        _ => format!("{}{}", dice.pick(&WORDS), dice.pick(&WORDS)),
    }
}

/// Evasions that people have thought of.
pub(super) fn fixed() -> impl Iterator<Item = String> {
    FIXED.iter().map(|text| (*text).to_owned())
}

const FIXED: [&str; 42] = [
    "git diff;rm x",
    "git diff\nrm x",
    "git diff $(rm x)",
    "git diff `rm x`",
    "git diff \"$(rm x)\"",
    "git diff <(rm x)",
    "x='a[$(rm x)]'; echo $((x))",
    "x='a[$(rm x)]'; ((x))",
    "x='a[$(rm x)]'; [[ x -eq 1 ]]",
    "x='a[$(rm x)]'; [[ $x -eq 1 ]]",
    "x='a[$(rm x)]'; let y=x",
    "x='a[$(rm x)]'; test -v \"$x\"",
    "x='-v a[$(rm x)]'; [ $x ]",
    "x='a[$(rm x)]'; printf -v \"$x\" 1",
    "x='a[$(rm x)]'; read \"$x\" <<< 1",
    "x='a[$(rm x)]'; unset \"$x\"",
    "x='a[$(rm x)]'; declare \"$x=1\"",
    "x='a[$(rm x)]'; declare -i y=x",
    "x='a[$(rm x)]'; a[$x]=1",
    "x='a[$(rm x)]'; b=(1 2); echo ${b[$x]}",
    "x='a[$(rm x)]'; echo ${y:x}",
    "x='$(rm x)'; echo ${x@P}",
    "x='a[$(rm x)]'; echo ${!x}",
    "x='a[$(rm x)]'; SECONDS=$x",
    "shopt -s expand_aliases\nalias a='rm x'\na",
    "trap 'rm x' EXIT",
    "set -x; PS4='$(rm x)'; a",
    "mapfile -C 'rm x' -c 1 y <<< z",
    "command_not_found_handle() { rm x; }; nothing",
    "sh -c '[[ a && rm ]]'",
    "sh -c \"a \\$'\\\\'; rm x #'\"",
    "echo 2>(rm x)",
    "{fd}>out",
    "echo ${x:=$(rm x)} $[1]",
    "ls \"\"~",
    "rm >&--",
    "rm >&\"a\\\"b\"",
    "env EVI#=1 ls",
    "a $(x=(\\;) rm y)",
    "a $(time (rm x))",
    "[[ -f == x ]]",
    "a <2>out",
];
