//! Connections made up from a grammar, with mistakes in them.

use proptest::prelude::*;
use proptest::sample::select;

/// One of `good`, and now and then one of `bad`.
fn mostly(
    good: &'static [&'static str],
    bad: &'static [&'static str],
) -> impl Strategy<Value = Vec<u8>> {
    let bytes = |text: &str| text.as_bytes().to_vec();
    prop_oneof![40 => select(good).prop_map(bytes), 1 => select(bad).prop_map(bytes)]
}

fn line_end() -> impl Strategy<Value = Vec<u8>> {
    mostly(&["\r\n"], &["\n", "\r", "\r\r\n", "\n\r", "\r\n ", "\r\n\t", "\0\r\n", " \r\n"])
}

fn request_line() -> impl Strategy<Value = Vec<u8>> {
    let pieces = (
        mostly(&["", "", "", "\r\n"], &["\n", "\r\n\r\n", " ", "\r", "\0"]),
        mostly(
            &["GET", "POST", "POST", "OPTIONS", "CONNECT", "m-search"],
            &["", "G T", "(a)", "é"],
        ),
        mostly(&[" "], &["  ", "\t", "", "\0", "\r\n"]),
        mostly(&["/", "/a?b=c&d", "*", "http://a.example/x", "a:80"], &["", "/é", "/\x7f", "a b"]),
        mostly(&[" "], &["  ", "\t", "", "\n", "\r\n"]),
        mostly(
            &["HTTP/1.1", "HTTP/1.1", "HTTP/1.1", "HTTP/1.0"],
            &["http/1.1", "HTTP/1.2", "HTTP/2.0", "HTTP/0.9", "HTTP/1.1 ", "HTTP/11", ""],
        ),
        line_end(),
    );
    pieces.prop_map(|(a, b, c, d, e, f, g)| [a, b, c, d, e, f, g].concat())
}

/// A field that does not frame the request.
fn field() -> impl Strategy<Value = Vec<u8>> {
    let pieces = (
        mostly(
            &["Accept", "x", "User-Agent", "hosts", "upgrade", "content-lengthy", "TE"],
            &["", " a", "\ta", "a b", "a\0", "é", "Host", "Content-Length", "transfer-encoding"],
        ),
        mostly(&[":", ": ", ":\t"], &[" :", "\t:", "", "::", ":\0", ":\r\n "]),
        mostly(
            &["", "*/*", "a, b;c=\"d\" ", "é", "\t\u{80}", "a rather long value, 0123456789abcdef"],
            &["a\0b", "a\rb", "a\nb", "\x7f", "\x0b", "chunked", "5", "0"],
        ),
        line_end(),
    );
    pieces.prop_map(|(name, colon, value, end)| [name, colon, value, end].concat())
}

fn host() -> impl Strategy<Value = Vec<u8>> {
    mostly(
        &["Host: a.example\r\n", "host:a:80\r\n", "HOST: \t[::1] \r\n", "Host:\r\n"],
        &["", "Host: a b\r\n", "Host: a,b\r\n", "Host: a@b\r\n", "Host: a\r\nHost: a\r\n"],
    )
}

/// The field that frames a body, the end of the head, and the body.
fn framing() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        2 => line_end(),
        2 => sized(),
        3 => (coding(), line_end(), prop::collection::vec(chunk(), 0..4), last_chunk())
            .prop_map(|(field, end, chunks, last)| [field, end, chunks.concat(), last].concat()),
    ]
}

fn sized() -> impl Strategy<Value = Vec<u8>> {
    let name = mostly(&["Content-Length: ", "content-length:"], &["Content-Length : ", "Length: "]);
    let wrong = mostly(
        &["", "", " ", "\t"],
        &[", 5", "\r\nContent-Length: 5", "\r\nTransfer-Encoding: chunked", "x", " 1", ".", "\x0b"],
    );
    let sign = mostly(&["", "", "0", "000", " "], &["+", "-", "0x", "\"", "999999999999999999"]);
    (name, sign, body(), wrong, line_end(), line_end()).prop_map(
        |(name, sign, body, wrong, end, last)| {
            let length = body.len().to_string().into_bytes();
            [name, sign, length, wrong, end, last, body].concat()
        },
    )
}

