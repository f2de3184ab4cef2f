//! Tidegate as a library: decides, in the process, whether a request may pass.
//!
//! ```
//! use tidegate::file::File;
//! use tidegate::memory::MemoryStore;
//! use tidegate::{Case, Engine, Subject, SystemClock};
//!
//! # async fn decide() -> Result<(), Box<dyn std::error::Error>> {
//! # let text = "
//! # version: 1
//! # policies:
//! #   - name: api
//! #     failure_mode: fail_open
//! #     limits:
//! #       - { name: burst, by: [org, user], bucket: { rate: 10/s, burst: 20 } }
//! # ";
//! let file: File = File::parse("policies.yaml", text)?;
//! let store = MemoryStore::try_new(file.budget(), SystemClock::new())?;
//! let engine = Engine::new(store, file.policies().clone().build(None)?);
//!
//! // For each request:
//! let (policies, subject) = (engine.policies(), Subject::new().org("acme").user("u7"));
//! let mut case = Case::new(policies.get("api").ok_or("no such policy")?, &subject);
//! let decision = engine.decide(&mut case).await?;
//! assert!(decision.is_admitted());
//! # Ok(())
//! # }
//! # tidegate::ready(decide()).ok_or("memory never waits")??;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Branch on the [verdict](Decision::verdict); its wait is true to the microsecond. The rest of a
//! [`Decision`] is for headers, logs and people who ask why.
//!
//! | to | use |
//! |---|---|
//! | read policies from a file | [`file::File`] |
//! | write policies in code | [`Limit`], [`Shape`], [`PolicySpec`], [`PolicySet`] |
//! | keep counters in memory | [`memory::MemoryStore`] |
//! | share counters with other processes | `redis::RedisStore` (feature `redis`), [`Engine::sharing`] |
//! | decide, look, correct afterwards | [`Engine::decide`], [`Engine::peek`], [`Engine::settle`] |
//! | put layers around an axum, tonic or hyper service | `tower::Gate` (feature `tower`) |
//! | guard a login or a one-time password | [`Preset`], [`Engine::attempt`] |
//! | guard one call site | `abuse_limiter::limiter` (feature `abuse-limiter`) |
//! | block, unblock, forget, see who is blocked | [`Engine::block`], [`Engine::unblock`], [`Engine::reset`], [`Engine::blocks`] |
//! | change policies while running | [`Engine::reload`] |
//! | go on while a shared store fails | [`Policy::fallback`], `tend` (feature `tend`), [`Engine::standing`] |
//! | be told what happens | [`Observer`], [`Event`] |
//! | test with time of your own | [`ManualClock`] |
//!
//! The rules, with the reasons, are in the [book](rules::book). To leave out what only the binary
//! needs, depend on this crate with `default-features = false`; the feature `redis` adds the shared
//! store, and `tend`, which every process with a shared store has to run.

#[cfg(feature = "abuse-limiter")]
pub mod abuse_limiter;
#[cfg(feature = "latencies")]
#[doc(hidden)]
pub mod latencies;
#[cfg(feature = "tend")]
mod tend;

#[cfg(feature = "tend")]
#[doc(inline)]
pub use tend::tend;
#[doc(inline)]
pub use tidegate_core as rules;
#[doc(inline)]
pub use tidegate_core::{
    Account, Alarm, Amended, Amendment, Attempts, Backoff, Block, BlockScope, Bucket, Calendar,
    Case, Cause, Changes, Clock, Cost, CostRule, Counts, Decision, Denial, Dimension, Explanation,
    Exponential, Failsafe, FailureMode, Fallback, Guarded, Ladder, Level, Limit, ManualClock, Mode,
    Name, Overflow, Override, Page, Period, Policy, PolicyError, PolicySet, PolicySetBuilder,
    PolicySpec, Preset, Protects, Quota, Rate, Reading, Retry, Room, Scope, Secret, SecretError,
    Settled, Severity, Shape, Signal, Span, Stage, Standing, Status, Store, StoreError, Strategy,
    Subject, Tally, Threshold, Ticket, TicketError, Timestamp, TooManyRequests, Transition, Unit,
    Verdict, Window,
};
#[doc(inline)]
pub use tidegate_engine::{
    AttemptError, BlockEntry, BlockList, Change, DecideError, Due, Engine, Event, Observer,
    OperateError, Pending, Reader, Refusal, SettleError, StoreHistory, SystemClock, file, memory,
    ready,
};
#[cfg(feature = "redis")]
#[doc(inline)]
pub use tidegate_stores::redis;
#[cfg(feature = "tower")]
#[doc(inline)]
pub use tidegate_tower as tower;
