//! Those who may reach only some hosts: they do, through the proxy, and nobody else in any other way.

use posse_runtime::sandbox::{HostPattern, Proxy};

use super::ways::REACHES;
use super::*;

/// A request through the proxy, by nothing but sockets.
const ASK: &str = "
proxy = int(os.environ['HTTP_PROXY'].rsplit(':', 1)[1])
def ask(host):
    s = socket.create_connection(('127.0.0.1', proxy))
    s.sendall(('GET http://%s:%d/ HTTP/1.1\\r\\n\\r\\n' % (host, tcp)).encode())
    print(b''.join(iter(lambda: s.recv(4096), b'')).decode().split('\\r\\n')[0])
";

#[test]
fn only_listed_hosts_are_reached() {
    let Some(support) = support_or_say("listed hosts") else { return };
    if support.landlock < 4 {
        println!("skipped: {:?}", support.report());
        return;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime");
    let start = |hosts: &[&str]| {
        let hosts: Vec<HostPattern> = hosts.iter().map(|host| HostPattern::new(host)).collect();
        runtime.block_on(Proxy::start(hosts, Vec::new())).expect("a proxy")
    };
    let only = |place: &Place, port: u16| {
        let profile = Profile::read_only(place.path("scratch")).with_network(Network::Only(Vec::new()));
        Sandbox::new(profile, &support, POSSE).expect("a sandbox").with_proxy(port)
    };
    let py = |place: &Place, port: u16, text: &str| {
        let attempt: &'static str = Box::leak(format!("{ASK}{text}").into_boxed_str());
        let way = Way { name: "", with: With::Python, needs: Needs::Programs(&[]), attempt };
        place.attempt(&way, Some(&only(place, port)))
    };
    let mut place = Place::new();
    let listed = start(&[&format!("127.0.0.1:{}", place.fact("TCP"))]);
    assert_eq!(py(&place, listed.port(), "ask('127.0.0.1')"), "exit status: 0 HTTP/1.1 200 OK\n");
    assert_eq!(py(&place, listed.port(), "ask('localhost')"), "exit status: 0 HTTP/1.1 403 Forbidden\n");
    assert!(place.look().keys().any(|path| path.ends_with("reached-by-tcp")));

    // Nobody listed: neither through the proxy nor around it.
    let nobody = start(&["*.example.com"]);
    for host in ["127.0.0.1", "localhost", "[::1]", "0x7f.1", "127.0.0.1.nip.io"] {
        let said = py(&place, nobody.port(), &format!("ask('{host}')"));
        assert_eq!(said, "exit status: 0 HTTP/1.1 403 Forbidden\n", "{host}");
    }
    for way in REACHES {
        let mut place = Place::new();
        let sandbox = only(&place, nobody.port());
        let (changed, said) = changed_by(&mut place, way, Some(&sandbox), |_| false);
        assert_eq!(changed, [""; 0], "{}: {said}", way.name);
    }
}
