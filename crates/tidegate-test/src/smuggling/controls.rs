//! Well-formed connections, which must be answered.

use super::{Expect, Requests, SmugglingCase};

/// The Host field that the controls send.
const HOST: &str = "Host: tidegate.example\r\n";

/// Adds the well-formed connections.
pub(super) fn add(requests: Requests<'_>, cases: &mut Vec<SmugglingCase>) {
    let good = requests.good();
    for (name, bytes, answers) in [
        ("one request", good.clone(), 1),
        ("five requests", good.repeat(5), 5),
        ("an empty line before each request", format!("\r\n{good}\r\n{good}"), 2),
    ] {
        let expect = Expect::Answered(answers);
        cases.push(SmugglingCase { name, bytes: bytes.into_bytes(), expect });
    }
    let all = [heads(requests), lengths(requests), chunks(requests)];
    for (name, request) in all.into_iter().flatten() {
        let bytes = (request + &good).into_bytes();
        cases.push(SmugglingCase { name, bytes, expect: Expect::Answered(2) });
    }
    for (name, request) in last(requests) {
        let bytes = request.into_bytes();
        cases.push(SmugglingCase { name, bytes, expect: Expect::Closed(1) });
    }
}

/// Requests without a body.
fn heads(requests: Requests<'_>) -> Vec<(&'static str, String)> {
    let get = requests.get;
    let with = |fields: &str| requests.request(&format!("GET {get} HTTP/1.1"), fields, "");
    let line = |line: &str| requests.request(line, HOST, "");
    vec![
        ("an absolute target", line(&format!("GET http://tidegate.example{get} HTTP/1.1"))),
        ("OPTIONS *", line("OPTIONS * HTTP/1.1")),
        ("a host with a port", with("hOsT:tidegate.example:8080\r\n")),
        ("a host that is an address", with("Host: [::1]:8080\r\n")),
        ("a host with spaces around", with("Host: \t tidegate.example \t\r\n")),
        ("an upgrade that is not made", {
            with(&format!("{HOST}Connection: upgrade\r\nUpgrade: websocket\r\n"))
        }),
        ("values with tabs, quotes and commas", with(&format!("{HOST}X: a\tb, \"c\";d=e\r\n"))),
        ("an empty value", with(&format!("{HOST}X:\r\nY: \r\n"))),
        ("a value like a request", with(&format!("{HOST}X: GET / HTTP/1.1\r\n"))),
        ("HTTP/1.0 kept alive", {
            let fields = format!("{HOST}Connection: keep-alive\r\n");
            requests.request(&format!("GET {get} HTTP/1.0"), &fields, "")
        }),
    ]
}

/// Requests with a body of known length.
fn lengths(requests: Requests<'_>) -> Vec<(&'static str, String)> {
    let body = requests.body;
    let count = body.len();
    let with = |fields: &str| requests.upload(&format!("{fields}\r\n"), body);
    vec![
        ("a body by its length", with(&format!("Content-Length: {count}"))),
        ("an empty line after a body", with(&format!("Content-Length: {count}")) + "\r\n"),
        ("a length with zeros and spaces", with(&format!("content-length:\t 00{count} "))),
        ("a length without a space", with(&format!("CONTENT-LENGTH:{count}"))),
        ("a body that is waited for", {
            with(&format!("Expect: 100-continue\r\nContent-Length: {count}"))
        }),
    ]
}

/// Requests with a chunked body.
fn chunks(requests: Requests<'_>) -> Vec<(&'static str, String)> {
    let body = requests.body;
    let (first, second) = body.split_at(body.len() / 2);
    let (short, long) = (first.len(), second.len());
    let chunk = format!("{:x}\r\n{body}\r\n", body.len());
    let with = |chunks: &str| requests.upload("Transfer-Encoding: chunked\r\n", chunks);
    vec![
        ("one chunk", with(&format!("{chunk}0\r\n\r\n"))),
        ("two chunks", {
            with(&format!("{short:X}\r\n{first}\r\n{long:04x}\r\n{second}\r\n000\r\n\r\n"))
        }),
        ("chunks with extensions", {
            with(&format!("{:x};a;b=c;d=\"e f\"\r\n{body}\r\n0;last\r\n\r\n", body.len()))
        }),
        ("chunks with trailers", with(&format!("{chunk}0\r\nX: y\r\nEtag: \"z\"\r\n\r\n"))),
        ("the coding in capitals", {
            requests.upload("TRANSFER-ENCODING:\t CHUNKED \r\n", &format!("{chunk}0\r\n\r\n"))
        }),
    ]
}

/// Connections on which only the first request is answered, because it asks for the end of the
/// connection.
fn last(requests: Requests<'_>) -> Vec<(&'static str, String)> {
    let good = requests.good();
    let line = |version: &str| format!("GET {} {version}", requests.get);
    let close = requests.request(&line("HTTP/1.1"), &format!("{HOST}Connection: close\r\n"), "");
    let old = |fields: &str| requests.request(&line("HTTP/1.0"), fields, "");
    vec![
        ("a request after connection: close", format!("{close}{good}")),
        ("a fault after connection: close", format!("{close}\0\n\0{good}")),
        ("a request after HTTP/1.0", old(HOST) + &good),
        ("HTTP/1.0 without a host", old("") + &good),
    ]
}
