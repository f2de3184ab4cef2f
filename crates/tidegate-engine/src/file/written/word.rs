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
    fn all() -> Vec<(&'static str, Self, &'static str)>;
}

/// A word as it was written, perhaps none of its set.
#[derive(Clone, Debug, PartialEq)]
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

// === impl Word ===

impl<W: Words> Word<W> {
    /// What the word stands for, if it is one of the set.
    pub(in crate::file) fn meaning(&self) -> Option<W> {
        let known = W::all().into_iter().find(|(word, ..)| *word == self.text);
        known.map(|(_, meaning, _)| meaning)
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
        let words = W::all()
            .into_iter()
            .map(|(word, _, meaning)| json_schema!({ "const": word, "description": meaning }));
        json_schema!({ "oneOf": words.collect::<Vec<_>>() })
    }
}

// === impl Words ===

/// Makes sets of words from a table: each word with the value it stands for and a description.
macro_rules! words {
    ($($set:ident is $what:literal { $($word:literal = $value:ident, $meaning:literal;)* })*) => {
        $(
            impl Words for $set {
                const WHAT: &'static str = $what;

                fn all() -> Vec<(&'static str, Self, &'static str)> {
                    vec![$(($word, Self::$value, $meaning)),*]
                }
            }
        )*
    };
}

words! {
    FailureMode is "a value of `failure_mode`" {
        "fail_closed" = FailClosed, "Deny at the first failure. For entrances, and for `protects: \
                                     spend`.";
        "fail_open" = FailOpen, "Admit, within local guardrails.";
        "degraded" = Degraded, "Decide by local guardrails, and by ceilings at a tenth of the \
                                limits.";
    }
    Protects is "a value of `protects`" {
        "login" = Login, "Logging in.";
        "otp" = Otp, "Entering a one-time password.";
        "auth" = Auth, "Any other kind of authentication.";
        "step_up" = StepUp, "Authenticating again for a sensitive action.";
        "admin" = Admin, "What only administrators may do.";
        "api_heavy" = ApiHeavy, "An interface whose use costs, but lets nobody in.";
        "read" = Read, "Reading.";
        "write" = Write, "Writing.";
        "bulk" = Bulk, "Reading or writing much at once.";
        "health" = Health, "Asking whether all is well, or for metadata.";
        "spend" = Spend, "What is paid for or cannot be undone: a language model, money.";
        "outbound" = Outbound, "Calls to other services, from services behind few addresses.";
    }
    Preset is "a value of `preset`" {
        "login" = Login, "For logins: by account, device, address and agent.";
        "otp" = Otp, "For one-time passwords: the same, with fewer tries.";
    }
    Overflow is "a value of `overflow`" {
        "reject" = Reject, "Deny, and tell when to come back.";
        "queue" = Queue, "Let it wait for room.";
        "degrade" = Degrade, "Pass with a lower quality of service; the other limits count it.";
    }
    Stage is "a value of `stage`" {
        "global" = Global, "Before any action's limits; if it refuses, those are not charged.";
        "action" = Action, "With the limits of the action.";
    }
    Counted is "a value of `counts`" {
        "admitted" = Admitted, "Only requests that were admitted.";
        "attempts" = Attempts, "Refused requests too.";
    }
    Starts is "a value of `starts`" {
        "epoch" = Epoch, "Counted from the Unix epoch: all keys start anew together.";
        "first_use" = FirstUse, "With the first request of each key.";
    }
    Only is "a value of `only`" {
        "ipv6" = Ipv6, "IPv6 addresses; those of IPv4 are left alone.";
    }
    Level is "a level" {
        "L1" = L1, "15 seconds.";
        "L2" = L2, "A minute.";
        "L3" = L3, "Five minutes.";
        "L4" = L4, "Half an hour.";
        "L5" = L5, "Six hours.";
        "L6" = L6, "A day.";
    }
}

impl Words for Dimension {
    const WHAT: &'static str = "a dimension";

    fn all() -> Vec<(&'static str, Self, &'static str)> {
        Self::ALL.map(|dimension| (dimension.name(), dimension, dimension.meaning())).to_vec()
    }
}

impl Words for CountedBy {
    const WHAT: &'static str = Dimension::WHAT;

    fn all() -> Vec<(&'static str, Self, &'static str)> {
        let counted = Dimension::all().into_iter().filter(|(_, one, _)| one.is_counted());
        let by = counted.map(|(word, one, meaning)| (word, Self::One(one), meaning));
        by.chain([("global", Self::Everybody, "Everybody together: one counter.")]).collect()
    }
}

#[cfg(test)]
mod tests {
    //! The words here are those of the core.

    use super::*;

    fn words<W: Words>() -> Vec<&'static str> {
        W::all().into_iter().map(|(word, ..)| word).collect()
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
