//! What clients read, in every profile.

mod bodies;
mod figures;
mod golden;
mod numbers;
mod page;
mod parser;
mod scenes;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Response};
use tidegate_core::Timestamp;

use self::scenes::Scene;
use super::{BodyProfile, Code, Figures, HeaderProfile, Profile, Refused};
use crate::request_id::RequestId;

/// When everything here happens: 2025-11-16T08:00:00.25Z.
const NOW: Timestamp = Timestamp::from_micros(1_763_280_000_250_000);

fn request_id() -> RequestId {
    RequestId::adopt(&HeaderValue::from_static("req-7f3a")).unwrap()
}

/// The whole response to a refusal.
fn refused(profile: &Profile, scene: Scene, grpc: bool) -> Option<Response<Bytes>> {
    let request_id = request_id();
    scene.decided(|decision, code| {
        let (code, decision) = (code?, Some(*decision));
        let refused = Refused::new(code, &request_id, NOW);
        Some(profile.refusal(&Refused { decision, grpc, ..refused }))
    })
}

/// The response to a refusal that no limit was asked about.
fn refused_unasked(profile: &Profile, code: Code, grpc: bool) -> Response<Bytes> {
    let request_id = request_id();
    profile.refusal(&Refused { grpc, ..Refused::new(code, &request_id, NOW) })
}

/// The header fields that a response to this gets.
fn written(profile: &Profile, scene: Scene) -> HeaderMap {
    let mut headers = HeaderMap::new();
    scene.decided(|decision, _| Figures::of(decision, None).write(profile, &mut headers));
    headers
}

/// Header fields as lines, by name.
fn lines(headers: &HeaderMap) -> String {
    let mut lines: Vec<String> = headers
        .iter()
        .map(|(name, value)| format!("{name}: {}\n", value.to_str().unwrap()))
        .collect();
    lines.sort();
    lines.concat()
}

fn profiles() -> impl Iterator<Item = Profile> {
    BodyProfile::ALL.into_iter().map(|body| Profile {
        headers: HeaderProfile::ALL.into_iter().collect(),
        body,
        ..Profile::default()
    })
}
