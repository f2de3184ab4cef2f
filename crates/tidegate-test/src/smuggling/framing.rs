//! Heads that do not say where their body ends, or that say it twice.

use super::{Requests, SmugglingCase};

/// Adds the cases of malformed Content-Length and Transfer-Encoding fields in heads.
pub(super) fn add(requests: Requests<'_>, cases: &mut Vec<SmugglingCase>) {
    lengths(requests, cases);
    codings(requests, cases);
    both(requests, cases);
}

/// Adds the cases of Content-Length without Transfer-Encoding.
fn lengths(requests: Requests<'_>, cases: &mut Vec<SmugglingCase>) {
    let body = requests.body;
    let count = body.len();
    for (name, fields) in [
        ("length twice and equal", format!("Content-Length: {count}\r\nContent-Length: {count}")),
        ("length twice, first 0", format!("Content-Length: 0\r\nContent-Length: {count}")),
        ("length twice, last 0", format!("Content-Length: {count}\r\nContent-Length: 0")),
        (
            "length twice in different case",
            format!("Content-Length: {count}\r\ncontent-length: {count}"),
        ),
        (
            "length twice with a field between",
            format!("Content-Length: {count}\r\nX: y\r\nContent-Length: {count}"),
        ),
        ("length as a list of equals", format!("Content-Length: {count}, {count}")),
        ("length as a list", format!("Content-Length: 0, {count}")),
        ("length before a comma", format!("Content-Length: {count},")),
        ("length after a comma", format!("Content-Length: ,{count}")),
        ("length with a plus", format!("Content-Length: +{count}")),
        ("length with a minus", format!("Content-Length: -{count}")),
        ("length minus 0", "Content-Length: -0".to_owned()),
        ("length in hexadecimal", format!("Content-Length: 0x{count:x}")),
        ("length with hexadecimal digits", "Content-Length: 1f".to_owned()),
        ("length with a point", format!("Content-Length: {count}.0")),
        ("length with an exponent", format!("Content-Length: {count}e0")),
        ("length with an underscore", format!("Content-Length: 0_{count}")),
        ("length with a space inside", format!("Content-Length: 0 {count}")),
        ("length with a tab inside", format!("Content-Length: 0\t{count}")),
        ("length in quotes", format!("Content-Length: \"{count}\"")),
        ("length with a parameter", format!("Content-Length: {count};x=y")),
        ("length that is a word", "Content-Length: many".to_owned()),
        ("length empty", "Content-Length:".to_owned()),
        ("length of spaces", "Content-Length:  \t ".to_owned()),
        ("length above ASCII", "Content-Length: \u{661}\u{662}".to_owned()),
        ("length with NUL", format!("Content-Length: {count}\0")),
        ("length after a vertical tab", format!("Content-Length: \x0b{count}")),
        ("length of 2^63", "Content-Length: 9223372036854775808".to_owned()),
        ("length of 2^64", "Content-Length: 18446744073709551616".to_owned()),
        ("length of 2^64 and the length", format!("Content-Length: {}", (1_u128 << 64) + 9)),
        ("length of 40 digits", format!("Content-Length: {}", "9".repeat(40))),
        ("length before a space and its colon", format!("Content-Length : {count}")),
        ("length before a tab and its colon", format!("Content-Length\t: {count}")),
        ("length after a space", format!("X: y\r\n Content-Length: {count}")),
        ("length before a bare line feed", format!("Content-Length: {count}\nX: y")),
    ] {
        requests.refuse(name, requests.upload(&format!("{fields}\r\n"), body), cases);
    }
}

