//! Answers: what they say and how they are described, in one place.
//!
//! The same types are written to the wire and to `/openapi.json`, so the description cannot drift from
//! what is sent.

use std::fmt::Display;

use serde::{Serialize, Serializer};
use serde_json::Value;
use tidegate_core::{
    Alarm, Block, BlockScope, Decision, Dimension, Explanation, FailureMode, Guarded, Level, Mode,
    Overflow, Protects, Retry, Rfc3339, Room, Scope, Shape, ShapeKind, Span, Stage, StoreError,
    Tally, Ticket, Timestamp, Unit, Verdict,
};
use utoipa::ToSchema;
use utoipa::openapi::schema::{Array, ArrayBuilder, Object, ObjectBuilder, SchemaType, Type};

/// The one kind of address that a limit can be restricted to, as its name on the wire.
pub(crate) const IPV6: &str = "ipv6";

/// A decision. [`json`](super::json) writes it by hand, with the fields in this order.
#[derive(ToSchema)]
#[cfg_attr(test, derive(Serialize))]
#[schema(as = Decision)]
pub(crate) struct DecisionAnswer<'a> {
    /// The policy whose limits were asked.
    pub(super) policy: &'a str,
    /// What to do with the request.
    #[schema(schema_with = verdicts)]
    pub(super) verdict: &'static str,
    /// The mode in which the decision was made: `normal` if the store answered.
    #[schema(schema_with = modes)]
    pub(super) mode: &'static str,
    /// Whether the request must not pass now.
    pub(super) blocked: bool,
    /// The stage of the limit that decided.
    #[schema(schema_with = stages)]
    pub(super) source: &'static str,
    /// The name of the limit that decided; empty if none did, because the store was not asked or did
    /// not answer.
    pub(super) binding: &'a str,
    /// The most that the limit that decided, or the guardrail in its place, admits at once; 0 if neither
    /// was asked.
    pub(super) limit: u64,
    /// What the limit that decided has left; below zero only where refused attempts are counted.
    pub(super) remaining: i64,
    /// Seconds until nothing that limit has counted so far counts any more, rounded up.
    pub(super) reset_after: u64,
    /// Seconds until the same request may pass, rounded up; 0 if it may now, null if it never may.
    #[schema(required)]
    pub(super) retry_after: Option<u64>,
    /// The longest delay a backoff asked for, in seconds, rounded up.
    pub(super) backoff_seconds: u64,
    /// The first instant at which the same request may pass; null if none ever comes.
    #[schema(required, value_type = Option<String>, format = DateTime)]
    pub(super) next_allowed_at: Option<WireInstant>,
    /// The store's time of the decision; the server's if it was made without the store.
    #[schema(value_type = String, format = DateTime)]
    pub(super) decided_at: WireInstant,
    /// The same as `retry_after`, in microseconds.
    #[schema(required)]
    pub(super) retry_after_us: Option<u64>,
    /// The account as it was counted, whatever its spelling in the request: look it up by this. There if
    /// the request names an account.
    #[cfg_attr(test, serde(skip_serializing_if = "Option::is_none"))]
    #[schema(value_type = String, required = false)]
    pub(super) account: Option<&'a str>,
    /// The ticket to hand back to `/v1/settle`; there if the request was admitted and a limit settles.
    #[cfg_attr(test, serde(skip_serializing_if = "Option::is_none"))]
    #[schema(value_type = String, required = false)]
    pub(super) ticket: Option<&'a str>,
    /// The block on the limit that decided, or the block that keeps the request out while the store is
    /// not asked; there if there is one.
    #[cfg_attr(test, serde(skip_serializing_if = "Option::is_none"))]
    #[schema(value_type = BlockAnswer, required = false)]
    pub(super) block: Option<BlockAnswer>,
    /// The local cap that decided in the place of the store; there if one did.
    #[cfg_attr(test, serde(skip_serializing_if = "Option::is_none"))]
    #[schema(value_type = GuardrailAnswer, required = false)]
    pub(super) guardrail: Option<GuardrailAnswer>,
    /// The condition that an operator has to do something about; there if there is one.
    #[cfg_attr(test, serde(skip_serializing_if = "Option::is_none"))]
    #[schema(schema_with = alarms, required = false)]
    pub(super) alarm: Option<&'static str>,
    /// How the store has failed this very request; there if it has.
    #[cfg_attr(test, serde(skip_serializing_if = "Option::is_none"))]
    #[schema(schema_with = troubles, required = false)]
    pub(super) trouble: Option<&'static str>,
    /// The readings of all limits that were asked, in the order of the policy; empty if the store did not
    /// answer.
    #[schema(value_type = Vec<ReadingAnswer>)]
    pub(super) readings: ReadingAnswers<'a>,
}

