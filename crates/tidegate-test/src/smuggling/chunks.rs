//! Chunked bodies in which two readers could find different ends.

use super::{Requests, SmugglingCase};

/// Adds the cases of malformed chunked bodies.
pub(super) fn add(requests: Requests<'_>, cases: &mut Vec<SmugglingCase>) {
    let body = requests.body;
    let size = format!("{:x}", body.len());
    let chunk = format!("{size}\r\n{body}\r\n");
    let long = "x".repeat(300);
    for (name, chunks) in [
        ("chunk without a size", format!("\r\n{body}\r\n0\r\n\r\n")),
        ("chunk with an extension only", format!(";x\r\n{body}\r\n0\r\n\r\n")),
        ("chunk size with a plus", format!("+{chunk}0\r\n\r\n")),
        ("chunk size with a minus", format!("-{chunk}0\r\n\r\n")),
        ("chunk size with 0x", format!("0x{chunk}0\r\n\r\n")),
        ("chunk size with an underscore", format!("0_{chunk}0\r\n\r\n")),
        ("chunk size with a letter", format!("{size}g\r\n{body}\r\n0\r\n\r\n")),
        ("chunk size with a point", format!("{size}.0\r\n{body}\r\n0\r\n\r\n")),
        ("chunk size after a space", format!(" {chunk}0\r\n\r\n")),
        ("chunk size before a space", format!("{size} \r\n{body}\r\n0\r\n\r\n")),
        ("chunk size before a tab", format!("{size}\t\r\n{body}\r\n0\r\n\r\n")),
        ("chunk size before a space and extension", format!("{size} ;x\r\n{body}\r\n0\r\n\r\n")),
        ("chunk size with a space inside", format!("0 {chunk}0\r\n\r\n")),
        ("chunk size with NUL", format!("{size}\0\r\n{body}\r\n0\r\n\r\n")),
        ("chunk size in quotes", format!("\"{size}\"\r\n{body}\r\n0\r\n\r\n")),
        ("chunk size as a list", format!("{size},{size}\r\n{body}\r\n0\r\n\r\n")),
        ("chunk size of 17 digits", format!("{size:0>17}\r\n{body}\r\n0\r\n\r\n")),
        ("chunk size of 2^63", "8000000000000000\r\nx".to_owned()),
        ("chunk size of 2^64", "10000000000000000\r\nx".to_owned()),
        ("chunk size of 2^64 - 1", "ffffffffffffffff\r\nx".to_owned()),
        ("chunk size of 2^64 and the size", format!("1{size:0>16}\r\n{body}\r\n0\r\n\r\n")),
        ("chunk size before a bare line feed", format!("{size}\n{body}\r\n0\r\n\r\n")),
        ("chunk size before a bare carriage return", format!("{size}\r{body}\r\n0\r\n\r\n")),
        ("chunk size before two carriage returns", format!("{size}\r\r\n{body}\r\n0\r\n\r\n")),
        ("chunk extension with a bare line feed", format!("{size};x\n{body}\r\n0\r\n\r\n")),
        ("chunk extension with a bare return", format!("{size};x\ry\r\n{body}\r\n0\r\n\r\n")),
        ("chunk extension with NUL", format!("{size};x\0\r\n{body}\r\n0\r\n\r\n")),
        ("chunk extension with a tab", format!("{size};x\t\r\n{body}\r\n0\r\n\r\n")),
        ("chunk extension above ASCII", format!("{size};x=\u{e9}\r\n{body}\r\n0\r\n\r\n")),
        ("chunk extension too long", format!("{size};{long}\r\n{body}\r\n0\r\n\r\n")),
        ("chunk data too short", format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len() + 1)),
        ("chunk data too long", format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len() - 1)),
        ("chunk data without an end", format!("{size}\r\n{body}0\r\n\r\n")),
        ("chunk data before a bare line feed", format!("{size}\r\n{body}\n0\r\n\r\n")),
        ("chunk data before a bare return", format!("{size}\r\n{body}\r0\r\n\r\n")),
        ("chunk data before two line ends", format!("{chunk}\r\n0\r\n\r\n")),
        ("last chunk with 0x", format!("{chunk}0x\r\n\r\n")),
        ("last chunk with a minus", format!("{chunk}-0\r\n\r\n")),
        ("last chunk before a bare line feed", format!("{chunk}0\n\r\n")),
        ("body ends in a bare line feed", format!("{chunk}0\r\n\n")),
        ("body ends in a bare carriage return", format!("{chunk}0\r\n\rx")),
        ("trailer with a length", format!("{chunk}0\r\nContent-Length: 5\r\n\r\n")),
        ("trailer with a coding", format!("{chunk}0\r\nTransfer-Encoding: chunked\r\n\r\n")),
        ("trailer with a host", format!("{chunk}0\r\nHost: other.example\r\n\r\n")),
        ("trailer with an upgrade", format!("{chunk}0\r\nUpgrade: h2c\r\n\r\n")),
        ("trailer folded", format!("{chunk}0\r\nX: y\r\n z\r\n\r\n")),
        ("trailer without a colon", format!("{chunk}0\r\nX\r\n\r\n")),
        ("trailer without a name", format!("{chunk}0\r\n: y\r\n\r\n")),
        ("trailer with a space before its colon", format!("{chunk}0\r\nX : y\r\n\r\n")),
        ("trailer with NUL", format!("{chunk}0\r\nX: \0\r\n\r\n")),
        ("trailer before a bare line feed", format!("{chunk}0\r\nX: y\n\r\n")),
        ("trailer with a bare carriage return", format!("{chunk}0\r\nX: y\rz\r\n\r\n")),
        ("trailer that is a request", format!("{chunk}0\r\nGET / HTTP/1.1\r\n\r\n")),
        ("request instead of a chunk", "GET / HTTP/1.1\r\n\r\n".to_owned()),
    ] {
        let shape = requests.upload("Transfer-Encoding: chunked\r\n", &chunks);
        requests.refuse_body(name, shape, cases);
    }
}
