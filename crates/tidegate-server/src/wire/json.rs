//! Decisions as JSON, written by hand.
//!
//! A decision is the one answer that is written a hundred thousand times a second. serde looks for
//! characters to escape in every name of a field; here they are constants, and the names of policies
//! and limits need no escaping by what a [`Name`](tidegate_core::Name) may be. That makes it a tenth of
//! the instructions, a quarter of a whole request. What few decisions have is left to serde, and a test
//! holds the rest to what serde writes.

use serde::Serialize;
use tidegate_core::{Rfc3339, Scope};

use super::answers::{AttemptsAnswer, BlockAnswer, DecisionAnswer, Displayed, ReadingAnswer};

/// Writes one field after another: a constant with its name, then the value.
macro_rules! fields {
    ($out:ident, $($constant:literal $value:expr;)*) => {
        $( $out.extend_from_slice($constant.as_bytes()); Write::write(&$value, $out); )*
    };
}

/// A value that is written as JSON without escapes.
trait Write {
    fn write(&self, out: &mut Vec<u8>);
}

/// Writes a field that few decisions have, if this one has it.
#[inline]
fn seldom(out: &mut Vec<u8>, name: &str, value: Option<impl Serialize>) {
    if let Some(value) = value {
        fields! { out, ",\"" name; "\":" (); }
        by_serde(out, &value);
    }
}

#[cold]
fn by_serde(out: &mut Vec<u8>, value: &impl Serialize) {
    // Writing into memory cannot fail.
    let _ = serde_json::to_writer(out, value);
}

// === impl DecisionAnswer ===

impl DecisionAnswer<'_> {
    /// Writes the decision to `out` as JSON.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        fields! { out,
            "{\"policy\":\"" self.policy;
            "\",\"verdict\":\"" self.verdict;
            "\",\"mode\":\"" self.mode;
            "\",\"blocked\":" self.blocked;
            ",\"source\":\"" self.source;
            "\",\"binding\":\"" self.binding;
            "\",\"limit\":" self.limit;
            ",\"remaining\":" self.remaining;
            ",\"reset_after\":" self.reset_after;
            ",\"retry_after\":" self.retry_after;
            ",\"backoff_seconds\":" self.backoff_seconds;
        }
        // A client that is admitted may pass again at once, so most of the time both instants are the
        // same.
        let decided_at = self.decided_at.text();
        let next_allowed_at = self.next_allowed_at.map(|next| match next == self.decided_at {
            true => decided_at,
            false => next.text(),
        });
        fields! { out,
            ",\"next_allowed_at\":" next_allowed_at;
            ",\"decided_at\":" decided_at;
            ",\"retry_after_us\":" self.retry_after_us;
        }
        seldom(out, "account", self.account);
        seldom(out, "ticket", self.ticket);
        seldom(out, "block", self.block);
        seldom(out, "guardrail", self.guardrail);
        seldom(out, "alarm", self.alarm);
        seldom(out, "trouble", self.trouble);
        out.extend_from_slice(b",\"readings\":[");
        for (place, reading) in self.readings.each().enumerate() {
            if place > 0 {
                out.push(b',');
            }
            reading.write(out);
        }
        out.extend_from_slice(b"]}");
    }
}

// === impl ReadingAnswer ===

impl ReadingAnswer<'_> {
    fn write(&self, out: &mut Vec<u8>) {
        fields! { out,
            "{\"name\":\"" self.name;
            "\",\"scope\":\"" self.scope;
            "\",\"shape\":\"" self.shape;
            "\",\"capacity\":" self.capacity;
            ",\"remaining\":" self.remaining;
            ",\"room\":\"" self.room;
            "\",\"retry_after_us\":" self.retry_after_us;
            ",\"reset_after_us\":" self.reset_after_us;
            ",\"backoff_us\":" self.backoff_us;
            ",\"stage\":\"" self.stage;
            "\",\"shadow\":" self.shadow;
        }
        if let Some(attempts) = self.attempts {
            fields! { out, ",\"attempts\":" attempts; }
        }
        out.push(b'}');
    }
}

