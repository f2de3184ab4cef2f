//! Malformed field lines, and malformed Host fields.

use super::{Requests, SmugglingCase};

/// Adds the cases of malformed field lines.
pub(super) fn add(requests: Requests<'_>, cases: &mut Vec<SmugglingCase>) {
    others(requests, cases);
    hosts(requests, cases);
}

/// Adds the cases of malformed field lines that may have any name.
fn others(requests: Requests<'_>, cases: &mut Vec<SmugglingCase>) {
    let line = format!("GET {} HTTP/1.1", requests.get);
    let host = "Host: tidegate.example\r\n";
    for (name, fields) in [
        ("first line folded", " X: y\r\n"),
        ("folded line with a space", "X: y\r\n z\r\n"),
        ("folded line with a tab", "X: y\r\n\tz\r\n"),
        ("folded line that is empty", "X: y\r\n \r\n"),
        ("folded length", "Content-Length:\r\n 5\r\n"),
        ("folded coding", "Transfer-Encoding:\r\n chunked\r\n"),
        ("folded name", "X\r\n : y\r\n"),
        ("name empty", ": y\r\n"),
        ("name before a space", "X : y\r\n"),
        ("name before a tab", "X\t: y\r\n"),
        ("name with a space", "X Y: z\r\n"),
        ("name with NUL", "X\0: y\r\n"),
        ("name with a line feed", "X\nY: z\r\n"),
        ("name with a carriage return", "X\rY: z\r\n"),
        ("name with DEL", "X\x7f: y\r\n"),
        ("name above ASCII", "X\u{e9}: y\r\n"),
        ("name in parentheses", "(X): y\r\n"),
        ("name with a slash", "X/Y: z\r\n"),
        ("name in quotes", "\"X\": y\r\n"),
        ("name with an at sign", "X@Y: z\r\n"),
        ("line without a colon", "X\r\n"),
        ("line with an equals sign", "X=y\r\n"),
        ("value with NUL", "X: y\0z\r\n"),
        ("value that is NUL", "X:\0\r\n"),
        ("value with a bell", "X: y\x07z\r\n"),
        ("value with a vertical tab", "X: y\x0bz\r\n"),
        ("value with a form feed", "X: y\x0cz\r\n"),
        ("value with DEL", "X: y\x7fz\r\n"),
        ("value with a bare carriage return", "X: y\rz\r\n"),
        ("value with a hidden field", "X: y\rContent-Length: 5\r\n"),
        ("value before two carriage returns", "X: y\r\r\n"),
        ("value with a bare line feed", "X: y\nZ: z\r\n"),
        ("value before a bare line feed", "X: y\n"),
        ("empty line as a bare line feed", "X: y\r\n\n"),
        ("empty line as two carriage returns", "X: y\r\n\r\r\n"),
        ("request line inside a head", "GET / HTTP/1.1\r\n"),
    ] {
        requests.refuse(name, requests.request(&line, &format!("{host}{fields}"), ""), cases);
    }
}

/// Adds the cases of malformed Host fields.
fn hosts(requests: Requests<'_>, cases: &mut Vec<SmugglingCase>) {
    let line = format!("GET {} HTTP/1.1", requests.get);
    for (name, fields) in [
        ("host missing", ""),
        ("host twice", "Host: tidegate.example\r\nHost: tidegate.example\r\n"),
        ("host twice in different case", "Host: tidegate.example\r\nhOST: other.example\r\n"),
        ("host twice and empty", "Host:\r\nHost:\r\n"),
        ("host before a space", "Host : tidegate.example\r\n"),
        ("host after a space", " Host: tidegate.example\r\n"),
        ("host with a space", "Host: tidegate.example other.example\r\n"),
        ("host with a tab", "Host: tidegate.example\tother.example\r\n"),
        ("host as a list", "Host: tidegate.example, other.example\r\n"),
        ("host with user information", "Host: other.example@tidegate.example\r\n"),
        ("host with a path", "Host: tidegate.example/other\r\n"),
        ("host with a query", "Host: tidegate.example?other\r\n"),
        ("host with a fragment", "Host: tidegate.example#other\r\n"),
        ("host as a URL", "Host: http://tidegate.example\r\n"),
        ("host with a backslash", "Host: tidegate.example\\other\r\n"),
        ("host with NUL", "Host: tidegate.example\0\r\n"),
        ("host with a vertical tab", "Host: \x0btidegate.example\r\n"),
        ("host above ASCII", "Host: tid\u{e9}gate.example\r\n"),
        ("host in quotes", "Host: \"tidegate.example\"\r\n"),
        ("host before a bare line feed", "Host: tidegate.example\n"),
        ("host before a bare carriage return", "Host: tidegate.example\rX: y\r\n"),
        ("host folded", "Host: tidegate.example\r\n .other.example\r\n"),
    ] {
        requests.refuse(name, requests.request(&line, fields, ""), cases);
    }
    let old = format!("GET {} HTTP/1.0", requests.get);
    let twice = "Host: tidegate.example\r\nHost: tidegate.example\r\n";
    requests.refuse("host twice in HTTP/1.0", requests.request(&old, twice, ""), cases);
}
