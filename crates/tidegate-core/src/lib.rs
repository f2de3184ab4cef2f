//! The rules of Tidegate: whether a request may pass, and when the next one may.
//!
//! This crate is arithmetic and data. It reads no clock, does no I/O, spawns nothing and uses no
//! floats: the same inputs give the same answers on every machine. What it needs from outside comes
//! through three ports, [`Store`] for counters, [`Fleet`] for what nodes agree on, and [`Clock`] for time;
//! every rule takes `now` as an argument.
//!
//! # The book
//!
//! Short chapters with examples that are run with the tests. Start here if you want to know
//! *why*; the reference below says *what*.
//!
//! 1. [What a limit is](book::ch1_what_a_limit_is): N admits N and denies N + 1
//! 2. [The bucket](book::ch2_the_bucket): burst and rate, as fractions and not as floats
//! 3. [The window](book::ch3_the_window): no edge to double at
//! 4. [The quota](book::ch4_the_quota): periods, calendars, time zones, billing days
//! 5. [Several limits in one decision](book::ch5_several_limits): all or nothing, the longest wait
//! 6. [Who is counted](book::ch6_who_is_counted): subjects, scopes and keys
//! 7. [Refused requests](book::ch7_refused_requests): they charge nothing, and the told wait is true
//! 8. [Changing numbers](book::ch8_changing_numbers): reloads, overrides, hierarchies
//! 9. [Where state lives](book::ch9_where_state_lives): the port to a store, and its failures
//! 10. [What it really cost](book::ch10_what_it_really_cost): tickets, settled at most once
//! 11. [Too many tries](book::ch11_too_many_tries): attempts, blocks, the ladder
//! 12. [When the store fails](book::ch12_when_the_store_fails): three modes, a breaker, exact local caps
//! 13. [Waiting in line](book::ch13_waiting_in_line): a bounded queue, fair between tenants
//! 14. [When an upstream fails](book::ch14_when_an_upstream_fails): one call of a whole fleet tries again
//! 15. [Tenants above tenants](book::ch15_tenants_above_tenants): which limits a request meets there
//!
//! # The path of a request
//!
//! ```text
//! Subject + Policy ─▶ Case ── resolve ──▶ Batch ── Store::charge ──▶ Readings ── fold ──▶ Decision
//! ```
//!
//! | step | types |
//! |---|---|
//! | write limits down | [`Limit`], [`Scope`], [`Shape`]: [`Bucket`], [`Window`], [`Quota`] or [`Attempts`] |
//! | check them together | [`PolicySpec`], [`PolicySetBuilder`], [`PolicySet`] |
//! | say who asks | [`Subject`], [`Account`], [`Cost`], [`Case`] |
//! | charge | [`Batch`] of [`Charge`]s, [`plan`], [`Readings`], [`StoreError`] |
//! | keep | [`Record`] of a [`Kept`], [`Step`], [`Write`] |
//! | answer | [`fold`], [`Decision`], [`Verdict`], [`Explanation`], [`Status`] |
//! | correct | [`Ticket`], [`Settlement`], [`Receipt`]; [`Outcomes`] |
//! | block, unblock, forget | [`Amendment`], [`Block`], [`Level`], [`Ladder`] |
//! | go on without a store | [`Standby`]: [`Failover`], [`Guardrails`], [`Mirror`]; [`Failsafe`], [`Signal`] |
//! | wait in line | [`FairQueue`], [`QueueBounds`]; [`Arrival`], [`Seat`], [`Armed`], [`Aftermath`] |
//! | leave a failing upstream alone | [`Breaker`], [`BreakerSettings`], [`Clearance`]; [`Fleet`], [`Accord`], [`agree`] |
//! | find the rows of tenants, upstreams and routes | [`Hierarchy`], [`LimitRow`], [`charges`], [`Effective`]; [`check_fit`], [`never_passing`] |
//!
//! An engine does all of this in one call. Here are the same steps by hand; the loop plays the part of a
//! store that has never seen this bucket:
//!
//! ```
//! use tidegate_core::{
//!     Bucket, Case, Digests, Dimension, FailureMode, Limit, Name, PolicySet, PolicySpec, Rate,
//!     Scope, Shape, Subject, Timestamp, Verdict, fold,
//! };
//!
//! let bucket = Bucket::try_new(Rate::per_second(10)?, 20)?;
//! let per_org =
//!     Limit::new(Name::try_new("burst")?, Scope::of([Dimension::Org]), Shape::Bucket(bucket));
//! let api = PolicySpec::new(Name::try_new("api")?, FailureMode::FailOpen).limit(per_org);
//! let policies = PolicySet::builder().policy(api).build(None)?;
//!
//! let subject = Subject::new().org("acme");
//! let mut case = Case::new(policies.get("api").ok_or("no such policy")?, &subject);
//! case.resolve(&Digests::new([7, 11]));
//!
//! let now = Timestamp::from_micros(1_800_000_000_000_000);
//! let (batch, readings) = case.ask();
//! readings.begin(now);
//! for charge in batch.charges() {
//!     let (_state, reading) = bucket.take(None, charge.cost(), now);
//!     readings.push(reading);
//! }
//!
//! let decision = fold(&mut case);
//! assert_eq!(decision.verdict(), Verdict::Admit);
//! assert_eq!(decision.binding().ok_or("asked")?.reading.remaining, 19);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod account;
mod address;
mod amendment;
mod block;
pub mod book;
mod breaker;
mod bundle;
mod case;
mod charge;
mod cost;
mod decision;
pub mod failover;
mod fleet;
mod hierarchy;
mod kept;
mod key;
mod limit;
mod name;
mod named;
mod outcome;
mod overrides;
mod policy;
mod preset;
mod queue;
mod record;
mod rfc3339;
mod row;
mod secret;
mod settlement;
mod shape;
mod step;
mod store;
mod subject;
pub mod text;
mod ticket;
mod time;
mod trial;

