//! The one way out for commands that may reach only some hosts: an HTTP proxy on this machine.
//!
//! It resolves names itself and connects to what it has judged, so a name cannot mean one thing when it is checked and
//! another when it is used. It sees hosts and ports, never what is said under TLS.

mod request;

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream, lookup_host};
use tokio::task::JoinSet;
use tokio::time::timeout;

use self::request::{Kind, Request};
use super::profile::HostPattern;

/// The longest head of a request.
const LONGEST_HEAD: usize = 32 * 1024;
/// How long a head, or a connection, may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// A proxy that runs until it is dropped.
#[derive(Debug)]
pub struct Proxy {
    port: u16,
    _work: JoinSet<()>,
}

impl Proxy {
    /// Starts one that leads to these hosts but for the denied ones, at a free port that only this machine reaches.
    pub async fn start(allowed: Vec<HostPattern>, denied: Vec<HostPattern>) -> std::io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let port = listener.local_addr()?.port();
        let mut work = JoinSet::new();
        work.spawn(serve(listener, Arc::new(Hosts { allowed, denied })));
        Ok(Self { port, _work: work })
    }

    /// Where it listens.
    pub fn port(&self) -> u16 {
        self.port
    }
}

/// Whom a proxy leads to.
struct Hosts {
    allowed: Vec<HostPattern>,
    /// Not even if they are allowed.
    denied: Vec<HostPattern>,
}

async fn serve(listener: TcpListener, hosts: Arc<Hosts>) {
    let mut peers = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((peer, _)) => {
                    let hosts = Arc::clone(&hosts);
                    peers.spawn(async move {
                        // A connection that breaks is the business of its two ends.
                        let _ = relay(peer, &hosts).await;
                    });
                }
                // Out of descriptors, most likely: others must end first.
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            },
            Some(_) = peers.join_next() => {}
        }
    }
}

async fn relay(mut peer: TcpStream, hosts: &Hosts) -> std::io::Result<()> {
    let Ok(head) = timeout(PATIENCE, read_head(&mut peer)).await else { return Ok(()) };
    let Some((head, rest)) = head? else {
        return refuse(&mut peer, "400 Bad Request", "This is no request.").await;
    };
    let Some(request) = Request::read(&head) else {
        return refuse(&mut peer, "400 Bad Request", "A proxy takes CONNECT, or http:// with a host.").await;
    };
    let (host, port) = (request.host.as_str(), request.port);
    let address = match judge(host, port, hosts).await {
        Ok(address) => address,
        Err(reason) => return refuse(&mut peer, "403 Forbidden", &reason).await,
    };
    let mut server = match timeout(PATIENCE, TcpStream::connect(address)).await {
        Ok(Ok(server)) => server,
        Ok(Err(error)) => return refuse(&mut peer, "502 Bad Gateway", &format!("{host}: {error}")).await,
        Err(_) => return refuse(&mut peer, "504 Gateway Timeout", &format!("{host} does not answer")).await,
    };
    match &request.kind {
        Kind::Tunnel => peer.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?,
        Kind::Plain { head } => server.write_all(head.as_bytes()).await?,
    }
    server.write_all(&rest).await?;
    copy_bidirectional(&mut peer, &mut server).await?;
    Ok(())
}

/// The head of a request, and what came behind it. Nothing, if there is none.
async fn read_head(peer: &mut TcpStream) -> std::io::Result<Option<(String, Vec<u8>)>> {
    let mut bytes = Vec::with_capacity(1024);
    loop {
        if peer.read_buf(&mut bytes).await? == 0 || bytes.len() > LONGEST_HEAD {
            return Ok(None);
        }
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let rest = bytes.split_off(end + 4);
            return Ok(String::from_utf8(bytes).ok().map(|head| (head, rest)));
        }
    }
}

async fn refuse(peer: &mut TcpStream, status: &str, text: &str) -> std::io::Result<()> {
    let body = format!("posse's sandbox: {text}\n");
    let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    peer.write_all(format!("{head}{body}").as_bytes()).await
}

/// Where to connect to, or why not.
async fn judge(host: &str, port: u16, hosts: &Hosts) -> Result<SocketAddr, String> {
    let listed_exactly = |host: &str| hosts.allowed.iter().any(|pattern| pattern.names_exactly(host, port));
    if let Ok(address) = host.parse::<IpAddr>() {
        let listed = listed_exactly(&address.to_string());
        return if listed {
            Ok((address, port).into())
        } else {
            Err(format!("{host}:{port} is not an allowed host"))
        };
    }
    let fits = |patterns: &[HostPattern]| patterns.iter().any(|pattern| pattern.matches(host, port));
    if !fits(&hosts.allowed) || fits(&hosts.denied) {
        return Err(format!("{host}:{port} is not an allowed host"));
    }
    let found =
        lookup_host((host, port)).await.map_err(|error| format!("{host} cannot be resolved: {error}"))?;
    let is_meant = |address: &SocketAddr| {
        let ip = address.ip();
        is_public(ip) || listed_exactly(&ip.to_string()) || ip.is_loopback() && listed_exactly("localhost")
    };
    let mut meant = found.filter(is_meant);
    meant
        .next()
        .ok_or_else(|| format!("{host} is an address of this machine or its network, and that is not listed"))
}

/// Whether an address is somewhere on the Internet.
fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(v4) => {
            let [a, b, ..] = v4.octets();
            let shared = a == 100 && (64..128).contains(&b);
            let reserved = a == 0 || a >= 224 || (a == 192 && b == 0) || (a == 198 && (18..20).contains(&b));
            !(v4.is_private() || v4.is_loopback() || v4.is_link_local() || shared || reserved)
        }
        IpAddr::V6(v6) => {
            let [first, second, ..] = v6.segments();
            // Only what is given out to the Internet, without the blocks that carry IPv4 addresses inside.
            let carries_v4 = first == 0x2002 || (first == 0x2001 && second == 0);
            first & 0xe000 == 0x2000 && !carries_v4
        }
    }
}

#[cfg(test)]
mod tests;
