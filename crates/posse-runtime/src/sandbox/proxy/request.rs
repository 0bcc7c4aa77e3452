//! What a client asks a proxy for. Text in, value out.

use url::Url;

/// Headers between a client and its proxy; a server has no use for them.
const NOT_FOR_SERVERS: &[&str] =
    &["host", "connection", "proxy-connection", "proxy-authorization", "keep-alive", "te", "upgrade"];

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request {
    /// A name, or an address without brackets.
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) kind: Kind,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Bytes, both ways.
    Tunnel,
    /// One request, with the head for the server.
    Plain { head: String },
}

impl Request {
    /// Reads a head up to and with its empty line.
    pub(super) fn read(head: &str) -> Option<Self> {
        let mut lines = head.split("\r\n");
        let mut words = lines.next()?.split(' ');
        let (method, target, version) = (words.next()?, words.next()?, words.next()?);
        if words.next().is_some() || !version.starts_with("HTTP/1.") {
            return None;
        }
        if method == "CONNECT" {
            let (host, port) = target.rsplit_once(':')?;
            return Some(Self { host: plain(host)?, port: port.parse().ok()?, kind: Kind::Tunnel });
        }
        let url = Url::parse(target).ok().filter(|url| url.scheme() == "http")?;
        let host = plain(url.host_str()?)?;
        let port = url.port_or_known_default()?;
        let path = &url[url::Position::BeforePath..url::Position::AfterQuery];
        let authority = &url[url::Position::BeforeHost..url::Position::AfterPort];
        // What the request is for is said once, by us: else a server could be made to serve another host.
        let mut head = format!("{method} {path} {version}\r\nHost: {authority}\r\nConnection: close\r\n");
        for line in lines.take_while(|line| !line.is_empty()) {
            let (name, _) = line.split_once(':')?;
            if !NOT_FOR_SERVERS.iter().any(|not| name.trim().eq_ignore_ascii_case(not)) {
                head.push_str(line);
                head.push_str("\r\n");
            }
        }
        head.push_str("\r\n");
        Some(Self { host, port, kind: Kind::Plain { head } })
    }
}

/// A host in the one spelling that is judged. `url` makes `127.0.0.1` of `0x7f.1` and its like.
fn plain(host: &str) -> Option<String> {
    let host = url::Host::parse(host).ok()?.to_string();
    let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    Some(inner.unwrap_or(&host).to_owned()).filter(|host| !host.is_empty())
}

#[cfg(test)]
mod tests;
