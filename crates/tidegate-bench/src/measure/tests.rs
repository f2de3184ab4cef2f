//! Medians, ratios, and how the stream is walked.

use super::*;

#[test]
fn the_median_is_the_middle_one_or_between_the_middle_two() {
    assert!((median(&[9.0, 1.0, 2.0]) - 2.0).abs() < 1e-9);
    assert!((median(&[4.0, 1.0, 2.0, 100.0]) - 3.0).abs() < 1e-9);
}

#[test]
fn ratios_are_of_medians_and_spreads_of_rounds() {
    let (ours, theirs) = ([1.0, 2.0, 3.0], [4.0, 4.0, 4.0]);
    assert!((ratio(&ours, &theirs) - 0.5).abs() < 1e-9);
    let (low, high) = spread(&ours, &theirs);
    assert!((low - 0.25).abs() < 1e-9 && (high - 0.75).abs() < 1e-9);
}

#[test]
fn a_cursor_wraps_before_the_stream_ends() {
    let stream = Stream::each(u32::try_from(2 * CHUNK + 1).unwrap());
    let mut cursor = StreamCursor(0);
    let starts: Vec<_> = (0..3).map(|_| cursor.advance(&stream)).collect();
    assert_eq!(starts, [0, CHUNK, 0]);
}
