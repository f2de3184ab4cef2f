//! Every scene in every profile, against what is committed under `golden`.
//!
//! If a change is meant, `UPDATE=1 cargo nextest run -p tidegate-tower golden` writes the files.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::scenes::Scene;
use super::{lines, refused, refused_unasked, written};
use crate::answer::{BodyProfile, Code, HeaderProfile, Headers, Profile, Reset, RetryAfter};

pub(super) const HEADERS: &str = "headers.txt";
pub(super) const REFUSALS: &str = "refusals.txt";

fn path(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/answer/tests/golden").join(file)
}

/// What is committed, without carriage returns that some checkouts add.
pub(super) fn committed(file: &str) -> String {
    std::fs::read_to_string(path(file)).unwrap_or_default().replace("\r\n", "\n")
}

#[allow(clippy::disallowed_methods, reason = "how a person asks a test to write what it found")]
fn is_update() -> bool {
    std::env::var_os("UPDATE").is_some()
}

fn compare(found: &str, file: &str) {
    if is_update() {
        std::fs::write(path(file), found).unwrap();
    }
    assert_eq!(found, committed(file), "if the change is meant, run this with UPDATE=1");
}

/// Each family alone, all of them, none; and each setting that changes what they say.
fn header_profiles() -> Vec<(String, Profile)> {
    let only = |family: HeaderProfile| {
        let headers = [family].into_iter().collect();
        Profile { headers, ..Profile::default() }
    };
    let none = Profile { headers: Headers::NONE, ..Profile::default() };
    let mut profiles = vec![
        ("default".to_owned(), Profile::default()),
        ("none".to_owned(), none),
        ("none, retry-after always".to_owned(), {
            Profile { retry_after: RetryAfter::Always, ..none }
        }),
    ];
    for family in HeaderProfile::ALL {
        profiles.push((family.name().to_owned(), only(family)));
        let delta = Profile { reset: Reset::Delta, ..only(family) };
        profiles.push((format!("{}, reset delta", family.name()), delta));
    }
    profiles
}

#[test]
fn header_fields_are_as_committed() {
    let mut found = String::new();
    for scene in Scene::ALL {
        for (name, profile) in header_profiles() {
            let fields = lines(&written(&profile, scene));
            writeln!(found, "== {}: {name}\n{fields}", scene.name()).unwrap();
        }
    }
    compare(&found, HEADERS);
}

#[test]
fn refusals_are_as_committed() {
    let mut found = String::new();
    let mut tell = |title: String, response: http::Response<bytes::Bytes>| {
        let status = response.status();
        let fields = lines(response.headers());
        let body = core::str::from_utf8(response.body()).unwrap();
        writeln!(found, "== {title}\nHTTP/1.1 {status}\n{fields}\n{body}\n").unwrap();
    };
    for body in BodyProfile::ALL {
        let profile = Profile { body, ..Profile::default() };
        for scene in Scene::ALL {
            if let Some(response) = refused(&profile, scene, false) {
                tell(format!("{}: {}", scene.name(), body.name()), response);
            }
        }
        for code in Code::OF_LAYERS.iter().copied() {
            let response = refused_unasked(&profile, code, false);
            tell(format!("{}: {}", code.name(), body.name()), response);
        }
    }
    for scene in Scene::ALL {
        if let Some(response) = refused(&Profile::default(), scene, true) {
            tell(format!("{}: grpc", scene.name()), response);
        }
    }
    for code in Code::OF_LAYERS.iter().copied() {
        let response = refused_unasked(&Profile::default(), code, true);
        tell(format!("{}: grpc", code.name()), response);
    }
    compare(&found, REFUSALS);
}