// === impl Write ===

impl Write for () {
    #[inline]
    fn write(&self, _: &mut Vec<u8>) {}
}

impl Write for &str {
    #[inline]
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.as_bytes());
    }
}

impl Write for bool {
    #[inline]
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(if *self { b"true" } else { b"false" });
    }
}

impl Write for u64 {
    #[inline]
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(itoa::Buffer::new().format(*self).as_bytes());
    }
}

impl Write for i64 {
    #[inline]
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(itoa::Buffer::new().format(*self).as_bytes());
    }
}

impl Write for Rfc3339 {
    #[inline]
    fn write(&self, out: &mut Vec<u8>) {
        out.push(b'"');
        out.extend_from_slice(self.as_bytes());
        out.push(b'"');
    }
}

impl<T: Write> Write for Option<T> {
    #[inline]
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Some(value) => value.write(out),
            None => out.extend_from_slice(b"null"),
        }
    }
}

impl Write for AttemptsAnswer {
    fn write(&self, out: &mut Vec<u8>) {
        fields! { out,
            "{\"temp\":" self.temp;
            ",\"long\":" self.long;
            ",\"block\":" self.block;
            "}" ();
        }
    }
}

impl Write for BlockAnswer {
    fn write(&self, out: &mut Vec<u8>) {
        by_serde(out, self);
    }
}

impl Write for Displayed<Scope> {
    fn write(&self, out: &mut Vec<u8>) {
        let start = out.len();
        for dimension in self.0.dimensions() {
            if out.len() > start {
                out.push(b'+');
            }
            out.extend_from_slice(dimension.name().as_bytes());
        }
        if out.len() == start {
            out.extend_from_slice(b"global");
        }
    }
}

#[cfg(test)]
mod tests {
    //! Held to serde.

    use proptest::prelude::*;
    use tidegate_core::{
        Asked, Attempts, Bucket, Case, Cost, Counts, Course, Digests, Dimension, Failure,
        FailureMode, Fallback, FleetSize, Generation, Input, Ladder, Limit, ManualClock, Name,
        Overflow, PolicySet, PolicySpec, Protects, Rate, Scope, Shape, Span, Stage, Standby,
        StoreError, Threshold, Timestamp, Window,
    };
    use tidegate_engine::memory::{Budget, MemoryStore};
    use tidegate_engine::{Engine, ready};

    use super::*;

    fn name(text: &str) -> Name {
        Name::try_new(text).unwrap()
    }

    /// A policy with all sorts of limits.
    fn policies(overflow: Overflow) -> PolicySet {
        let bucket = Shape::Bucket(Bucket::try_new(Rate::per_second(7).unwrap(), 30).unwrap());
        let window =
            Shape::Window(Window::try_new(20, Span::MINUTE, Counts::Attempts(None)).unwrap());
        let ladder = Ladder::default();
        let climbing = Shape::Attempts(Attempts::climbing(9, Span::from_secs(4), ladder).unwrap());
        let temp = Threshold { block_at: 8, per: Span::from_secs(2), block: Span::SECOND };
        let long = Threshold { block_at: 12, per: Span::HOUR, block: Span::HOUR };
        let two_windows = Shape::Attempts(Attempts::try_new(temp, Some(long)).unwrap());
        let every = Scope::of([Dimension::Org, Dimension::User, Dimension::Class]);
        let spec = PolicySpec::new(name("a.b-c_9"), FailureMode::FailOpen)
            .overflow(overflow)
            .limit(Limit::new(name("one"), Scope::GLOBAL, bucket.clone()).settling())
            .limit(Limit::new(name("two"), every, window.clone()).at_stage(Stage::Global))
            .limit(Limit::new(name("three"), every, bucket).in_shadow().with_named_key())
            .limit(Limit::new(name("four"), every, climbing).on_overflow(Overflow::Reject))
            .limit(Limit::new(name("five"), every, two_windows).on_overflow(Overflow::Reject));
        PolicySet::builder().policy(spec).build(None).unwrap()
    }

