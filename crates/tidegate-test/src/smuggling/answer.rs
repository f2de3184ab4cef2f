//! HTTP answers, parsed strictly from the bytes of a connection.
//!
//! A smuggled request shows as one answer too many. So nothing is skipped or guessed here: each
//! byte belongs to an answer whose length is stated exactly once, or the connection is wrong.

/// An HTTP answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpAnswer {
    /// The version and status, such as `HTTP/1.1 400`.
    pub status: String,
    /// The names of the fields in lower case, with their values.
    pub fields: Vec<(String, String)>,
    /// The body, without chunks.
    pub body: Vec<u8>,
}

// === impl HttpAnswer ===

impl HttpAnswer {
    /// Reads the answer that `bytes` begin with, and its length; `None` if more bytes are needed.
    ///
    /// # Errors
    ///
    /// If the bytes are not an answer, or one whose end is not clear.
    pub fn read(bytes: &[u8]) -> Result<Option<(Self, usize)>, String> {
        let Some(head) = position(bytes, b"\r\n\r\n") else {
            // Bytes that cannot become an answer are wrong even before the head is complete.
            let start = &bytes[..bytes.len().min(7)];
            return if b"HTTP/1.".starts_with(start) {
                Ok(None)
            } else {
                wrong("no answer", bytes)
            };
        };
        let text = str::from_utf8(&bytes[..head]).map_err(|error| error.to_string())?;
        let mut lines = text.split("\r\n");
        let status = status(lines.next().unwrap_or_default())?;
        let fields = lines.map(field).collect::<Result<Vec<_>, _>>()?;
        let answer = Self { status, fields, body: Vec::new() };
        let rest = &bytes[head + 4..];
        let Some((body, length)) = answer.body(rest)? else { return Ok(None) };
        Ok(Some((Self { body, ..answer }, head + 4 + length)))
    }

    /// Whether this is an interim answer, after which the real one follows.
    #[must_use]
    pub fn is_interim(&self) -> bool {
        self.status.as_bytes()[9] == b'1'
    }

    /// Whether this refuses a request that was malformed: a 400 that ends the connection.
    #[must_use]
    pub fn refuses(&self) -> bool {
        self.status == "HTTP/1.1 400" && self.values("connection").eq(["close"])
    }

    /// Whether this is a 400.
    #[must_use]
    pub fn is_bad_request(&self) -> bool {
        self.status.ends_with(" 400")
    }

    fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.fields.iter().filter(move |field| field.0 == name).map(|field| field.1.as_str())
    }

    /// The body at the beginning of `rest` and its length there; `None` if more bytes are needed.
    fn body(&self, rest: &[u8]) -> Result<Option<(Vec<u8>, usize)>, String> {
        let lengths: Vec<&str> = self.values("content-length").collect();
        let codings: Vec<&str> = self.values("transfer-encoding").collect();
        let empty = self.is_interim() || matches!(&self.status[9..], "204" | "304");
        match (&lengths[..], &codings[..]) {
            ([], []) if empty => Ok(Some((Vec::new(), 0))),
            ([length], []) if !empty => {
                let length: usize = match length.bytes().all(|byte| byte.is_ascii_digit()) {
                    true => length.parse().map_err(|error| format!("{length}: {error}"))?,
                    false => return Err(format!("content-length {length}")),
                };
                Ok(rest.get(..length).map(|body| (body.to_vec(), length)))
            }
            ([], ["chunked"]) if !empty => chunks(rest),
            _ => Err(format!("the length of the answer is not clear: {self:?}")),
        }
    }
}

/// Reads a status line: the version and the status.
fn status(line: &str) -> Result<String, String> {
    let (version, rest) = line.split_once(' ').ok_or_else(|| format!("status line {line}"))?;
    let (code, _) = rest.split_once(' ').ok_or_else(|| format!("status line {line}"))?;
    let known = matches!(version, "HTTP/1.1" | "HTTP/1.0");
    let number = code.len() == 3 && code.bytes().all(|byte| byte.is_ascii_digit());
    if known && number {
        Ok(format!("{version} {code}"))
    } else {
        Err(format!("status line {line}"))
    }
}

/// Reads a field line: the name in lower case, and the value.
fn field(line: &str) -> Result<(String, String), String> {
    let (name, value) = line.split_once(':').ok_or_else(|| format!("field line {line}"))?;
    let token = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    if name.is_empty() || !name.bytes().all(token) || value.contains(['\r', '\n', '\0']) {
        return Err(format!("field line {line}"));
    }
    Ok((name.to_ascii_lowercase(), value.trim_matches([' ', '\t']).to_owned()))
}

/// Reads a chunked body without extensions and trailers, as hyper writes it.
fn chunks(bytes: &[u8]) -> Result<Option<(Vec<u8>, usize)>, String> {
    let (mut body, mut at) = (Vec::new(), 0);
    loop {
        let rest = &bytes[at..];
        let Some(end) = position(rest, b"\r\n") else { return Ok(None) };
        let size = String::from_utf8_lossy(&rest[..end]);
        if size.is_empty() || !size.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return wrong("chunk size", rest);
        }
        let size = usize::from_str_radix(&size, 16).map_err(|error| error.to_string())?;
        let Some(data) = rest.get(end + 2..end + 2 + size) else { return Ok(None) };
        let Some(after) = rest.get(end + 2 + size..end + 4 + size) else { return Ok(None) };
        if after != b"\r\n" {
            return wrong("chunk end", rest);
        }
        body.extend(data);
        at += end + 4 + size;
        if size == 0 {
            return Ok(Some((body, at)));
        }
    }
}

fn wrong<T>(what: &str, bytes: &[u8]) -> Result<T, String> {
    Err(format!("{what}: {}", bytes[..bytes.len().min(200)].escape_ascii()))
}

/// The position of the first `wanted` in `bytes`.
fn position(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}
