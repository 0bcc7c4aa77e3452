use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use url::Url;

use super::super::trial::{Answer, Trial};
use super::address;
use super::fetch::{Guard, Web, system_lookup};
use super::{Summarizer, WebFetch, WebPolicy};
use crate::tool::ToolCx;
use crate::world::{Clock, Env, World};

/// What a server answers to a path.
type Route = dyn Fn(&str) -> Vec<u8> + Send + Sync;

/// A server on this machine, for as long as it is held.
struct Server {
    port: u16,
    asked: Arc<Mutex<Vec<String>>>,
    _tasks: JoinSet<()>,
}

impl Server {
    async fn start(route: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = JoinSet::new();
        tasks.spawn(Self::serve(listener, Arc::new(route), Arc::clone(&asked)));
        Self { port, asked, _tasks: tasks }
    }

    async fn serve(listener: TcpListener, route: Arc<Route>, asked: Arc<Mutex<Vec<String>>>) {
        // No test asks more often; a client that runs in circles meets a closed door.
        for _ in 0..40 {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = Vec::new();
            let mut chunk = [0; 1024];
            while !request.windows(4).any(|end| end == b"\r\n\r\n") && request.len() < 16_384 {
                match stream.read(&mut chunk).await {
                    Ok(0) | Err(_) => break,
                    Ok(read) => request.extend_from_slice(&chunk[..read]),
                }
            }
            let request = String::from_utf8_lossy(&request).into_owned();
            let path = request.split_whitespace().nth(1).unwrap_or_default().to_owned();
            let answer = route(&path);
            asked.lock().unwrap().push(path);
            // The client hangs up early when it is told too much.
            let _ = stream.write_all(&answer).await;
            let _ = stream.shutdown().await;
        }
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn response(status: &str, headers: &[(&str, &str)], body: impl AsRef<[u8]>) -> Vec<u8> {
    let mut head = format!("HTTP/1.1 {status}\r\nConnection: close\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    [format!("{head}Content-Length: {}\r\n\r\n", body.as_ref().len()).as_bytes(), body.as_ref()].concat()
}

fn html(body: &str) -> Vec<u8> {
    response("200 OK", &[("Content-Type", "text/html; charset=utf-8")], body)
}

fn to(location: &str) -> Vec<u8> {
    response("302 Found", &[("Location", location)], "")
}

fn open() -> WebFetch {
    WebFetch::default().with_policy(WebPolicy { allow_private: true })
}

async fn fetch(tool: &WebFetch, url: &str) -> Answer {
    Trial::new().ask(tool, json!({ "url": url, "prompt": "What does it say?" })).await
}

#[tokio::test]
async fn a_page_becomes_markdown_under_its_address() {
    let page = "<html><head><title>T</title><style>p{}</style></head><body><h1>Title</h1><p>Some <b>bold</b> \
                <a href=\"/x\">link</a>.</p><script>alert(1)</script></body></html>";
    let server = Server::start(move |_| html(page)).await;
    let answer = fetch(&open(), &server.url("/a#part")).await;
    let url = server.url("/a");
    assert_eq!(answer.text, format!("{url}\n\nT\n\n# Title\n\nSome **bold** [link](/x)."));
    assert_eq!(
        answer.structured,
        Some(json!({
            "bytes": page.len(), "code": 200, "codeText": "200 OK", "result": answer.text, "durationMs": 0, "url": url,
        }))
    );
    assert_eq!(server.asked(), ["/a"]);
}

#[tokio::test]
async fn kinds_of_content() {
    for (kind, body, want) in [
        ("text/plain", &b"<b>as it is</b>"[..], Ok("<b>as it is</b>")),
        ("application/json", b"{\"a\": 1}", Ok("{\"a\": 1}")),
        ("application/ld+json; charset=utf-8", b"{}", Ok("{}")),
        ("text/markdown", b"# *M*", Ok("# *M*")),
        ("application/xhtml+xml", b"<p>x</p>", Ok("x")),
        ("text/html", b"\xef\xbb\xbf<p>caf\xc3\xa9 \xff</p>", Ok("café \u{fffd}")),
        ("text/html; charset=ISO-8859-1", b"<p>caf\xe9</p>", Ok("café")),
        ("", b"plain", Ok("plain")),
        ("", b" <!DOCTYPE html><p>x", Ok("x")),
        ("application/octet-stream", b"plain", Ok("plain")),
        ("application/pdf", b"%PDF-1.7", Err("is application/pdf (8 bytes), not text")),
        ("image/png", b"\x89PNG", Err("is image/png (4 bytes), not text")),
        ("text/plain", b"a\0b", Err("is text/plain (3 bytes), not text")),
        ("", b"\xff\xfe", Err("is binary data (2 bytes), not text")),
    ] {
        let headers = if kind.is_empty() { vec![] } else { vec![("Content-Type", kind)] };
        let answer = response("200 OK", &headers, body);
        let server = Server::start(move |_| answer.clone()).await;
        let answer = fetch(&open(), &server.url("/")).await;
        match want {
            Ok(text) => assert_eq!(answer.text, format!("{}\n\n{text}", server.url("/")), "{kind}"),
            Err(text) => assert!(answer.is_error && answer.text.contains(text), "{kind}: {}", answer.text),
        }
    }
}

#[tokio::test]
async fn redirects_within_a_host_are_followed_and_others_told() {
    let elsewhere = Server::start(|_| html("<p>secret</p>")).await;
    let there = format!("http://localhost:{}/there", elsewhere.port);
    let other_port = elsewhere.url("/port");
    let (host, port) = (there.clone(), other_port.clone());
    let server = Server::start(move |path| match path {
        "/1" => to("/2?x=1"),
        "/2?x=1" => to("end"),
        "/host" => to(&host),
        "/port" => to(&port),
        "/file" => to("file:///etc/passwd"),
        "/password" => to("http://me:secret@127.0.0.1/"),
        "/nowhere" => response("302 Found", &[("Content-Type", "text/plain")], "no location"),
        "/bad" => to("http://["),
        _ => html("<p>arrived</p>"),
    })
    .await;
    let tool = open();
    let answer = fetch(&tool, &server.url("/1")).await;
    assert_eq!(answer.text, format!("{}\n\narrived", server.url("/end")));
    assert_eq!(server.asked(), ["/1", "/2?x=1", "/end"]);

    for (path, new) in [("/host", &there), ("/port", &other_port)] {
        let answer = fetch(&tool, &server.url(path)).await;
        assert!(!answer.is_error);
        assert!(answer.text.contains(&format!("The new address: {new}\n")), "{}", answer.text);
        assert_eq!(answer.field("code"), &json!(302));
    }
    assert!(elsewhere.asked().is_empty(), "nobody went there");

    for (path, want) in [("/file", "only http and https"), ("/bad", "which is no address")] {
        let answer = fetch(&tool, &server.url(path)).await;
        assert!(answer.is_error && answer.text.contains(want), "{path}: {}", answer.text);
    }
    // The other host is told without what must not be sent there.
    let answer = fetch(&tool, &server.url("/password")).await;
    assert!(answer.text.contains("redirects to another host"), "{}", answer.text);
    let answer = fetch(&tool, &server.url("/nowhere")).await;
    assert!(answer.text.ends_with("no location"), "{}", answer.text);
}

#[tokio::test]
async fn redirects_have_an_end() {
    let server = Server::start(|path| to(&format!("{path}x"))).await;
    let answer = fetch(&open(), &server.url("/")).await;
    assert!(answer.is_error && answer.text.ends_with("redirects more than 10 times."), "{}", answer.text);
    assert_eq!(server.asked().len(), 11);
}

#[tokio::test]
async fn a_page_is_remembered_for_a_quarter_of_an_hour() {
    let server =
        Server::start(|path| if path == "/bad" { response("500 X", &[], "") } else { html("<p>x") }).await;
    let tool = open();
    let at = |time: &str| {
        let clock = Clock::fixed(time.parse().unwrap());
        ToolCx::new(Arc::new(World { clock, ..World::default() }), std::path::Path::new("/nowhere"))
    };
    for (time, path, requests) in [
        ("2026-01-01T10:00:00Z", "/", 1),
        ("2026-01-01T10:14:59Z", "/", 1),
        ("2026-01-01T10:14:59Z", "/other", 2),
        ("2026-01-01T10:15:00Z", "/", 3),
        ("2026-01-01T10:15:00Z", "/bad", 4),
        ("2026-01-01T10:15:00Z", "/bad", 5),
    ] {
        let input: Value = json!({ "url": server.url(path), "prompt": "" });
        crate::tool::AnyTool::run(&tool, input, &at(time)).await;
        assert_eq!(server.asked().len(), requests, "{time} {path}");
    }
}

#[tokio::test]
async fn errors_and_large_pages() {
    let huge = "x".repeat(10 * 1024 * 1024 + 1);
    let server = Server::start(move |path| match path {
        "/404" => response("404 Not Found", &[("Content-Type", "text/html")], "<h1>Gone</h1>"),
        "/declared" => response("200 OK", &[("Content-Type", "text/plain")], &huge),
        // Without a length, until the end of the connection.
        "/endless" => {
            [b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n", huge.as_bytes()]
                .concat()
        }
        "/long" => response("200 OK", &[("Content-Type", "text/plain")], "ä".repeat(100_001)),
        _ => b"garbage".to_vec(),
    })
    .await;
    let tool = open();
    for (path, want) in [
        ("/404", "answered 404 Not Found\n\n# Gone"),
        ("/declared", "is larger than 10 MB."),
        ("/endless", "is larger than 10 MB."),
        ("/garbage", "could not be fetched: "),
    ] {
        let answer = fetch(&tool, &server.url(path)).await;
        assert!(answer.is_error && answer.text.contains(want), "{path}: {:.300}", answer.text);
    }
    let answer = fetch(&tool, &server.url("/long")).await;
    assert!(answer.text.ends_with("ä\n\n[Cut: the first 100000 of 100001 characters]"));
}

/// Time stands still but for the limit, which is the only thing left to wait for.
#[tokio::test(start_paused = true)]
async fn a_host_that_says_nothing_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let answer = fetch(&open(), &url).await;
    assert!(answer.is_error, "{}", answer.text);
    assert!(
        answer.text.contains("did not answer within 30 s") || answer.text.contains("could not be fetched")
    );
}

#[tokio::test]
async fn an_interrupted_call_ends() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let trial = Trial::new();
    let tool = open();
    let call = trial.ask(&tool, json!({ "url": url, "prompt": "" }));
    let interrupt = async {
        // The request has arrived: the call is under way.
        let _connection = listener.accept().await.unwrap();
        trial.cx.stop.cancel();
    };
    let (answer, ()) = tokio::join!(call, interrupt);
    assert_eq!((answer.text.as_str(), answer.is_error), ("Interrupted before it was done.", true));
}

/// Neither by number nor by any way to write one, and nobody is even connected to.
#[tokio::test]
async fn what_is_not_public_is_refused() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let tool = WebFetch::default();
    for host in [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "0.0.0.0",
        "localhost",
        "LOCALHOST.",
        "x.localhost",
        "10.1.2.3",
        "172.16.0.1",
        "172.31.255.255",
        "192.168.1.1",
        "100.64.0.1",
        "100.100.100.200",
        "169.254.169.254",
        "168.63.129.16",
        "192.0.0.192",
        "198.18.0.1",
        "224.0.0.1",
        "255.255.255.255",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:169.254.169.254]",
        "[::127.0.0.1]",
        "[64:ff9b::10.0.0.1]",
        "[64:ff9b:1::1]",
        "[2002:7f00:1::]",
        "[2001:0:1::1]",
        "[2001:db8::1]",
        "[fd00:ec2::254]",
        "[fe80::1]",
        "[fec0::1]",
        "[ff02::1]",
        "intranet",
        "metadata.google.internal",
        "printer.local",
    ] {
        for scheme in ["http", "https"] {
            let answer = fetch(&tool, &format!("{scheme}://{host}:{port}/")).await;
            assert!(
                answer.is_error && answer.text.contains("not on the public internet"),
                "{host}: {}",
                answer.text
            );
        }
    }
    let connected = listener.accept().map(|_| ());
    assert_eq!(connected.unwrap_err().kind(), std::io::ErrorKind::WouldBlock, "nobody was connected to");
}

