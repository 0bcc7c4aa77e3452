//! A fake model on loopback: HTTP/1.1 by hand, so that a test decides about every byte and when the line goes dead.
//!
//! It has a thread and a runtime of its own: it serves tests that block, tests whose clock stands still, and programs
//! started beside them.

mod answer;
mod cache;
mod chat;
mod messages;

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

pub use answer::{Answer, Fault, Gate};
pub use cache::{CacheUsage, PrefixCache};
pub use chat::ChatReply;
pub use messages::MessagesReply;

/// Where a script answers; every other path is not found and takes nothing from the script.
const PATHS: [&str; 2] = ["/v1/messages", "/v1/chat/completions"];

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// `POST`.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Headers in their order, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body; null if it is no JSON.
    pub body: Value,
    /// The body's bytes.
    pub bytes: Vec<u8>,
    /// Which requests were waiting for their answer when it came, by their places in the order of all.
    pub beside: Vec<usize>,
}

impl Recorded {
    /// The first header of this name.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    fn is_for_the_script(&self) -> bool {
        PATHS.contains(&self.path.split('?').next().unwrap_or_default())
    }
}

type Script = Box<dyn FnMut(&Recorded) -> Answer + Send>;

struct Shared {
    script: Mutex<Script>,
    requests: Mutex<Vec<Recorded>>,
    open: Mutex<BTreeSet<usize>>,
}

/// A request that waits for its answer; dropped when it has it, or its sender is gone.
struct Open<'a>(&'a Shared, usize);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.open.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.1);
    }
}

impl Shared {
    /// Writes a request down, and who waits beside it.
    fn note(&self, mut request: Recorded) -> (Recorded, Open<'_>) {
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        request.beside = open.iter().copied().collect();
        let place = requests.len();
        open.insert(place);
        requests.push(request.clone());
        (request, Open(self, place))
    }
}

/// The fake model. It stops when it is dropped.
pub struct FakeModel {
    address: SocketAddr,
    shared: Arc<Shared>,
    stop: watch::Sender<()>,
    thread: Option<JoinHandle<()>>,
}

impl FakeModel {
    /// Answers requests one after the other from a list. When it is used up, requests are refused as invalid.
    pub async fn start(answers: impl IntoIterator<Item = Answer>) -> Self {
        Self::serving(answers)
    }

    /// The same for tests without a runtime.
    pub fn serving(answers: impl IntoIterator<Item = Answer>) -> Self {
        let mut answers = answers.into_iter().collect::<Vec<_>>().into_iter();
        Self::answering(move |_| {
            answers
                .next()
                .unwrap_or_else(|| Answer::error(400, "invalid_request_error", "the script is over"))
        })
    }

    /// Answers each request by what it says.
    pub fn answering(script: impl FnMut(&Recorded) -> Answer + Send + 'static) -> Self {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port on loopback");
        listener.set_nonblocking(true).expect("a listener that does not block");
        let address = listener.local_addr().expect("an address");
        let shared = Arc::new(Shared {
            script: Mutex::new(Box::new(script)),
            requests: Mutex::default(),
            open: Mutex::default(),
        });
        let (stop, stopped) = watch::channel(());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let served = Arc::clone(&shared);
        let thread = std::thread::spawn(move || {
            runtime.block_on(serve(listener, served, stopped));
            runtime.shutdown_background();
        });
        Self { address, shared, stop, thread: Some(thread) }
    }

    /// Where it listens: `http://127.0.0.1:12345`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What was asked so far.
    pub fn requests(&self) -> Vec<Recorded> {
        self.shared.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for FakeModel {
    fn drop(&mut self) {
        let _ = self.stop.send(());
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            // A script that panicked must fail its test, unless the test is failing anyway.
            assert!(ended.is_ok() || std::thread::panicking(), "the fake model panicked");
        }
    }
}

async fn serve(listener: std::net::TcpListener, shared: Arc<Shared>, mut stopped: watch::Receiver<()>) {
    let listener = TcpListener::from_std(listener).expect("a listener");
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            _ = stopped.changed() => return,
            Some(ended) = connections.join_next() => ended.expect("a connection does not panic"),
            accepted = listener.accept() => {
                let Ok((stream, _)) = accepted else { continue };
                let shared = Arc::clone(&shared);
                connections.spawn(async move {
                    // A client that goes away in the middle is part of many a test.
                    let _ = converse(stream, &shared).await;
                });
            }
        }
    }
}

/// One request and its answer; there is no second on the same line.
async fn converse(mut stream: TcpStream, shared: &Shared) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let Some(request) = receive(&mut stream).await? else { return Ok(()) };
    let (request, open) = shared.note(request);
    let answer = if request.is_for_the_script() {
        let mut script = shared.script.lock().unwrap_or_else(PoisonError::into_inner);
        script(&request)
    } else {
        Answer::error(404, "not_found_error", "Not found")
    };
    tokio::select! {
        () = answer.due() => {}
        // Whoever goes away does not wait any more.
        _ = stream.read_u8() => return Ok(()),
    }
    let bytes = answer.bytes();
    match answer.fault() {
        None => {
            // From its first byte on nobody waits for it.
            drop(open);
            stream.write_all(&bytes).await?;
            stream.shutdown().await?;
            // Closing while the client still sends would reset the line and lose what it has not read.
            let _ = tokio::io::copy(&mut stream, &mut tokio::io::sink()).await;
        }
        Some(Fault::Finish(at)) => {
            stream.write_all(&bytes[..at.min(bytes.len())]).await?;
            stream.shutdown().await?;
            let _ = tokio::io::copy(&mut stream, &mut tokio::io::sink()).await;
        }
        Some(Fault::Reset(at)) => {
            stream.write_all(&bytes[..at.min(bytes.len())]).await?;
            stream.set_zero_linger()?;
        }
        Some(Fault::Stall(at)) => {
            stream.write_all(&bytes[..at.min(bytes.len())]).await?;
            // Until the client loses patience, or the test is over.
            let _ = tokio::io::copy(&mut stream, &mut tokio::io::sink()).await;
        }
    }
    Ok(())
}

async fn receive(stream: &mut TcpStream) -> std::io::Result<Option<Recorded>> {
    let mut bytes = Vec::new();
    let head = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
        if stream.read_buf(&mut bytes).await? == 0 {
            return Ok(None);
        }
    };
    let text = String::from_utf8_lossy(&bytes[..head]).into_owned();
    let mut lines = text.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split(' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.trim().to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let header =
        |name: &str| headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
    if header("expect").is_some_and(|value| value.eq_ignore_ascii_case("100-continue")) {
        stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
    }
    let length: usize = header("content-length").and_then(|length| length.parse().ok()).unwrap_or_default();
    let mut body = bytes.split_off(head + 4);
    while body.len() < length {
        if stream.read_buf(&mut body).await? == 0 {
            return Ok(None);
        }
    }
    body.truncate(length);
    let value = serde_json::from_slice(&body).unwrap_or_else(|_| json!(null));
    Ok(Some(Recorded {
        method: method.into(),
        path: path.into(),
        headers,
        body: value,
        bytes: body,
        beside: Vec::new(),
    }))
}

#[cfg(test)]
mod tests;
