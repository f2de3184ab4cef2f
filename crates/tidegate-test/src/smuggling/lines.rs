//! Malformed request lines, and lines before the request line.

use super::{Expect, Requests, SmugglingCase};

/// Adds the cases of malformed request lines.
pub(super) fn add(requests: Requests<'_>, cases: &mut Vec<SmugglingCase>) {
    inside(requests, cases);
    around(requests, cases);
}

/// Adds the cases of request lines with a fault inside.
fn inside(requests: Requests<'_>, cases: &mut Vec<SmugglingCase>) {
    let get = requests.get;
    for (name, line) in [
        ("method after a space", format!(" GET {get} HTTP/1.1")),
        ("method after a tab", format!("\tGET {get} HTTP/1.1")),
        ("method after NUL", format!("\0GET {get} HTTP/1.1")),
        ("method after a byte order mark", format!("\u{feff}GET {get} HTTP/1.1")),
        ("method with a parenthesis", format!("GE(T {get} HTTP/1.1")),
        ("method with a colon", format!("GET: {get} HTTP/1.1")),
        ("method with NUL", format!("GE\0T {get} HTTP/1.1")),
        ("method above ASCII", format!("G\u{c9}T {get} HTTP/1.1")),
        ("method alone", "GET".to_owned()),
        ("method before a tab", format!("GET\t{get} HTTP/1.1")),
        ("method before two spaces", format!("GET  {get} HTTP/1.1")),
        ("method before a vertical tab", format!("GET\x0b{get} HTTP/1.1")),
        ("target missing", "GET HTTP/1.1".to_owned()),
        ("target empty", "GET  HTTP/1.1".to_owned()),
        ("target with a space", format!("GET {get} x HTTP/1.1")),
        ("target with a tab", format!("GET {get}\tx HTTP/1.1")),
        ("target with NUL", format!("GET {get}\0 HTTP/1.1")),
        ("target with DEL", format!("GET {get}\x7f HTTP/1.1")),
        ("target with an escape character", format!("GET {get}\x1b[2J HTTP/1.1")),
        ("target with a bare carriage return", format!("GET {get}\rx HTTP/1.1")),
        ("target above ASCII", format!("GET {get}\u{e9} HTTP/1.1")),
        ("target before a tab", format!("GET {get}\tHTTP/1.1")),
        ("target before two spaces", format!("GET {get}  HTTP/1.1")),
        ("version missing", format!("GET {get}")),
        ("version empty", format!("GET {get} ")),
        ("version in lower case", format!("GET {get} http/1.1")),
        ("version in mixed case", format!("GET {get} Http/1.1")),
        ("version 0.9", format!("GET {get} HTTP/0.9")),
        ("version 1", format!("GET {get} HTTP/1")),
        ("version 1.2", format!("GET {get} HTTP/1.2")),
        ("version 1.10", format!("GET {get} HTTP/1.10")),
        ("version 01.1", format!("GET {get} HTTP/01.1")),
        ("version 1.01", format!("GET {get} HTTP/1.01")),
        ("version 2.0", format!("GET {get} HTTP/2.0")),
        ("version 3", format!("GET {get} HTTP/3")),
        ("version with a comma", format!("GET {get} HTTP/1,1")),
        ("version of another protocol", format!("GET {get} ICAP/1.1")),
        ("version before a space", format!("GET {get} HTTP/1.1 ")),
        ("version before a tab", format!("GET {get} HTTP/1.1\t")),
        ("version before NUL", format!("GET {get} HTTP/1.1\0")),
        ("version twice", format!("GET {get} HTTP/1.1 HTTP/1.1")),
        ("version before two carriage returns", format!("GET {get} HTTP/1.1\r")),
    ] {
        let shape = requests.request(&line, "Host: tidegate.example\r\n", "");
        requests.refuse(name, shape, cases);
    }
}

/// Adds the cases of lines before a request line, and of wrong line ends.
fn around(requests: Requests<'_>, cases: &mut Vec<SmugglingCase>) {
    let get = requests.get;
    for (name, before) in [
        ("two empty lines first", "\r\n\r\n"),
        ("many empty lines first", "\r\n\r\n\r\n\r\n"),
        ("line feed first", "\n"),
        ("empty line and line feed first", "\r\n\n"),
        ("carriage return first", "\r"),
        ("space and empty line first", " \r\n"),
        ("status line first", "HTTP/1.1 200 OK\r\n"),
        ("field line first", "X: y\r\n"),
        ("TLS handshake first", "\x16\x03\x01"),
    ] {
        requests.refuse(name, before.to_owned() + &requests.good(), cases);
    }
    // Readers that disagree about line ends disagree about where a head ends.
    let (host, good) = ("Host: tidegate.example", requests.good());
    for (name, shape) in [
        ("request line ends in a line feed", format!("GET {get} HTTP/1.1\n{host}\r\n\r\n")),
        ("request line ends in a carriage return", format!("GET {get} HTTP/1.1\r{host}\r\n\r\n")),
        ("request line ends twice", format!("GET {get} HTTP/1.1\n\r\n{host}\r\n\r\n")),
        ("all lines end in line feeds", good.replace("\r\n", "\n")),
        ("all lines end in carriage returns", good.replace("\r\n", "\r")),
        ("all lines end the wrong way round", good.replace("\r\n", "\n\r")),
    ] {
        requests.refuse(name, shape, cases);
    }
    // These bytes mean HTTP/2 only at the beginning of a connection.
    let bytes = format!("{good}PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n{good}").into_bytes();
    let expect = Expect::Refused { after: 1 };
    cases.push(SmugglingCase { name: "preface of HTTP/2 after a request", bytes, expect });
}
