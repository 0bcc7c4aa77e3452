use super::*;

#[test]
fn requests_are_read_in_one_spelling_or_not_at_all() {
    let cases = [
        ("CONNECT Example.com:443 HTTP/1.1\r\n\r\n", "example.com 443 tunnel"),
        ("CONNECT [::1]:80 HTTP/1.1\r\n\r\n", "::1 80 tunnel"),
        ("CONNECT 0x7f.1:80 HTTP/1.1\r\n\r\n", "127.0.0.1 80 tunnel"),
        ("CONNECT 2130706433:80 HTTP/1.1\r\n\r\n", "127.0.0.1 80 tunnel"),
        ("CONNECT example.com HTTP/1.1\r\n\r\n", "no"),
        ("CONNECT example.com:x HTTP/1.1\r\n\r\n", "no"),
        ("CONNECT a b:1 HTTP/1.1\r\n\r\n", "no"),
        ("GET / HTTP/1.1\r\nHost: a.org\r\n\r\n", "no"),
        ("GET https://a.org/ HTTP/1.1\r\n\r\n", "no"),
        ("GET file:///etc/passwd HTTP/1.1\r\n\r\n", "no"),
        ("GET http://a.org HTTP/2\r\n\r\n", "no"),
        (
            "GET http://u:p@A.org:8080/x?y#z HTTP/1.1\r\nHost: evil.org\r\nAccept: */*\r\nProxy-Connection: x\r\n\r\n",
            "a.org 8080 GET /x?y HTTP/1.1|Host: a.org:8080|Connection: close|Accept: */*||",
        ),
        ("GET http://a.org/ HTTP/1.1\r\nnot a header\r\n\r\n", "no"),
        ("", "no"),
    ];
    for (head, expected) in cases {
        let found = match Request::read(head) {
            None => "no".to_owned(),
            Some(Request { host, port, kind: Kind::Tunnel }) => format!("{host} {port} tunnel"),
            Some(Request { host, port, kind: Kind::Plain { head } }) => {
                format!("{host} {port} {}", head.replace("\r\n", "|"))
            }
        };
        assert_eq!(found, expected, "{head}");
    }
}
