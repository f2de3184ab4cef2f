//! Chapter 12. When the store fails: three modes, a breaker, and exact local caps.
//!
//! A limiter that cannot reach its store can let everybody in or keep everybody out. The first is what
//! an attacker hopes for; the second is an attack of its own: whoever can disturb the store closes
//! every account. So neither is left to chance. Each policy says what it does, and a locked contract
//! says for how long. No configuration reaches the numbers of that
//! [`contract`](crate::failover::contract).
//!
//! # Which failures count
//!
//! Failures count by their type and not by their text. A store that is not there, not in time, too busy
//! or does not permit the call has failed. One counter that cannot be read is no failure, unless three
//! different ones are unreadable within ten seconds; neither is state of another version, nor a bad
//! request.
//!
//! ```
//! use tidegate_core::{Failure, StoreError};
//!
//! assert_eq!(Failure::of(&StoreError::Timeout, 7), Some(Failure::Backend));
//! assert_eq!(Failure::of(&StoreError::Corrupt { charge: 0 }, 7), Some(Failure::Corrupt(7)));
//! assert_eq!(Failure::of(&StoreError::Version { charge: 0 }, 7), None);
//! ```
//!
//! # The first failures
//!
//! A request that meets a failure is decided by the policy's [`FailureMode`](crate::FailureMode): a
//! login is denied, an API that fails open is admitted within its guardrails. From the first failure on
//! the store is probed every two seconds, so that an outage is noticed even if nobody asks. A probe is
//! a charge of all limits of the policy ([`Trial`](crate::Trial)), on counters of its own that are gone
//! within ten seconds: a store that would fail a request fails the probe, whatever the reason. Three
//! failures within ten seconds trip the breaker, whatever was answered between them.
//!
//! [`Failover`](crate::Failover) is a value: an input goes in with its time, and what follows comes
//! out.
//!
//! ```
//! use tidegate_core::{Course, Failover, FailureMode, Failure, Input, Mode, Timestamp};
//!
//! let at = |secs: u64| Timestamp::from_micros(secs * 1_000_000);
//! let login = Failover::new(FailureMode::FailClosed, at(0));
//! assert_eq!(login.mode(), Mode::FailClosed, "nothing is known of the store yet");
//! let Course::Ask(generation) = login.course() else { return Err("it is asked") };
//! let (mut login, _) = login.step(Input::Answered(generation), at(0));
//!
//! for secs in [100, 105, 110] {
//!     assert_eq!(login.mode(), Mode::Normal);
//!     (login, _) = login.step(Input::Failed(generation, Failure::Backend), at(secs));
//! }
//! assert_eq!(login.mode(), Mode::Degraded, "a microsecond later the first would have been too old");
//! assert_eq!(login.course(), Course::Guard);
//!
//! // What was sent before the trip says nothing any more, however good the news.
//! let (after, told) = login.clone().step(Input::Answered(generation), at(110));
//! assert!(after == login && told.signals.is_empty());
//! # Ok::<(), &str>(())
//! ```
//!
//! # While local caps decide
//!
//! From then on nothing but a probe every five seconds touches the store. Decisions are made on this
//! node alone, by caps that are tighter than any login policy that can be loaded:
//!
//! | | by account | by address prefix | by prefix and agent | in any |
//! |---|---|---|---|---|
//! | logins | 3 | 20 | | 10 minutes |
//! | one-time passwords | 2 | 10 | | 15 minutes |
//! | APIs | never | 120 | 60 | minute |
//!
//! The spans slide, so there is no edge to double at. An admitted request is counted under every key, a
//! refused one under none, so hammering at an account does not keep its owner out for longer. No
//! success, reload or further outage resets a count, so nothing is gained by provoking one.
//!
//! ```
//! use tidegate_core::{
//!     Account, Asked, Case, Digests, Dimension, FailureMode, Limit, Name, PolicySet, PolicySpec,
//!     Protects, Rate, Scope, Shape, Span, Subject, Timestamp, Bucket, Guardrails,
//! };
//!
//! let bucket = Shape::Bucket(Bucket::try_new(Rate::per_second(1)?, 10)?);
//! let limit = Limit::new(Name::try_new("by-account")?, Scope::of([Dimension::Account]), bucket);
//! let spec = PolicySpec::new(Name::try_new("login")?, FailureMode::FailClosed);
//! let spec = spec.protecting(Protects::Login).limit(limit);
//! let policies = PolicySet::builder().policy(spec).build(None)?;
//! let policy = policies.get("login").ok_or("no such policy")?;
//!
//! let (digests, ada) = (Digests::new([7, 11]), Account::new("Ada"));
//! let subject = Subject::new().account(&ada).ip([203, 0, 113, 9].into());
//! let mut case = Case::new(policy, &subject);
//! case.resolve(&digests);
//! let asked = Asked::new(case.batch(), &digests);
//!
//! let at = |secs: u64| Timestamp::from_micros(secs * 1_000_000);
//! let mut caps = Guardrails::new(policy.fallback());
//! for secs in [0, 1, 2] {
//!     assert!(caps.take(&asked, true, at(secs)).admits());
//! }
//! let refused = caps.take(&asked, true, at(3));
//! assert!(!refused.admits());
//! assert_eq!(refused.wait, Span::from_secs(597), "ten minutes after the first");
//! assert!(caps.take(&asked, true, at(600)).admits());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Blocks that began while the store was trusted hold on every node that knows of them
//! ([`Mirror`](crate::Mirror)), until their own end. None is begun or raised, and no level above the
//! second is told. Nothing of all this is ever written to the store.
//!
//! Any other policy goes by its [`Fallback`](crate::Fallback). Reads and writes get a tenth of each
//! limit's rate on top of the guardrails. What is paid for or cannot be undone, such as a language
//! model, protects [`Spend`](crate::Protects::Spend): it goes on with a tenth of the count, rate and
//! burst of each of its limits, in their own shapes, and nothing else. Administration and other
//! entrances stay closed, but not for ever: whoever has to mend the store may have to get in. Half an
//! hour after the trip that began the outage, the caps of one-time passwords decide, and a critical
//! signal says so. A store that recovers and fails again within half an hour continues the outage, so
//! flapping does not begin that time anew.
//!
//! Nothing else may fail closed: a limiter that is down must not take down what nobody would attack.
//!
//! ```
//! use tidegate_core::{
//!     Bucket, FailureMode, Fallback, Limit, Name, PolicyError, PolicySet, PolicySpec, Protects, Rate,
//!     Scope, Shape,
//! };
//!
//! let tokens = Shape::Bucket(Bucket::try_new(Rate::per_minute(100_000)?, 20_000)?);
//! let limit = Limit::new(Name::try_new("tokens")?, Scope::GLOBAL, tokens);
//! let model = PolicySpec::new(Name::try_new("model")?, FailureMode::FailClosed).limit(limit);
//!
//! let refused = PolicySet::builder().policy(model.clone()).build(None);
//! assert!(matches!(refused, Err(PolicyError::NotCritical { .. })), "it protects nothing");
//! let set = PolicySet::builder().policy(model.protecting(Protects::Spend)).build(None)?;
//! let model = set.get("model").ok_or("no such policy")?;
//! assert_eq!(model.fallback(), Fallback::Spend, "10,000 a minute, and 2,000 at once");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The way back
//!
//! The store is asked again after five minutes at the earliest, with two minutes of unbroken good
//! probes behind it; both may be the same minutes. One bad probe, one without a result, or a gap of
//! more than ten seconds begins the two minutes anew. None of this needs traffic: the task that makes
//! the probes asks for the next [due](crate::Failover::due) time.
//!
//! ```
//! use tidegate_core::{Course, Failover, FailureMode, Failure, Input, Mode, Timestamp};
//!
//! let at = |secs: u64| Timestamp::from_micros(secs * 1_000_000);
//! let mut login = Failover::new(FailureMode::FailClosed, at(0));
//! let mut left = None;
//! // The store is dead at the start and heals after a minute. Nobody logs in.
//! while left.is_none() {
//!     let now = login.due().ok_or("there is always a next probe")?;
//!     let (polled, outputs) = login.step(Input::Poll, now);
//!     login = polled;
//!     if let Some(probe) = outputs.probe {
//!         let result = if now < at(60) { Err(Failure::Backend) } else { Ok(()) };
//!         (login, _) = login.step(Input::Probed(probe, result), now);
//!     }
//!     left = (login.mode() == Mode::Normal).then_some(now);
//! }
//! assert_eq!(left, Some(at(304)), "tripped by probes at 0, 2 and 4 s, and then five minutes");
//! # Ok::<(), &str>(())
//! ```
//!
//! # Too often
//!
//! Local caps let a few guesses pass. Whoever can make the store fail again and again would harvest
//! them again and again, so the degraded mode is entered three times within half an hour at most. At
//! the fourth the policy denies everything for ten minutes and says so with a critical
//! [`Signal`](crate::Signal), which every decision carries as well ([`Alarm`](crate::Alarm)): no queue
//! can lose it. Then the count begins anew, so that nobody can make the denial last: a healthy store is
//! asked again, and otherwise local caps decide.
//!
//! # What is reported
//!
//! Every change of mode is one [`Transition`](crate::Transition) with its cause; all of them together
//! give the mode at any time. [`Standby::standing`](crate::Standby::standing) gives it at once. And a
//! decision made without the store carries how it was made: [`Failsafe`](crate::Failsafe).
//!
//! Next: [waiting in line](super::ch13_waiting_in_line).