pub use account::Account;
pub use address::{Prefix, PrefixLength, is_within_share};
pub use amendment::{Amended, Amendment, Blocks, CounterRef, Listed, Naming, Outcome, Page};
pub use block::{Block, BlockScope, Ladder, LadderError, Level};
pub use breaker::{
    Breaker, BreakerCause, BreakerChange, BreakerInput, BreakerOutputs, BreakerSettings,
    BreakerSettingsError, BreakerSignal, BreakerState, CallOutcome, Clearance, FleetCall,
    LEASE_SLACK, Pass, ProbePass,
};
pub use bundle::{Bundle, BundleError};
pub use case::Case;
pub use charge::{Batch, Charge, MAX_LIMITS, Readings, WritePlan, plan, plan_after};
pub use cost::{Cost, CostError, CostRule};
pub use decision::{Decision, Denial, Explanation, Retry, Status, TooManyRequests, Verdict, fold};
pub use failover::{
    Alarm, Asked, Cap, Cause, Course, Failover, Failsafe, Failure, Generation, Guarded, Guardrails,
    Headroom, Input, Mirror, Outputs, Probe, Severity, Signal, Standby, Standing, Transition,
};
pub use fleet::{
    Accord, AccordState, Agreed, CLOSED_KEPT, Changed, Cursor, FLEET_DEADLINE, FLEET_POLL_EVERY,
    Fleet, FleetError, FleetStep, Forced, Holder, Lease, MAX_CHANGED, MAX_FLEET_NAME, Motion,
    agree, is_fleet_name,
};
pub use hierarchy::{
    Allowance, Branches, Charged, ChargedAs, ChargedRow, Effective, Hierarchy, HierarchyError,
    LimitRow, MAX_DEPTH, Misfit, NeverPasses, Pinned, Provenance, RouteView, RowKind, RowOwner,
    RowScope, Sharing, TenantView, Terms, UpstreamView, charges, check_fit, effective,
    effective_for, never_passing, tighten, upstream_for,
};
pub use kept::{AttemptsHead, Kept};
pub use key::{Digests, Key, KeyNames, MAX_KEY, MAX_PART};
pub use limit::{Limit, LimitError, MAX_FORMER, MAX_ROW_NUMBERS, Names, Stage, Stamp};
pub use name::{Name, NameError};
pub use outcome::{Outcomes, OutcomesError};
pub use overrides::{Override, OverrideError};
pub use policy::{
    FailureMode, Fallback, FleetSize, Mode, Overflow, Policy, PolicyError, PolicySet,
    PolicySetBuilder, PolicySpec, Protects,
};
pub use preset::Preset;
pub use queue::{
    Aftermath, Armed, Arrival, Closing, Departure, FairQueue, Forecast, Parting, QueueBounds,
    QueueBoundsError, Seat, TurnedAway,
};
pub use record::{Flaw, Record};
pub use rfc3339::Rfc3339;
pub use row::{RowId, RowIdError};
pub use secret::{Secret, SecretError};
pub use settlement::{Move, MoveDirection, Receipt, Settled, Settlement};
pub use shape::*;
pub use step::{Met, Step, Stepped, Write, carry_over};
pub use store::{Changes, Store, StoreError, Usage};
pub use subject::{Dimension, Fact, Scope, Subject, Values};
pub use ticket::{Claim, Hold, Seal, Ticket, TicketError, TicketId};
pub use time::{Clock, MAX_EXACT, ManualClock, Span, SpanError, Timestamp};
pub use trial::Trial;