#[test]
fn public_addresses() {
    for (address, want) in [
        ("1.1.1.1", true),
        ("172.15.0.1", true),
        ("172.32.0.1", true),
        ("100.63.255.255", true),
        ("100.128.0.0", true),
        ("192.0.1.1", true),
        ("198.17.0.1", true),
        ("223.255.255.255", true),
        ("203.0.113.9", false),
        ("240.0.0.1", false),
        ("2606:4700:4700::1111", true),
        ("::ffff:1.1.1.1", true),
        ("64:ff9b::1.1.1.1", true),
        ("2002:101:101::", true),
        ("3fff:1::", false),
        ("3fff:1000::", true),
        ("4000::1", false),
        ("fc00::1", false),
    ] {
        assert_eq!(address::is_public(address.parse().unwrap()), want, "{address}");
    }
}

/// A name that looks harmless and is not: what counts is where it leads when the connection is made.
#[tokio::test]
async fn a_name_is_judged_by_its_addresses() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let lookup: super::Lookup = Arc::new(|_| {
        Box::pin(std::future::ready(Ok(vec!["127.0.0.1".parse().unwrap(), "::1".parse().unwrap()])))
    });
    let tool = WebFetch { lookup: Some(lookup), ..WebFetch::default() };
    let answer = fetch(&tool, &format!("https://rebind.example.com:{port}/")).await;
    assert!(
        answer.is_error && answer.text.contains("rebind.example.com is not on the public internet"),
        "{}",
        answer.text
    );
    assert_eq!(listener.accept().map(|_| ()).unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
}

