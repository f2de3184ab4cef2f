//! Threats T15 and T35: many at once, in one packet, and given up again.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use crate::frames::{Frames, GOAWAY, HEADERS, PING, RST_STREAM, frame, get, preface};
use crate::site::{Ask, Site};

const HOME: std::net::IpAddr = std::net::IpAddr::V4(Ipv4Addr::LOCALHOST);
const CANCEL: [u8; 4] = [0, 0, 0, 8];

/// The streams of clients have odd numbers.
fn streams(count: u32) -> impl Iterator<Item = u32> {
    (0..count).map(|number| 2 * number + 1)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn t15_thirty_streams_in_one_packet_admit_exactly_the_limit() {
    for round in 0..20 {
        let site = Site::start().await;
        let mut frames = Frames::new(site.connect(HOME).await);
        let mut packet = preface();
        packet.extend(streams(30).flat_map(|stream| get(stream, "/v1/reports", "ada-laptop")));
        assert!(packet.len() < 16 << 10, "on loopback that is one packet");
        frames.write(&packet).await;
        let (mut answered, mut admitted) = (BTreeSet::new(), 0);
        while answered.len() < 30 {
            let frame = frames.next().await.expect("thirty answers");
            if frame.kind == HEADERS {
                assert!(answered.insert(frame.stream), "one answer to each");
                admitted += u32::from(frame.is_ok());
            }
        }
        assert_eq!(admitted, 10, "round {round}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn t15_many_connections_at_once_admit_exactly_the_limit() {
    let site = std::sync::Arc::new(Site::start().await);
    let asking = (0..60).map(|_| {
        let site = std::sync::Arc::clone(&site);
        let ask = Ask::get("/v1/reports").bearing("ada-laptop");
        tokio::spawn(async move { site.send(&ask).await.status })
    });
    let mut admitted = 0;
    for asked in asking.collect::<Vec<_>>() {
        admitted += u32::from(asked.await.unwrap() == 200);
    }
    assert_eq!(admitted, 10);
}

#[tokio::test]
async fn t35_what_is_reset_at_once_is_charged_all_the_same() {
    let site = Site::start().await;
    let mut frames = Frames::new(site.connect(HOME).await);
    let mut packet = preface();
    for stream in streams(20) {
        packet.extend(get(stream, "/v1/reports", "ada-laptop"));
        packet.extend(frame(RST_STREAM, 0, stream, &CANCEL));
    }
    packet.extend(frame(PING, 0, 0, &[7; 8]));
    frames.write(&packet).await;
    // When the answer to the ping is there, all of it has been read.
    while let Some(frame) = frames.next().await {
        assert_ne!(frame.kind, GOAWAY, "twenty are no flood yet");
        if (frame.kind, frame.flags) == (PING, 1) {
            break;
        }
    }
    let refused = site.send(&Ask::get("/v1/reports").bearing("ada-laptop")).await;
    assert_eq!((refused.status, &*refused.limit()), (429, "token"));
}

#[tokio::test]
async fn t35_a_flood_of_resets_ends_its_connection_and_no_other() {
    let site = Site::start().await;
    let mut frames = Frames::new(site.connect(HOME).await);
    let mut packet = preface();
    for stream in streams(500) {
        packet.extend(get(stream, "/healthz", "nobody"));
        packet.extend(frame(RST_STREAM, 0, stream, &CANCEL));
    }
    frames.write(&packet).await;
    let mut told = false;
    while let Some(frame) = frames.next().await {
        // ENHANCE_YOUR_CALM
        told |= frame.kind == GOAWAY && frame.payload[4..8] == [0, 0, 0, 11];
    }
    assert!(told, "told to calm down, and closed");
    let other = Ask::get("/v1/reports").bearing("ada-laptop").from(2);
    assert_eq!(site.send(&other).await.status, 200);
}
