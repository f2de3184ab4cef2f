//! Chapter 9. Where state lives: the port to a store, its time, and its failures.
//!
//! This crate keeps nothing. State that has to be remembered between two requests is in a
//! [`Store`](crate::Store): in the memory of a process, or in a database that a fleet shares. The port
//! is narrow, so that all stores can give the same answers.
//!
//! A store is sent a [`Batch`](crate::Batch): for each limit the key, the shape with its numbers, the
//! cost, and the periods of its calendar. Everything is data, because a store that had to call back
//! while it holds a counter could not be a script in a database. It does four things in one atomic
//! step:
//!
//! 1. read its own clock, once;
//! 2. read every counter, and see whether there is room;
//! 3. let [`plan`](crate::plan) say which charges are written: all, none, or those that count
//!    attempts;
//! 4. write those, and return one [`Reading`](crate::Reading) for each charge, in order.
//!
//! # A store, step by step
//!
//! Every store has to do the same to its counters, so that part is here, in this crate: a pure step
//! over the records that were found. The store reads, hands what it read to the step together with its
//! own time, and writes what the step gives back. Only two things are left to the store: where the
//! records are kept, and how several of them are changed as one.
//!
//! ```
//! use std::collections::{BTreeMap, HashSet};
//! use std::sync::{Mutex, PoisonError};
//!
//! use tidegate_core::{
//!     Amended, Amendment, Batch, Blocks, Clock, CounterRef, Names, Naming, Page, Readings, Receipt,
//!     Record, Settlement, Span, Stepped, Store, StoreError, TicketId, Timestamp, Write,
//! };
//!
//! struct PlainStore<C> {
//!     clock: C,
//!     names: Naming,
//!     records: Mutex<BTreeMap<String, Record>>,
//!     settled: Mutex<HashSet<TicketId>>,
//! }
//!
//! impl<C: Clock> PlainStore<C> {
//!     /// Reads the counters of these names, takes a step, and writes what comes of it; all as one.
//!     fn take<T>(
//!         &self,
//!         names: Vec<Names>,
//!         step: impl FnOnce(&[Option<Record>], Timestamp) -> Stepped<T>,
//!     ) -> Result<T, StoreError> {
//!         let mut records = self.records.lock().unwrap_or_else(PoisonError::into_inner);
//!         let find = |names: &Names| names.find(|name| records.get(name).cloned());
//!         let found: Vec<_> = names.iter().map(find).collect();
//!         let (answer, writes) = step(&found, self.clock.now())?;
//!         for Write { place, record } in writes {
//!             for (name, record) in names[place].changes(found[place].as_ref(), record) {
//!                 records.remove(name);
//!                 records.extend(record.map(|record| (name.to_owned(), record)));
//!             }
//!         }
//!         Ok(answer)
//!     }
//! }
//!
//! impl<C: Clock> Store for PlainStore<C> {
//!     const SHARED: bool = false;
//!     const FALLIBLE: bool = false;
//!     const WAITS: bool = false;
//!
//!     fn name(&self) -> &'static str {
//!         "plain"
//!     }
//!
//!     fn charge_now(&self, batch: &Batch<'_>, readings: &mut Readings) -> Result<(), StoreError> {
//!         self.take(batch.names(&self.names), |found, now| batch.charge(found, now, readings))
//!     }
//!
//!     fn peek_now(&self, batch: &Batch<'_>, readings: &mut Readings) -> Result<(), StoreError> {
//!         self.take(batch.names(&self.names), |found, now| batch.peek(found, now, readings))
//!     }
//!
//!     fn settle_now(&self, ticket: &Settlement<'_>) -> Result<Receipt, StoreError> {
//!         let mut settled = self.settled.lock().unwrap_or_else(PoisonError::into_inner);
//!         self.take(ticket.names(), |found, now| ticket.settle(found, now, |id| settled.insert(id)))
//!     }
//!
//!     async fn amend(
//!         &self,
//!         it: CounterRef<'_>,
//!         how: Amendment,
//!         _: Span,
//!     ) -> Result<Amended, StoreError> {
//!         self.take(vec![it.names(&self.names)], |found, now| how.amend(&it, found, now))
//!     }
//!
//!     async fn blocks(&self, page: Page<'_>, _: Span) -> Result<Blocks, StoreError> {
//!         let records = self.records.lock().unwrap_or_else(PoisonError::into_inner);
//!         Ok(Blocks::among(&records, page, self.clock.now()))
//!     }
//! }
//! #
//! # use tidegate_core::{
//! #     Bucket, Case, Digests, Dimension, FailureMode, Limit, ManualClock, Name, PolicySet,
//! #     PolicySpec, Rate, Scope, Shape, Subject, fold,
//! # };
//! # let bucket = Shape::Bucket(Bucket::try_new(Rate::per_second(1)?, 2)?);
//! # let limit = Limit::new(Name::try_new("burst")?, Scope::of([Dimension::Org]), bucket);
//! # let api = PolicySpec::new(Name::try_new("api")?, FailureMode::FailOpen).limit(limit);
//! # let policies = PolicySet::builder().policy(api).build(None)?;
//! # let subject = Subject::new().org("acme");
//! let store = PlainStore {
//!     clock: ManualClock::new(Timestamp::from_micros(1_800_000_000_000_000)),
//!     names: Naming::Digests,
//!     records: Mutex::default(),
//!     settled: Mutex::default(),
//! };
//! // A bucket of two, and three requests.
//! let mut admitted = Vec::new();
//! for _ in 0..3 {
//!     let mut case = Case::new(policies.get("api").ok_or("no such policy")?, &subject);
//!     case.resolve(&Digests::new([7, 11]));
//!     let (batch, readings) = case.ask();
//!     store.charge_now(batch, readings)?;
//!     admitted.push(fold(&mut case).is_admitted());
//! }
//! assert_eq!(admitted, [true, true, false]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A counter has one name, and up to two former ones after a reload ([chapter
//! 8](super::ch8_changing_numbers)); where the release before named it in another way, each of the three
//! has such a name as well, so there are [five former ones](crate::MAX_FORMER) at most.
//! [`Names`](crate::Names) says in which order they are looked at, and what is written and deleted under
//! which of them.
//!
//! Every step has the same form: it is given what was found, in the order of the names, and the time;
//! it gives its answer and the [`Write`](crate::Write)s, or an error and nothing at all. So a store
//! cannot write one half of a decision and fail in the other.
//!
//! A database is the same store with another `take`. It keeps the bytes of
//! [`Record::encode`](crate::Record::encode), and reads them with
//! [`Record::decode`](crate::Record::decode), which checks every number in them: bytes that cannot be
//! read are a [`Flaw`](crate::Flaw), which becomes the error [of its charge](crate::Flaw::of_charge).
//! It takes the time from its server, in the same statement that reads. Where there is no lock, it
//! writes on the condition that nothing has changed since it read, and takes the step again if
//! something has. And it forgets a record once the time of its own server has reached
//! [`expires_at_ms`](crate::Record::expires_at_ms), and no earlier.
//!
//! # What a store must never do
//!
//! | never | because |
//! |---|---|
//! | check in one step and update in another | two requests would take the same last unit |
//! | use the clock of the caller | nodes that disagree would mint tokens for each other |
//! | let time run backwards for a key | a clock that is set back would refill a bucket twice |
//! | forget a counter that differs from a fresh one | a client that fills the store would be free again |
//! | know a policy, choose a failure mode, swallow an error | then two places would decide |
//! | guess at state it cannot read | a guess is a free burst or a block; [`StoreError`](crate::StoreError) is neither |
//!
//! The shapes themselves keep two of these rules. A state remembers the latest instant it has seen, and
//! takes every earlier one to be that. And `fresh_at` says from when on a counter may be dropped
//! without changing any decision: only then is it equal to one that was never used. The expiry of a
//! record is never earlier than that, and at most a minute later.
//!
//! If the clock is behind the time a counter has seen, the wait that is told includes the difference,
//! so it is as true as any other. What no rule can mend is a clock that jumps forth and back again: by
//! then, a store that drops expired records has dropped them.
//!
//! ```
//! use tidegate_core::{Bucket, Cost, Rate, Span, Timestamp};
//!
//! let bucket = Bucket::try_new(Rate::per_second(3)?, 10)?;
//! let now = Timestamp::from_micros(1_800_000_000_000_000);
//! let (state, reading) = bucket.take(None, Cost::try_new(5)?, now);
//!
//! // The clock is set back by an hour and then corrected: nothing is gained by either.
//! let earlier = Timestamp::from_micros(now.as_micros() - Span::HOUR.as_micros());
//! let (state, _) = bucket.take(Some(state), Cost::ONE, earlier);
//! assert_eq!(bucket.look(Some(state), Cost::ONE, now).remaining, reading.remaining - 1);
//!
//! // From this instant on the store may forget the bucket, and not a microsecond before.
//! let look = |state, at| bucket.look(state, Cost::ONE, at);
//! let fresh_at = bucket.fresh_at(state);
//! let one_tick_before = Timestamp::from_micros(fresh_at.as_micros() - 1);
//! assert_eq!(look(Some(state), fresh_at), look(None, fresh_at));
//! assert_ne!(look(Some(state), one_tick_before), look(None, one_tick_before));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Stale periods
//!
//! Only the store knows the time at which it decides, and only the caller knows the calendar. So
//! the caller sends the three periods it remembers. When time has moved past them, or clocks are far
//! apart, they do not cover the store's time. The store then changes nothing and tells its time; the
//! caller [refreshes](crate::Charge::refresh) that charge and sends the batch again.
//!
//! ```
//! use tidegate_core::{
//!     Calendar, Cost, Counts, Period, Quota, Span, StoreError, Timestamp, Unit,
//! };
//!
//! let calendar = Calendar::try_new(Unit::Day, "Asia/Kathmandu", None)?;
//! let quota = Quota::try_new(1_000, Period::Calendar(calendar), Counts::Admitted)?;
//! let calendar = quota.calendar().ok_or("it has one")?;
//! let now = Timestamp::from_micros(1_800_000_000_000_000);
//!
//! // What a new calendar remembers are the days around 1970.
//! let periods = calendar.periods();
//! let stale = quota.take(None, Cost::ONE, now, Some(&periods)).unwrap_err();
//! let told = stale.of_charge(0);
//! assert_eq!(told, StoreError::Stale { charge: 0, now }, "not a fresh day: an error");
//!
//! calendar.refresh(now);
//! let periods = calendar.periods();
//! assert!(quota.take(None, Cost::ONE, now, Some(&periods)).is_ok());
//! // A store that is a day ahead or behind finds its own period too.
//! assert!(quota.take(None, Cost::ONE, now.after(Span::DAY), Some(&periods)).is_ok());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Errors are branches
//!
//! A store that fails has not answered, and no answer is not "yes". Each variant of
//! [`StoreError`](crate::StoreError) asks the caller to do something else:
//!
//! | error | was anything changed? | so |
//! |---|---|---|
//! | [`Unavailable`](crate::StoreError::Unavailable) | no | decide without the store |
//! | [`Contended`](crate::StoreError::Contended) | no | shed the request: too many came at once |
//! | [`Timeout`](crate::StoreError::Timeout) | nobody knows | decide without the store, and do not send it again: it might count twice |
//! | [`Corrupt`](crate::StoreError::Corrupt) | no | begin that one counter anew, and tell somebody |
//! | [`Version`](crate::StoreError::Version) | no | leave the counter alone: a newer version wrote it |
//! | [`Refused`](crate::StoreError::Refused) | no | an operator has to grant a permission or mend a setting |
//! | [`Stale`](crate::StoreError::Stale) | no | refresh the periods, and send it again |
//!
//! A policy's [`FailureMode`](crate::FailureMode) says how to decide without the store. It has no
//! default: whether an outage locks everybody out or lets everybody in is too large a question to be
//! answered by silence.
//!
//! Next: [what it really cost](super::ch10_what_it_really_cost).
