//! Chapter 1. What a limit is: who is counted, how much may pass, and how fast it comes back.
//!
//! A [`Limit`](crate::Limit) is one sentence: *each user of an organisation may make 100 requests
//! per minute*. It has three parts, and they vary independently.
//!
//! | part | type | in the sentence |
//! |---|---|---|
//! | who | [`Scope`](crate::Scope) | each user of an organisation |
//! | how much | the burst or count of a [`Shape`](crate::Shape) | 100 requests |
//! | how fast | the rate, length or period of the shape | per minute |
//!
//! The scope and the facts about one request name a counter ([chapter 6](super::ch6_who_is_counted)).
//! The shape says how that counter moves with time. Three shapes count requests, because "100 per
//! minute" can mean three things; a fourth counts tries and begins blocks ([chapter
//! 11](super::ch11_too_many_tries)).
//!
//! | shape | promises | a spent limit has room again |
//! |---|---|---|
//! | [`Bucket`](crate::Bucket) | a smooth rate, with a burst at once | little by little |
//! | [`Window`](crate::Window) | no more than so many in *any* minute | as each charge grows a minute old |
//! | [`Quota`](crate::Quota) | a budget for *this* minute, day or month | all at once, when the next begins |
//!
//! # What N means
//!
//! A limit of N admits N and denies N + 1. A request of cost `c` passes if `used + c ≤ N`, so the
//! last unit can be spent and the one after it cannot. A heavy request is not let in because a
//! little is left: it fits as a whole or not at all.
//!
//! A request that costs more than N is a different case from one that comes too early. No wait
//! helps it, and it is told so: [`Room::Never`](crate::Room::Never), not a time at which it would
//! be refused again.
//!
//! ```
//! use tidegate_core::{
//!     Bucket, Cost, Counts, Period, Quota, Rate, Room, Span, Timestamp, Window,
//! };
//!
//! let now = Timestamp::from_micros(1_800_000_000_000_000);
//! let bucket = Bucket::try_new(Rate::per_minute(3)?, 3)?;
//! let window = Window::try_new(3, Span::MINUTE, Counts::Admitted)?;
//! let quota = Quota::try_new(3, Period::Fixed(Span::MINUTE), Counts::Admitted)?;
//!
//! // Two of three are taken. A request of two does not fit, though one is left.
//! let two = Cost::try_new(2)?;
//! let (b, _) = bucket.take(None, two, now);
//! let (w, _) = window.take(None, two, now);
//! let (q, _) = quota.take(None, two, now, None)?;
//! assert!(!bucket.room(Some(b), two, now).is_now());
//! assert!(!window.room(Some(&w), two, now).is_now());
//! assert!(!quota.room(Some(q), two, now, None)?.is_now());
//!
//! // The third is admitted, the fourth is not. That holds for all three shapes, but they differ
//! // in the wait: a token comes every 20 s, the window and the period have a minute to go.
//! let (b, _) = bucket.take(Some(b), Cost::ONE, now);
//! let (w, _) = window.take(Some(&w), Cost::ONE, now);
//! let (q, _) = quota.take(Some(q), Cost::ONE, now, None)?;
//! assert_eq!(bucket.room(Some(b), Cost::ONE, now), Room::After(Span::from_secs(20)));
//! assert_eq!(window.room(Some(&w), Cost::ONE, now), Room::After(Span::MINUTE));
//! assert_eq!(quota.room(Some(q), Cost::ONE, now, None)?, Room::After(Span::MINUTE));
//!
//! // Four can never fit, not even when nothing has been used.
//! assert_eq!(bucket.room(None, Cost::try_new(4)?, now), Room::Never);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Three verbs
//!
//! Each shape is a pure step over its own state, where no state at all means *never used*:
//!
//! * `room` says whether a request fits: now, after a wait, or never;
//! * `look` says the same with everything a caller may want to know, as a
//!   [`Reading`](crate::Reading);
//! * `take` counts the request, and returns the state to keep.
//!
//! Every store calls these functions, or is tested against them. There is no second implementation of
//! the arithmetic for tests, documents or simulations to disagree with.
//!
//! A zero is refused where it is written: a rate, burst, count or period of 0 is a
//! [`ShapeError`](crate::ShapeError), and a cost of 0 a [`CostError`](crate::CostError). A limit of
//! nothing is a denial in disguise, and a request that costs nothing would pass uncounted.
//!
//! Next: [the bucket](super::ch2_the_bucket).
