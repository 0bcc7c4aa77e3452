//! Servers at an address that do as they like: a small HTTP server that a test scripts request by request.

use std::sync::Mutex;

use posse_core::mcp::Transport;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::*;

/// A request, as far as anybody here looks at it.
struct Request {
    method: String,
    target: String,
    head: String,
    body: Value,
    form: String,
}

enum Reply {
    Json(Value),
    Text(u16, &'static str, String),
    /// JSON without an end.
    Endless,
}

struct Web {
    url: String,
    _server: JoinSet<()>,
}

impl Web {
    async fn start(answer: impl Fn(&Request, &str) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let (answer, base) = (Arc::new(answer), url.clone());
        let mut server = JoinSet::new();
        server.spawn(async move {
            let mut open = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (answer, base) = (Arc::clone(&answer), base.clone());
                open.spawn(async move { serve(stream, &*answer, &base).await });
            }
        });
        Self { url, _server: server }
    }

    fn config(&self, transport: Transport, path: &str) -> McpConfig {
        let url = format!("{}{path}", self.url).into();
        McpConfig::new(Reach::Remote { transport, url, headers: vec![("X-Team".into(), "core".into())] })
    }
}

async fn serve(mut stream: TcpStream, answer: &(dyn Fn(&Request, &str) -> Reply + Send + Sync), base: &str) {
    let Some(request) = read(&mut stream).await else { return };
    let (status, extra, body) = match answer(&request, base) {
        Reply::Json(value) => (200, "content-type: application/json".to_owned(), value.to_string()),
        Reply::Text(status, header, body) => (status, header.replace("BASE", base), body),
        Reply::Endless => {
            let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n{\"jsonrpc\":\"";
            let _ = stream.write_all(head.as_bytes()).await;
            while stream.write_all(&[b'x'; 65536]).await.is_ok() {}
            return;
        }
    };
    let length = body.len();
    let reply = format!(
        "HTTP/1.1 {status} X\r\n{extra}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    );
    let _ = stream.write_all(reply.as_bytes()).await;
    let _ = stream.shutdown().await;
}

async fn read(stream: &mut TcpStream) -> Option<Request> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
            });
            if body.len() >= length.unwrap_or(0) {
                let mut words = head.split(' ').map(str::to_owned);
                let (method, target) = (words.next()?, words.next()?);
                let json = serde_json::from_str(body).unwrap_or_default();
                let (head, form) = (head.to_lowercase(), body.to_owned());
                return Some(Request { method, target, head, body: json, form });
            }
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
}

/// What a server of one tool answers to a message.
fn protocol(request: &Request) -> Reply {
    if request.method != "POST" {
        return Reply::Text(405, "allow: POST", String::new());
    }
    let result = match request.body["method"].as_str().unwrap_or_default() {
        "initialize" => json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "web", "version": "1"},
        }),
        "tools/list" => json!({"tools": [tool("echo"), tool("endless")]}),
        "tools/call" if request.body["params"]["name"] == "endless" => return Reply::Endless,
        "tools/call" => json!({"content": [{"type": "text", "text": "from afar"}]}),
        _ => return Reply::Text(202, "x-nothing: 1", String::new()),
    };
    Reply::Json(json!({"jsonrpc": "2.0", "id": request.body["id"], "result": result}))
}

/// A session with one server.
fn session(rig: &Rig, config: McpConfig) -> (Servers, Arc<Lease>) {
    let servers = rig.servers(vec![configured("web", config)]);
    let lease = Arc::new(servers.lease("web", MAIN).expect("a lease"));
    (servers, lease)
}

#[tokio::test]
async fn answers_in_json_have_an_end_and_headers_are_sent() {
    let web = Web::start(|request, _| {
        assert!(request.head.contains("x-team: core"), "{}", request.head);
        protocol(request)
    })
    .await;
    let mut rig = Rig::new();
    rig.limits.message = 1024 * 1024;
    let (servers, lease) = session(&rig, web.config(Transport::Http, "/mcp"));
    assert_eq!(text(&call(&lease, "echo", json!({}), &rig.cx()).await), "from afar");
    let output = call(&lease, "endless", json!({}), &rig.cx()).await;
    assert!(output.is_error && text(&output).contains("more than 1 MiB"), "{}", text(&output));
    assert_eq!(text(&call(&lease, "echo", json!({}), &rig.cx()).await), "from afar");
    servers.shutdown().await;
}

#[tokio::test]
async fn redirects_are_followed_at_home_and_not_elsewhere() {
    let web = Web::start(|request, _| match request.target.as_str() {
        "/home" => Reply::Text(307, "location: /mcp", String::new()),
        "/away" => Reply::Text(307, "location: http://127.0.0.1:9/mcp", String::new()),
        "/round" => Reply::Text(307, "location: /round", String::new()),
        _ => protocol(request),
    })
    .await;
    let rig = Rig::new();
    let (servers, lease) = session(&rig, web.config(Transport::Http, "/home"));
    assert_eq!(text(&call(&lease, "echo", json!({}), &rig.cx()).await), "from afar");
    servers.shutdown().await;
    for (path, want) in [("/away", "HTTP 307"), ("/round", "redirects without end")] {
        let (servers, lease) = session(&rig, web.config(Transport::Http, path));
        let error = lease.facts().await.unwrap_err().to_string();
        assert!(error.starts_with("web could not be reached") && error.contains(want), "{path}: {error}");
        servers.shutdown().await;
    }
}

