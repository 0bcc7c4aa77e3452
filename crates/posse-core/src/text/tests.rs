use super::*;

#[test]
fn locations_count_lines_and_characters_from_one() {
    let text = "ab\nüöx\r\nz";
    for (offset, line, column) in
        [(0, 1, 1), (2, 1, 3), (3, 2, 1), (5, 2, 2), (7, 2, 3), (10, 3, 1), (99, 3, 2)]
    {
        let got = locate(text, Span::point(offset));
        assert_eq!((got.line, got.column), (line, column), "offset {offset}");
    }
}

#[test]
fn offsets_and_locations_are_inverse() {
    let text = "ab\nüöx\nz\n";
    for (offset, _) in text.char_indices() {
        let at = locate(text, Span::point(offset));
        assert_eq!(offset_of(text, at.line as usize, at.column as usize), offset);
    }
    assert_eq!(offset_of(text, 99, 1), text.len());
    assert_eq!(offset_of(text, 1, 99), 2);
}

#[test]
fn lines_know_where_they_start() {
    let got: Vec<_> = lines_with_offsets("a\r\n\nbc").collect();
    assert_eq!(got, [(0, "a"), (3, ""), (4, "bc")]);
}

#[test]
fn text_that_is_shown_cannot_steer_a_terminal() {
    for (text, want) in [
        ("a\u{1b}[2Jb", "a [2Jb"),
        ("a\nb\tc", "a b c"),
        ("x\u{202e}txt.exe", "x txt.exe"),
        ("\u{2066}a\u{2069}\u{9b}\u{feff}", " a   "),
        ("größe 👩\u{200d}💻", "größe 👩\u{200d}💻"),
    ] {
        assert_eq!(plain(text), want);
    }
}
