//! What an operator does to an abuse log: one text, whatever it is.

use std::sync::LazyLock;

use super::{Parts, Place, STEP};
use crate::redis::form::ATTEMPTS;

static AMEND: LazyLock<Parts> = LazyLock::new(|| Parts::of(include_str!("../lua/amend.lua")));

/// The text, without its numbers.
pub(super) fn text() -> String {
    let text = [
        STEP.get("functions"),
        AMEND.get("arguments"),
        STEP.get("clock"),
        AMEND.get("reset"),
        AMEND.get("numbers"),
        ATTEMPTS.get("read"),
        ATTEMPTS.get("state"),
        AMEND.get("amend"),
    ];
    Place { number: 1, is_local: true }.put(&text.concat())
}
