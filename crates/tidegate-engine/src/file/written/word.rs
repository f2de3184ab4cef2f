//! Words of a closed set: a field that takes `fail_open` or `fail_closed`, and nothing else.
//!
//! They are read as text and checked later, so that one typing error does not hide the next.

use core::marker::PhantomData;
use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer};
use tidegate_core::{Dimension, FailureMode, Level, Overflow, Preset, Protects, Stage};

/// A set of words, each with what it means.
pub(in crate::file) trait Words: Copy + 'static {
    /// What a word of the set is called in errors.
    const WHAT: &'static str;
    /// All words of the set: the word, the value it stands for, and a description.
    const ALL: &'static [(&'static str, Self, &'static str)];
}

/// A word as it was written, perhaps none of its set.
#[derive(Clone, Debug)]
pub(in crate::file) struct Word<W> {
    pub(in crate::file) text: String,
    set: PhantomData<W>,
}

/// Which requests a window or quota counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::file) enum Counted {
    Admitted,
    Attempts,
}

/// When a quota of a fixed length starts anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::file) enum Starts {
    Epoch,
    FirstUse,
}

/// What a limit counts by: a dimension that is counted, or everybody together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::file) enum CountedBy {
    Everybody,
    One(Dimension),
}

/// The only kind of address that a limit is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::file) enum Only {
    Ipv6,
}

/// The word `all` for a ladder: every level of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::file) struct AllLevels;

// === impl Word ===

impl<W: Words> Word<W> {
    /// What the word stands for, if it is one of the set.
    pub(in crate::file) fn meaning(&self) -> Option<W> {
        let known = W::ALL.iter().find(|(word, ..)| *word == self.text);
        known.map(|(_, meaning, _)| *meaning)
    }
}

impl<W> From<String> for Word<W> {
    fn from(text: String) -> Self {
        Self { text, set: PhantomData }
    }
}

impl<'de, W> Deserialize<'de> for Word<W> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::from)
    }
}

impl<W: Words> JsonSchema for Word<W> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        W::WHAT.into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let words = W::ALL
            .iter()
            .map(|(word, _, meaning)| json_schema!({ "const": word, "description": meaning }));
        json_schema!({ "oneOf": words.collect::<Vec<_>>() })
    }
}

// === impl Words ===

impl Words for FailureMode {
    const WHAT: &'static str = "a value of `failure_mode`";
    const ALL: &'static [(&'static str, Self, &'static str)] = &[
        (
            "fail_closed",
            Self::FailClosed,
            "Deny at the first failure. For entrances, and for `protects: spend`.",
        ),
        ("fail_open", Self::FailOpen, "Admit, within local guardrails."),
        (
            "degraded",
            Self::Degraded,
            "Decide by local guardrails, and by ceilings at a tenth of the limits.",
        ),
    ];
}

impl Words for Protects {
    const WHAT: &'static str = "a value of `protects`";
    const ALL: &'static [(&'static str, Self, &'static str)] = &[
        ("login", Self::Login, "Logging in."),
        ("otp", Self::Otp, "Entering a one-time password."),
        ("auth", Self::Auth, "Any other kind of authentication."),
        ("step_up", Self::StepUp, "Authenticating again for a sensitive action."),
        ("admin", Self::Admin, "What only administrators may do."),
        ("api_heavy", Self::ApiHeavy, "An interface whose use costs, but lets nobody in."),
        ("read", Self::Read, "Reading."),
        ("write", Self::Write, "Writing."),
        ("bulk", Self::Bulk, "Reading or writing much at once."),
        ("health", Self::Health, "Asking whether all is well, or for metadata."),
        ("spend", Self::Spend, "What is paid for or cannot be undone: a language model, money."),
    ];
}

impl Words for Preset {
    const WHAT: &'static str = "a value of `preset`";
    const ALL: &'static [(&'static str, Self, &'static str)] = &[
        ("login", Self::Login, "For logins: by account, device, address and agent."),
        ("otp", Self::Otp, "For one-time passwords: the same, with fewer tries."),
    ];
}

impl Words for Overflow {
    const WHAT: &'static str = "a value of `overflow`";
    const ALL: &'static [(&'static str, Self, &'static str)] = &[
        ("reject", Self::Reject, "Deny, and tell when to come back."),
        ("queue", Self::Queue, "Let it wait for room."),
        ("degrade", Self::Degrade, "Pass with a lower quality of service, uncounted."),
    ];
}