    proptest! {
        #[test]
        fn every_decision_is_as_serde_writes_it(
            costs in proptest::collection::vec((1_u64..40, 0_u64..3_000_000), 1..20),
            account in proptest::option::of(any::<String>()),
            overflow in prop_oneof![
                Just(Overflow::Reject), Just(Overflow::Queue), Just(Overflow::Degrade)
            ],
        ) {
            let clock = ManualClock::new(Timestamp::from_micros(1_800_000_000_000_000));
            let budget = Budget { buckets: 100, quotas: 1, windows: 100, attempts: 100 };
            let store = MemoryStore::new(budget, &clock);
            let engine = Engine::with_digests(store, policies(overflow), Digests::new([1, 2]));
            let set = engine.policies();
            let subject = tidegate_core::Subject::new().org("o").user("u").class("c");
            for (cost, wait) in costs {
                clock.advance(Span::from_micros(wait));
                let mut case = Case::new(set.get("a.b-c_9").unwrap(), &subject)
                    .weighing(Cost::try_new(cost).unwrap());
                let decision = ready(engine.decide(&mut case)).unwrap().unwrap();
                let ticket = engine.ticket(&decision);
                let answer = DecisionAnswer::new(decision, account.as_deref(), ticket.as_ref());
                let mut ours = Vec::new();
                answer.write(&mut ours);
                prop_assert_eq!(
                    String::from_utf8(ours).unwrap(), serde_json::to_string(&answer).unwrap()
                );
            }
        }

        #[test]
        fn every_decision_without_the_store_is_as_serde_writes_it(
            times in 1_u64..8, error in 0_usize..4, kind in 0_usize..3,
        ) {
            let now = Timestamp::from_micros(1_800_000_000_000_000);
            let protects = [Protects::Login, Protects::ApiHeavy, Protects::Read][kind];
            let failure = [FailureMode::FailClosed, FailureMode::FailOpen, FailureMode::Degraded];
            let fallback = Fallback::of(Some(protects), failure[kind], FleetSize::USUAL);
            let mut standby = Standby::new(failure[kind], fallback, now);
            let set = policies(Overflow::Reject);
            let subject = tidegate_core::Subject::new().org("o").user("u").class("c");
            let digests = Digests::new([1, 2]);
            for time in 0..times * 20 {
                let mut case = Case::new(set.get("a.b-c_9").unwrap(), &subject);
                case.resolve(&digests);
                let asked = Asked::new(case.batch(), &digests);
                let failsafe = match standby.decide(&asked, true, now) {
                    Some(failsafe) => failsafe,
                    None => {
                        let error = [
                            StoreError::Timeout, StoreError::Refused, StoreError::Unavailable,
                            StoreError::Corrupt { charge: 0 },
                        ][error].clone();
                        let generation = match standby.failover().course() {
                            Course::Ask(generation) => generation,
                            _ => Generation::NONE,
                        };
                        let why = Failure::of(&error, time).unwrap();
                        standby.step(Input::Failed(generation, why), now);
                        standby.failed(&asked, true, error, now)
                    }
                };
                let answer = DecisionAnswer::new(case.decided_without_store(failsafe), None, None);
                let mut ours = Vec::new();
                answer.write(&mut ours);
                prop_assert_eq!(
                    String::from_utf8(ours).unwrap(), serde_json::to_string(&answer).unwrap()
                );
            }
        }

        #[test]
        fn every_number_is_as_serde_writes_it(number in any::<i64>(), small in -20_i64..20) {
            for number in [number, small, number >> 20, i64::MIN, i64::MAX] {
                let (mut signed, mut unsigned) = (Vec::new(), Vec::new());
                number.write(&mut signed);
                prop_assert_eq!(String::from_utf8(signed).unwrap(), number.to_string());
                number.unsigned_abs().write(&mut unsigned);
                prop_assert_eq!(
                    String::from_utf8(unsigned).unwrap(), number.unsigned_abs().to_string()
                );
            }
        }
    }
}
