//! Of the bytes that pass, hyper makes the same requests.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use http::{Request, Response, Uri};
use http_body_util::{BodyExt as _, Empty};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use proptest::prelude::*;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::grammar::{connection, mutated};
use super::model::{Parsed, judge};
use super::read;

/// The method, target and body of a request.
type Plain = (Vec<u8>, String, Vec<u8>);

/// The requests that hyper finds in the bytes of a connection, and whether it had no complaint.
fn found_by_hyper(bytes: &[u8]) -> (Vec<Plain>, bool) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let service = service_fn(|request: Request<Incoming>| {
        let seen = Arc::clone(&seen);
        async move {
            let (head, body) = request.into_parts();
            // A body that does not come to its end is no request that was answered.
            if let Ok(body) = body.collect().await {
                let method = head.method.as_str().as_bytes().to_vec();
                let body = body.to_bytes().to_vec();
                seen.lock().unwrap().push((method, head.uri.to_string(), body));
            }
            Ok::<_, Infallible>(Response::new(Empty::<Bytes>::new()))
        }
    });
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let served = runtime.block_on(async {
        let (mut client, server) = tokio::io::duplex(1 << 20);
        client.write_all(bytes).await.unwrap();
        client.shutdown().await.unwrap();
        let connection =
            http1::Builder::new().half_close(true).serve_connection(TokioIo::new(server), service);
        let mut answers = Vec::new();
        let (served, _) = tokio::join!(connection, client.read_to_end(&mut answers));
        served.is_ok()
    });
    let seen = core::mem::take(&mut *seen.lock().unwrap());
    (seen, served)
}

/// That hyper finds in the bytes that pass only requests that the model found, and all of them
/// unless it refuses one or closes after HTTP/1.0.
fn agree(bytes: &[u8]) -> Result<(), TestCaseError> {
    let passed = read([bytes]);
    // After an upgrade hyper does not go on.
    let count = passed.upgrades.first().copied().unwrap_or(passed.passed);
    let bytes = &bytes[..count];
    let (read, wanted) = judge(bytes);
    let (seen, served) = found_by_hyper(bytes);
    let plain = |found: &Parsed| {
        let target = String::from_utf8(found.target.clone()).unwrap();
        // As hyper writes it, without a fragment and with a path.
        let target = target.parse().map_or(target, |uri: Uri| uri.to_string());
        (found.method.clone(), target, found.body.clone())
    };
    let wanted_plain: Vec<Plain> = wanted.iter().map(plain).collect();
    prop_assert!(wanted_plain.starts_with(&seen), "{}: {seen:?}", bytes.escape_ascii());
    let closes = wanted.iter().any(|found| found.old);
    if served && !closes && !read.within_head && !read.within_body {
        prop_assert_eq!(seen.len(), wanted.len(), "{}", bytes.escape_ascii());
    }
    Ok(())
}

#[test]
fn hyper_sees_what_passes() {
    let requests = "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi\r\n\
        POST /b HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2;x\r\nhi\r\n0\r\nc: d\r\n\r\n\
        GET /c HTTP/1.1\r\nHost: a\r\n\r\n";
    let (seen, served) = found_by_hyper(requests.as_bytes());
    assert!(served);
    let targets: Vec<&str> = seen.iter().map(|(_, target, _)| target.as_str()).collect();
    assert_eq!(targets, ["/a", "/b", "/c"]);
}

proptest! {
    #[test]
    fn hyper_divides_what_passes_in_the_same_way(bytes in prop_oneof![connection(), mutated()]) {
        agree(&bytes)?;
    }
}
