//! The pipeline of Tidegate: resolve, charge, fold; and the in-memory store.
//!
//! ```
//! use tidegate_core::{
//!     Bucket, Case, Dimension, FailureMode, Limit, Name, PolicySet, PolicySpec, Rate, Scope, Shape,
//!     Subject,
//! };
//! use tidegate_engine::{Engine, SystemClock, memory::{Budget, MemoryStore}, ready};
//!
//! let burst = Shape::Bucket(Bucket::try_new(Rate::per_second(10)?, 2)?);
//! let per_org = Limit::new(Name::try_new("burst")?, Scope::of([Dimension::Org]), burst);
//! let api = PolicySpec::new(Name::try_new("api")?, FailureMode::FailOpen).limit(per_org);
//! let policies = PolicySet::builder().policy(api).build(None)?;
//!
//! let engine = Engine::new(MemoryStore::new(Budget::default(), SystemClock::new()), policies);
//! let set = engine.policies();
//! let policy = set.get("api").ok_or("no such policy")?;
//! let subject = Subject::new().org("acme");
//! for expected in [true, true, false] {
//!     let mut case = Case::new(policy, &subject);
//!     let decision = ready(engine.decide(&mut case)).ok_or("memory never waits")??;
//!     assert_eq!(decision.is_admitted(), expected);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod attempt;
pub mod circuit;
mod clock;
mod engine;
mod event;
mod failover;
#[cfg(feature = "file")]
pub mod file;
mod fleet;
pub mod handoff;
mod held;
pub mod memory;
mod operate;
mod outbox;
mod reader;
mod reload;
mod rows;
mod settle;
mod sync;
mod tickets;
mod undecided;

pub use attempt::{AttemptError, Pending, Refusal};
pub use clock::SystemClock;
pub use engine::{Engine, ready};
pub use event::{Event, Observer};
pub use failover::{Due, StoreHistory};
pub use fleet::MemoryFleet;
pub use held::Held;
pub use operate::{BlockEntry, BlockList, Change, OperateError};
pub use reader::{Policies, Reader};
pub use rows::{Rows, RowsError};
pub use settle::SettleError;
pub use undecided::DecideError;
