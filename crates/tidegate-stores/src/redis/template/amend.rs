//! The script that amends a counter for an operator: one text, whatever the amendment.

use std::sync::LazyLock;

use super::{Parts, Place, STEP};
use crate::redis::form::ATTEMPTS;

static AMEND: LazyLock<Parts> = LazyLock::new(|| Parts::of(include_str!("../lua/amend.lua")));

/// The text of the script, before its numbers are put in.
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
