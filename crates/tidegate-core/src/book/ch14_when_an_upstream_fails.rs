//! Chapter 14. When an upstream fails: leave it alone, and let one node of the fleet try again.
//!
//! Limits protect a service from its callers. A gateway calls services that others run, and when one of
//! them is down, calling it harder helps nobody: every caller waits for a timeout, and the upstream gets
//! its load back before it has got up. So each upstream has a [`Breaker`](crate::Breaker). After some
//! failures in a row it opens, and calls are refused at once; after a while one call tries.
//!
//! The breaker of a store ([chapter 12](super::ch12_when_the_store_fails)) asks who decides in the
//! meantime, by a locked contract. This one asks whether a call is worth making, by four numbers that an
//! operator chooses.
//!
//! # What counts
//!
//! Calls end in one of three ways ([`CallOutcome`](crate::CallOutcome)). A success sets the count of
//! failures back to zero, a failure raises it, and a neutral call does neither: an answer that blames the
//! caller says nothing about the upstream.
//!
//! ```
//! use core::num::NonZeroU32;
//! use tidegate_core::{
//!     Breaker, BreakerInput, BreakerSettings, BreakerState, CallOutcome, Clearance, Span, Timestamp,
//! };
//!
//! let at = |secs: u64| Timestamp::from_micros(secs * 1_000_000);
//! let three = NonZeroU32::new(3).ok_or("not zero")?;
//! // Three failures in a row open it for ten seconds; a lease lasts eight.
//! let settings = BreakerSettings::try_new(three, Span::from_secs(10), Span::from_secs(8))?;
//! let mut breaker = Breaker::new(settings, 0xA, at(0));
//! use CallOutcome::{Failure, Neutral, Success};
//! for outcome in [Failure, Failure, Success, Failure, Neutral, Failure, Failure] {
//!     let Clearance::Pass(pass) = breaker.clearance(at(1)) else { return Err("closed".into()) };
//!     (breaker, _) = breaker.step(BreakerInput::Called(pass, outcome), at(1));
//! }
//! assert_eq!(breaker.state(), BreakerState::Open);
//! assert_eq!(breaker.clearance(at(4)), Clearance::Wait(Span::from_secs(7)));
//! assert_eq!(breaker.clearance(at(11)), Clearance::Try);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # One call of the whole fleet
//!
//! When the window is over, the upstream may be well again, or may be getting up. Ten thousand callers
//! have been waiting for this moment, on several nodes. Were each node to let one try, a fleet of fifty
//! would send fifty; were each to let all try, the upstream would go down again. So the nodes agree on one
//! ([`Fleet`](crate::Fleet)): whoever wants to probe asks for a lease, and the fleet grants one at a time.
//!
//! What is agreed on is one small record for each breaker ([`Accord`](crate::Accord)): the state, its end,
//! the holder of the lease and its end, and a generation. Every change raises the generation, and every
//! lease is one of its own. That number is what makes lost and late messages harmless:
//!
//! * **The highest generation wins.** A node that hears of one takes it over, whatever its local state was.
//! * **A step names the generation that its sender has seen**, and counts only if nothing newer is on
//!   record. A step whose answer got lost is sent again and is applied once.
//! * **A result counts for the generation of its own lease.** A probe that comes back after its lease has
//!   ended, from a node that stood still, changes nothing.
//!
//! ```
//! use tidegate_core::{
//!     AccordState, CallOutcome, FleetStep, Holder, Motion, Span, Timestamp, agree,
//! };
//!
//! let at = |secs: u64| Timestamp::from_micros(secs * 1_000_000);
//! let (window, lease) = (Span::from_secs(10), Span::from_secs(8));
//! let (ada, bob) = (Holder { node: 1, number: 1 }, Holder { node: 2, number: 1 });
//! let ask = |seen, holder| FleetStep { seen, motion: Motion::Lease { holder, lease, window } };
//! let succeed = |seen, holder| {
//!     let outcome = CallOutcome::Success;
//!     FleetStep { seen, motion: Motion::Report { holder, outcome, window, successes: 1 } }
//! };
//!
//! let trip = FleetStep { seen: 0, motion: Motion::Trip { window } };
//! let open = agree(None, &trip, at(100)).accord;
//! let adas = agree(Some(&open), &ask(open.generation, ada), at(110)).accord;
//! // Ada stands still. Her lease ends by itself, and Bob gets the next.
//! let bobs = agree(Some(&adas), &ask(adas.generation, bob), at(118)).accord;
//! assert_eq!(bobs.lease(at(118)).map(|lease| lease.holder), Some(bob));
//! // She wakes up: her success is not his.
//! assert_eq!(agree(Some(&bobs), &succeed(adas.generation, ada), at(119)).accord, bobs);
//! let closed = agree(Some(&bobs), &succeed(bobs.generation, bob), at(119)).accord;
//! assert_eq!(closed.state, AccordState::Closed);
//! ```
//!
//! A generation is never less than the microsecond in which it was made. So a fleet may forget a breaker
//! that has long been closed, and even one that has lost its memory hands out generations that everybody
//! takes for new ones. That is the one case in which two leases can be valid at once, and a
//! [signal](crate::BreakerSignal::Lost) tells of it.
//!
//! # Never stuck
//!
//! A breaker that waits for somebody who never comes is worse than none. Everything that a half-open
//! breaker waits for ends by itself: a lease by its time, a question to the fleet by its deadline, a result
//! that cannot be delivered with its lease. A probe that was cancelled is neutral, and a neutral probe gives
//! its lease back. With a healthy upstream and some traffic, a breaker closes after its window and one lease
//! for each node that crashed while it had one, and for each success that is wanted.
//!
//! The end of a window or a lease is a time of the fleet's clock. Set back by an hour, that clock would have
//! everybody wait for an hour; so the node that asks for a lease says how long a window and a lease can be,
//! and an end that is further away is brought closer.
//!
//! # Without the fleet
//!
//! No call waits for the fleet but the one that wants to probe, and that one for a tenth of a second. A
//! trip opens the local state at once, and is told again until the window is over. A node that wants a lease
//! and gets no answer probes by itself, one call at a time, and says [once](crate::BreakerSignal::Alone)
//! that it is alone. When it is back, what the fleet has agreed on counts.
//!
//! # On many threads
//!
//! A breaker is a value, and a node has many threads. The engine keeps one behind a lock, with a word before
//! it that says whether calls pass (`tidegate_engine::circuit`): on a closed circuit a request reads that
//! word and nothing else. What a request holds is a guard. One that is dropped, because its caller left or
//! its thread panicked, is neutral, and a probe's lease goes back to the fleet. The fleet itself is in
//! memory for one process, or in Redis for many (`tidegate_stores::redis::RedisFleet`).
//!
//! # What is reported
//!
//! Every change of state is one [`BreakerChange`](crate::BreakerChange) with its cause; all of them together
//! give the state at any time. An operator can [force](crate::Motion::Force) a state. One that was forced
//! open and is lifted tries before it trusts.
//!
//! Next: [tenants above tenants](super::ch15_tenants_above_tenants).
