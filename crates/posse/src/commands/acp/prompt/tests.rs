use super::*;

fn text(text: &str) -> Piece {
    Piece::Text(text.to_owned())
}

fn link(name: &str, uri: &str) -> Piece {
    Piece::Link { name: name.to_owned(), uri: uri.to_owned() }
}

fn resource(uri: &str, text: &str) -> Piece {
    Piece::TextResource { uri: uri.to_owned(), text: text.to_owned() }
}

fn image(media_type: &str) -> Piece {
    Piece::Image { media_type: media_type.to_owned(), data: "AAAA".to_owned() }
}

/// The blocks, in short.
fn told(pieces: &[Piece]) -> Vec<String> {
    let short = |block: &Block| match block {
        Block::Text(text) => text.clone(),
        Block::Media(media) => format!("<{}>", media.media_type),
        other => format!("{other:?}"),
    };
    message(pieces).map(|message| message.blocks.iter().map(short).collect()).unwrap_or_default()
}

#[test]
fn pieces_become_one_message() {
    let unseen = |kind: &str| {
        format!("[The user attached something of the type {kind}, which cannot be shown to you.]")
    };
    let blob = Piece::BlobResource {
        uri: "file:///a/b.pdf".to_owned(),
        media_type: Some("application/pdf".to_owned()),
        data: "AAAA".to_owned(),
    };
    let cases: Vec<(Vec<Piece>, Vec<String>)> = vec![
        (vec![], vec![]),
        (vec![text("  ")], vec![]),
        (vec![text("look at "), text("this")], vec!["look at this".into()]),
        (
            vec![text("/review "), link("a b.rs", "file:///x/a%20b.rs")],
            vec!["/review [a b.rs](/x/a b.rs)".into()],
        ),
        (vec![link("site", "https://x.y/z%20")], vec!["[site](https://x.y/z%20)".into()]),
        (
            vec![text("/fix "), resource("file:///x/a.rs", "fn a() {}"), text(" now")],
            vec![
                "/fix [a.rs](/x/a.rs) now\n\n<context uri=\"file:///x/a.rs\">\nfn a() {}\n</context>".into(),
            ],
        ),
        (
            vec![text("see "), image("image/png"), text("this")],
            vec!["see ".into(), "<image/png>".into(), "this".into()],
        ),
        (vec![image("image/tiff")], vec![format!(" {}", unseen("image/tiff"))]),
        (vec![Piece::Audio { media_type: "audio/wav".into() }], vec![format!(" {}", unseen("audio/wav"))]),
        (vec![blob], vec!["[b.pdf](/a/b.pdf)".into(), "<application/pdf>".into()]),
    ];
    for (pieces, expected) in cases {
        assert_eq!(told(&pieces), expected, "{pieces:?}");
    }
}

#[test]
fn broken_codes_in_paths_stay_as_they_are() {
    for (path, expected) in
        [("/a%zz", "/a%zz"), ("/a%", "/a%"), ("/%C3%A4", "/ä"), ("/%ff", "/%ff"), ("/%é", "/%é")]
    {
        assert_eq!(decoded(path), expected);
    }
}

#[test]
fn a_title_is_the_first_line_and_short() {
    let long = "x".repeat(100);
    let cases = [
        (vec![image("image/png"), text("\n  fix it \nplease")], Some("fix it".to_owned())),
        (vec![text(&long)], Some(format!("{}…", "x".repeat(80)))),
        (vec![text("\n")], None),
        (vec![], None),
    ];
    for (pieces, expected) in cases {
        assert_eq!(title(&pieces), expected);
    }
}
