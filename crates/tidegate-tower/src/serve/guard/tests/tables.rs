//! Requests that pass, and requests that do not with the byte at which they stop.

use super::super::malformed::Malformed::{self, *};
use super::{ALL, Division, read, read_bytewise};

/// A request that passes, to put before others.
const GOOD: &str = "GET /good HTTP/1.1\r\nHost: good.example\r\n\r\n";

/// The same bytes read in several ways, which must come to the same.
fn read_all_ways(bytes: &[u8]) -> Division {
    let whole = read([bytes]);
    assert_eq!(read_bytewise(bytes), whole, "{}", bytes.escape_ascii());
    for at in 0..bytes.len() {
        let (left, right) = bytes.split_at(at);
        assert_eq!(read([left, right]), whole, "{} at {at}", bytes.escape_ascii());
    }
    whole
}

/// That complete requests pass, alone and after another one.
fn passes(requests: &[u8]) {
    for bytes in [requests.to_vec(), [GOOD.as_bytes(), requests, GOOD.as_bytes()].concat()] {
        let read = read_all_ways(&bytes);
        let whole = read.passed == bytes.len() && !read.within_head && !read.within_body;
        assert!(whole && read.refused.is_none(), "{}: {read:?}", bytes.escape_ascii());
    }
}

/// That bytes are refused at the first of `rest`, alone and after another request.
fn stops(passed: &[u8], rest: &[u8], malformed: Malformed) {
    for before in ["", GOOD] {
        let bytes = [before.as_bytes(), passed, rest, GOOD.as_bytes()].concat();
        let read = read_all_ways(&bytes);
        let found = (read.refused, read.passed);
        let wanted = (Some(malformed), before.len() + passed.len());
        assert_eq!(found, wanted, "{}", bytes.escape_ascii());
    }
}

/// A request line and Host, without the empty line.
fn line(line: &str) -> String {
    format!("{line}\r\nHost: a.example\r\n")
}

#[test]
fn well_formed_requests_pass() {
    for text in [
        GOOD,
        "GET / HTTP/1.0\r\n\r\n",
        "GET / HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n\r\n",
        "\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "OPTIONS * HTTP/1.1\r\nHost:\r\n\r\n",
        "GET http://a.example/b?c=d HTTP/1.1\r\nhost: a.example\r\n\r\n",
        "GET /{[\"<^`|>\"]} HTTP/1.1\r\nHost: a\r\n\r\n",
        "!#$%&'*+-.^_`|~0aZ / HTTP/1.1\r\nHost: a\r\n\r\n",
        "get / HTTP/1.1\r\nHOST:[::1]:8080\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: \t a-b_c.example:443 \t\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nA:\r\nB: \r\nC:c\r\nD:\td\te f \r\nE: \u{80}\u{ff}\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nHosts: b\r\nXHost: c\r\nTe: trailers, gzip\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nContent-Lengths: x\r\nTransfer-Encodings: x\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\ncontent-LENGTH:5\r\n\r\n\n\r\n\0 ",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \t 0005 \t\r\n\r\nhello",
        "POST / HTTP/1.0\r\nContent-Length: 5\r\n\r\nhello",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello\r\n",
        "CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\nContent-Length: 0\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nUpgrade: h2c\r\nUpgrade: b\r\nContent-Length: 2\r\n\r\nhi",
        "PRI * HTTP/1.1\r\nHost: a\r\n\r\n",
    ] {
        passes(text.as_bytes());
    }
}

