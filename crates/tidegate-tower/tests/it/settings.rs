//! The section `http`: what may be written, and what is said about the rest.

use std::fmt::Write as _;
use std::sync::Arc;

use http::{Method, StatusCode};
use http_body_util::Full;
use tidegate_core::{Clock as _, ManualClock, Timestamp};
use tidegate_engine::file::File;
use tidegate_engine::{Engine, SystemClock};
use tidegate_tower::settings::HttpFile;
use tower::{Layer, ServiceExt, service_fn};

use crate::world::{POLICIES, acme, finish, request, store};

const HTTP: &str = "
http:
  default: write
  classes:
    read: { early: address, policy: read }
    write: { early: address, policy: write }
    bulk: { early: address, policy: bulk }
    auth: { early: entrance }
  routes:
    - { path: /login, methods: [POST], class: auth }
    - { path: '/reports/{id}', methods: [GET], class: read, scope: 'reports:read' }
  jobs:
    - { name: export, class: bulk, scope: 'reports:export', cost: 10 }
  trusted_proxies: [198.51.100.0/24]
  client_header: x-real-ip
  request_id_header: x-correlation
  answers: { headers: [x-ratelimit], reset: delta, retry_after: always, body: problem }
";

fn written(http: &str) -> String {
    POLICIES.replacen("version: 1\n", &format!("version: 1{http}"), 1)
}

fn told(change: impl Fn(&str) -> String) -> String {
    let text = written(&change(HTTP));
    File::<HttpFile>::parse("policies.yaml", &text).map(drop).unwrap_err().to_string()
}

#[test]
fn a_gate_is_made_from_a_file() {
    let file: File<HttpFile> = File::parse("policies.yaml", &written(HTTP)).unwrap();
    let clock = Arc::new(ManualClock::new(Timestamp::from_micros(1_800_000_000_000_000)));
    let store = store(&clock);
    let engine = Engine::new(store, file.policies().clone().build(None).unwrap());
    let gate = file.door().http.gate(Arc::new(engine)).unwrap().timed_by(clock).build().unwrap();
    let service = service_fn(async |_| {
        Ok::<_, std::convert::Infallible>(http::Response::new(Full::<bytes::Bytes>::default()))
    });
    let stack = gate.early().layer(gate.org().layer(service));
    let send = |client: &'static str| {
        let mut request = request(Method::GET, "/reports/1", Some(acme()));
        request.headers_mut().insert("x-real-ip", client.parse().unwrap());
        finish(stack.clone().oneshot(request)).unwrap()
    };
    let answers = ["203.0.113.1", "203.0.113.2", "203.0.113.3"].map(send);
    let statuses = answers.each_ref().map(|answer| answer.status().as_u16());
    assert_eq!(statuses, [200, 200, 429]);
    let headers = answers[2].headers();
    assert_eq!(headers["x-ratelimit-limit"], "2");
    assert_eq!(headers["x-ratelimit-remaining"], "0");
    assert_eq!(headers["x-ratelimit-reset"], "2");
    assert_eq!(headers["retry-after"], "1");
    assert_eq!(headers["content-type"], "application/problem+json");
    assert!(headers.contains_key("x-correlation") && !headers.contains_key("ratelimit"));
    assert_eq!(answers[0].status(), StatusCode::OK);
}

#[test]
fn mistakes_are_shown_where_they_are() {
    for (is, should, place, problem) in [
        ("default: write", "default: wrote", "4:12", "there is no class `wrote`"),
        ("early: entrance", "early: nobody", "9:20", "policy `nobody`, which does not exist"),
        ("methods: [POST], class: auth", "class: weird", "10:3", "`weird`, which is not declared"),
        ("[POST]", "[post]", "11:32", "`post` is not a method"),
        ("cost: 10", "cost: 0", "14:67", "a cost of 0 counts nothing"),
        ("198.51.100.0/24", "198.51.100.7/24", "15:21", "`198.51.100.0/24`"),
        ("client_header", "client_heder", "16:3", "there is no field `client_heder` here"),
        ("[x-ratelimit]", "[x-rate]", "18:24", "`x-rate` is not a known word"),
    ] {
        let told = told(|http| http.replace(is, should));
        assert!(told.contains(&format!("policies.yaml:{place}\n")), "{place}: {told}");
        assert!(told.contains(problem), "{problem}: {told}");
    }
}

/// A section `http` with this many classes, and a route for each.
fn many_classes(count: usize) -> String {
    let mut http = "\nhttp:\n  default: c0\n  classes:\n".to_owned();
    for n in 0..count {
        writeln!(http, "    c{n}: {{ early: address }}").unwrap();
    }
    http += "  routes:\n";
    for n in 0..count {
        writeln!(http, "    - {{ path: /{n}, class: c{n} }}").unwrap();
    }
    written(&http)
}

/// A section `http` with this many jobs.
fn many_jobs(count: usize) -> String {
    let class = "c: { early: address, policy: read }";
    let mut http = format!("\nhttp:\n  default: c\n  classes: {{ {class} }}\n  jobs:\n");
    for n in 0..count {
        writeln!(http, "    - {{ name: {n}, class: c }}").unwrap();
    }
    written(&http)
}

/// The least time that reading a text has taken, of several tries.
fn least(text: &str) -> u64 {
    let clock = SystemClock::new();
    let times = (0..4).map(|_| {
        let start = clock.now();
        File::<HttpFile>::parse("policies.yaml", text).unwrap();
        clock.now().since(start).as_micros()
    });
    times.min().unwrap()
}

#[test]
fn eight_times_the_classes_and_routes_take_about_eight_times_as_long() {
    for (short, long) in
        [(many_classes(1_600), many_classes(12_800)), (many_jobs(4_000), many_jobs(32_000))]
    {
        let (one, eight) = (least(&short), least(&long));
        let told = format!("{} bytes in {one} µs, {} in {eight} µs", short.len(), long.len());
        // Work that is quadratic in part takes 20 times as long, or more.
        assert!(eight <= 16 * one, "{told}");
    }
}
