//! Who is counted with whom.

use http::{Method, StatusCode};
use tidegate_core::Span;
use tidegate_tower::Identity;

use crate::world::{World, acme, request};

#[test]
fn token_user_and_organisation_are_nested() {
    let world = World::new();
    assert_eq!(world.statuses("/reports/1", &acme(), 3), [200, 200, 429], "two for each token");
    let other_token = acme().token("t2");
    assert_eq!(world.statuses("/reports/1", &other_token, 2), [200, 429], "three for each user");
    let other_user = acme().user("u2").token("t3");
    assert_eq!(world.statuses("/reports/1", &other_user, 2), [200, 429], "four for all of them");
    assert_eq!(world.served(), 4);
}

#[test]
fn a_refusal_by_the_token_takes_nothing_from_the_organisation() {
    let world = World::new();
    assert_eq!(world.statuses("/reports/1", &acme(), 4), [200, 200, 429, 429]);
    let rest = acme().user("u2").token("t2");
    assert_eq!(world.statuses("/reports/1", &rest, 2), [200, 200], "the others are still there");
}

#[test]
fn organisations_share_nothing() {
    let world = World::new();
    for _ in 0..3 {
        let _ = world.get("/reports/1", &acme());
    }
    // The same user and token ids, elsewhere.
    let other = Identity::new("globex").user("u1").token("t1").scopes(["reports:read"]);
    assert_eq!(world.statuses("/reports/1", &other, 2), [200, 200]);
}

#[test]
fn classes_share_nothing() {
    let world = World::new();
    assert_eq!(world.statuses("/reports/1", &acme(), 3), [200, 200, 429], "reads");
    let write = || world.send(request(Method::POST, "/reports", Some(acme()))).status();
    assert_eq!(write(), StatusCode::OK, "writes are counted elsewhere");
}

#[test]
fn a_rotated_token_starts_its_own_bucket() {
    let world = World::new();
    let service = |token: &str| Identity::new("acme").token(token).scopes(["reports:read"]);
    assert_eq!(world.statuses("/reports/1", &service("old"), 3), [200, 200, 429]);
    assert_eq!(world.statuses("/reports/1", &service("new"), 2), [200, 200]);
    assert_eq!(world.statuses("/reports/1", &service("old"), 1), [429], "and gives none back");
}

#[test]
fn one_decision_charges_burst_and_quota_together() {
    let world = World::new();
    let write = || world.send(request(Method::POST, "/reports", Some(acme()))).status().as_u16();
    // Two at once, and one more each second; five a day.
    assert_eq!([write(), write(), write()], [200, 200, 429], "the burst refuses, the quota keeps");
    let mut admitted = 2;
    for _ in 0..6 {
        world.pass_time(Span::from_secs(1));
        admitted += u64::from(write() == 200);
    }
    assert_eq!(admitted, 5, "a request refused by the burst has taken nothing of the day");
    world.pass_time(Span::from_secs(10));
    assert_eq!(write(), 429, "the quota refuses although the burst is full again");
}

#[test]
fn a_missing_scope_is_refused_before_anything_is_charged() {
    let world = World::new();
    let poor = acme().scopes(["reports:write"]);
    for _ in 0..5 {
        assert_eq!(world.get("/reports/1", &poor).status(), StatusCode::FORBIDDEN);
    }
    assert_eq!(world.statuses("/reports/1", &acme(), 2), [200, 429], "but the address pays");
    world.pass_time(Span::from_secs(60));
    assert_eq!(world.statuses("/reports/1", &acme(), 2), [200, 200], "the token has one bucket");
}

#[test]
fn unknown_paths_have_the_limits_of_the_default_class() {
    let world = World::new();
    assert_eq!(world.statuses("/nothing/here", &acme(), 3), [200, 200, 429], "those of writes");
    assert_eq!(world.statuses("/nor/here", &acme(), 1), [429], "all of them together");
}

#[test]
fn methods_that_no_route_names_have_the_limits_of_the_default_class() {
    let world = World::new();
    for _ in 0..2 {
        let delete = request(Method::DELETE, "/reports/1", Some(acme()));
        assert_eq!(world.send(delete).status(), StatusCode::OK);
    }
    let delete = request(Method::DELETE, "/reports/1", Some(acme()));
    assert_eq!(world.send(delete).status(), StatusCode::TOO_MANY_REQUESTS);
    let head = request(Method::HEAD, "/reports/1", Some(acme()));
    assert_eq!(world.send(head).status(), StatusCode::OK, "HEAD goes with GET");
}

#[test]
fn nobody_in_particular_is_counted_by_address_and_class() {
    let world = World::new();
    let login = || world.send(request(Method::POST, "/login", None)).status().as_u16();
    assert_eq!([login(), login(), login(), login()], [200, 200, 200, 429]);
    let public = || world.send(request(Method::GET, "/public", None)).status().as_u16();
    let asked: Vec<u16> = (0..7).map(|_| public()).collect();
    assert_eq!(asked, [200, 200, 200, 200, 200, 200, 429], "another class, another bucket");
}