#[test]
fn well_formed_chunks_pass() {
    let longest = format!("1{}\r\na\r\n0\r\n\r\n", ";".repeat(255));
    for chunks in [
        "0\r\n\r\n",
        "000\r\n\r\n",
        "5\r\nhello\r\n0\r\n\r\n",
        "A\r\n\r\n0\r\n\r\n\r\na\r\na\r\n0\r\n\r\n0\r\n\r\n\r\n0\r\n\r\n",
        "0000000000000001\r\n0\r\n0\r\n\r\n",
        "1;a=b;c=\"d e\"\r\n\r\r\n0;last\r\n\r\n",
        "0\r\nA: b\r\nEtag: \"c\"\r\n\r\n",
        "0\r\nExpires:\r\n\r\n",
        &longest,
    ] {
        for field in ["Transfer-Encoding: chunked", "transfer-ENCODING:\t CHunKeD \t"] {
            let head = line("POST / HTTP/1.1");
            passes(format!("{head}{field}\r\n\r\n{chunks}").as_bytes());
            passes(format!("{head}{field}\r\nUpgrade: a\r\n\r\n{chunks}").as_bytes());
        }
    }
}

#[test]
fn a_body_may_be_longer_than_any_memory() {
    let head = line("POST / HTTP/1.1");
    for rest in [
        "Content-Length: 9223372036854775807\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n7fffffffffffffff\r\n",
    ] {
        let bytes = format!("{head}{rest}\0\n\r");
        let read = read_all_ways(bytes.as_bytes());
        assert!(read.refused.is_none() && read.within_body, "{read:?}");
    }
}

#[test]
fn malformed_request_lines_stop() {
    for (passed, rest, malformed) in [
        ("\r\n", "\r\n", EmptyLines),
        ("", "\n", BareLineFeed),
        ("\r", "G", BareReturn),
        ("\r\n", "\n", BareLineFeed),
        ("", " GET / HTTP/1.1\r\n", Method),
        ("", "\0GET / HTTP/1.1\r\n", Method),
        ("GET", "\t/ HTTP/1.1\r\n", Method),
        ("GET", "\r\n", Method),
        ("GET", "\n", BareLineFeed),
        ("G", "(T / HTTP/1.1\r\n", Method),
        ("GET ", " / HTTP/1.1\r\n", Target),
        ("GET ", "\r\n", Target),
        ("GET ", "\t/ HTTP/1.1\r\n", Target),
        ("GET /", "\t HTTP/1.1\r\n", Target),
        ("GET /a", "\0 HTTP/1.1\r\n", Target),
        ("GET /a", "\x7f HTTP/1.1\r\n", Target),
        ("GET /12345678", "\u{e9} HTTP/1.1\r\n", Target),
        ("GET /12345678", "\n", BareLineFeed),
        ("GET /", "\r\n", Version),
        ("GET / ", " HTTP/1.1\r\n", Version),
        ("GET / ", "/ HTTP/1.1\r\n", Version),
        ("GET / ", "http/1.1\r\n", Version),
        ("GET / HTTP/", "2.0\r\n", Version),
        ("GET / HTTP/", "0.9\r\n", Version),
        ("GET / HTTP/1.", "2\r\n", Version),
        ("GET / HTTP/1.1", "0\r\n", Version),
        ("GET / HTTP/1.1", " \r\n", Version),
        ("GET / HTTP/1", "\r\n", Version),
        ("GET / ", "\r\n", Version),
        ("GET / HTTP/1.1", "\n", BareLineFeed),
        ("GET / HTTP/1.0", "\n", BareLineFeed),
        ("GET / HTTP/1.1\r", "\r\n", BareReturn),
        ("GET / HTTP/1.1\r", "Host: a\r\n", BareReturn),
        ("PRI * HTTP/", "2.0\r\n\r\nSM\r\n\r\n", Version),
    ] {
        stops(passed.as_bytes(), rest.as_bytes(), malformed);
    }
}

