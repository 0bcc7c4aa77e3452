use super::*;

#[test]
fn patterns_mean_addresses() {
    for (pattern, address, is_it) in [
        ("https://a.org/x", "https://a.org/x", true),
        ("https://a.org", "https://a.org/", true),
        ("https://a.org", "https://a.org/x", false),
        ("https://*.a.org/*", "https://b.a.org/x?y", true),
        ("https://*.a.org/*", "https://evil.org/.a.org/x", false),
        ("https://*.a.org/*", "https://x@b.a.org/", false),
        ("http://127.0.0.1:*", "http://127.0.0.1:8080/x", true),
        ("http://127.0.0.1:*", "http://127.0.0.1.evil.org:80/x", false),
        ("*", "https://a.org/x", true),
    ] {
        assert_eq!(allows(pattern, &Url::parse(address).unwrap()), is_it, "{pattern} {address}");
    }
}

#[test]
fn patterns_of_texts() {
    for (pattern, text, is_it) in [
        ("https://a.org/x", "https://a.org/x", true),
        ("https://a.org/x", "https://a.org/xy", false),
        ("https://a.org/*", "https://a.org/xy?z", true),
        ("https://*.a.org/*/end", "https://b.a.org/x/y/end", true),
        ("https://*.a.org/*/end", "https://b.a.org/x/y/end2", false),
        ("*", "anything", true),
        ("", "anything", false),
        ("https://a.org*a.org", "https://a.org", false),
    ] {
        assert_eq!(is_like(pattern, text), is_it, "{pattern} {text}");
    }
}

#[test]
fn variables_of_headers() {
    let variable = |name: &str| if name == "KEY" { "k" } else { "" };
    for (text, want) in [
        ("$KEY", "k"),
        ("a ${KEY}b$KEY.", "a kbk."),
        ("$OTHER|${OTHER}|", "||"),
        ("$ $1 ${ ${a-b}", "$ $1 ${ ${a-b}"),
        ("$", "$"),
    ] {
        assert_eq!(expand(text, variable), want, "{text}");
    }
}
