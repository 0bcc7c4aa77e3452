//! One answer of the fake model, down to its bytes, and how the line behaves while it is sent.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::watch;

/// What happens to the line in the middle of an answer. Offsets count every byte from the status line on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The server closes the line, as if it were done.
    Finish(usize),
    /// The line is reset.
    Reset(usize),
    /// Nothing more comes.
    Stall(usize),
}

/// Something answers wait for. Clones are the same gate.
#[derive(Clone, Debug, Default)]
pub struct Gate(Arc<watch::Sender<bool>>);

impl Gate {
    /// Lets everything through, now and later.
    pub fn open(&self) {
        self.0.send_replace(true);
    }

    async fn passed(&self) {
        // The sender is held by this gate.
        let _ = self.0.subscribe().wait_for(|open| *open).await;
    }
}

/// An answer.
#[derive(Clone, Debug)]
pub struct Answer {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    /// Payload per chunk; `None` sends a length instead.
    chunk: Option<usize>,
    fault: Option<Fault>,
    gate: Option<Gate>,
    delay: Duration,
}

impl Answer {
    /// A stream of events, given as its bytes.
    pub fn stream(body: impl Into<Vec<u8>>) -> Self {
        Self {
            status: 200,
            headers: vec![
                ("content-type".into(), "text/event-stream; charset=utf-8".into()),
                ("cache-control".into(), "no-cache".into()),
            ],
            body: body.into(),
            chunk: Some(4096),
            fault: None,
            gate: None,
            delay: Duration::ZERO,
        }
    }

    /// An answer in one piece.
    pub fn plain(status: u16, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        let headers = vec![("content-type".into(), content_type.into())];
        Self {
            status,
            headers,
            body: body.into(),
            chunk: None,
            fault: None,
            gate: None,
            delay: Duration::ZERO,
        }
    }

    /// JSON in one piece.
    pub fn json(status: u16, body: &Value) -> Self {
        Self::plain(status, "application/json", body.to_string())
    }

    /// A refusal as the Messages API words it.
    pub fn error(status: u16, kind: &str, message: &str) -> Self {
        Self::json(status, &json!({ "type": "error", "error": { "type": kind, "message": message } }))
    }

    /// A refusal as Chat Completions words it.
    pub fn chat_error(status: u16, code: &str, message: &str) -> Self {
        let error =
            json!({ "message": message, "type": "invalid_request_error", "param": null, "code": code });
        Self::json(status, &json!({ "error": error }))
    }

    /// With a header.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self.headers.push((name.to_ascii_lowercase(), value.into()));
        self
    }

    /// In chunks of this many bytes.
    pub fn chunked(mut self, size: usize) -> Self {
        self.chunk = Some(size.max(1));
        self
    }

    /// With a line that fails.
    pub fn failing(mut self, fault: Fault) -> Self {
        self.fault = Some(fault);
        self
    }

    /// Only after somebody has opened a gate.
    pub fn behind(mut self, gate: &Gate) -> Self {
        self.gate = Some(gate.clone());
        self
    }

    /// Only after so long.
    pub fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// Waits until it may be sent.
    pub(super) async fn due(&self) {
        tokio::time::sleep(self.delay).await;
        if let Some(gate) = &self.gate {
            gate.passed().await;
        }
    }

    /// Falls silent right behind the first place where this text stands in the bytes.
    pub fn stall_behind(self, text: &str) -> Self {
        let bytes = self.bytes();
        let at = bytes.windows(text.len()).position(|window| window == text.as_bytes());
        let end = at.expect("a text that is in the answer (in one chunk)") + text.len();
        self.failing(Fault::Stall(end))
    }

    /// Every byte that goes over the line.
    pub fn bytes(&self) -> Vec<u8> {
        let reason = match self.status {
            200 => "OK",
            400 => "Bad Request",
            401 => "Unauthorized",
            404 => "Not Found",
            429 => "Too Many Requests",
            500 => "Internal Server Error",
            529 => "Site Overloaded",
            _ => "Other",
        };
        let mut head = format!("HTTP/1.1 {} {reason}\r\nconnection: close\r\n", self.status);
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        let mut bytes = head.into_bytes();
        match self.chunk {
            None => {
                bytes.extend(format!("content-length: {}\r\n\r\n", self.body.len()).into_bytes());
                bytes.extend(&self.body);
            }
            Some(size) => {
                bytes.extend(b"transfer-encoding: chunked\r\n\r\n");
                for chunk in self.body.chunks(size) {
                    bytes.extend(format!("{:x}\r\n", chunk.len()).into_bytes());
                    bytes.extend(chunk);
                    bytes.extend(b"\r\n");
                }
                bytes.extend(b"0\r\n\r\n");
            }
        }
        bytes
    }

    pub(super) fn fault(&self) -> Option<Fault> {
        self.fault
    }
}