#[test]
fn malformed_fields_stop() {
    for (passed, rest, malformed) in [
        ("", " A: b\r\n", Folded),
        ("A: b\r\n", "\tc\r\n", Folded),
        ("", ": b\r\n", NameEmpty),
        ("A", " : b\r\n", NameSpace),
        ("Content-Length", "\t: 5\r\n", NameSpace),
        ("A", "\r\n", Name),
        ("A", "\n", BareLineFeed),
        ("A", "\0: b\r\n", Name),
        ("A", "\u{e9}: b\r\n", Name),
        ("A", "(b): c\r\n", Name),
        ("", "\x7f: c\r\n", Name),
        ("A: b", "\n", BareLineFeed),
        ("A: 12345678", "\n", BareLineFeed),
        ("A: b\r", "\r\n", BareReturn),
        ("A: b\r", "c\r\n", BareReturn),
        ("A: b", "\0\r\n", Control),
        ("A: 1234567", "\x0b\r\n", Control),
        ("A: b", "\x7f\r\n", Control),
        ("Upgrade: b", "\x01\r\n", Control),
        ("\r", "\r\n", BareReturn),
        ("", "\n", BareLineFeed),
    ] {
        let passed = line("POST / HTTP/1.1") + passed;
        stops(passed.as_bytes(), rest.as_bytes(), malformed);
    }
}

#[test]
fn malformed_hosts_stop() {
    for (passed, rest, malformed) in [
        ("GET / HTTP/1.1\r\n\r", "\n", HostMissing),
        ("GET / HTTP/1.1\r\nHost: a\r\nhost", ": a\r\n\r\n", HostTwice),
        ("GET / HTTP/1.0\r\nHost:\r\nHOST", ":\r\n\r\n", HostTwice),
        ("GET / HTTP/1.1\r\nHost: a ", "b\r\n\r\n", Host),
        ("GET / HTTP/1.1\r\nHost: a", ",b\r\n\r\n", Host),
        ("GET / HTTP/1.1\r\nHost: a", "@b\r\n\r\n", Host),
        ("GET / HTTP/1.1\r\nHost: a", "/b\r\n\r\n", Host),
        ("GET / HTTP/1.1\r\nHost: a", "?b\r\n\r\n", Host),
        ("GET / HTTP/1.1\r\nHost: a", "\\b\r\n\r\n", Host),
        ("GET / HTTP/1.1\r\nHost: a", "\u{e9}\r\n\r\n", Host),
        ("GET / HTTP/1.1\r\nHost: ", "\"a\"\r\n\r\n", Host),
        ("GET / HTTP/1.1\r\nHost: a", "\0\r\n\r\n", Control),
        ("GET / HTTP/1.1\r\nHost: a", "\n\r\n", BareLineFeed),
        ("GET / HTTP/1.1\r\nHost: a\r", "b\r\n\r\n", BareReturn),
    ] {
        stops(passed.as_bytes(), rest.as_bytes(), malformed);
    }
}

#[test]
fn malformed_framing_stops() {
    for (passed, rest, malformed) in [
        ("Content-Length: 5\r\nContent-Length", ": 5\r\n", LengthTwice),
        ("Content-Length: 5\r\ncontent-length", ": 6\r\n", LengthTwice),
        ("Content-Length: 5", ", 5\r\n", Length),
        ("Content-Length: ", "+5\r\n", Length),
        ("Content-Length: ", "-0\r\n", Length),
        ("Content-Length: 5 ", "5\r\n", Length),
        ("Content-Length: 0", "x5\r\n", Length),
        ("Content-Length: 5", ".0\r\n", Length),
        ("Content-Length: 5", ";a\r\n", Length),
        ("Content-Length: ", "\u{661}\r\n", Length),
        ("Content-Length:", "\r\n", Length),
        ("Content-Length: \t", "\r\n", Length),
        ("Content-Length: 5", "\x0b\r\n", Control),
        ("Content-Length: 5", "\n", BareLineFeed),
        ("Content-Length: 922337203685477580", "8\r\n", Length),
        ("Content-Length: 1844674407370955161", "6\r\n", Length),
        ("Content-Length: 1844674407370955162", "1\r\n", Length),
        ("Content-Length: 5\r\nTransfer-Encoding", ": chunked\r\n", LengthBesideCoding),
        ("Transfer-Encoding: chunked\r\nContent-Length", ": 0\r\n", LengthBesideCoding),
        ("Transfer-Encoding: chunked\r\nTransfer-Encoding", ": chunked\r\n", CodingTwice),
        ("Transfer-Encoding: chunked", ", chunked\r\n", Coding),
        ("Transfer-Encoding: ", "gzip, chunked\r\n", Coding),
        ("Transfer-Encoding: ", "identity\r\n", Coding),
        ("Transfer-Encoding: c", "ow\r\n", Coding),
        ("Transfer-Encoding: chunke", "\r\n", Coding),
        ("Transfer-Encoding: chunke ", "d\r\n", Coding),
        ("Transfer-Encoding: chunked", "x\r\n", Coding),
        ("Transfer-Encoding: chunked", ";q=1\r\n", Coding),
        ("Transfer-Encoding: ", "\"chunked\"\r\n", Coding),
        ("Transfer-Encoding:", "\r\n", Coding),
        ("Transfer-Encoding: ", "\x0bchunked\r\n", Control),
        ("Transfer-Encoding: chunked", "\n", BareLineFeed),
    ] {
        let passed = line("POST / HTTP/1.1") + passed;
        stops(passed.as_bytes(), rest.as_bytes(), malformed);
    }
    let old = line("POST / HTTP/1.0") + "Transfer-Encoding";
    stops(old.as_bytes(), b": chunked\r\n\r\n0\r\n\r\n", CodingOld);
    for field in ["Content-Length: 5", "Transfer-Encoding: chunked"] {
        let connect = line("CONNECT a:80 HTTP/1.1") + field + "\r\n\r";
        stops(connect.as_bytes(), b"\n", ConnectBody);
    }
}