#[tokio::test]
async fn only_public_addresses_come_through_the_resolver() {
    let addresses =
        |text: &str| text.split_whitespace().map(|one| one.parse().unwrap()).collect::<Vec<IpAddr>>();
    for (found, allow_private, name, want) in [
        ("1.1.1.1 10.0.0.1 ::1", false, "mixed.example.com", Some("1.1.1.1")),
        ("10.0.0.1", false, "private.example.com", None),
        ("10.0.0.1", true, "private.example.com", Some("10.0.0.1")),
        ("10.0.0.1", false, "proxy.example.com", Some("10.0.0.1")),
        ("", false, "nothing.example.com", Some("")),
    ] {
        let result = addresses(found);
        let guard = Guard {
            policy: WebPolicy { allow_private },
            lookup: Arc::new(move |_| Box::pin(std::future::ready(Ok(result.clone())))),
            proxies: vec!["proxy.example.com".into()],
        };
        assert_eq!(guard.addresses(name).await.ok(), want.map(addresses), "{name}");
    }
}

#[test]
fn addresses_as_they_are_asked_for() {
    let admit = |url: &str, allow_private: bool| {
        let env = Env::new([("HTTPS_PROXY", "proxy.example.com:3128")]);
        let web = Web::new(WebPolicy { allow_private }, &env, system_lookup()).unwrap();
        web.admit(Url::parse(url).unwrap()).map(String::from)
    };
    for (url, want) in [
        ("http://example.com/a?b#c", "https://example.com/a?b"),
        ("https://example.com:8443/", "https://example.com:8443/"),
        ("http://example.com:8080/", "https://example.com:8080/"),
        ("http://localhost:3000/", "http://localhost:3000/"),
        ("http://127.8.8.8/", "http://127.8.8.8/"),
        ("http://[::1]/", "http://[::1]/"),
        ("http://10.0.0.1/", "https://10.0.0.1/"),
        ("https://proxy.example.com/", "https://proxy.example.com/"),
    ] {
        assert_eq!(admit(url, true).as_deref(), Ok(want));
    }
    for (url, want) in [
        ("ftp://example.com/", "only http and https"),
        ("file:///etc/passwd", "only http and https"),
        ("https://user@example.com/", "user name or password"),
        ("https://:secret@example.com/", "user name or password"),
        ("https://proxy.example.com/", "not on the public internet"),
    ] {
        let problem = admit(url, false).unwrap_err();
        assert!(problem.contains(want) && !problem.contains("secret"), "{url}: {problem}");
    }
    assert!(
        Web::new(WebPolicy::default(), &Env::new([("HTTP_PROXY", "http://[")]), system_lookup()).is_err()
    );
}

