use super::*;

/// A `!` denies.
fn hosts(texts: &[&str]) -> Hosts {
    let (denied, allowed): (Vec<&str>, Vec<&str>) = texts.iter().partition(|text| text.starts_with('!'));
    let denied: Vec<&str> = denied.iter().map(|text| &text[1..]).collect();
    Hosts { allowed: patterns(&allowed), denied: patterns(&denied) }
}

fn patterns(texts: &[&str]) -> Vec<HostPattern> {
    texts.iter().map(|text| HostPattern::new(text)).collect()
}

#[tokio::test]
async fn hosts_are_judged_by_name_and_by_what_the_name_means() {
    let cases: [(&[&str], &str, &str); 11] = [
        (&["localhost", "!localhost"], "localhost", "not an allowed host"),
        (&["*.a.org", "!b.a.org"], "b.a.org", "not an allowed host"),
        (&[], "localhost", "not an allowed host"),
        (&["a.org"], "127.0.0.1", "not an allowed host"),
        (&["*"], "127.0.0.1", "not an allowed host"),
        (&["*"], "localhost", "not listed"),
        (&["*", "localhost"], "localhost", ":80"),
        (&["localhost"], "localhost", ":80"),
        (&["127.0.0.1"], "127.0.0.1", "127.0.0.1:80"),
        (&["127.0.0.1:81"], "127.0.0.1", "not an allowed host"),
        (&["::1"], "::1", "[::1]:80"),
    ];
    for (listed, host, expected) in cases {
        let found = match judge(host, 80, &hosts(listed)).await {
            Ok(address) => address.to_string(),
            Err(reason) => reason,
        };
        assert!(found.contains(expected), "{listed:?} {host}: {found}");
    }
}

#[test]
fn only_the_internet_is_public() {
    let public = ["8.8.8.8", "1.1.1.1", "172.32.0.1", "2606:4700::1111", "::ffff:8.8.8.8"];
    let private = [
        "127.0.0.1",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "224.0.0.1",
        "255.255.255.255",
        "198.18.0.1",
        "192.0.0.1",
        "::",
        "::1",
        "fe80::1",
        "fc00::1",
        "ff02::1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
    ];
    for address in public {
        assert!(is_public(address.parse().unwrap()), "{address}");
    }
    for address in private {
        assert!(!is_public(address.parse().unwrap()), "{address}");
    }
}

/// What a server was sent, and what the client read.
async fn through(request: &str, listed: &str) -> (String, String) {
    let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = server.local_addr().unwrap().port().to_string();
    let proxy = Proxy::start(patterns(&[&listed.replace("PORT", &port)]), Vec::new()).await.unwrap();
    let mut peer = TcpStream::connect(("127.0.0.1", proxy.port())).await.unwrap();
    peer.write_all(request.replace("PORT", &port).as_bytes()).await.unwrap();
    peer.shutdown().await.unwrap();
    let mut serving = JoinSet::new();
    serving.spawn(async move {
        let (mut client, _) = server.accept().await.unwrap();
        let mut seen = String::new();
        client.read_to_string(&mut seen).await.unwrap();
        client.write_all(b"hello").await.unwrap();
        seen.replace(&port, "PORT")
    });
    let mut answer = String::new();
    peer.read_to_string(&mut answer).await.unwrap();
    let refused = answer.starts_with("HTTP/1.1 4");
    let seen = if refused { String::new() } else { serving.join_next().await.unwrap().unwrap() };
    (seen, answer)
}

#[tokio::test]
async fn bytes_go_through_for_those_listed_and_a_reason_comes_back_for_others() {
    let (seen, answer) = through("CONNECT 127.0.0.1:PORT HTTP/1.1\r\n\r\nbytes", "127.0.0.1:PORT").await;
    assert_eq!((seen.as_str(), answer.ends_with("\r\n\r\nhello")), ("bytes", true), "{answer}");
    let (seen, answer) = through("POST http://127.0.0.1:PORT/x HTTP/1.1\r\n\r\nbody", "127.0.0.1").await;
    assert_eq!(seen, "POST /x HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nConnection: close\r\n\r\nbody");
    assert_eq!(answer, "hello");
    for request in ["CONNECT localhost:PORT HTTP/1.1\r\n\r\n", "GET http://[::1]:PORT/ HTTP/1.1\r\n\r\n"] {
        let (seen, answer) = through(request, "127.0.0.1").await;
        assert!(
            seen.is_empty() && answer.starts_with("HTTP/1.1 403") && answer.contains("not an allowed"),
            "{answer}"
        );
    }
    let (_, answer) = through("nonsense\r\n\r\n", "127.0.0.1").await;
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
}