/// Adds the cases of Transfer-Encoding without Content-Length.
fn codings(requests: Requests<'_>, cases: &mut Vec<SmugglingCase>) {
    let chunks = format!("{:x}\r\n{}\r\n0\r\n\r\n", requests.body.len(), requests.body);
    for (name, fields) in [
        ("coding twice", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"),
        ("coding and identity", "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity"),
        ("identity and coding", "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked"),
        ("coding in different case", "Transfer-Encoding: chunked\r\ntransfer-encoding: x"),
        ("coding as a list of equals", "Transfer-Encoding: chunked, chunked"),
        ("coding after gzip", "Transfer-Encoding: gzip, chunked"),
        ("coding before gzip", "Transfer-Encoding: chunked, gzip"),
        ("coding before identity", "Transfer-Encoding: chunked, identity"),
        ("coding before a comma", "Transfer-Encoding: chunked,"),
        ("coding after a comma", "Transfer-Encoding: ,chunked"),
        ("coding with a parameter", "Transfer-Encoding: chunked;q=1"),
        ("coding in quotes", "Transfer-Encoding: \"chunked\""),
        ("coding in single quotes", "Transfer-Encoding: 'chunked'"),
        ("coding with a space inside", "Transfer-Encoding: chun ked"),
        ("coding too short", "Transfer-Encoding: chunke"),
        ("coding too long", "Transfer-Encoding: chunkedd"),
        ("coding with an x before", "Transfer-Encoding: xchunked"),
        ("coding cow", "Transfer-Encoding: cow"),
        ("coding gzip", "Transfer-Encoding: gzip"),
        ("coding identity", "Transfer-Encoding: identity"),
        ("coding empty", "Transfer-Encoding:"),
        ("coding of spaces", "Transfer-Encoding:  \t "),
        ("coding after a vertical tab", "Transfer-Encoding: \x0bchunked"),
        ("coding before a vertical tab", "Transfer-Encoding: chunked\x0b"),
        ("coding before NUL", "Transfer-Encoding: chunked\0"),
        ("coding before DEL", "Transfer-Encoding: chunked\x7f"),
        ("coding above ASCII", "Transfer-Encoding: chun\u{212a}ed"),
        ("coding before a space and its colon", "Transfer-Encoding : chunked"),
        ("coding before a tab and its colon", "Transfer-Encoding\t: chunked"),
        ("coding after a space", "X: y\r\n Transfer-Encoding: chunked"),
        ("coding after a line feed", "X: y\nTransfer-Encoding: chunked"),
        ("coding after a carriage return", "X: y\rTransfer-Encoding: chunked"),
        ("coding before a bare line feed", "Transfer-Encoding: chunked\nX: y"),
    ] {
        requests.refuse(name, requests.upload(&format!("{fields}\r\n"), &chunks), cases);
    }
    let old = format!("POST {} HTTP/1.0", requests.post);
    let field =
        "Host: tidegate.example\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n";
    requests.refuse("coding in HTTP/1.0", requests.request(&old, field, &chunks), cases);
}

/// Adds the cases of Content-Length together with Transfer-Encoding, and of CONNECT.
fn both(requests: Requests<'_>, cases: &mut Vec<SmugglingCase>) {
    let body = requests.body;
    let chunks = format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
    let length = format!("Content-Length: {}\r\n", chunks.len());
    let coding = "Transfer-Encoding: chunked\r\n";
    for (name, fields) in [
        ("length before coding", format!("{length}{coding}")),
        ("coding before length", format!("{coding}{length}")),
        ("length 0 before coding", format!("Content-Length: 0\r\n{coding}")),
        ("coding before length 0", format!("{coding}Content-Length: 0\r\n")),
        ("length 4 before coding", format!("Content-Length: 4\r\n{coding}")),
        ("length before identity", format!("{length}Transfer-Encoding: identity\r\n")),
        ("length before a coding that is none", format!("{length}Transfer-Encoding: x\r\n")),
        ("coding before a length that is none", format!("{coding}Content-Length: x\r\n")),
        ("length and coding apart", format!("{length}X: y\r\nZ: z\r\n{coding}")),
        ("length and coding with an upgrade", format!("{length}Upgrade: h2c\r\n{coding}")),
    ] {
        requests.refuse(name, requests.upload(&fields, &chunks), cases);
    }
    let line = "CONNECT tidegate.example:80 HTTP/1.1";
    let host = "Host: tidegate.example:80\r\n";
    for (name, fields) in [
        ("CONNECT with a length", format!("{host}{length}")),
        ("CONNECT with a coding", format!("{host}{coding}")),
    ] {
        requests.refuse(name, requests.request(line, &fields, &chunks), cases);
    }
}