#[tokio::test]
async fn what_fails_for_a_moment_is_tried_again_and_what_is_wrong_is_not() {
    let requests = Arc::new(Mutex::new(0));
    let count = Arc::clone(&requests);
    let web = Web::start(move |request, _| {
        let mut count = count.lock().unwrap();
        *count += 1;
        match (request.target.as_str(), *count) {
            ("/busy", 1) => Reply::Text(503, "x-busy: 1", String::new()),
            ("/busy", _) => protocol(request),
            _ => Reply::Text(404, "content-type: text/html", "<html>".to_owned()),
        }
    })
    .await;
    let rig = Rig::new();
    let (servers, lease) = session(&rig, web.config(Transport::Http, "/busy"));
    assert_eq!(lease.facts().await.unwrap().tools.len(), 2);
    servers.shutdown().await;
    *requests.lock().unwrap() = 0;
    let (servers, lease) = session(&rig, web.config(Transport::Http, "/nothing"));
    assert!(lease.facts().await.unwrap_err().to_string().contains("404"));
    assert_eq!(*requests.lock().unwrap(), 1);
    servers.shutdown().await;
}

#[tokio::test]
async fn an_event_stream_may_not_send_the_messages_elsewhere() {
    let web = Web::start(|_, _| {
        let events = "event: endpoint\ndata: http://127.0.0.1:9/steal\n\n".to_owned();
        Reply::Text(200, "content-type: text/event-stream", events)
    })
    .await;
    let rig = Rig::new();
    let (servers, lease) = session(&rig, web.config(Transport::Sse, "/sse"));
    let error = lease.facts().await.unwrap_err().to_string();
    assert!(error.contains("another server"), "{error}");
    servers.shutdown().await;
}

/// A server with a login of its own. Only the refreshed token opens it.
fn guarded(request: &Request, base: &str) -> Reply {
    let path = request.target.split('?').next().unwrap_or_default();
    match path {
        "/.well-known/oauth-protected-resource" | "/.well-known/oauth-protected-resource/mcp" => {
            Reply::Json(json!({"resource": format!("{base}/mcp"), "authorization_servers": [base]}))
        }
        "/.well-known/oauth-authorization-server" => Reply::Json(json!({
            "issuer": base,
            "authorization_endpoint": format!("{base}/authorize"),
            "token_endpoint": format!("{base}/token"),
            "registration_endpoint": format!("{base}/register"),
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"],
        })),
        "/register" => {
            let redirects = request.body["redirect_uris"].clone();
            Reply::Json(json!({"client_id": "client", "redirect_uris": redirects}))
        }
        "/token" => {
            let refreshed = request.form.contains("grant_type=refresh_token");
            let (token, seconds) = if refreshed { ("second", 3600) } else { ("first", 0) };
            Reply::Json(json!({
                "access_token": token, "token_type": "bearer", "expires_in": seconds, "refresh_token": "again",
            }))
        }
        "/mcp" if !request.head.contains("authorization: bearer second") => Reply::Text(
            401,
            "www-authenticate: Bearer resource_metadata=\"BASE/.well-known/oauth-protected-resource\"",
            String::new(),
        ),
        "/mcp" => protocol(request),
        _ => Reply::Text(404, "x-nothing: 1", String::new()),
    }
}

#[tokio::test]
async fn a_login_goes_through_the_browser_and_the_token_is_kept_and_refreshed() {
    let web = Web::start(guarded).await;
    let rig = Rig::new();
    let config = web.config(Transport::Http, "/mcp");
    let (servers, lease) = session(&rig, config.clone());
    assert_eq!(lease.facts().await, Err(McpError::NeedsLogin { server: "web".into() }));
    assert_eq!(servers.status()[0].state, State::NeedsAuth);

    let login = Login::begin("web", &config, &rig.world).await.unwrap();
    let asked = url::Url::parse(login.url()).unwrap();
    let query = |name: &str| asked.query_pairs().find(|(key, _)| key == name).unwrap().1.into_owned();
    let back = format!("{}?code=abc&state={}", query("redirect_uri"), query("state"));
    // What the browser does once the user has said yes.
    let browser = async {
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let origin = back.split("/callback").next().unwrap();
        let icon = client.get(format!("{origin}/favicon.ico")).send().await.unwrap();
        assert_eq!(icon.status(), 404);
        client.get(&back).send().await.unwrap().text().await.unwrap()
    };
    let (finished, page) = tokio::join!(login.finish(CancellationToken::new()), browser);
    finished.unwrap();
    assert!(page.contains("logged in"), "{page}");

    servers.reconnect("web").await.unwrap();
    assert_eq!(text(&call(&lease, "echo", json!({}), &rig.cx()).await), "from afar");
    let said = format!("{:?}", servers.status());
    assert!(!said.contains("second") && !said.contains("again"), "{said}");
    servers.shutdown().await;

    use std::os::unix::fs::PermissionsExt as _;
    let logins = rig.path().join("home/.claude/posse/mcp/logins");
    let file = std::fs::read_dir(logins).unwrap().next().unwrap().unwrap();
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert!(std::fs::read_to_string(file.path()).unwrap().contains("second"), "the refreshed token is kept");
    assert!(logout(&config, &rig.world.env).unwrap());
    assert!(!logout(&config, &rig.world.env).unwrap(), "gone already");
}

#[tokio::test]
async fn a_login_can_be_given_up_and_needs_an_address() {
    let web = Web::start(guarded).await;
    let rig = Rig::new();
    let login = Login::begin("web", &web.config(Transport::Http, "/mcp"), &rig.world).await.unwrap();
    let stop = CancellationToken::new();
    stop.cancel();
    assert!(matches!(login.finish(stop).await, Err(LoginError::Stopped)));
    assert!(matches!(Login::begin("a", &script("a"), &rig.world).await, Err(LoginError::NoAddress)));
}
