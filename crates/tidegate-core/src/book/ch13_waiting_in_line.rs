//! Chapter 13. Waiting in line: a bounded queue, fair between tenants, that asks as little as it can.
//!
//! Not every request past a limit has to be refused. One that can go within a second or two may as well
//! wait, and its client never knows. But a queue has two ways of going wrong: those who wait are served
//! too late to be of use to anybody, and whoever sends most waits in everybody's place.
//!
//! [`FairQueue`](crate::FairQueue) is the rule that a gateway's waiting rooms go by. Like all rules here
//! it is a value without a clock: a request arrives, is admitted, is refused, leaves; every verb takes
//! `now`, and gives back who is the head and when it has to be woken.
//!
//! # Only the head asks
//!
//! A [told wait is true](super::ch7_refused_requests), so there is nothing to poll for. The first of all
//! who wait, the *head*, sleeps what it was told and then asks the store. All others just wait. Whoever
//! comes while somebody waits goes behind, without asking, so nobody can barge. If another node took the
//! token meanwhile, the head is told another wait; if something is given back, the head is woken early
//! ([`wake`](crate::FairQueue::wake)).
//!
//! Here are a noisy tenant and a quiet one before a bucket that gives two tokens a second:
//!
//! ```
//! use tidegate_core::{
//!     Arrival, Bucket, Cost, FairQueue, Forecast, Parting, QueueBounds, Rate, Room, Span, Timestamp,
//!     TurnedAway,
//! };
//!
//! let at = |millis: u64| Timestamp::from_micros(millis * 1_000);
//! let bucket = Bucket::try_new(Rate::per_second(2)?, 1)?;
//! let mut state = bucket.exhausted(at(0));
//! let mut queue = FairQueue::new(QueueBounds::default(), Cost::ONE);
//!
//! // Nobody waits, so the first request asks. It is refused, and becomes the head.
//! let Room::After(wait) = bucket.room(Some(state), Cost::ONE, at(0)) else { return Err("empty".into()) };
//! let told = Forecast { wait, pace: Some(bucket.rate()) };
//! let (_, after) = queue.arrive(Arrival::new("noisy", Cost::ONE).told(told), at(0));
//! assert_eq!(after.armed.and_then(|head| head.due), Some(at(500)));
//!
//! // The others go behind. The tenth would go after five seconds, and learns that at once.
//! for _ in 2..=9 {
//!     queue.arrive(Arrival::new("noisy", Cost::ONE), at(0)).0?;
//! }
//! let (tenth, _) = queue.arrive(Arrival::new("noisy", Cost::ONE), at(0));
//! assert_eq!(tenth, Err(TurnedAway::TooLong { wait: Span::from_secs(5) }));
//!
//! // Another tenant has nobody in line. Its turn is after the head's, and not after all nine.
//! let quiet = queue.arrive(Arrival::new("quiet", Cost::ONE), at(0)).0?;
//!
//! let (mut went, mut left) = (Vec::new(), Vec::new());
//! while let Some(now) = queue.armed().and_then(|head| head.due) {
//!     let (head, after) = queue.ask(now);
//!     left.extend(after.departed);
//!     let Some(head) = head else { continue };
//!     let after = match bucket.room(Some(state), Cost::ONE, now) {
//!         Room::After(wait) => {
//!             let told = Forecast { wait, pace: Some(bucket.rate()) };
//!             queue.refused(head, Some(told), now)
//!         }
//!         _ => {
//!             state = bucket.take(Some(state), Cost::ONE, now).0;
//!             went.push((head, now));
//!             queue.admitted(head, now)
//!         }
//!     };
//!     left.extend(after.departed);
//! }
//! assert_eq!(went[1], (quiet, at(1_000)));
//! assert_eq!(went.len(), 9, "every half second until 4.5 s");
//! // The quiet one went in place of the last noisy one, which learns that as soon as it is the head.
//! assert_eq!(left.iter().map(|it| it.why).collect::<Vec<_>>(), [Parting::TooLong]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Turns by cost
//!
//! Tenants take turns, and a turn is worth the same for all: by cost, not by number. In each round every
//! tenant gets one quantum of credit, and lets requests go once its credit covers them. A dear request
//! saves up for several rounds, while cheap ones of others go; it holds up nobody, and nobody can keep it
//! from its turn. Credit is for those who wait: a tenant that has nobody in line has none, and what was
//! saved for a request that left is lost.
//!
//! ```
//! use tidegate_core::{Arrival, Cost, FairQueue, QueueBounds, Timestamp};
//!
//! let mut queue = FairQueue::new(QueueBounds::default(), Cost::ONE);
//! let mut sits = |tenant, units| -> Result<_, Box<dyn std::error::Error>> {
//!     Ok(queue.arrive(Arrival::new(tenant, Cost::try_new(units)?), Timestamp::ZERO).0?)
//! };
//! let first = sits("a", 1)?;
//! let dear = sits("b", 3)?;
//! let cheap = [sits("c", 1)?, sits("c", 1)?, sits("c", 1)?, sits("c", 1)?];
//!
//! let mut order = Vec::new();
//! while let (Some(head), _) = queue.ask(Timestamp::ZERO) {
//!     order.push(head);
//!     let _ = queue.admitted(head, Timestamp::ZERO);
//! }
//! assert_eq!(order, [first, cheap[0], cheap[1], dear, cheap[2], cheap[3]]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Bounds
//!
//! A queue is bounded in length, memory and age ([`QueueBounds`](crate::QueueBounds)): a hundred requests,
//! 64 KiB counted for each, five seconds. One tenant may fill it while it is alone. Once others come, it
//! gets nothing beyond half, and what it has beyond half is lent: if the queue is full, its newest request
//! makes room for theirs.
//!
//! Whoever is refused was never counted, and whoever leaves leaves nothing behind. A
//! [`Seat`](crate::Seat) is never given twice, so a client that cancels too late cancels nobody else.
//!
//! Back to the [table of contents](super).