fn coding() -> impl Strategy<Value = Vec<u8>> {
    mostly(
        &["Transfer-Encoding: chunked\r\n", "transfer-encoding:CHUNKED \r\n"],
        &[
            "Transfer-Encoding: gzip, chunked\r\n",
            "Transfer-Encoding: chunked, chunked\r\n",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
            "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n",
            "Transfer-Encoding: chunke\r\n",
            "Transfer-Encoding: chun ked\r\n",
            "Transfer-Encoding:\r\n",
            "Transfer-Encoding : chunked\r\n",
        ],
    )
}

fn chunk() -> impl Strategy<Value = Vec<u8>> {
    let zeros = mostly(&["", "", "0", "000"], &["0x", "+", " ", "-", "00000000000000000"]);
    let data = body().prop_filter("the last chunk is empty", |body| !body.is_empty());
    (zeros, data, extension(), line_end(), line_end()).prop_map(
        |(zeros, data, extension, end, last)| {
            let size = format!("{:x}", data.len()).into_bytes();
            [zeros, size, extension, end, data, last].concat()
        },
    )
}

fn extension() -> impl Strategy<Value = Vec<u8>> {
    let long = (250_usize..260).prop_map(|count| vec![b';'; count]);
    let short = mostly(&["", "", ";a", ";a=b; c=\"d e\""], &[" ", " ;a", ";\n", ";\0", ";é", "g"]);
    prop_oneof![60 => short, 1 => long]
}

fn last_chunk() -> impl Strategy<Value = Vec<u8>> {
    let size = mostly(&["0", "0", "000", "0;last"], &["", "0x", "1", "-0"]);
    let trailers = prop_oneof![4 => Just(Vec::new()), 1 => prop::collection::vec(field(), 1..3)];
    (size, line_end(), trailers, line_end())
        .prop_map(|(size, end, trailers, last)| [size, end, trailers.concat(), last].concat())
}

fn body() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        mostly(&["hello", "", "\r\n", "0\r\n\r\n"], &["GET / HTTP/1.1\r\nHost: a\r\n\r\n"]),
        prop::collection::vec(any::<u8>(), 0..20),
    ]
}

fn request() -> impl Strategy<Value = Vec<u8>> {
    (request_line(), host(), prop::collection::vec(field(), 0..4), framing())
        .prop_map(|(line, host, fields, framing)| [line, host, fields.concat(), framing].concat())
}

/// Some requests after each other, with mistakes.
pub(super) fn connection() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(request(), 1..5).prop_map(|requests| requests.concat())
}

/// A change of a few bytes, anywhere.
#[derive(Clone, Debug)]
enum Change {
    Replace(u8),
    Insert(u8),
    Remove,
    Cut,
}

/// Some requests after each other, with mistakes, and with bytes changed.
pub(super) fn mutated() -> impl Strategy<Value = Vec<u8>> {
    let byte = || prop_oneof![select(&b"\r\n\0 \t:;,0159af/\x7f\x80"[..]), any::<u8>()];
    let change = prop_oneof![
        4 => byte().prop_map(Change::Replace),
        4 => byte().prop_map(Change::Insert),
        4 => Just(Change::Remove),
        1 => Just(Change::Cut),
    ];
    let changes = prop::collection::vec((any::<prop::sample::Index>(), change), 1..4);
    (connection(), changes).prop_map(|(mut bytes, changes)| {
        for (index, change) in changes {
            if bytes.is_empty() {
                break;
            }
            let at = index.index(bytes.len());
            match change {
                Change::Replace(byte) => bytes[at] = byte,
                Change::Insert(byte) => bytes.insert(at, byte),
                Change::Remove => drop(bytes.remove(at)),
                Change::Cut => bytes.truncate(at),
            }
        }
        bytes
    })
}
