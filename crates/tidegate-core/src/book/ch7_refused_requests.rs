//! Chapter 7. Refused requests: what they cost, and when to come back.
//!
//! # They charge nothing
//!
//! A refused request leaves every counter as it was. If it did not, a client in a retry loop would keep
//! itself out for ever, and anybody who can send in another's name could keep that person out. Being
//! refused a thousand times moves the next admission by nothing.
//!
//! # The told wait is true
//!
//! [`Retry::After`](crate::Retry::After) is a promise in both directions: a caller that is alone
//! and comes back after exactly that long is admitted, and one that comes a microsecond earlier is
//! refused. A wait that is told too short teaches clients to ignore it; one that is told too long
//! wastes what they were granted. So waits are computed from the state, never estimated, and round
//! up to the tick. A server that has to tell seconds rounds up again
//! ([`Span::as_secs_ceil`](crate::Span::as_secs_ceil)); it never tells a refused caller zero.
//!
//! *Alone* is the condition: a wait reserves nothing. If others take the room in the meantime, the
//! caller is refused again, with a new wait that is as true as the first.
//!
//! ```
//! use tidegate_core::{Bucket, Cost, Rate, Room, Timestamp};
//!
//! let bucket = Bucket::try_new(Rate::per_minute(7)?, 7)?;
//! let now = Timestamp::from_micros(1_800_000_000_123_456);
//! let (state, _) = bucket.take(None, Cost::try_new(7)?, now);
//! let five = Cost::try_new(5)?;
//!
//! let Room::After(told) = bucket.room(Some(state), five, now) else { panic!("it is empty") };
//! assert_eq!(told.as_micros(), 42_857_143, "5/7 of a minute, rounded up");
//! let then = now.after(told);
//! let one_tick_before = Timestamp::from_micros(then.as_micros() - 1);
//! assert!(!bucket.room(Some(state), five, one_tick_before).is_now());
//! assert!(bucket.room(Some(state), five, then).is_now());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! There are two cases without a wait. A request that costs more than a limit ever holds is told
//! [`Retry::Never`](crate::Retry::Never). And a request that passes is told nothing, even if it took
//! the last unit: [`Reading::remaining`](crate::Reading::remaining) says so.
//!
//! # Unless attempts are what is counted
//!
//! Sometimes the attempt is the harm: guessing a password, sending a code. Then a window or a quota
//! can count refused requests too ([`Counts::Attempts`](crate::Counts::Attempts)).
//!
//! | | [`Counts::Admitted`](crate::Counts::Admitted) | [`Counts::Attempts`](crate::Counts::Attempts) |
//! |---|---|---|
//! | a refused request | takes nothing | is counted |
//! | `remaining` | never below zero | goes below zero, to −2³¹ at most |
//! | hammering | changes nothing | puts the next admission off, for a quota to the end of its period at most |
//! | a backoff | – | grows with the overrun |
//!
//! Three kinds of refused requests are not counted even then: one that costs more than the limit
//! ever holds, one that a [global](crate::Stage::Global) limit refused while this is a limit of the
//! action, and any if the limit is a [shadow](crate::Limit::in_shadow).
//!
//! A [`Backoff`](crate::Backoff) is a delay for each number of attempts over the limit. The told
//! wait is the longer of it and the time until there is room. A window writes that wait into its
//! state with the attempt, so it is enforced and not merely advised. It never exceeds the time after
//! which the limit is as good as new, so a backoff alone locks nobody out for good; and an overrun
//! quota has no room before its period ends anyway.
//!
//! ```
//! use tidegate_core::{Backoff, Cost, Counts, Span, Timestamp, Window};
//!
//! let at = |secs| Timestamp::from_micros(1_800_000_000_000_000).after(Span::from_secs(secs));
//! let backoff = Backoff::exponential(Span::from_secs(40), 2, Span::HOUR);
//! let window = Window::try_new(2, Span::MINUTE, Counts::Attempts(Some(backoff)))?;
//!
//! // Two pass. The third, half a minute later, is refused and counted.
//! let (state, _) = window.take(None, Cost::ONE, at(0));
//! let (state, _) = window.take(Some(&state), Cost::ONE, at(29));
//! let (state, third) = window.take(Some(&state), Cost::ONE, at(30));
//! assert!(!third.room.is_now());
//! assert_eq!(third.remaining, -1);
//! // Without it there would have been room at 1:01, when the first leaves. Now the second has to
//! // leave too, at 1:30, which is later than the backoff asks for.
//! assert_eq!(third.room.wait(), Span::from_secs(31));
//! assert_eq!((third.backoff, third.wait), (Span::from_secs(40), Span::from_secs(60)));
//! let then = at(30).after(third.wait);
//! assert!(window.room(Some(&state), Cost::ONE, then).is_now());
//! let one_tick_before = Timestamp::from_micros(then.as_micros() - 1);
//! assert!(!window.room(Some(&state), Cost::ONE, one_tick_before).is_now());
//!
//! // The fourth doubles the delay, but not past the time at which all is forgotten: a minute, and
//! // the sixtieth by which a counted window is coarse.
//! let (_, fourth) = window.take(Some(&state), Cost::ONE, at(31));
//! assert_eq!((fourth.backoff, fourth.wait), (Span::from_secs(61), Span::from_secs(61)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! This is why a [`Reading`](crate::Reading) has both `room` and `wait`: the first is what the
//! request met, the second what it leaves behind.
//!
//! Next: [changing numbers](super::ch8_changing_numbers).
