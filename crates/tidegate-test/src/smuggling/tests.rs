//! The corpus is as large as it says, and its runner reads answers by the letter.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::thread;

use super::wire::{Heard, ReadEnd, judge};
use super::{Delivery, Expect, HttpAnswer, Requests, SmugglingCase, cases, check};

const PLAIN: Requests<'static> =
    Requests { get: "/a", post: "/b", fields: "X-Extra: c\r\n", body: "{\"hello\":1}" };

/// An answer with a body.
const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi";

/// The answer to a malformed request.
const BAD: &str = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\ncontent-length: 0\r\n\r\n";

/// All answers in a text.
fn answers(mut text: &str) -> Result<Vec<HttpAnswer>, String> {
    let mut answers = Vec::new();
    while !text.is_empty() {
        let (answer, length) = HttpAnswer::read(text.as_bytes())?.ok_or("more is needed")?;
        answers.push(answer);
        text = &text[length..];
    }
    Ok(answers)
}

#[test]
fn the_corpus_is_large_and_its_cases_differ() {
    let cases = cases(PLAIN);
    let shapes = |wanted: fn(&Expect) -> bool| {
        let mut names: Vec<&str> =
            cases.iter().filter(|case| wanted(&case.expect)).map(|case| case.name).collect();
        names.sort_unstable();
        names.dedup();
        names.len()
    };
    let well = |expect: &Expect| matches!(expect, Expect::Answered(_) | Expect::Closed(_));
    let (controls, refused) = (
        shapes(well),
        shapes(|expect| matches!(expect, Expect::Refused { .. } | Expect::RefusedBody { .. })),
    );
    assert!(controls >= 20, "{controls} controls");
    assert!(refused >= 130, "{refused} shapes");
    for (at, case) in cases.iter().enumerate() {
        let same = cases[..at].iter().find(|other| other.bytes == case.bytes);
        assert!(same.is_none(), "{} is the same as {same:?}", case.name);
        let twin = cases[..at].iter().filter(|other| other.name == case.name).count();
        assert!(twin <= usize::from(!well(&case.expect)), "{} is named twice", case.name);
    }
}

#[test]
fn every_case_ends_in_a_well_formed_request_or_a_fault() {
    for case in cases(PLAIN) {
        let good = PLAIN.good();
        let smuggled = case.bytes.ends_with(good.as_bytes());
        assert!(smuggled || matches!(case.expect, Expect::Closed(_)), "{}", case.name);
    }
}

#[test]
fn answers_are_read_one_after_the_other() {
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n";
    let read = answers(&[OK, chunked, "HTTP/1.1 204 No Content\r\n\r\n", BAD].concat()).unwrap();
    let statuses: Vec<&str> = read.iter().map(|answer| answer.status.as_str()).collect();
    assert_eq!(statuses, ["HTTP/1.1 200", "HTTP/1.1 200", "HTTP/1.1 204", "HTTP/1.1 400"]);
    let bodies: Vec<&[u8]> = read.iter().map(|answer| &answer.body[..]).collect();
    assert_eq!(bodies, [&b"hi"[..], b"hi", b"", b""]);
    assert!(read[3].refuses() && read[3].is_bad_request() && !read[0].is_bad_request());
}

#[test]
fn a_part_of_an_answer_waits_for_the_rest() {
    let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n";
    for text in [OK, BAD, chunked] {
        for length in 0..text.len() {
            let read = HttpAnswer::read(&text.as_bytes()[..length]);
            assert_eq!(read, Ok(None), "{}", &text[..length]);
        }
        assert_eq!(HttpAnswer::read(text.as_bytes()).unwrap().unwrap().1, text.len());
    }
}

