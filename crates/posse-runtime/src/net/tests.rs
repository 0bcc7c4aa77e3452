use super::*;

fn build(vars: &[(&str, &str)], endpoint: &str) -> Result<(), String> {
    let env = Env::new(vars.iter().copied());
    let endpoint = Url::parse(endpoint).unwrap();
    client(ClientOptions { env: &env, endpoint: &endpoint }).map(drop).map_err(|error| error.to_string())
}

#[test]
fn certificates_are_read_only_for_endpoints_that_have_some() {
    let missing = [("NODE_EXTRA_CA_CERTS", "/does/not/exist.pem")];
    let error = build(&missing, "https://api.example").unwrap_err();
    assert!(error.starts_with("NODE_EXTRA_CA_CERTS names /does/not/exist.pem"), "{error}");
    assert_eq!(build(&missing, "http://127.0.0.1:1"), Ok(()), "no TLS, so nothing of it is loaded");

    // A proxy that is itself reached by TLS needs certificates, too.
    let behind = [missing[0], ("HTTP_PROXY", "https://proxy.example")];
    assert!(build(&behind, "http://127.0.0.1:1").is_err());
}

/// Signed by itself, for localhost, until 2126.
const CERTIFICATE: &str = "\
-----BEGIN CERTIFICATE-----
MIIBmTCCAUCgAwIBAgIUC+yhRBhm+kxT8o/BmRhfNspLnx4wCgYIKoZIzj0EAwIw
FTETMBEGA1UEAwwKcG9zc2UgdGVzdDAgFw0yNjExMTUwNTE5MzdaGA8yMTI2MTAy
MjA1MTkzN1owFTETMBEGA1UEAwwKcG9zc2UgdGVzdDBZMBMGByqGSM49AgEGCCqG
SM49AwEHA0IABE0bE/My5EGxtXaka9jyWu5zAeo0iK/YQPrVsj+3Su3HiSVq6715
BARyR2EVTKL5LVkyxHqNHH4YqW3s1zO8sgGjbDBqMB0GA1UdDgQWBBRXCn5Wg8i+
uA1TuCmbEAbol5DOADAfBgNVHSMEGDAWgBRXCn5Wg8i+uA1TuCmbEAbol5DOADAa
BgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwDAYDVR0TAQH/BAIwADAKBggqhkjO
PQQDAgNHADBEAiAeAcF2fnMKf+duOZGYi1S4n3rfAyN5SZGwGF6RiYClEAIgTXI9
Xn5Xa246feOqm4Vd140cUcLYFpUPGpC5qSkqXxo=
-----END CERTIFICATE-----
";

#[test]
fn a_certificate_of_ones_own_is_taken() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), CERTIFICATE).unwrap();
    for variable in CERTIFICATE_FILES {
        let vars = [(variable, file.path().to_str().unwrap())];
        assert_eq!(certificates(&Env::new(vars)).unwrap().len(), 1);
        assert_eq!(build(&vars, "https://api.example"), Ok(()));
    }
}

#[test]
fn a_file_that_holds_no_certificate_is_named() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "hello").unwrap();
    let path = file.path().to_str().unwrap();
    let error = build(&[("SSL_CERT_FILE", path)], "https://api.example").unwrap_err();
    assert!(error.contains("SSL_CERT_FILE") && error.contains(path), "{error}");
}

#[test]
fn a_proxy_that_cannot_be_used_is_named_without_its_address() {
    for bad in ["ftp://user:hunter2@proxy", "socks5://user:hunter2@proxy:1080", "http://"] {
        let error = build(&[("HTTP_PROXY", bad)], "http://127.0.0.1:1").unwrap_err();
        assert_eq!(error, "HTTP_PROXY is not the address of an HTTP proxy");
        assert_eq!(build(&[("HTTPS_PROXY", bad)], "http://127.0.0.1:1"), Ok(()), "for other endpoints");
    }
    assert_eq!(build(&[("ALL_PROXY", "proxy.example:3128")], "http://127.0.0.1:1"), Ok(()));
}

#[tokio::test]
async fn requests_go_by_the_proxy_unless_the_host_is_excepted() {
    let proxy = posse_testkit::FakeModel::serving([]);
    let url = proxy.url();
    for (except, asked) in [("other.example", 1), ("model.invalid", 1)] {
        let env = Env::new([("http_proxy", url.as_str()), ("NO_PROXY", except)]);
        let endpoint = Url::parse("http://model.invalid/v1/messages").unwrap();
        let client = client(ClientOptions { env: &env, endpoint: &endpoint }).unwrap();
        // Only a proxy can answer for a host that cannot exist.
        let answered = client.get(endpoint).send().await.is_ok();
        assert_eq!((answered, proxy.requests().len()), (except == "other.example", asked));
    }
    assert_eq!(proxy.requests()[0].path, "http://model.invalid/v1/messages");
}
