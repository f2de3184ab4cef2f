//! Reads what a server answers, for fuzzers and their corpora.

use tidegate_core::{Attempts, Bucket, Counts, Ladder, Period, Quota, Rate, Shape, Span, Window};

use super::reply::Reply;

/// Whether the bytes are an answer to a call about one counter of each form.
#[must_use]
pub fn reply(bytes: &[u8]) -> bool {
    let shapes = || {
        let bucket = Bucket::try_new(Rate::per_second(3)?, 5)?;
        let exact = Window::try_new(5, Span::MINUTE, Counts::Admitted)?;
        let coarse = Window::try_new(500, Span::MINUTE, Counts::Admitted)?;
        let attempts = Attempts::climbing(5, Span::MINUTE, Ladder::default())?;
        let quota = Quota::try_new(9, Period::Fixed(Span::DAY), Counts::Admitted)?;
        Ok::<_, tidegate_core::ShapeError>([
            Shape::Bucket(bucket),
            Shape::Window(exact),
            Shape::Window(coarse),
            Shape::Quota(quota),
            Shape::Attempts(attempts),
        ])
    };
    shapes().is_ok_and(|shapes| Reply::read(bytes, *b"7777", shapes.iter()).is_ok())
}