/// What one limit said about the request.
#[derive(Serialize, ToSchema)]
#[schema(as = Reading)]
pub(crate) struct ReadingAnswer<'a> {
    /// The name of the limit.
    pub(super) name: &'a str,
    /// The facts that the limit counts by, joined by `+`; or `global`.
    #[schema(value_type = String, example = "org+user")]
    pub(super) scope: Displayed<Scope>,
    /// The kind of limit.
    #[schema(schema_with = shapes)]
    pub(super) shape: &'static str,
    /// The most that the limit admits at once, for this subject.
    pub(super) capacity: u64,
    /// What the limit has left; below zero only where refused attempts are counted.
    pub(super) remaining: i64,
    /// Whether the limit had room for the request: now, after a while, or never.
    #[schema(schema_with = rooms)]
    pub(super) room: &'static str,
    /// Microseconds until the limit has room for the same request; 0 if it has, null if it never will.
    #[schema(required)]
    pub(super) retry_after_us: Option<u64>,
    /// Microseconds until nothing that the limit has counted so far counts any more.
    pub(super) reset_after_us: u64,
    /// The delay that the backoff of the limit asked for, in microseconds.
    pub(super) backoff_us: u64,
    /// When the limit is asked, relative to the others.
    #[schema(schema_with = stages)]
    pub(super) stage: &'static str,
    /// Whether the limit only reports, and never refuses.
    pub(super) shadow: bool,
    /// The attempts counted, and the block in force; there if the limit counts attempts.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = AttemptsAnswer, required = false)]
    pub(super) attempts: Option<AttemptsAnswer>,
}

/// Attempts so far, this one included if it was counted.
#[derive(Clone, Copy, Serialize, ToSchema)]
#[schema(as = Attempts)]
pub(crate) struct AttemptsAnswer {
    /// Attempts in the short window.
    pub(super) temp: u64,
    /// Attempts in the long window, up to its `block_at`; null if there is no long window.
    #[schema(required)]
    pub(super) long: Option<u64>,
    /// The block in force; null if there is none.
    #[schema(required)]
    pub(super) block: Option<BlockAnswer>,
}

/// A block: a subject is refused until a certain time.
#[derive(Clone, Copy, Serialize, ToSchema)]
#[schema(as = Block)]
pub(crate) struct BlockAnswer {
    /// What the block came from: the window that was full, or an operator.
    #[schema(schema_with = block_scopes)]
    pub(super) scope: &'static str,
    /// The level of the block; null if it is on no ladder.
    #[schema(required, schema_with = maybe_levels)]
    pub(super) level: Option<Displayed<Level>>,
    /// When the block ends.
    #[schema(value_type = String, format = DateTime)]
    pub(super) ends_at: WireInstant,
    /// Microseconds until the block ends.
    pub(super) ends_in_us: u64,
    /// Whether this very attempt began the block, or made a short block a long one.
    pub(super) begins: bool,
}

/// A local cap, counted by this server alone.
#[derive(Clone, Copy, Serialize, ToSchema)]
#[schema(as = Guardrail)]
pub(crate) struct GuardrailAnswer {
    /// The facts that the cap counts by, joined by `+`.
    #[schema(value_type = String, example = "ip+agent")]
    pub(super) by: Displayed<Scope>,
    /// The most that the cap admits in any `per` seconds.
    pub(super) limit: u64,
    /// The length of the cap's window, in seconds.
    pub(super) per: u64,
    /// What the cap has left.
    pub(super) remaining: u64,
}