impl Words for Stage {
    const WHAT: &'static str = "a value of `stage`";
    const ALL: &'static [(&'static str, Self, &'static str)] = &[
        (
            "global",
            Self::Global,
            "Before any action's limits; if it refuses, those are not charged.",
        ),
        ("action", Self::Action, "With the limits of the action."),
    ];
}

impl Words for Counted {
    const WHAT: &'static str = "a value of `counts`";
    const ALL: &'static [(&'static str, Self, &'static str)] = &[
        ("admitted", Self::Admitted, "Only requests that were admitted."),
        ("attempts", Self::Attempts, "Refused requests too."),
    ];
}

impl Words for Starts {
    const WHAT: &'static str = "a value of `starts`";
    const ALL: &'static [(&'static str, Self, &'static str)] = &[
        ("epoch", Self::Epoch, "Counted from the Unix epoch: all keys start anew together."),
        ("first_use", Self::FirstUse, "With the first request of each key."),
    ];
}

impl Words for Dimension {
    const WHAT: &'static str = "a dimension";
    const ALL: &'static [(&'static str, Self, &'static str)] = &{
        let mut all = [("", Self::Org, ""); Self::COUNT];
        let mut index = 0;
        while index < Self::COUNT {
            let dimension = Self::ALL[index];
            all[index] = (dimension.name(), dimension, dimension.meaning());
            index += 1;
        }
        all
    };
}

impl Words for CountedBy {
    const WHAT: &'static str = Dimension::WHAT;
    const ALL: &'static [(&'static str, Self, &'static str)] = {
        const EVERYBODY: (&str, CountedBy, &str) =
            ("global", CountedBy::Everybody, "Everybody together: one counter.");
        const BY: ([(&str, CountedBy, &str); Dimension::COUNT + 1], usize) = {
            let (mut all, mut counted, mut index) = ([EVERYBODY; Dimension::COUNT + 1], 0, 0);
            while index < Dimension::COUNT {
                let dimension = Dimension::ALL[index];
                if dimension.is_counted() {
                    all[counted] =
                        (dimension.name(), CountedBy::One(dimension), dimension.meaning());
                    counted += 1;
                }
                index += 1;
            }
            (all, counted + 1)
        };
        BY.0.split_at(BY.1).0
    };
}

impl Words for Only {
    const WHAT: &'static str = "a value of `only`";
    const ALL: &'static [(&'static str, Self, &'static str)] =
        &[("ipv6", Self::Ipv6, "IPv6 addresses; those of IPv4 are left alone.")];
}

impl Words for AllLevels {
    const WHAT: &'static str = "a value of `ladder`";
    const ALL: &'static [(&'static str, Self, &'static str)] =
        &[("all", Self, "All six levels, L1 to L6.")];
}

impl Words for Level {
    const WHAT: &'static str = "a level";
    const ALL: &'static [(&'static str, Self, &'static str)] = &[
        ("L1", Self::L1, "15 seconds."),
        ("L2", Self::L2, "A minute."),
        ("L3", Self::L3, "Five minutes."),
        ("L4", Self::L4, "Half an hour."),
        ("L5", Self::L5, "Six hours."),
        ("L6", Self::L6, "A day."),
    ];
}

#[cfg(test)]
mod tests {
    //! The words here are those of the core.

    use super::*;

    fn words<W: Words>() -> Vec<&'static str> {
        W::ALL.iter().map(|(word, ..)| *word).collect()
    }

    #[test]
    fn every_word_of_the_core_can_be_written() {
        assert_eq!(words::<FailureMode>(), FailureMode::ALL.map(FailureMode::name));
        assert_eq!(words::<Protects>(), Protects::ALL.map(Protects::name));
        assert_eq!(words::<Preset>(), Preset::ALL.map(Preset::name));
        assert_eq!(words::<Overflow>(), Overflow::ALL.map(Overflow::name));
        assert_eq!(words::<Stage>(), [Stage::Global, Stage::Action].map(Stage::name));
        let dimensions = Dimension::ALL.map(Dimension::name);
        assert_eq!(words::<Dimension>(), dimensions);
        let (plan, counted) = dimensions.split_last().unwrap();
        assert_eq!(
            (*plan, words::<CountedBy>().split_last().unwrap()),
            ("plan", (&"global", counted))
        );
        assert_eq!(words::<Level>(), Level::ALL.map(|level| level.to_string()));
    }
}
