//! Who is counted with whom.

use tidegate_tower::Identity;

use crate::example::tokens::Tokens;
use crate::site::{Ask, Setting, Site};

fn read(token: &str) -> Ask {
    Ask::get("/v1/reports").bearing(token)
}

#[tokio::test]
async fn token_user_and_organisation_are_nested() {
    let of_acme = |user: &str, token: &str| {
        Identity::new("acme").user(user).token(token).scopes(["reports:read"])
    };
    let tokens = Tokens::example()
        .with("ada-third", of_acme("ada", "tok-8"))
        .with("dan-laptop", of_acme("dan", "tok-9"));
    let site = Setting { tokens, ..Setting::default() }.start().await;
    assert_eq!(site.passed(&read("ada-laptop"), 12).await, 10, "ten for each token");
    assert_eq!(site.send(&read("ada-laptop")).await.limit(), "token");
    assert_eq!(site.passed(&read("ada-rotated"), 12).await, 10, "and a rotated one has its own");
    let refused = site.send(&read("ada-third")).await;
    assert_eq!((refused.status, &*refused.limit()), (429, "user"), "twenty for each user");
    assert_eq!(site.passed(&read("bob-laptop").from(2), 12).await, 10);
    assert_eq!(site.passed(&read("acme-robot").from(3), 12).await, 10, "a service has its own");
    let refused = site.send(&read("dan-laptop").from(4)).await;
    assert_eq!((refused.status, &*refused.limit()), (429, "org"), "forty for all of them");
}

#[tokio::test]
async fn what_a_token_is_refused_takes_nothing_from_its_organisation() {
    let site = Site::start().await;
    assert_eq!(site.passed(&read("ada-laptop"), 40).await, 10);
    for (token, last) in [("bob-laptop", 2), ("acme-robot", 3), ("ada-rotated", 4)] {
        assert_eq!(site.passed(&read(token).from(last), 11).await, 10, "{token}");
    }
}

#[tokio::test]
async fn an_organisation_as_a_whole_has_its_limit_and_another_has_bought_more() {
    // Without the limits on tokens and users, that of the organisation is the next.
    let site =
        Site::without(&["name: user, by: [org, user, class]", "name: token,", "name: org-address"]);
    let site = site.start().await;
    assert_eq!(site.passed(&read("ada-laptop"), 30).await, 30);
    assert_eq!(site.passed(&read("bob-laptop").from(2), 12).await, 10, "forty for all of acme");
    let refused = site.send(&read("acme-robot").from(3)).await;
    assert_eq!((refused.status, &*refused.limit()), (429, "org"));
    assert_eq!(site.passed(&read("cleo-laptop").from(4), 60).await, 60, "globex is none of that");
}

#[tokio::test]
async fn another_environment_has_other_numbers() {
    for (environment, expected) in [(None, 10), (Some("production"), 10), (Some("staging"), 15)] {
        let site = Setting { environment, ..Setting::default() }.start().await;
        assert_eq!(site.passed(&read("ada-laptop"), 17).await, expected, "{environment:?}");
    }
}

#[tokio::test]
async fn organisations_share_nothing_even_with_equal_token_ids() {
    let site = Site::start().await;
    assert_eq!(site.passed(&read("ada-laptop"), 12).await, 10);
    // `tok-1` as well.
    assert_eq!(site.passed(&read("cleo-laptop"), 12).await, 10);
}

#[tokio::test]
async fn classes_share_nothing() {
    let site = Site::start().await;
    assert_eq!(site.passed(&read("ada-laptop"), 12).await, 10);
    assert_eq!(site.passed(&Ask::report().bearing("ada-laptop"), 4).await, 3, "writes");
    let delete = Ask::new("DELETE", "/v1/admin/users/u7").bearing("ada-laptop");
    assert_eq!(site.passed(&delete, 4).await, 3, "administration");
    let export = Ask::new("POST", "/v1/reports/r1/export").bearing("ada-laptop");
    assert_eq!(site.send(&export).await.status, 202, "jobs");
    assert_eq!(site.send(&Ask::get("/healthz")).await.status, 200, "health");
}