/// What a settlement changed.
#[derive(Serialize, ToSchema)]
#[schema(as = Settled)]
pub(crate) struct SettledAnswer {
    /// Units given back, over all limits on the ticket.
    pub(crate) returned: u64,
    /// Units taken in addition, over all limits on the ticket.
    pub(crate) added: u64,
}

/// The readings of a decision, written straight from the decision.
pub(crate) struct ReadingAnswers<'a>(Decision<'a>);

/// An instant that is serialised as text, in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WireInstant(pub(crate) Timestamp);

/// A value that is written as it is displayed.
#[derive(Clone, Copy)]
pub(crate) struct Displayed<T>(pub(crate) T);

// === impl DecisionAnswer ===

impl<'a> DecisionAnswer<'a> {
    #[inline]
    pub(crate) fn new(
        decision: Decision<'a>,
        account: Option<&'a str>,
        ticket: Option<&'a Ticket>,
    ) -> Self {
        let status = decision.status();
        let wait = match status.retry {
            None => Some(Span::ZERO),
            Some(Retry::After(wait)) => Some(wait),
            Some(Retry::Never) => None,
        };
        let binding = decision.binding();
        Self {
            policy: decision.policy().name().as_str(),
            verdict: decision.verdict().name(),
            mode: decision.mode().name(),
            blocked: status.blocked,
            source: status.source.name(),
            binding: binding.map_or("", |binding| binding.limit.name().as_str()),
            limit: status.limit,
            remaining: status.remaining,
            reset_after: status.reset_after.as_secs_ceil(),
            retry_after: wait.map(Span::as_secs_ceil),
            backoff_seconds: status.backoff.as_secs_ceil(),
            next_allowed_at: status.next_allowed_at.map(WireInstant),
            decided_at: WireInstant(decision.decided_at()),
            retry_after_us: wait.map(Span::as_micros),
            account,
            ticket: ticket.map(Ticket::as_str),
            block: BlockAnswer::of_decision(&decision),
            guardrail: decision.guarded().and_then(GuardrailAnswer::new),
            alarm: decision.alarm().map(Alarm::name),
            trouble: decision.trouble().map(StoreError::name),
            readings: ReadingAnswers(decision),
        }
    }
}

// === impl GuardrailAnswer ===

impl GuardrailAnswer {
    fn new(guarded: Guarded) -> Option<Self> {
        let cap = guarded.cap?;
        Some(Self {
            by: Displayed(cap.by),
            limit: cap.count,
            per: cap.per.as_secs_ceil(),
            remaining: guarded.remaining,
        })
    }
}

// === impl ReadingAnswer ===

impl<'a> ReadingAnswer<'a> {
    #[inline]
    pub(crate) fn new(said: Explanation<'a>, passes: bool, decided_at: Timestamp) -> Self {
        let Explanation { limit, shape, reading } = said;
        let (room, wait) = match reading.room {
            Room::Now if passes => ("now", Some(Span::ZERO)),
            // A refused attempt may itself have been counted.
            Room::Now => ("now", Some(reading.wait)),
            Room::After(_) => ("after", Some(reading.wait)),
            Room::Never => ("never", None),
        };
        Self {
            name: limit.name().as_str(),
            scope: Displayed(limit.scope()),
            shape: shape.kind().name(),
            capacity: shape.capacity(),
            remaining: reading.remaining,
            room,
            retry_after_us: wait.map(Span::as_micros),
            reset_after_us: reading.reset_after.as_micros(),
            backoff_us: reading.backoff.as_micros(),
            stage: limit.stage().name(),
            shadow: limit.is_shadow(),
            attempts: reading.attempts.map(|tally| AttemptsAnswer::new(&tally, shape, decided_at)),
        }
    }
}

// === impl AttemptsAnswer ===

impl AttemptsAnswer {
    fn new(tally: &Tally, shape: &Shape, decided_at: Timestamp) -> Self {
        let has_long = matches!(shape, Shape::Attempts(attempts) if attempts.long().is_some());
        Self {
            temp: tally.temp.into(),
            long: has_long.then_some(tally.long.into()),
            block: BlockAnswer::of(tally, decided_at),
        }
    }
}

