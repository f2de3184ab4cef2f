//! A second reader, slow and written apart from the guard: it has the whole buffer and no states.
//!
//! It goes through a buffer from left to right and stops at the first byte after which nothing could
//! make the request well-formed any more. A value counts as good so far if a good value could still
//! begin like it.

use super::super::malformed::Malformed::{self, *};
use super::Division;

/// A request with its body, as the model found it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Parsed {
    pub(super) method: Vec<u8>,
    pub(super) target: Vec<u8>,
    /// Whether the version is HTTP/1.0.
    pub(super) old: bool,
    pub(super) body: Vec<u8>,
    /// Whether it asks for another protocol.
    upgrade: bool,
}

/// Why the model reads no further.
enum Stop {
    /// The buffer is used up.
    End,
    /// The next byte is at fault.
    Fault(Malformed),
}

/// The part of a request at which the model stopped.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Between,
    Head,
    Body,
}

/// A buffer and the position in it.
struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    part: Part,
}

type Fields = Vec<(String, Vec<u8>)>;

/// Reads a whole connection: how a guard has to divide it, and the complete requests in it.
pub(super) fn judge(bytes: &[u8]) -> (Division, Vec<Parsed>) {
    let mut reader = Reader { bytes, at: 0, part: Part::Between };
    let mut found = Vec::new();
    let mut upgrades = Vec::new();
    let stop = loop {
        match reader.request() {
            Ok(request) => {
                reader.part = Part::Between;
                upgrades.extend(request.upgrade.then_some(reader.at));
                found.push(request);
            }
            Err(stop) => break stop,
        }
    };
    let refused = match stop {
        Stop::End => None,
        Stop::Fault(malformed) => Some(malformed),
    };
    let within = |part| reader.part == part;
    let (within_head, within_body) = (within(Part::Head), within(Part::Body));
    (Division { passed: reader.at, upgrades, refused, within_head, within_body }, found)
}

