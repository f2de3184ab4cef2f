//! Chapter 11. Too many tries: attempts, blocks and the ladder.
//!
//! A limit on guesses that only counts can be outwaited: wait until there is room, guess on. A person
//! who mistypes a password waits gladly; an attacker with a list of passwords waits too, because he has
//! time. So [`Attempts`](crate::Attempts) counts tries and, when they are too many, begins a
//! [`Block`](crate::Block).
//!
//! # The attempt that is one too many
//!
//! Everywhere else a limit of N admits N. Here the threshold has another name, `block_at`, because it
//! means something else: the attempt number `block_at` is refused and begins the block.
//!
//! ```
//! use tidegate_core::{Attempts, Span, Threshold, Timestamp};
//!
//! let temp = Threshold { block_at: 3, per: Span::MINUTE, block: Span::from_secs(30) };
//! let attempts = Attempts::try_new(temp, None)?;
//! let at = |secs: u64| Timestamp::from_micros(secs * 1_000_000);
//!
//! let (state, first) = attempts.take(None, 0, at(0));
//! let (state, second) = attempts.take(Some(&state), 0, at(1));
//! let (_, third) = attempts.take(Some(&state), 0, at(2));
//! assert!(first.room.is_now() && second.room.is_now() && !third.room.is_now());
//!
//! // The block ends at 32 s. But one more attempt stays below three in a minute from 61 s on only,
//! // and the wait that is told is true.
//! assert_eq!(third.attempts.and_then(|tally| tally.block).map(|block| block.until), Some(at(32)));
//! assert_eq!(third.wait, Span::from_secs(59));
//! # Ok::<(), tidegate_core::ShapeError>(())
//! ```
//!
//! Attempts in the same microsecond all count, because each has its own place in the log. The log is
//! bounded: only the newest `block_at` attempts of the longer window can matter, so no more are kept,
//! however many are made.
//!
//! # Two kinds of abuse log
//!
//! | | two windows | a ladder |
//! |---|---|---|
//! | made with | [`Attempts::try_new`](crate::Attempts::try_new) | [`Attempts::climbing`](crate::Attempts::climbing) |
//! | refused attempts | count, except during a long block | leave no trace |
//! | a block lasts | a fixed time | longer, the more often there was one |
//! | while it holds | a short one becomes a long one, once | nothing changes |
//! | after it | attempts in the window still count | the log begins anew |
//! | for | codes that are mailed, anything one has to come back for | passwords and codes of accounts that others may attack |
//!
//! The ladder is for places where somebody else can fill your counter. Were refused attempts counted
//! there, hammering at a blocked account would block it for ever, and that is an attack of its own.
//!
//! # The ladder
//!
//! Six levels: 15 s, 1 min, 5 min, 30 min, 6 h, 24 h. A block that begins within an hour of the end of
//! the one before is a level higher; every whole hour without one takes a level off.
//!
//! ```
//! use tidegate_core::{Ladder, Level, Span, Timestamp};
//!
//! let (ladder, ended) = (Ladder::default(), Timestamp::from_micros(1_800_000_000_000_000));
//! let next = |after| ladder.next(Some((Level::L3, ended)), ended.after(after));
//! assert_eq!(next(Span::MINUTE), Level::L4);
//! assert_eq!(next(Span::HOUR), Level::L3);
//! assert_eq!(next(Span::DAY), Level::L1);
//! ```
//!
//! No recorded attempt shortens a block, whether it comes later, earlier or at the same time. Only its
//! end does, or an operator ([`Amendment`](crate::Amendment)).
//!
//! # Exemptions, and values counted once
//!
//! [`Limit::unless`](crate::Limit::unless) exempts subjects about whom a fact is known, such as a
//! device that the host vouches for. [`Limit::distinct`](crate::Limit::distinct) counts values instead
//! of attempts: an address that tries too many *accounts* is spraying, an account that is tried from
//! too many *addresses* is attacked by a crowd. The set of values is the same bounded log, with one
//! place for each value. [`Limit::forgiving`](crate::Limit::forgiving) lets a success forget the
//! failures before it; without it, a success takes back only itself.
//!
//! A [`Preset`](crate::Preset) puts all of this together for logins and one-time passwords.
//!
//! Next: [when the store fails](super::ch12_when_the_store_fails).
