//! Chapter 2. The bucket: a smooth rate, and how much of it may come at once.
//!
//! A [`Bucket`](crate::Bucket) holds up to `burst` tokens and gains `rate` of them as time passes.
//! A request takes its cost in tokens, or is refused if they are not there.
//!
//! ```text
//! tokens
//!  burst ┤▔▔▔╲              ╱▔▔▔▔▔▔     full: further refill is lost
//!        │    ╲           ╱
//!        │     ╲        ╱               slope: the rate
//!        │      ╲     ╱
//!      0 ┤       ╲__╱                   empty: requests are refused
//!        └────────────────────────▶ time
//!            requests    quiet
//! ```
//!
//! Two numbers, two questions. The *rate* is what a caller may do for ever; the *burst* is what it
//! may do at once after a pause. In any span of length `t` a bucket admits at most
//! `burst + rate · t`. A bucket never seen is full, and so is one that has rested long enough; the
//! two are the same, which is why an idle bucket need not be remembered.
//!
//! # Fractions, not floats
//!
//! A rate is usually kept in one of two ways. Tokens as a floating-point number drift: a tenth is
//! not a tenth, and after enough additions a request comes a microsecond too early or too late, or
//! differently on two machines. "One token every so many nanoseconds" cannot say *three per
//! second*. Here a rate is a fraction in lowest terms, `r/p` tokens per microsecond:
//!
//! | written | `r` | `p` | so that |
//! |---|---|---|---|
//! | 3 per second | 3 | 1 000 000 | a token is 1 000 000 units, and each µs adds 3 |
//! | 100 per second | 1 | 10 000 | a token is 10 000 units, and each µs adds 1 |
//! | 6 000 per minute | 1 | 10 000 | the same: it is the same rate |
//! | 10⁹ per second | 1 000 | 1 | each µs adds 1 000 tokens, the fastest rate there is |
//!
//! The level is a whole number of units. What is left of a token after a request stays in the
//! bucket, so nothing is rounded twice. A caller that comes back exactly when told gets exactly its
//! rate, over any length of time, if the burst leaves room for that part of a token:
//!
//! ```
//! use tidegate_core::{Bucket, Cost, Rate, Span, Timestamp};
//!
//! let bucket = Bucket::try_new(Rate::per_second(3)?, 2)?;
//! let start = Timestamp::from_micros(1_800_000_000_000_000);
//! let (mut state, _) = bucket.take(None, Cost::try_new(2)?, start);
//!
//! let mut now = start;
//! let mut waits = Vec::new();
//! for _ in 0..3 * 3_600 {
//!     let told = bucket.room(Some(state), Cost::ONE, now).wait();
//!     waits.push(told.as_micros());
//!     now = now.after(told);
//!     state = bucket.take(Some(state), Cost::ONE, now).0;
//! }
//! // A third of a second is no whole number of microseconds, and yet nothing is lost.
//! assert_eq!(waits[..3], [333_334, 333_333, 333_333]);
//! assert_eq!(now.since(start), Span::HOUR, "10 800 requests take an hour, to the microsecond");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is exact has an end
//!
//! All of it stays below 2⁵³, the largest range of integers that a script in a shared store and a
//! JSON number carry exactly too ([`MAX_EXACT`](crate::MAX_EXACT)). The product `burst · p` has to
//! fit. A slow rate has a large `p`, so it leaves less room for a burst; what does not fit is
//! refused when the limit is written, with the largest burst that does, and never rounded:
//!
//! ```
//! use tidegate_core::{Bucket, Rate, ShapeError, Span};
//!
//! let daily = Rate::try_new(1, Span::DAY)?;
//! assert_eq!(
//!     Bucket::try_new(daily, 1_000_000),
//!     Err(ShapeError::TooLarge { largest_burst: 104_249 }),
//! );
//! assert!(Bucket::try_new(daily, 104_249).is_ok());
//! # Ok::<(), ShapeError>(())
//! ```
//!
//! A burst below the rate is no mistake: 100 per second with a burst of 1 asks callers to come
//! 10 ms apart. Such a bucket is full as soon as it holds a token, so it gives nothing for having
//! come late: of 3 per second with a burst of 1, each wait is 333 334 µs. And a request that costs
//! more than the burst never fits, however fast the rate.
//!
//! Next: [the window](super::ch3_the_window).