impl Reader<'_> {
    fn request(&mut self) -> Result<Parsed, Stop> {
        if self.peek()? == b'\r' {
            self.at += 1;
            self.one(b"\n", BareReturn)?;
            if self.peek()? == b'\r' {
                return Err(Stop::Fault(EmptyLines));
            }
        }
        if !is_token(self.peek()?) {
            return Err(self.fault(Method));
        }
        self.part = Part::Head;
        let method = self.all(is_token)?;
        self.one_of(b" ", Method)?;
        let target = self.all(|byte| (0x21..=0x7e).contains(&byte))?;
        if target.is_empty() {
            return Err(self.fault(Target));
        }
        match self.peek()? {
            b' ' => self.at += 1,
            b'\r' => return Err(Stop::Fault(Version)),
            _ => return Err(self.fault(Target)),
        }
        for byte in b"HTTP/1." {
            self.one_of(&[*byte], Version)?;
        }
        let old = self.one_of(b"01", Version)? == b'0';
        self.one_of(b"\r", Version)?;
        self.one(b"\n", BareReturn)?;
        let connect = method == b"CONNECT";
        let fields = self.fields(|before, name| forbidden(before, name, old))?;
        let has = |name: &str| fields.iter().any(|(other, _)| other == name);
        let length = fields.iter().find(|(name, _)| name == "content-length");
        let length = length.map_or(0, |(_, value)| String::from_utf8_lossy(value).parse().unwrap());
        if !old && !has("host") {
            return Err(self.last_fault(HostMissing));
        }
        if connect && (has("transfer-encoding") || length > 0) {
            return Err(self.last_fault(ConnectBody));
        }
        self.part = Part::Body;
        let body = if has("transfer-encoding") { self.chunks()? } else { self.data(length)? };
        Ok(Parsed { method, target, old, body, upgrade: connect || has("upgrade") })
    }

    /// Field lines up to and with the empty line; a name may be forbidden by those before it.
    fn fields(
        &mut self,
        forbidden: impl Fn(&Fields, &str) -> Option<Malformed>,
    ) -> Result<Fields, Stop> {
        let mut fields = Vec::new();
        loop {
            match self.peek()? {
                b'\r' => {
                    self.at += 1;
                    self.one(b"\n", BareReturn)?;
                    return Ok(fields);
                }
                b' ' | b'\t' => return Err(Stop::Fault(Folded)),
                b':' => return Err(Stop::Fault(NameEmpty)),
                _ => {}
            }
            let name = String::from_utf8(self.all(is_token)?).unwrap().to_lowercase();
            match self.peek()? {
                b':' => {}
                b' ' | b'\t' if !name.is_empty() => return Err(Stop::Fault(NameSpace)),
                _ => return Err(self.fault(Name)),
            }
            if let Some(malformed) = forbidden(&fields, &name) {
                return Err(Stop::Fault(malformed));
            }
            self.at += 1;
            let value = self.value(&name)?;
            fields.push((name, value));
        }
    }

    /// A value and its line end.
    fn value(&mut self, name: &str) -> Result<Vec<u8>, Stop> {
        let start = self.at;
        loop {
            let byte = self.peek()?;
            let value = trim(&self.bytes[start..self.at]);
            let longer = trim(&self.bytes[start..=self.at]);
            match byte {
                b'\r' => match name {
                    "content-length" if value.is_empty() => return Err(Stop::Fault(Length)),
                    "transfer-encoding" if !value.eq_ignore_ascii_case(b"chunked") => {
                        return Err(Stop::Fault(Coding));
                    }
                    _ => {
                        self.at += 1;
                        self.one(b"\n", BareReturn)?;
                        return Ok(value.to_vec());
                    }
                },
                b'\t' => {}
                0..0x20 | 0x7f => return Err(self.fault(Control)),
                _ => match name {
                    "content-length" if !is_number(longer, 10) => return Err(Stop::Fault(Length)),
                    "transfer-encoding"
                        if !b"chunked".starts_with(&longer.to_ascii_lowercase()) =>
                    {
                        return Err(Stop::Fault(Coding));
                    }
                    "host" if !longer.iter().all(|&byte| is_host(byte)) => {
                        return Err(Stop::Fault(Host));
                    }
                    _ => {}
                },
            }
            self.at += 1;
        }
    }

    fn chunks(&mut self) -> Result<Vec<u8>, Stop> {
        let mut body = Vec::new();
        loop {
            let start = self.at;
            loop {
                let byte = self.peek()?;
                let digits = &self.bytes[start..self.at];
                let longer = &self.bytes[start..=self.at];
                match byte {
                    b'\r' | b';' if !digits.is_empty() => break,
                    _ if is_number(longer, 16) && longer.len() <= 16 => self.at += 1,
                    _ => return Err(self.fault(ChunkSize)),
                }
            }
            let digits = String::from_utf8_lossy(&self.bytes[start..self.at]).into_owned();
            let extension = self.at;
            while self.peek()? != b'\r' {
                let fits = (0x20..0x7f).contains(&self.peek()?) && self.at - extension < 255;
                if !fits {
                    return Err(self.fault(ChunkExtension));
                }
                self.at += 1;
            }
            self.at += 1;
            self.one(b"\n", BareReturn)?;
            let size = usize::from_str_radix(&digits, 16).unwrap();
            if size == 0 {
                self.fields(|_, name| {
                    ["host", "upgrade", "content-length", "transfer-encoding"]
                        .contains(&name)
                        .then_some(TrailerField)
                })?;
                return Ok(body);
            }
            body.extend(self.data(size)?);
            self.one(b"\r", ChunkEnd)?;
            self.one(b"\n", ChunkEnd)?;
        }
    }

    fn data(&mut self, length: usize) -> Result<Vec<u8>, Stop> {
        let data = &self.bytes[self.at..];
        let data = &data[..length.min(data.len())];
        self.at += data.len();
        if data.len() < length { Err(Stop::End) } else { Ok(data.to_vec()) }
    }

    fn peek(&self) -> Result<u8, Stop> {
        self.bytes.get(self.at).copied().ok_or(Stop::End)
    }

    /// All bytes that fit, of which the end is known.
    fn all(&mut self, fits: impl Fn(u8) -> bool) -> Result<Vec<u8>, Stop> {
        let start = self.at;
        while fits(self.peek()?) {
            self.at += 1;
        }
        Ok(self.bytes[start..self.at].to_vec())
    }

    /// One of some bytes, or a fault.
    fn one(&mut self, wanted: &[u8], malformed: Malformed) -> Result<u8, Stop> {
        let byte = self.peek()?;
        if !wanted.contains(&byte) {
            return Err(Stop::Fault(malformed));
        }
        self.at += 1;
        Ok(byte)
    }

    /// One of some bytes, or a fault, which a line feed is in its own way.
    fn one_of(&mut self, wanted: &[u8], malformed: Malformed) -> Result<u8, Stop> {
        let byte = self.peek()?;
        let malformed = if byte == b'\n' { BareLineFeed } else { malformed };
        self.one(wanted, malformed)
    }

    /// The fault of the next byte, if it is not a line feed.
    fn fault(&self, malformed: Malformed) -> Stop {
        Stop::Fault(if self.bytes[self.at] == b'\n' { BareLineFeed } else { malformed })
    }

    /// The fault of a head at its last byte.
    fn last_fault(&mut self, malformed: Malformed) -> Stop {
        self.at -= 1;
        Stop::Fault(malformed)
    }
}

/// Why a field may not stand after others in a head.
fn forbidden(before: &Fields, name: &str, old: bool) -> Option<Malformed> {
    let has = |name: &str| before.iter().any(|(other, _)| other == name);
    match name {
        "host" if has(name) => Some(HostTwice),
        "content-length" if has(name) => Some(LengthTwice),
        "transfer-encoding" if has(name) => Some(CodingTwice),
        "content-length" if has("transfer-encoding") => Some(LengthBesideCoding),
        "transfer-encoding" if has("content-length") => Some(LengthBesideCoding),
        "transfer-encoding" if old => Some(CodingOld),
        _ => None,
    }
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_graphic() && !b"\"(),/:;<=>?@[\\]{}".contains(&byte)
}

fn is_host(byte: u8) -> bool {
    byte.is_ascii_graphic() && !b"\"#,/<>?@\\^`{|}".contains(&byte)
}

/// Whether digits are a number below 2^63, or none.
fn is_number(digits: &[u8], radix: u32) -> bool {
    let digits = String::from_utf8_lossy(digits);
    digits.chars().all(|digit| digit.is_digit(radix))
        && (digits.is_empty() || i64::from_str_radix(&digits, radix).is_ok())
}

fn trim(value: &[u8]) -> &[u8] {
    let inside = |byte: &u8| !b" \t".contains(byte);
    let start = value.iter().position(inside).unwrap_or(value.len());
    let end = value.iter().rposition(inside).map_or(start, |last| last + 1);
    &value[start..end]
}
