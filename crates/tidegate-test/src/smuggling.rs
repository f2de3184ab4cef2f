//! Requests that two readers of one connection could divide differently, for raw sockets (threat T28).
//!
//! A client library writes well-formed requests, whatever it is told; so these are bytes. Each
//! [`SmugglingCase`] is one connection. A shape that must be refused comes in two cases: as the first bytes of
//! a connection, and after a well-formed request. In both a well-formed request follows it, which is
//! the one an attacker would smuggle: it must never be answered. The well-formed controls are there
//! so that a listener that refuses everything does not pass.
//!
//! The same cases go to several listeners, so the requests in them are made from [`Requests`].
//! [`check`] sends one case and compares the answers, [`check_all`] sends all of them in every
//! [`Delivery`].

mod answer;
mod chunks;
mod controls;
mod fields;
mod framing;
mod lines;
mod wire;

pub use answer::HttpAnswer;
pub use wire::{Delivery, check, check_all};

/// The requests that a listener answers, from which the cases are made.
#[derive(Clone, Copy, Debug)]
pub struct Requests<'a> {
    /// Target of a GET request without a body, such as `/livez`.
    pub get: &'a str,
    /// Target of a POST request with [`body`](Self::body).
    pub post: &'a str,
    /// Field lines that every request carries, each with its line end; none of them frames a body.
    pub fields: &'a str,
    /// Body of the POST request; not empty, ASCII, at most 255 bytes.
    pub body: &'a str,
}

/// The bytes of one connection and the answers they must get.
#[derive(Clone, Debug)]
pub struct SmugglingCase {
    /// Name of the case, which says what its bytes are.
    pub name: &'static str,
    /// Bytes that are sent.
    pub bytes: Vec<u8>,
    /// Answers that must come.
    pub expect: Expect,
}

/// The answers to a [`SmugglingCase`]; interim answers (1xx) do not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// This many answers, none of them a 400; then the connection stays open and silent.
    Answered(usize),
    /// This many answers, none of them a 400; then the connection ends.
    Closed(usize),
    /// This many answers, none of them a 400; then exactly one `HTTP/1.1 400` with
    /// `connection: close`, and the connection ends.
    Refused {
        /// Answers before the 400.
        after: usize,
    },
    /// As [`Refused`](Self::Refused), but the fault is in a body whose head was well-formed. A
    /// service may answer such a request before its body has come, so the last answer may have any
    /// status; the connection ends after it all the same.
    RefusedBody {
        /// Answers before the one to the request with the fault.
        after: usize,
    },
}

/// All cases, made from the requests of a listener.
#[must_use]
pub fn cases(requests: Requests<'_>) -> Vec<SmugglingCase> {
    let mut cases = Vec::new();
    lines::add(requests, &mut cases);
    fields::add(requests, &mut cases);
    framing::add(requests, &mut cases);
    chunks::add(requests, &mut cases);
    controls::add(requests, &mut cases);
    cases
}

// === impl Requests ===

impl Requests<'_> {
    /// A well-formed request without a body.
    #[must_use]
    pub fn good(&self) -> String {
        self.request(&format!("GET {} HTTP/1.1", self.get), "Host: tidegate.example\r\n", "")
    }

    /// A request: the line, `fields`, the fields that every request carries, an empty line, and
    /// `rest`.
    fn request(&self, line: &str, fields: &str, rest: &str) -> String {
        format!("{line}\r\n{fields}{}\r\n{rest}", self.fields)
    }

    /// A POST request of HTTP/1.1: with a Host field, `fields`, and `rest` after the head.
    fn upload(&self, fields: &str, rest: &str) -> String {
        let line = format!("POST {} HTTP/1.1", self.post);
        self.request(&line, &format!("Host: tidegate.example\r\n{fields}"), rest)
    }

    /// Adds the two cases of a shape whose head is malformed.
    fn refuse(&self, name: &'static str, shape: impl AsRef<[u8]>, cases: &mut Vec<SmugglingCase>) {
        self.add(name, shape.as_ref(), |after| Expect::Refused { after }, cases);
    }

    /// Adds the two cases of a shape whose body is malformed.
    fn refuse_body(
        &self,
        name: &'static str,
        shape: impl AsRef<[u8]>,
        cases: &mut Vec<SmugglingCase>,
    ) {
        self.add(name, shape.as_ref(), |after| Expect::RefusedBody { after }, cases);
    }

    /// Adds the two cases of a shape: first on its connection, and after a well-formed request.
    fn add(
        &self,
        name: &'static str,
        shape: &[u8],
        expect: impl Fn(usize) -> Expect,
        cases: &mut Vec<SmugglingCase>,
    ) {
        let good = self.good();
        for (after, before) in ["", &good].into_iter().enumerate() {
            let bytes = [before.as_bytes(), shape, good.as_bytes()].concat();
            cases.push(SmugglingCase { name, bytes, expect: expect(after) });
        }
    }
}

#[cfg(test)]
mod tests;
