//! Any bytes as the record of a counter, as a store keeps it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tidegate_core::{
    Attempts, Bucket, Counts, Ladder, Period, Quota, Rate, Record, Shape, ShapeError, Span, Window,
};

/// A shape of each form.
fn shapes() -> Result<[Shape; 5], ShapeError> {
    Ok([
        Shape::Bucket(Bucket::try_new(Rate::per_second(3)?, 5)?),
        Shape::Quota(Quota::try_new(9, Period::Fixed(Span::DAY), Counts::Admitted)?),
        Shape::Window(Window::try_new(5, Span::MINUTE, Counts::Admitted)?),
        Shape::Window(Window::try_new(500, Span::MINUTE, Counts::Admitted)?),
        Shape::Attempts(Attempts::climbing(5, Span::MINUTE, Ladder::default())?),
    ])
}

fuzz_target!(|bytes: &[u8]| {
    for shape in shapes().iter().flatten() {
        if let Ok(Some(record)) = Record::decode(bytes, Some(shape)) {
            assert_eq!(Record::decode(&record.encode(), Some(shape)), Ok(Some(record)));
        }
    }
});