#[tokio::test]
async fn a_token_used_from_many_places_has_little_in_each_but_its_user_no_more() {
    let site = Site::start().await;
    let write = |last| Ask::report().bearing("ada-laptop").from(last);
    assert_eq!(site.passed(&write(1), 4).await, 3, "three for a token at one address");
    assert_eq!(site.passed(&write(2), 4).await, 2, "five for the user, wherever");
    let refused = site.send(&write(3)).await;
    assert_eq!((refused.status, &*refused.limit()), (429, "user"));
}

#[tokio::test]
async fn one_address_does_not_use_up_what_its_organisation_has() {
    let site = Site::without(&["name: user, by: [org, user, class]", "name: token,"]).start().await;
    assert_eq!(site.passed(&read("ada-laptop"), 35).await, 30);
    assert_eq!(site.send(&read("bob-laptop")).await.limit(), "org-address");
    assert_eq!(site.passed(&read("bob-laptop").from(2), 12).await, 10, "the rest is for others");
}

#[tokio::test]
async fn burst_and_quota_are_charged_together_or_not_at_all() {
    let site = Site::start().await;
    let write = Ask::report().bearing("ada-laptop");
    // Three at once and one more each second; fifty a day for the organisation.
    let mut admitted = site.passed(&write, 6).await;
    for _ in 0..60 {
        site.pass_time(1);
        admitted += site.passed(&write, 2).await;
    }
    assert_eq!(admitted, 50, "what the burst refused has taken nothing of the day");
    site.pass_time(60);
    let refused = site.send(&write).await;
    assert_eq!((refused.status, &*refused.limit()), (429, "day"), "although the burst is full");
    assert_eq!(site.send(&Ask::report().bearing("cleo-laptop")).await.status, 201);
    site.pass_time(86_400);
    assert_eq!(site.send(&write).await.status, 201, "another day");
}

#[tokio::test]
async fn a_missing_scope_is_refused_before_anything_of_the_organisation_is_charged() {
    let site = Site::start().await;
    let write = Ask::report().bearing("bob-laptop");
    for _ in 0..12 {
        let refused = site.send(&write).await;
        assert_eq!((refused.status, &*refused.code()), (403, "authorization.insufficient_scope"));
    }
    assert_eq!(site.passed(&Ask::report().bearing("ada-laptop"), 4).await, 3);
}

#[tokio::test]
async fn who_probes_is_stopped_by_address_and_others_are_not() {
    let site = Site::start().await;
    let mut answers = Vec::new();
    for number in 0..30 {
        let guess = read(&format!("guess-{number}"));
        answers.push(site.send(&guess).await.status);
    }
    assert_eq!(answers[..20], [401; 20]);
    assert_eq!(answers[20..], [429; 10]);
    assert_eq!(site.send(&read("ada-laptop")).await.status, 429, "whoever is there");
    assert_eq!(site.send(&read("ada-laptop").from(2)).await.status, 200, "but not elsewhere");
    site.pass_time(601);
    assert_eq!(site.send(&read("ada-laptop")).await.status, 200);
}

#[tokio::test]
async fn answers_that_are_no_failure_are_given_back() {
    let site = Site::start().await;
    for _ in 0..10 {
        assert_eq!(site.passed(&read("ada-laptop"), 5).await, 5);
        site.pass_time(1);
    }
    assert_eq!(site.send(&read("guess")).await.status, 401, "fifty that were right count nothing");
}

#[tokio::test]
async fn jobs_are_refused_where_they_are_enqueued_as_requests_are() {
    let site = Site::start().await;
    let export = |token| Ask::new("POST", "/v1/reports/r1/export").bearing(token);
    for _ in 0..3 {
        assert_eq!(site.send(&export("ada-laptop")).await.status, 202, "each weighs ten of thirty");
    }
    let refused = site.send(&export("acme-robot")).await;
    assert_eq!((refused.status, &*refused.code()), (429, "throttling.rate_limit_exceeded"));
    assert_eq!(refused.limit(), "burst");
    assert_eq!(refused.header("retry-after"), Some("60"), "ten come back in a minute");
    assert_eq!(refused.header("cache-control"), Some("no-store"));
    assert_eq!(site.send(&export("cleo-laptop")).await.status, 202, "globex has its own");
    assert_eq!(site.send(&export("bob-laptop")).await.status, 403);
    let mut enqueued = 3;
    for _ in 0..12 {
        site.pass_time(60);
        enqueued += site.passed(&export("ada-laptop"), 2).await;
    }
    assert_eq!(enqueued, 10, "a hundred a day");
}
