//! Hundreds of ways to write one path: each is that path, or is refused.
//!
//! Half of them are innocent and must be understood; the other half are what got around the route
//! limits of others.

use std::collections::BTreeSet;

use super::*;
use crate::routes::{Class, Route, Routes};

/// A way to write a path differently.
type Spelling = fn(&str, usize) -> String;

/// Those that a lenient reader takes for the same path, applied at each place of it.
const SAME: &[Spelling] = &[
    |path, at| with(path, at, &escape(byte(path, at), false)),
    |path, at| with(path, at, &escape(byte(path, at), true)),
    |path, at| at_slash(path, at, "//"),
    |path, at| at_slash(path, at, "///"),
    |path, at| at_slash(path, at, "/./"),
    |path, at| at_slash(path, at, "/.//"),
    |path, at| at_slash(path, at, "/%2e/"),
    |path, at| at_slash(path, at, "/%2E/./"),
    |path, at| at_slash(path, at, "/x/../"),
    |path, at| at_slash(path, at, "/x/y/../../"),
    |path, at| at_slash(path, at, "/x/%2e%2e/"),
    |path, at| at_slash(path, at, "/x/.%2E/"),
    |path, at| at_slash(path, at, "/x/%2e./"),
    |path, at| at_slash(path, at, "/x//../"),
    |path, at| at_slash(path, at, "/%78/../"),
    |path, at| at_slash(path, at, "/\u{e9}/../"),
];

/// Spellings that some readers take for the path and others do not; each is refused.
const REFUSED: &[Spelling] = &[
    |path, at| at_slash(path, at, "%2f"),
    |path, at| at_slash(path, at, "%2F"),
    |path, at| at_slash(path, at, "\\"),
    |path, at| at_slash(path, at, "%5c"),
    |path, at| at_slash(path, at, "%5C"),
    |path, at| at_slash(path, at, "/%2f"),
    |path, at| at_slash(path, at, "/..;/"),
    |path, at| at_slash(path, at, "/;/"),
    |path, at| at_slash(path, at, "/x;y=1/../"),
    |path, at| at_slash(path, at, "/x%2f../"),
    |path, at| at_slash(path, at, "/x/..%2f"),
    |path, at| at_slash(path, at, "/x\\..\\"),
    |path, at| at_slash(path, at, "%c0%af"),
    |path, at| at_slash(path, at, "%e0%80%af"),
    |path, at| at_slash(path, at, "%252f"),
    |path, at| at_slash(path, at, "%25%32%66"),
    |path, at| at_slash(path, at, "%u002f"),
    |path, at| with(path, at, &format!("%25{:02x}", byte(path, at))),
    |path, at| with(path, at, &format!("%{}", char::from(byte(path, at)))),
    |path, at| insert(path, at, "%00"),
    |path, at| insert(path, at, "%0a"),
    |path, at| insert(path, at, "%09"),
    |path, at| insert(path, at, "\t"),
    |path, at| insert(path, at, "%7F"),
    |path, at| insert(path, at, ";"),
    |path, at| insert(path, at, "%3b"),
    |path, at| insert(path, at, "%"),
];

/// What may follow without making it another path.
const ENDS: [&str; 12] =
    ["", "/", "//", "/.", "/./", "/x/..", "/x/../", "/%2e", "/%2E/", "/x/%2e%2e", "/.//", "///"];

/// What may follow to hide it.
const BAD_ENDS: [&str; 12] =
    [";", ";x", ";x=y", "%3Bx", "%00", "%00.css", "%2f", "%5c", "\\", "%0d%0a", "%252e", "/%c0%ae"];

fn byte(path: &str, at: usize) -> u8 {
    path.as_bytes()[at]
}

fn escape(byte: u8, upper: bool) -> String {
    match byte {
        b'/' => "/".to_owned(),
        _ if upper => format!("%{byte:02X}"),
        _ => format!("%{byte:02x}"),
    }
}

/// The path with another text in the place of one character.
fn with(path: &str, at: usize, text: &str) -> String {
    format!("{}{text}{}", &path[..at], &path[at + 1..])
}

/// The same, if the character is a slash.
fn at_slash(path: &str, at: usize, text: &str) -> String {
    if byte(path, at) == b'/' { with(path, at, text) } else { path.to_owned() }
}

/// The path with a text behind one character.
fn insert(path: &str, at: usize, text: &str) -> String {
    format!("{}{text}{}", &path[..=at], &path[at + 1..])
}

/// Every spelling of a list, at every place, with every end of another; none is the path itself.
fn spell(path: &str, spellings: &[Spelling], ends: &[&str]) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for at in 0..path.len() {
        for spelling in spellings {
            let spelt = spelling(path, at);
            if spelt != path {
                all.extend(ends.iter().map(|end| format!("{spelt}{end}")));
            }
        }
    }
    all
}

/// As many of the characters escaped as there are, in either case.
fn whole(path: &str) -> [String; 2] {
    [false, true].map(|upper| path.bytes().map(|byte| escape(byte, upper)).collect())
}

const ROUTES: [(&str, &str); 3] = [
    ("/login", "/login"),
    ("/v1/reports/{id}", "/v1/reports/r4-x"),
    ("/files/{*rest}", "/files/a/b.txt"),
];

#[test]
fn t05_every_spelling_is_the_same_path_or_refused() {
    for (_, path) in ROUTES {
        let mut same = spell(path, SAME, &ENDS);
        same.extend(whole(path));
        same.extend(ENDS[1..].iter().map(|end| format!("{path}{end}")));
        let mut refused = spell(path, REFUSED, &ENDS);
        refused.extend(spell(path, SAME, &BAD_ENDS));
        assert!(same.len() >= 200, "{path}: only {} innocent ones", same.len());
        assert!(refused.len() >= 200, "{path}: only {} others", refused.len());
        for spelling in &same {
            assert_eq!(canonical(spelling).as_deref(), Ok(path), "{spelling:?}");
        }
        for spelling in &refused {
            assert!(canonical(spelling).is_err(), "{spelling:?} is {:?}", canonical(spelling));
        }
    }
}

#[test]
fn t05_every_spelling_finds_the_same_route() {
    let class = |name: &str| Class::try_new(name, "early").unwrap();
    let routes = ROUTES
        .iter()
        .fold(Routes::builder(class("other")).class(class("auth")), |routes, (template, _)| {
            routes.route(Route::new(*template, "auth"))
        });
    let routes = routes.build().unwrap();
    for (template, path) in ROUTES {
        for spelling in spell(path, SAME, &ENDS) {
            let form = canonical(&spelling).unwrap();
            let endpoint = routes.find(&http::Method::POST, &form);
            assert_eq!(&*endpoint.template, template, "{spelling:?}");
        }
    }
}
