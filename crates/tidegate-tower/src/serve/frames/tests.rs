//! Heads of HTTP/2 are seen to begin and to end, however the bytes are split.

use proptest::prelude::*;

use super::Frames;

/// The connection preface of a client.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// A frame with a payload of `length` bytes that look like frame headers of their own.
fn frame(kind: u8, flags: u8, length: usize) -> Vec<u8> {
    let size = u32::try_from(length).unwrap().to_be_bytes();
    let mut bytes = vec![size[1], size[2], size[3], kind, flags, 0, 0, 0, 1];
    bytes.extend([0, 0, 0, 1, 0].iter().cycle().take(length));
    bytes
}

/// A connection after its preface and the bytes.
fn after(bytes: &[u8]) -> Frames {
    let mut frames = Frames::new();
    frames.read(PREFACE, usize::MAX);
    frames.read(bytes, usize::MAX);
    frames
}

#[test]
fn the_preface_is_no_head() {
    let mut frames = Frames::new();
    for byte in PREFACE {
        frames.read(&[*byte], usize::MAX);
        assert!(!frames.is_within_head());
    }
}

#[test]
fn heads_are_read_a_few_at_a_time() {
    let head = frame(1, 4, 5);
    let (between, rest) = (frame(0, 0, 7), frame(0, 1, 3));
    let bytes = [&head[..], &between, &head, &rest, &head, &rest].concat();
    let mut frames = after(&[]);
    let first = frames.read(&bytes, 2);
    assert_eq!(first, 2 * head.len() + between.len(), "to the end of the second");
    assert_eq!(frames.read(&bytes[first..], 2), bytes.len() - first);
    assert!(!frames.is_within_head() && frames.has_had_head);
}

#[test]
fn a_head_lasts_from_its_type_to_its_last_byte() {
    let bytes = frame(1, 4, 5);
    for count in 0..=bytes.len() {
        let within = (4..bytes.len()).contains(&count);
        assert_eq!(after(&bytes[..count]).is_within_head(), within, "{count} bytes");
    }
}

#[test]
fn an_empty_frame_ends_with_its_header() {
    let bytes = frame(1, 4, 0);
    assert!(after(&bytes[..8]).is_within_head());
    assert!(!after(&bytes).is_within_head());
}

#[test]
fn a_head_goes_on_until_a_frame_ends_it() {
    // END_STREAM, PADDED and PRIORITY are not END_HEADERS.
    let mut bytes = frame(1, 0x1 | 0x8 | 0x20, 7);
    assert!(after(&bytes).is_within_head());
    bytes.extend(frame(9, 0, 300));
    assert!(after(&bytes).is_within_head());
    bytes.extend(frame(9, 4, 0));
    assert!(!after(&bytes).is_within_head());
}

#[test]
fn frames_that_are_no_head_are_skipped() {
    // DATA, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, unknown.
    for kind in [0, 2, 3, 4, 5, 6, 7, 8, 10, 255] {
        let mut bytes = frame(kind, 4, 70_000);
        assert!(!after(&bytes).is_within_head(), "type {kind}");
        bytes.extend(frame(1, 0, 1));
        assert!(after(&bytes).is_within_head(), "type {kind}");
    }
}

#[test]
fn the_reader_is_small() {
    assert!(size_of::<Frames>() <= 32);
}

/// The same, found by walking over whole frames: a head is open if the last frame that counts did
/// not end it, or was cut off.
fn model(bytes: &[u8]) -> bool {
    let mut open = false;
    let mut rest = bytes;
    while let [a, b, c, kind, tail @ ..] = rest {
        let counts = matches!(kind, 1 | 9);
        let end = 9 + (usize::from(*a) << 16 | usize::from(*b) << 8 | usize::from(*c));
        if rest.len() < end {
            return open || counts;
        }
        open = if counts { tail[0] & 4 == 0 } else { open };
        rest = &rest[end..];
    }
    open
}

proptest! {
    #[test]
    fn any_frames_in_any_pieces_agree_with_the_model(
        frames in prop::collection::vec((0_u8..11, any::<u8>(), 0_usize..20), 0..12),
        cuts in prop::collection::vec(1_usize..30, 1..9),
        kept in any::<prop::sample::Index>(),
    ) {
        let bytes: Vec<u8> =
            frames.iter().flat_map(|&(kind, flags, length)| frame(kind, flags, length)).collect();
        let bytes = &bytes[..kept.index(bytes.len() + 1)];
        let mut reader = after(&[]);
        let (mut at, mut cuts) = (0, cuts.into_iter().cycle());
        while at < bytes.len() {
            let next = (at + cuts.next().unwrap()).min(bytes.len());
            reader.read(&bytes[at..next], usize::MAX);
            at = next;
            prop_assert_eq!(reader.is_within_head(), model(&bytes[..at]), "after {} bytes", at);
        }
        prop_assert_eq!(after(bytes).is_within_head(), model(bytes));
    }
}

#[test]
fn t35_heads_that_no_request_comes_of_are_counted_by_number_and_length() {
    let head = |length: u8| {
        let mut bytes = vec![0, 0, length, 1, 4, 0, 0, 0, 1];
        bytes.extend(vec![0x82; usize::from(length)]);
        bytes
    };
    let after = |heads: usize, length: u8, opened: u64| {
        let mut frames = Frames::new();
        frames.read(PREFACE, usize::MAX);
        frames.read(&head(length).repeat(heads), usize::MAX);
        frames.is_fruitless(opened)
    };
    assert!(!after(128, 40, 1), "a client that does not know how many streams it may have");
    assert!(after(40, 250, 1), "heads that cost much");
    assert!(!after(40, 250, 40), "every head was a request");
    assert!(!after(8, 255, 0), "some may be on their way");
    // What was opened is remembered, and what came of nothing stays.
    let mut frames = Frames::new();
    frames.read(PREFACE, usize::MAX);
    frames.read(&head(250).repeat(20), usize::MAX);
    assert!(!frames.is_fruitless(10));
    frames.read(&head(250).repeat(20), usize::MAX);
    assert!(frames.is_fruitless(11));
    assert!(!frames.is_fruitless(40));
}
