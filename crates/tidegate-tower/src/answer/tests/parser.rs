//! Lists of strings with integer parameters, by the letter of RFC 9651, section 4.2.
//!
//! Written for these tests alone, and strict: what the serialiser writes and this does not read is
//! wrong.

/// A member of a list: the string, and its parameters in order.
pub(super) type Member = (String, Vec<(String, i64)>);

/// What is left to read.
struct Input<'a>(&'a [u8]);

/// The members of a list; none if the text is not one.
pub(super) fn list(text: &[u8]) -> Option<Vec<Member>> {
    let mut input = Input(text);
    let mut members = Vec::new();
    loop {
        members.push((input.string()?, input.parameters()?));
        if input.0.is_empty() {
            return Some(members);
        }
        // As it is serialised, which is one of the ways it may be.
        input.expect(b',')?;
        input.expect(b' ')?;
    }
}

// === impl Input ===

impl Input<'_> {
    fn peek(&self) -> Option<u8> {
        self.0.first().copied()
    }

    fn next(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        (self.next()? == byte).then_some(())
    }

    fn string(&mut self) -> Option<String> {
        self.expect(b'"')?;
        let mut text = String::new();
        loop {
            match self.next()? {
                b'"' => return Some(text),
                b'\\' => match self.next()? {
                    escaped @ (b'"' | b'\\') => text.push(char::from(escaped)),
                    _ => return None,
                },
                plain @ 0x20..=0x7e => text.push(char::from(plain)),
                _ => return None,
            }
        }
    }

    fn parameters(&mut self) -> Option<Vec<(String, i64)>> {
        let mut parameters: Vec<(String, i64)> = Vec::new();
        while self.peek() == Some(b';') {
            self.expect(b';')?;
            let key = self.key()?;
            self.expect(b'=')?;
            let value = self.integer()?;
            if parameters.iter().any(|(known, _)| *known == key) {
                return None;
            }
            parameters.push((key, value));
        }
        Some(parameters)
    }

    fn key(&mut self) -> Option<String> {
        let mut key = String::new();
        while let Some(byte) = self.peek() {
            let allowed = match byte {
                b'a'..=b'z' | b'*' => true,
                b'0'..=b'9' | b'_' | b'-' | b'.' => !key.is_empty(),
                _ => false,
            };
            if !allowed {
                break;
            }
            key.push(char::from(byte));
            self.next();
        }
        (!key.is_empty()).then_some(key)
    }

    /// At most 15 digits; no sign of plus, and none written in more than one way.
    fn integer(&mut self) -> Option<i64> {
        let mut digits = String::new();
        if self.peek() == Some(b'-') {
            self.next();
            digits.push('-');
        }
        let signs = digits.len();
        while let Some(byte @ b'0'..=b'9') = self.peek() {
            digits.push(char::from(byte));
            self.next();
        }
        let count = digits.len() - signs;
        let canonical = count == 1 || !digits[signs..].starts_with('0');
        ((1..=15).contains(&count) && canonical).then(|| digits.parse().ok())?
    }
}

#[test]
fn the_parser_reads_what_is_a_list_and_nothing_else() {
    let one = |name: &str, key: &str, value| (name.to_owned(), vec![(key.to_owned(), value)]);
    assert_eq!(list(br#""a";q=1, "b\"";w=-5"#), Some(vec![one("a", "q", 1), one("b\"", "w", -5)]));
    let wrong: [&[u8]; 12] = [
        b"",
        b"a;q=1",
        br#""a";q=1,"#,
        br#""a";q=1,"b""#,
        br#""a" ;q=1"#,
        br#""a";Q=1"#,
        br#""a";q=01"#,
        br#""a";q=1;q=2"#,
        br#""a";q=1000000000000000"#,
        br#""a";q=1.5"#,
        b"\"\xc3\xa4\";q=1",
        br#""a"#,
    ];
    for text in wrong {
        assert_eq!(list(text), None, "{}", String::from_utf8_lossy(text));
    }
}