#[test]
fn malformed_chunks_stop() {
    let longest = format!("1{}", ";".repeat(255));
    for (passed, rest, malformed) in [
        ("", "\r\n", ChunkSize),
        ("", ";a\r\n", ChunkSize),
        ("", "-1\r\n", ChunkSize),
        ("", "+1\r\n", ChunkSize),
        ("0", "x5\r\n", ChunkSize),
        ("", " 5\r\n", ChunkSize),
        ("5", " \r\n", ChunkSize),
        ("5", "\t;a\r\n", ChunkSize),
        ("5", "g\r\n", ChunkSize),
        ("5", "\n", BareLineFeed),
        ("5\r", "hello", BareReturn),
        ("5;a", "\n", BareLineFeed),
        ("5;a", "\t\r\n", ChunkExtension),
        ("5;a", "\0\r\n", ChunkExtension),
        ("5;a", "\u{e9}\r\n", ChunkExtension),
        ("5;a\r", "b\r\n", BareReturn),
        (&longest, ";\r\n", ChunkExtension),
        ("0000000000000000", "0\r\n", ChunkSize),
        ("800000000000000", "0\r\n", ChunkSize),
        ("fffffffffffffff", "f\r\n", ChunkSize),
        ("5\r\nhello", "\n", ChunkEnd),
        ("5\r\nhello", "0\r\n\r\n", ChunkEnd),
        ("5\r\nhello\r", "0\r\n\r\n", ChunkEnd),
        ("0\r\n", "\n", BareLineFeed),
        ("0\r\n\r", "\r\n", BareReturn),
        ("0\r\n", " a: b\r\n", Folded),
        ("0\r\na: b", "\n", BareLineFeed),
        ("0\r\na: b", "\0\r\n", Control),
        ("0\r\na", " : b\r\n", NameSpace),
        ("0\r\ncontent-length", ": 5\r\n", TrailerField),
        ("0\r\nTransfer-Encoding", ": chunked\r\n", TrailerField),
        ("0\r\nHost", ": b\r\n", TrailerField),
        ("0\r\nUpgrade", ": b\r\n", TrailerField),
    ] {
        let passed = line("POST / HTTP/1.1") + "Transfer-Encoding: chunked\r\n\r\n" + passed;
        stops(passed.as_bytes(), rest.as_bytes(), malformed);
    }
}

#[test]
fn every_fault_has_its_own_text() {
    let texts = ALL.map(Malformed::text);
    for (at, text) in texts.iter().enumerate() {
        assert!(!texts[..at].contains(text), "{text}");
        assert!(!text.is_empty() && !text.ends_with('.'), "{text}");
    }
}
