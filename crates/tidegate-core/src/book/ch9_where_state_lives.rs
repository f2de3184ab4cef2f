//! Chapter 9. Where state lives: the port to a store, its time, and its failures.
//!
//! This crate keeps nothing. What has to be remembered between two requests is in a
//! [`Store`](crate::Store): in the memory of a process, or in a database that a fleet shares. The
//! port is narrow, so that all of them can give the same answers.
//!
//! A store is sent a [`Batch`](crate::Batch): for each limit the key, the shape with its numbers,
//! the cost, and the periods of its calendar. Everything is data, because a store that had to call
//! back while it holds a counter could not be a script in a database. It does four things, as one:
//!
//! 1. read its own clock, once;
//! 2. read every counter, and see whether there is room;
//! 3. let [`plan`](crate::plan) say which charges are written: all, none, or those that count
//!    attempts;
//! 4. write those, and return one [`Reading`](crate::Reading) for each charge, in order.
//!
//! # What a store must never do
//!
//! | never | because |
//! |---|---|
//! | check in one step and update in another | two requests would take the same last unit |
//! | use the clock of whoever calls | nodes that disagree would mint tokens for each other |
//! | let time run backwards for a key | a clock that is set back would refill a bucket twice |
//! | forget a counter that differs from a fresh one | whoever fills the store would be free again |
//! | know a policy, choose a failure mode, swallow an error | then two places would decide |
//! | guess at state it cannot read | a guess is a free burst or a block; [`StoreError`](crate::StoreError) is neither |
//!
//! Two of these are held by the shapes themselves. A state remembers the latest instant it has
//! seen, and an earlier one counts as that. And `fresh_at` says from when on a counter may be
//! dropped without changing any decision: only then is it equal to one that was never used.
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
//! [`StoreError`](crate::StoreError) is something else for the caller to do:
//!
//! | error | was anything changed? | so |
//! |---|---|---|
//! | [`Unavailable`](crate::StoreError::Unavailable) | no | decide without the store |
//! | [`Contended`](crate::StoreError::Contended) | no | shed the request: too many came at once |
//! | [`Timeout`](crate::StoreError::Timeout) | nobody knows | the same, and do not send it again: it might count twice |
//! | [`Corrupt`](crate::StoreError::Corrupt) | no | begin that one counter anew, and tell somebody |
//! | [`Version`](crate::StoreError::Version) | no | leave the counter alone: a newer version wrote it |
//! | [`Refused`](crate::StoreError::Refused) | no | an operator has to grant a permission or mend a setting |
//! | [`Stale`](crate::StoreError::Stale) | no | refresh the periods, and send it again |
//!
//! To decide without the store is what a policy's [`FailureMode`](crate::FailureMode) is for. It has
//! no default: whether an outage locks everybody out or lets everybody in is too large a question to
//! be answered by silence.
//!
//! Next: [what it really cost](super::ch10_what_it_really_cost).
