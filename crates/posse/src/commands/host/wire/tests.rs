use std::io::{Cursor, Read};
use std::sync::mpsc;

use serde_json::json;

use super::*;

/// An output that a test can look at.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Written {
    fn lines(&self) -> Vec<Value> {
        let bytes = self.0.lock().expect("unharmed").clone();
        String::from_utf8(bytes)
            .expect("text")
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect()
    }
}

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("unharmed").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// An input that a test writes to, and that ends when it is dropped.
struct Pipe(mpsc::Receiver<Vec<u8>>, Cursor<Vec<u8>>);

impl Read for Pipe {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let count = self.1.read(into)?;
        if count > 0 {
            return Ok(count);
        }
        match self.0.recv() {
            Ok(bytes) => {
                self.1 = Cursor::new(bytes);
                self.1.read(into)
            }
            Err(_) => Ok(0),
        }
    }
}

fn open() -> (Wire, Ends, mpsc::Sender<Vec<u8>>, Written) {
    let (sender, receiver) = mpsc::channel();
    let input = std::io::BufReader::new(Pipe(receiver, Cursor::default()));
    let written = Written::default();
    let (wire, ends) = Wire::open(input, written.clone(), Arc::new(Ids::seeded(7)));
    (wire, ends, sender, written)
}

#[tokio::test]
async fn a_request_gets_its_answer_and_no_other() {
    let (wire, mut ends, host, written) = open();
    let asking = wire.request(Kind::Other, json!({ "subtype": "x" }));
    tokio::pin!(asking);
    assert!(futures_util::poll!(&mut asking).is_pending());
    let answer = |id: &str, text: &str| {
        let envelope = json!({ "subtype": "success", "request_id": id, "response": text });
        format!("{}\n", json!({ "type": "control_response", "response": envelope })).into_bytes()
    };
    // Only then is it sure that the request was written.
    wire.end();
    let _ = (&mut ends.written).await;
    let id = written.lines()[0]["request_id"].as_str().unwrap().to_owned();
    assert_eq!(asking.await, Err(GONE.to_owned()), "whoever ends the line waits for nobody");
    host.send(answer(&id, "late")).unwrap();
    drop(host);
    assert!(matches!(ends.inbox.recv().await, Some(Input::End)));

    let (wire, mut ends, host, _) = open();
    let (id, reply) = ("a".to_owned(), oneshot::channel());
    wire.waiting().by_id.insert(id, (Kind::Other, reply.0));
    host.send(answer("b", "another's")).unwrap();
    host.send(answer("a", "mine")).unwrap();
    assert_eq!(reply.1.await.unwrap(), Ok(json!("mine")));
    drop(host);
    assert!(matches!(ends.inbox.recv().await, Some(Input::End)));
    assert_eq!(wire.request(Kind::Ask, json!({})).await, Err(GONE.to_owned()));
}

#[tokio::test]
async fn a_request_nobody_waits_for_is_taken_back_once() {
    let (wire, ends, _host, written) = open();
    {
        let asking = wire.request(Kind::Other, json!({ "subtype": "x" }));
        tokio::pin!(asking);
        assert!(futures_util::poll!(&mut asking).is_pending());
    }
    let asking = wire.request(Kind::Ask, json!({ "subtype": "y" }));
    tokio::pin!(asking);
    assert!(futures_util::poll!(&mut asking).is_pending());
    wire.withdraw_asks();
    assert!(asking.await.unwrap_err().contains("taken back"));
    wire.end();
    let _ = ends.written.await;
    let lines = written.lines();
    let kinds: Vec<&str> = lines.iter().filter_map(|line| line["type"].as_str()).collect();
    let both = ["control_request", "control_cancel_request"];
    assert_eq!(kinds, [both, both].concat());
    assert_eq!(lines[0]["request_id"], lines[1]["request_id"]);
}

#[tokio::test]
async fn a_host_that_goes_away_breaks_the_line() {
    struct Gone;
    impl Write for Gone {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let (wire, ends) = Wire::open(std::io::empty(), Gone, Arc::new(Ids::seeded(7)));
    wire.say(json!({}));
    ends.broken.cancelled().await;
    wire.say(json!({ "into": "the void" }));
    assert!(ends.written.await.is_ok());
}

#[test]
fn a_line_is_cut_until_it_fits() {
    let short = json!({ "tool_use_result": { "a": 1 } });
    assert_eq!(fit(short.clone()), short.to_string());
    let long = "é".repeat(LONGEST_LINE);
    let told = fit(json!({ "message": "kept", "tool_use_result": long }));
    assert_eq!(told, json!({ "message": "kept", "tool_use_result": null }).to_string());
    let many: Vec<&str> = std::iter::repeat_n(&*long, 9).collect();
    let told = fit(json!({ "message": many, "tool_use_result": null }));
    assert!(told.len() <= LONGEST_LINE && told.contains("bytes left out"));
    assert!(serde_json::from_str::<Value>(&told).is_ok());
}
