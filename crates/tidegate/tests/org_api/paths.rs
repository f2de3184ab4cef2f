//! Threat T05: one bucket for a path, however it is written.

use std::collections::BTreeSet;

use crate::site::{Ask, Site};

const LOGIN: &str = "/v1/login";

/// What a lenient reader takes for the same path.
fn same() -> BTreeSet<String> {
    let slashes =
        ["//", "///", "/./", "/.//", "/%2e/", "/%2E/./", "/x/../", "/x/%2e%2e/", "/x/.%2E/"];
    let ends = ["", "/", "//", "/.", "/x/..", "/%2e", "?x=1", "/?x=/v1/other"];
    spelt(|path, at| match path.as_bytes()[at] {
        b'/' => slashes.iter().map(|with| put(path, at, with)).collect(),
        byte => [format!("%{byte:02x}"), format!("%{byte:02X}")]
            .iter()
            .map(|with| put(path, at, with))
            .collect(),
    })
    .into_iter()
    .chain(["http://elsewhere//v1/login".to_owned(), "http://x/%76%31/login/".to_owned()])
    .flat_map(|path| ends.map(|end| format!("{path}{end}")))
    .collect()
}

/// What some take for it and others do not.
fn ambiguous() -> BTreeSet<String> {
    let slashes =
        ["%2f", "%2F", "\\", "%5c", "/..;/", "/;/", "/x%2f../", "%c0%af", "%252f", "%u002f"];
    let inserts = ["%00", "%0a", "%0d%0a", "%7F", ";", "%3b", "%", "%zz", "\u{0}", "\u{7f}"];
    spelt(|path, at| {
        let with = if path.as_bytes()[at] == b'/' { &slashes[..] } else { &[] };
        let put = with.iter().map(|with| put(path, at, with));
        put.chain(inserts.iter().map(|with| format!("{}{with}{}", &path[..=at], &path[at + 1..])))
            .collect()
    })
    .into_iter()
    .chain(["/../v1/login", "/v1/../../v1/login", "/%2e%2e/v1/login"].map(str::to_owned))
    .collect()
}

fn spelt(at: impl Fn(&str, usize) -> Vec<String>) -> BTreeSet<String> {
    (0..LOGIN.len()).flat_map(|place| at(LOGIN, place)).collect()
}

fn put(path: &str, at: usize, with: &str) -> String {
    format!("{}{with}{}", &path[..at], &path[at + 1..])
}

fn login(path: &str) -> Ask {
    Ask::new("POST", path).json(r#"{"user": "ada", "password": "correct horse"}"#)
}

#[tokio::test]
async fn t05_hundreds_of_spellings_find_the_same_bucket_or_are_refused() {
    let (same, ambiguous) = (same(), ambiguous());
    assert!(same.len() >= 100 && ambiguous.len() >= 100, "{} {}", same.len(), ambiguous.len());
    let site = Site::start().await;
    assert_eq!(site.passed(&login(LOGIN), 12).await, 10);
    for path in &same {
        assert_eq!(site.send(&login(path)).await.status, 429, "{path:?} has another bucket");
    }
    for path in &ambiguous {
        assert_eq!(site.send(&login(path)).await.status, 400, "{path:?}");
    }
    println!("{} spellings of the path, {} that are none", same.len(), ambiguous.len());
}

#[tokio::test]
async fn t05_the_service_sees_the_path_that_was_decided_about() {
    for path in same() {
        let site = Site::start().await;
        let answer = site.send(&login(&path)).await;
        assert_eq!((answer.status, &*answer.body), (200, r#"{"token":"ada-laptop"}"#), "{path:?}");
    }
}
