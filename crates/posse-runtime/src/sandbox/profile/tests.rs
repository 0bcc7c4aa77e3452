use super::*;

#[test]
fn hosts_match_as_they_are_written() {
    let cases = [
        ("example.com", "example.com", 443, true),
        ("example.com", "EXAMPLE.com.", 443, true),
        ("Example.COM.", "example.com", 443, true),
        ("example.com", "www.example.com", 443, false),
        ("example.com", "badexample.com", 443, false),
        ("example.com", "example.com.evil.org", 443, false),
        ("*.example.com", "www.example.com", 443, true),
        ("*.example.com", "a.b.example.com", 443, true),
        ("*.example.com", "example.com", 443, false),
        ("*.example.com", ".example.com", 443, false),
        ("*.example.com", "badexample.com", 443, false),
        ("example.com:8080", "example.com", 8080, true),
        ("example.com:8080", "example.com", 443, false),
        ("*", "anything.org", 1, true),
        ("", "", 1, false),
        ("*.", "a.", 1, false),
        ("127.0.0.1", "127.0.0.1", 80, true),
        ("[::1]:80", "::1", 80, true),
        ("[::1]:80", "[::1]", 81, false),
        ("::1", "::1", 81, true),
    ];
    for (pattern, host, port, expected) in cases {
        assert_eq!(HostPattern::new(pattern).matches(host, port), expected, "{pattern} {host}:{port}");
    }
}

#[test]
fn a_profile_survives_its_journey() {
    let mut profile = Profile::workspace(["/a".into()], "/tmp/s").with_home(Path::new("/home/x"));
    profile.network = Network::Only(["*.a.org", "b.org:1", "[::1]:2"].map(HostPattern::new).to_vec());
    let text = serde_json::to_string(&profile).unwrap();
    assert_eq!(serde_json::from_str::<Profile>(&text).unwrap(), profile);
    assert!(text.contains(r#""only":["*.a.org","b.org:1","[::1]:2"]"#), "{text}");
}
