//! Chapter 16. A hundred thousand limits: rows, bundles, and what a change must not do.
//!
//! A policy file has twenty policies. It is checked as a whole and swapped as a whole, and every limit it
//! ever had is remembered. The gateway of [chapter 15](super::ch15_tenants_above_tenants) has a limit for
//! each route, upstream and tenant, a hundred thousand of them in a database, and one changes every second.
//! So such a limit is a *row*.
//!
//! | | limit of a policy | row |
//! |---|---|---|
//! | known by | policy, name, kind of shape | its [`RowId`](crate::RowId) |
//! | name of a counter | `rl:{acme}:user:u7:w60s` | `rl:{top}:org:acme:row:01890a5d-…` |
//! | checked and replaced | with all others | by itself |
//! | one that is wrong | refuses the set | refuses itself |
//! | charged with | the others of its policy | the others of a [`Bundle`](crate::Bundle) |
//!
//! # A bundle in place of a policy's limits
//!
//! What is charged for a request depends on who calls what, so the rows are put together for it, at most
//! [`MAX_LIMITS`](crate::MAX_LIMITS) of them, by reference. A policy is still there, without limits: a
//! *stance*, which says what happens while the store fails. A handful of stances is enough, each with a
//! state machine and a prober of its own; a hundred thousand would not be.
//!
//! # Nothing is refilled by a change
//!
//! ```
//! use std::sync::Arc;
//! use tidegate_core::{
//!     Bucket, Bundle, Case, Digests, FailureMode, Kept, Limit, Name, PolicySet, PolicySpec, Protects,
//!     Rate, RowId, Scope, Shape, Subject, Timestamp,
//! };
//!
//! let now = Timestamp::from_micros(1_800_000_000_000_000);
//! let row = |per_minute| -> Result<Limit, Box<dyn std::error::Error>> {
//!     let bucket = Bucket::try_new(Rate::per_minute(per_minute)?, per_minute)?;
//!     let limit = Limit::new(Name::try_new("route")?, Scope::GLOBAL, Shape::Bucket(bucket));
//!     Ok(limit.as_row(RowId::from_u128(7), &"top".into())?)
//! };
//! let stance = PolicySpec::stance(Name::try_new("calls")?, FailureMode::Degraded)
//!     .protecting(Protects::Outbound);
//! let policies = PolicySet::builder().policy(stance).build(None)?;
//! let calls = policies.get("calls").ok_or("it is there")?;
//!
//! // Ten a minute, all of them used; then the row gets a thousand.
//! let before = row(10)?;
//! let Shape::Bucket(ten) = before.shape() else { return Err("a bucket".into()) };
//! let used_up = Kept::Bucket(ten.exhausted(now), *ten);
//! let after = row(1_000)?.replacing(&before, now)?;
//!
//! let (bundle, subject) = (Bundle::try_new(vec![Arc::new(after)])?, Subject::new());
//! let mut case = Case::over(calls, &bundle, &subject);
//! case.resolve(&Digests::new([7, 11]));
//! let [charge] = case.batch().charges() else { return Err("one row".into()) };
//! let reading = charge.look(Some(&used_up), now).map_err(|_| "no calendar")?;
//! assert_eq!(reading.remaining, 0, "a change of numbers grants nothing");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A shared store keeps the numbers beside the state. The one in memory has room for a stamp of 14 bits, so
//! a row remembers what its stamps mean, and must not remember for ever. What was in force so long ago that
//! every counter of it is fresh is forgotten. If numbers change so often that more than
//! [`MAX_ROW_NUMBERS`](crate::MAX_ROW_NUMBERS) would have to be remembered, the oldest go, and the slowest rate
//! and largest burst of them stay: what was written under them is taken to be used up, and to recover no
//! sooner than under those.
//!
//! # What happens past a limit belongs to the limit
//!
//! A route may degrade what is past it while the tenant above rejects. So each row has its own
//! [`Overflow`](crate::Overflow). A limit that degrades is *soft*: it never refuses. If it has room it is
//! charged like any other; if it has none, the request passes with a lower quality of service, and all firm
//! limits are charged all the same. That is what keeps a child below its ancestors: whatever its own rows
//! say, no more passes than each enforcing row above it admits.
//!
//! Among limits without room the strictest decides: reject over queue over degrade.
//!
//! # Giving back
//!
//! A [ticket](crate::Ticket) names its limits, and they are looked up among the policies in force. Rows are
//! in no policy. Whoever charged them keeps the limits themselves beside the claim, and settles with those
//! or with their successors ([`Settlement::of`](crate::Settlement::of)).