#[test]
fn bytes_that_are_no_answers_are_wrong() {
    for text in [
        "\r\n",
        "hi",
        "GET / HTTP/1.1\r\n\r\n",
        "HTTP/2.0 200 OK\r\ncontent-length: 0\r\n\r\n",
        "HTTP/1.1 20 OK\r\ncontent-length: 0\r\n\r\n",
        "HTTP/1.1 200\r\ncontent-length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 0\r\ncontent-length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: +0\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 0\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip\r\n\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nx\r\n\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nabc",
        "HTTP/1.1 204 No Content\r\ncontent-length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nx : y\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nx: y\nz: z\r\n\r\n",
    ] {
        assert!(HttpAnswer::read(text.as_bytes()).is_err(), "{text:?}");
    }
}

#[test]
fn expectations_are_kept_by_the_letter() {
    let heard = |text: &str, end| Heard { answers: answers(text).unwrap(), end };
    let open = BAD.replace("close", "keep-alive");
    let broken = || ReadEnd::Broken("reset".to_owned());
    for (expect, text, end, kept) in [
        (Expect::Answered(2), OK.repeat(2), ReadEnd::Silent, true),
        (Expect::Answered(2), OK.repeat(2), ReadEnd::Closed, false),
        (Expect::Answered(2), OK.repeat(3), ReadEnd::Silent, false),
        (Expect::Answered(2), OK.to_owned(), ReadEnd::Silent, false),
        (Expect::Answered(1), BAD.to_owned(), ReadEnd::Silent, false),
        (Expect::Closed(1), OK.to_owned(), ReadEnd::Closed, true),
        (Expect::Closed(1), OK.to_owned(), ReadEnd::Silent, false),
        (Expect::Closed(1), format!("{OK}{BAD}"), ReadEnd::Closed, false),
        (Expect::Refused { after: 1 }, format!("{OK}{BAD}"), ReadEnd::Closed, true),
        (Expect::Refused { after: 1 }, format!("{OK}{BAD}"), ReadEnd::Silent, false),
        (Expect::Refused { after: 1 }, format!("{OK}{BAD}"), broken(), false),
        (Expect::Refused { after: 1 }, format!("{OK}{open}"), ReadEnd::Closed, false),
        (Expect::Refused { after: 1 }, format!("{OK}{OK}"), ReadEnd::Closed, false),
        (Expect::Refused { after: 1 }, format!("{BAD}{BAD}"), ReadEnd::Closed, false),
        (Expect::Refused { after: 1 }, format!("{OK}{BAD}{OK}"), ReadEnd::Closed, false),
        (Expect::Refused { after: 0 }, BAD.to_owned(), ReadEnd::Closed, true),
        (Expect::Refused { after: 0 }, String::new(), ReadEnd::Closed, false),
        (Expect::RefusedBody { after: 0 }, BAD.to_owned(), ReadEnd::Closed, true),
        (Expect::RefusedBody { after: 0 }, OK.to_owned(), ReadEnd::Closed, true),
        (Expect::RefusedBody { after: 0 }, OK.to_owned(), ReadEnd::Silent, false),
        (Expect::RefusedBody { after: 0 }, open.clone(), ReadEnd::Closed, false),
        (Expect::RefusedBody { after: 0 }, OK.repeat(2), ReadEnd::Closed, false),
    ] {
        let heard = heard(&text, end);
        assert_eq!(judge(expect, &heard).is_ok(), kept, "{expect:?}: {heard:?}");
    }
}

#[test]
fn a_socket_is_read_to_its_end() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let bytes = b"twelve bytes".to_vec();
    let wanted = bytes.len();
    let server = thread::spawn(move || {
        for answer in [format!("{OK}{BAD}"), format!("HTTP/1.1 100 Continue\r\n\r\n{OK}{OK}")] {
            for _ in 0..3 {
                let (mut stream, _) = listener.accept().unwrap();
                stream.read_exact(&mut vec![0; wanted]).unwrap();
                stream.write_all(answer.as_bytes()).unwrap();
            }
        }
    });
    for expect in [Expect::Refused { after: 1 }, Expect::Closed(2)] {
        let case = SmugglingCase { name: "canned", bytes: bytes.clone(), expect };
        for delivery in [Delivery::Whole, Delivery::Halves, Delivery::Bytewise] {
            check(address, &case, delivery).unwrap();
        }
    }
    server.join().unwrap();
}
