use super::*;

fn stripped(pieces: &[&str]) -> String {
    let mut plain = Plain::default();
    let text: Vec<u8> = pieces.iter().flat_map(|piece| plain.strip(piece.as_bytes()).to_vec()).collect();
    String::from_utf8(text).unwrap()
}

#[test]
fn escape_sequences_are_taken_out() {
    let cases: &[(&[&str], &str)] = &[
        (&["plain\ttext\r\n"], "plain\ttext\r\n"),
        (&["\x1b[31mred\x1b[0m and \x1b[1;38;5;200mbold\x1b[m"], "red and bold"),
        (&["a\x1b", "[3", "1mb"], "ab"),
        (&["\x1b]0;title\x07x"], "x"),
        (&["\x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\"], "link"),
        (&["\x1b(Bx\x1b=y\x1b7z"], "xyz"),
        (&["\x1b[?25lhidden\x1b[?25h"], "hidden"),
        (&["\x1b]unfinished\nrest"], "\nrest"),
        (&["\x1b[\nrest"], "\nrest"),
        (&["ü\x1b[2Kß"], "üß"),
        (&["end\x1b"], "end"),
    ];
    for (pieces, expected) in cases {
        assert_eq!(stripped(pieces), *expected, "{pieces:?}");
    }
    let picture = format!("\x1b]1337;{}\x07after", "x".repeat(10_000));
    assert_eq!(stripped(&[&picture]), "after");
    let chance = format!("\x1b]{}", "x".repeat(100_000));
    assert!(stripped(&[&chance]).len() > 30_000);
}

fn clipped(limit: usize, pieces: impl IntoIterator<Item = impl AsRef<[u8]>>) -> String {
    let mut clip = Clip::new(limit);
    for piece in pieces {
        clip.push(piece.as_ref());
    }
    clip.text(|left| format!("<{left}>"))
}

#[test]
fn a_long_text_loses_its_middle() {
    let lines: Vec<String> = (1..=1000).map(|number| format!("line {number}\n")).collect();
    let text = clipped(100, &lines);
    assert!(text.starts_with("line 1\nline 2\n"), "{text}");
    assert!(text.ends_with("line 999\nline 1000\n"), "{text}");
    let gap = text.lines().find(|line| line.starts_with('<')).unwrap();
    let shown = text.lines().count() - 1;
    assert_eq!(gap, format!("<{} lines>", 1000 - shown));

    let cases: &[(usize, &str, &str)] = &[
        (10, "", ""),
        (10, "0123456789", "0123456789"),
        (10, "ßßßßßßßßßß", "ßßßßßßßßßß"),
        (10, "01234567890", "01234\n<1 bytes>\n67890"),
        (4, "😀😁😂😃😄😅", "😀😁\n<8 bytes>\n😄😅"),
        (4, "\n\n\n\n\n\n", "\n\n<3 lines>\n\n"),
    ];
    for (limit, input, expected) in cases {
        assert_eq!(clipped(*limit, [input]), *expected, "{input:?}");
        // The same in pieces that cut characters.
        assert_eq!(clipped(*limit, input.as_bytes().chunks(1)), *expected, "{input:?} in pieces");
    }
}

#[test]
fn bytes_that_are_no_text_show_as_such() {
    assert_eq!(clipped(10, [b"a\xff\x00b"]), "a\u{fffd}\u{fffd}b");
    // Bytes that only ever continue a character count as none, and must still not be kept for ever.
    let mut clip = Clip::new(10);
    clip.push(&[0x80; 1000]);
    assert!(!clip.is_whole());
    assert_eq!(clip.text(|_| "|".to_owned()).chars().filter(|c| *c == '\u{fffd}').count(), 10);
}

#[test]
fn memory_stays_bounded() {
    let mut clip = Clip::new(1000);
    for _ in 0..1000 {
        clip.push(&[b'x'; 10_000]);
    }
    assert_eq!(clip.bytes(), 10_000_000);
    assert!(clip.held() < 50_000, "{}", clip.held());
}

#[tokio::test]
async fn what_is_short_makes_no_file_and_what_is_long_is_whole_in_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep/output.txt");
    let mut capture = Capture::new(100, path.clone());
    capture.take(Stream::Out, b"short\n").await;
    assert_eq!(capture.text().await, "short\n");
    assert!(!path.exists());

    let mut expected = b"short\n".to_vec();
    for number in 0..100 {
        let line = format!("\x1b[1mline {number}\x1b[0m\n");
        let stream = if number % 2 == 0 { Stream::Out } else { Stream::Err };
        capture.take(stream, line.as_bytes()).await;
        expected.extend_from_slice(format!("line {number}\n").as_bytes());
    }
    let text = capture.text().await;
    assert!(text.contains(&format!("left out; the whole output is in {}", path.display())), "{text}");
    assert_eq!(std::fs::read(&path).unwrap(), expected);
    assert!(capture.stream(Stream::Err).ends_with("line 97\nline 99"));
    assert!(!capture.stream(Stream::Out).contains("line 1\n"));
}

#[tokio::test]
async fn a_full_file_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("output.txt");
    let mut spool = Spool::new(path.clone()).with_largest(10);
    spool.write(b"01234").await;
    spool.write(b"567890").await;
    spool.write(b"more").await;
    spool.flush().await;
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text, "0123456789\n[it ends after 10 bytes; what follows was not kept]\n");
    assert_eq!(spool.whereabouts(), format!("{} has more of it (it ends after 10 bytes)", path.display()));
    assert_eq!(spool.complete(), None);

    let nowhere = folder.path().join("output.txt/below-a-file");
    let mut spool = Spool::new(nowhere);
    spool.write(b"text").await;
    assert!(spool.whereabouts().contains("could not be kept"), "{}", spool.whereabouts());
}
