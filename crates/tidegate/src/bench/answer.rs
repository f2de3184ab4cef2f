//! Reads as much of an HTTP answer as it takes to count it.

/// An answer that has come as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WholeAnswer {
    /// The length of the answer in bytes.
    pub(super) length: usize,
    pub(super) outcome: AskOutcome,
    /// Whether the server closes the connection after this answer.
    pub(super) closes: bool,
}

/// The outcome of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AskOutcome {
    Admit,
    Queue,
    Degrade,
    Deny,
    /// The server did not understand the request, or does not know the policy.
    Problem(u16),
    /// The server could not answer.
    Failure(u16),
}

/// The answer is not one that this client can read: not HTTP/1.1, too large, or in chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unreadable;

/// The most bytes of an answer; those of a Tidegate server are a few kilobytes.
pub(super) const MAX_ANSWER: usize = 1024 * 1024;

const MAX_HEADERS: usize = 64;

/// Reads one answer from the beginning of `bytes`; `None` if there is more to come.
pub(super) fn read(bytes: &[u8]) -> Result<Option<WholeAnswer>, Unreadable> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut response = httparse::Response::new(&mut headers);
    let head = match response.parse(bytes) {
        Ok(httparse::Status::Complete(head)) => head,
        Ok(httparse::Status::Partial) if bytes.len() < MAX_ANSWER => return Ok(None),
        Ok(httparse::Status::Partial) | Err(_) => return Err(Unreadable),
    };
    let status = response.code.ok_or(Unreadable)?;
    let (mut body, mut closes) = (None, response.version == Some(0));
    for header in response.headers.iter() {
        if header.name.eq_ignore_ascii_case("content-length") {
            let text = std::str::from_utf8(header.value).map_err(|_| Unreadable)?;
            body = Some(text.trim().parse::<usize>().map_err(|_| Unreadable)?);
        } else if header.name.eq_ignore_ascii_case("connection") {
            closes |= header.value.eq_ignore_ascii_case(b"close");
        }
    }
    let length = match body {
        Some(body) if body <= MAX_ANSWER => head + body,
        None if matches!(status, 204 | 304) => head,
        Some(_) | None => return Err(Unreadable),
    };
    let Some(body) = bytes.get(head..length) else { return Ok(None) };
    Ok(Some(WholeAnswer { length, outcome: outcome(status, body), closes }))
}

/// The outcome of an answer: a decision has its verdict in the body, the gate in its status.
fn outcome(status: u16, body: &[u8]) -> AskOutcome {
    const MARK: &[u8] = br#""verdict":""#;
    let verdict = |body: &[u8]| {
        let at = body.windows(MARK.len()).position(|window| window == MARK)? + MARK.len();
        let rest = body.get(at..)?;
        Some(match rest.get(..rest.iter().position(|byte| *byte == b'"')?)? {
            b"admit" => AskOutcome::Admit,
            b"queue" => AskOutcome::Queue,
            b"degrade" => AskOutcome::Degrade,
            _ => AskOutcome::Deny,
        })
    };
    match status {
        200..=299 => verdict(body).unwrap_or(AskOutcome::Admit),
        403 | 429 => AskOutcome::Deny,
        500.. => AskOutcome::Failure(status),
        _ => AskOutcome::Problem(status),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(status: u16, headers: &str, body: &str) -> String {
        let length = body.len();
        format!("HTTP/1.1 {status} X\r\ncontent-length: {length}\r\n{headers}\r\n{body}")
    }

    #[test]
    fn every_verdict_is_counted_as_itself() {
        for (status, body, outcome) in [
            (200, r#"{"policy":"a","verdict":"admit"}"#, AskOutcome::Admit),
            (200, r#"{"policy":"a","verdict":"queue"}"#, AskOutcome::Queue),
            (200, r#"{"verdict":"degrade"}"#, AskOutcome::Degrade),
            (200, r#"{"verdict":"deny"}"#, AskOutcome::Deny),
            (200, "", AskOutcome::Admit),
            (429, "", AskOutcome::Deny),
            (403, "", AskOutcome::Deny),
            (404, "{}", AskOutcome::Problem(404)),
            (503, "{}", AskOutcome::Failure(503)),
        ] {
            let answer = read(response(status, "", body).as_bytes()).unwrap().unwrap();
            assert_eq!(answer.outcome, outcome, "{status} {body}");
        }
    }

    #[test]
    fn an_answer_is_read_when_all_of_it_is_there_and_no_further() {
        let whole = response(200, "Connection: close\r\n", r#"{"verdict":"deny"}"#);
        for cut in 0..whole.len() {
            assert_eq!(read(&whole.as_bytes()[..cut]), Ok(None), "{cut}");
        }
        let two = format!("{whole}{whole}");
        let answer = read(two.as_bytes()).unwrap().unwrap();
        assert_eq!((answer.length, answer.closes), (whole.len(), true));
    }

    #[test]
    fn what_cannot_be_counted_is_refused() {
        for bytes in [
            "nonsense\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n",
        ] {
            assert_eq!(read(bytes.as_bytes()), Err(Unreadable), "{bytes}");
        }
    }
}
