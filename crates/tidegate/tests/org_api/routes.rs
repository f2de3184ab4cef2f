//! Threat T06: whatever is served has limits.

use std::sync::Arc;

use tidegate::memory::MemoryStore;
use tidegate::{ManualClock, file::File};
use tidegate_tower::report::Reporter;
use tidegate_tower::settings::HttpFile;

use crate::example::POLICIES;
use crate::example::app::{ApiRoute, app, endpoints};
use crate::example::tokens::Tokens;
use crate::site::{Ask, Site};

fn all() -> Vec<ApiRoute<MemoryStore<Arc<ManualClock>>>> {
    endpoints().unwrap()
}

#[test]
fn t06_every_endpoint_has_a_route_and_a_policy_and_every_route_is_served() {
    let file: File<HttpFile> = File::parse("policies.yaml", POLICIES).unwrap();
    let http = &file.door().http;
    let (endpoints, policies) = (all(), file.policies().clone().build(None).unwrap());
    assert!(endpoints.len() >= 8);
    for ApiRoute { method, path, .. } in &endpoints {
        let mut routes = http.routes.iter().filter(|route| {
            route.path == *path && route.methods.iter().any(|listed| listed == method.as_str())
        });
        let route = routes.next().unwrap_or_else(|| panic!("{method} {path} has no route"));
        let class = &http.classes[&route.class];
        let early = policies.get(&class.early);
        assert!(early.is_some_and(|policy| !policy.limits().is_empty()), "{method} {path}");
        if route.scope.is_some() {
            let policy = class.policy.as_deref().and_then(|policy| policies.get(policy));
            assert!(policy.is_some_and(|policy| !policy.limits().is_empty()), "{method} {path}");
        }
    }
    for route in &http.routes {
        let served = |method: &String| {
            endpoints.iter().any(|it| it.path == route.path && it.method.as_str() == method)
        };
        assert!(!route.methods.is_empty() && route.methods.iter().all(served), "{}", route.path);
    }
}

#[test]
fn t06_an_endpoint_without_a_route_stops_the_start() {
    let routes = POLICIES.lines().filter(|line| !line.contains("path: '/v1/admin"));
    let fewer = routes.collect::<Vec<_>>().join("\n");
    let clock = Arc::new(ManualClock::new(tidegate::Timestamp::from_micros(0)));
    let fewer = File::parse("policies.yaml", &fewer).unwrap();
    let refused = app(&fewer, clock, Reporter::default(), Tokens::example()).unwrap_err();
    let expected = "DELETE /v1/admin/users/{id} has no route in the policy file";
    assert_eq!(refused.to_string(), expected);
}

#[tokio::test]
async fn t06_no_endpoint_is_without_a_limit() {
    for ApiRoute { method, path, .. } in all() {
        let site = Site::start().await;
        let method = match method.as_str() {
            "GET" => "GET",
            "POST" => "POST",
            _ => "DELETE",
        };
        let ask = Ask::new(method, &path.replace("{id}", "r1")).bearing("ada-laptop").json("{}");
        let mut statuses = Vec::new();
        while statuses.last() != Some(&429) {
            statuses.push(site.send(&ask).await.status);
            assert!(statuses.len() <= 200, "{method} {path}: {statuses:?}");
        }
    }
}

#[tokio::test]
async fn what_is_not_served_is_limited_too() {
    let site = Site::start().await;
    let mut refused = None;
    for number in 0..200 {
        let answer = site.send(&Ask::get(&format!("/nothing/{number}"))).await;
        if answer.status == 429 {
            refused = Some(number);
            break;
        }
        assert_eq!(answer.status, 404);
    }
    assert_eq!(refused, Some(100), "one bucket for all of it, that of the default class");
}

#[test]
fn what_the_guide_shows_is_what_is_run() {
    let guide = include_str!("../../../../docs/guides/org-api.md");
    let program = [
        include_str!("../../examples/org-api/main.rs"),
        include_str!("../../examples/org-api/app.rs"),
        include_str!("../../examples/org-api/handlers.rs"),
    ];
    let blocks: Vec<&str> = guide.split("```rust\n").skip(1).collect();
    assert!(blocks.len() >= 6, "the guide shows the program");
    for block in blocks {
        let code = block.split("```").next().unwrap();
        assert!(program.iter().any(|file| file.contains(code)), "not in the program:\n{code}");
    }
}
