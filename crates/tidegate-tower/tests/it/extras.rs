//! What requests bring along without being asked changes nothing about what they count as.

use std::cell::Cell;
use std::net::SocketAddr;

use bytes::Bytes;
use http::header::{HeaderName, HeaderValue};
use http::{Method, Request};
use http_body_util::Full;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use tidegate_tower::{Identity, Peer};

use crate::world::{World, request};

/// Names that somebody might take for facts.
const NAMES: [&str; 12] = [
    "authorization",
    "cookie",
    "forwarded",
    "idempotency-key",
    "x-account",
    "x-api-key",
    "x-client-ip",
    "x-forwarded-for",
    "x-org-id",
    "x-real-ip",
    "x-tenant",
    "x-user-id",
];

/// Headers, a query, a body and the variable part of a path.
#[derive(Clone, Debug)]
struct Extras {
    headers: Vec<(String, String)>,
    query: String,
    body: String,
    id: String,
}

fn extras() -> impl Strategy<Value = Extras> {
    let name = prop_oneof![
        4 => prop::sample::select(NAMES.to_vec()).prop_map(ToOwned::to_owned),
        1 => "x-[a-z]{1,12}",
    ];
    let value =
        prop_oneof!["[ -~]{0,30}", "[0-9]{1,3}\\.0\\.113\\.[0-9]{1,3}", "for=[0-9a-f:]{2,20}"];
    let query = "((org|user|token|account|ip|class|email)=[a-z0-9]{0,8}&){0,4}";
    let body = "\\{\"(email|account|user|org)\":\"[a-z0-9@.]{0,20}\"\\}";
    (prop::collection::vec((name, value), 0..6), query, body, "[a-z0-9]{1,12}")
        .prop_map(|(headers, query, body, id)| Extras { headers, query, body, id })
}

/// A request with what it brings along.
fn with(
    extras: &Extras,
    method: Method,
    path: &str,
    identity: Option<Identity>,
) -> Request<Full<Bytes>> {
    let mut request = request(method, &format!("{path}?{}", extras.query), identity);
    *request.body_mut() = Full::from(extras.body.clone());
    for (name, value) in &extras.headers {
        let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
        request.headers_mut().append(name, HeaderValue::from_str(value).unwrap());
    }
    request
}

#[test]
fn t07_no_header_query_body_or_piece_of_a_path_is_part_of_a_key() {
    let world = World::new();
    let mut runner = TestRunner::new(Config { cases: 48, ..Config::default() });
    let cases = Cell::new(0_u16);
    runner
        .run(&prop::collection::vec(extras(), 6), |requests| {
            let case = cases.get() + 1;
            cases.set(case);
            let [high, low] = case.to_be_bytes();
            let peer = Peer(SocketAddr::from(([192, 0, high, low], 5000)));
            // Two at once of one token, and three a minute from one address: whatever they say.
            let somebody =
                Identity::new(format!("org {case}")).user("u").token("t").scopes(["reports:read"]);
            let mut passed = [0, 0];
            for extras in &requests {
                let path = format!("/reports/{}", extras.id);
                let mut read = with(extras, Method::GET, &path, Some(somebody.clone()));
                let mut login = with(extras, Method::POST, "/login", None);
                for (count, request) in passed.iter_mut().zip([&mut read, &mut login]) {
                    request.extensions_mut().insert(peer);
                    *count += u32::from(world.send(request.clone()).status() == 200);
                }
            }
            prop_assert_eq!(passed, [2, 3]);
            Ok(())
        })
        .unwrap();
}