// === impl BlockAnswer ===

impl BlockAnswer {
    fn of_decision(decision: &Decision<'_>) -> Option<Self> {
        let at = decision.decided_at();
        match decision.failsafe() {
            Some(failsafe) => failsafe.block.map(|block| Self::new(block, false, at)),
            None => Self::of(&decision.binding()?.reading.attempts?, at),
        }
    }

    fn of(tally: &Tally, decided_at: Timestamp) -> Option<Self> {
        tally.block.map(|block| Self::new(block, tally.begins, decided_at))
    }

    fn new(block: Block, begins: bool, decided_at: Timestamp) -> Self {
        let Block { until, scope, level } = block;
        Self {
            scope: scope.name(),
            level: level.map(Displayed),
            ends_at: WireInstant(until),
            ends_in_us: until.since(decided_at).as_micros(),
            begins,
        }
    }
}

// === impl ReadingAnswers ===

impl<'a> ReadingAnswers<'a> {
    #[inline]
    pub(super) fn each(&self) -> impl Iterator<Item = ReadingAnswer<'a>> {
        let (passes, decided_at) = (self.0.verdict().passes(), self.0.decided_at());
        self.0.explain().map(move |said| ReadingAnswer::new(said, passes, decided_at))
    }
}

#[cfg(test)]
impl Serialize for ReadingAnswers<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.each())
    }
}

// === impl WireInstant ===

impl WireInstant {
    pub(super) fn text(self) -> Rfc3339 {
        self.0.rfc3339()
    }
}

impl Serialize for WireInstant {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.text().as_str())
    }
}

// === impl Displayed ===

impl<T: Display> Serialize for Displayed<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

// === the closed sets, described ===

fn one_of(names: impl IntoIterator<Item = impl Into<Value>>) -> Object {
    let names = names.into_iter().map(Into::into);
    ObjectBuilder::new().schema_type(Type::String).enum_values(Some(names)).build()
}

fn one_or_none(names: impl IntoIterator<Item = impl Into<Value>>) -> Object {
    let names = names.into_iter().map(Into::into).chain([Value::Null]);
    ObjectBuilder::new()
        .schema_type(SchemaType::from_iter([Type::String, Type::Null]))
        .enum_values(Some(names))
        .build()
}

/// Makes a function for the schema of each closed set of names.
macro_rules! closed_sets {
    ($($set:ident = $schema:ident($names:expr);)*) => {
        $(pub(crate) fn $set() -> Object {
            $schema($names)
        })*
    };
}

closed_sets! {
    verdicts = one_of(Verdict::NAMES);
    maybe_verdicts = one_or_none(Verdict::NAMES);
    failures = one_of(FailureMode::ALL.map(FailureMode::name));
    protections = one_or_none(Protects::ALL.map(Protects::name));
    overflows = one_of(Overflow::ALL.map(Overflow::name));
    units = one_of(Unit::ALL.map(Unit::name));
    modes = one_of(Mode::ALL.map(Mode::name));
    maybe_modes = one_or_none(Mode::ALL.map(Mode::name));
    alarms = one_of(Alarm::ALL.map(Alarm::name));
    troubles = one_of(StoreError::NAMES);
    stages = one_of(Stage::ALL.map(Stage::name));
    shapes = one_of(ShapeKind::ALL.map(ShapeKind::name));
    levels = one_of(Level::ALL.map(|level| level.to_string()));
    maybe_levels = one_or_none(Level::ALL.map(|level| level.to_string()));
    block_scopes = one_of(BlockScope::ALL.map(BlockScope::name));
    rooms = one_of(["now", "after", "never"]);
    maybe_dimensions = one_or_none(Dimension::ALL.map(Dimension::name));
    maybe_ipv6 = one_or_none([IPV6]);
}

pub(crate) fn dimensions() -> Array {
    ArrayBuilder::new().items(one_of(Dimension::ALL.map(Dimension::name))).build()
}