/// The proxy of the environment is used, and what it must not be asked for is not.
#[tokio::test]
async fn through_a_proxy() {
    let proxy = Server::start(|_| response("200 OK", &[("Content-Type", "text/plain")], "by proxy")).await;
    let mut env =
        vec![("HTTP_PROXY".to_owned(), proxy.url("")), ("NO_PROXY".to_owned(), "localhost".to_owned())];
    let run = async |env: &[(String, String)], lookup: super::Lookup, url: &str| {
        let world = World { env: Env::new(env.to_vec()), ..World::default() };
        let cx = ToolCx::new(Arc::new(world), std::path::Path::new("/nowhere"));
        let tool = WebFetch { lookup: Some(lookup), ..WebFetch::default() };
        let output = crate::tool::AnyTool::run(&tool, json!({ "url": url, "prompt": "" }), &cx).await;
        format!("{:?}", output.content)
    };
    let private: super::Lookup =
        Arc::new(|_| Box::pin(std::future::ready(Ok(vec!["10.0.0.1".parse().unwrap()]))));
    let unknown: super::Lookup =
        Arc::new(|_| Box::pin(std::future::ready(Err(std::io::Error::other("no such name")))));
    env.push(("HTTPS_PROXY".to_owned(), proxy.url("")));
    let answer = run(&env, private, "https://inside.example.com/").await;
    assert!(answer.contains("inside.example.com is not on the public internet"), "{answer}");
    assert!(proxy.asked().is_empty());
    // Our proxy does not tunnel, but it was asked to.
    run(&env, unknown.clone(), "https://outside.example.com/").await;
    assert_eq!(proxy.asked(), ["outside.example.com:443"]);
    env.push(("POSSE_WEBFETCH_ALLOW_PRIVATE".to_owned(), "1".to_owned()));
    let answer = run(&env, unknown, "http://127.0.0.1:1/page").await;
    assert!(answer.contains("by proxy"), "{answer}");
}

/// Answers with how much it was given.
struct Fake(Result<(), String>);

impl Summarizer for Fake {
    fn summarize<'a>(&'a self, prompt: &'a str, page: &'a str) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(std::future::ready(self.0.clone().map(|()| format!("{prompt} {page}"))))
    }
}

#[tokio::test]
async fn a_model_answers_the_prompt() {
    let server = Server::start(|_| html("<p>42")).await;
    let tool = open().with_summarizer(Arc::new(Fake(Ok(()))));
    let answer = fetch(&tool, &server.url("/")).await;
    assert_eq!(answer.text, "What does it say? 42");
    assert_eq!(answer.field("result"), &json!("What does it say? 42"));
    let tool = open().with_summarizer(Arc::new(Fake(Err("no credit".into()))));
    let answer = fetch(&tool, &server.url("/")).await;
    assert!(
        answer.is_error && answer.text.ends_with("was fetched, but not read: no credit"),
        "{}",
        answer.text
    );
}

#[tokio::test]
async fn what_is_no_address() {
    for url in ["example.com", "", "http://", "http://exa mple.com/"] {
        let answer = fetch(&open(), url).await;
        assert!(answer.is_error && answer.text.contains("is not an address"), "{url}: {}", answer.text);
    }
}
