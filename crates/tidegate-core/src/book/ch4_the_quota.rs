//! Chapter 4. The quota: a budget per period, where the period may be a customer's own.
//!
//! A [`Quota`](crate::Quota) counts what was used in the current period, and starts anew with the
//! next. What remains is not carried over.
//!
//! | [`Period`](crate::Period) | starts anew | fits |
//! |---|---|---|
//! | [`Fixed`](crate::Period::Fixed) | at fixed intervals since the Unix epoch, for all keys together | "10 000 per 24 h" |
//! | [`FirstUse`](crate::Period::FirstUse) | a fixed time after a key's first use, for each key by itself | a trial; resets that are spread out |
//! | [`Calendar`](crate::Period::Calendar) | with the hours, days, weeks or months of a time zone | what a contract says |
//!
//! # A day is not 86 400 seconds
//!
//! It has 23 hours when clocks go forward and 25 when they go back. Dividing the time by a day's
//! length is wrong twice a year, and in most zones it is wrong every day. A
//! [`Calendar`](crate::Calendar) knows the rules of its zone, from a database in the binary rather
//! than from the machine, so that all nodes agree:
//!
//! * periods tile time: each begins where the one before it ends;
//! * a day begins at the first instant at which the local clock has reached midnight, even if that
//!   clock jumps over midnight or shows it twice; weeks begin on Monday;
//! * an hour that the clock repeats is a period of its own, and no hour is shorter than 60 minutes,
//!   so a change of clocks hands out no extra quota within one;
//! * a billing month begins on its anchor day, or on its last day if it is too short to have it.
//!
//! The last rule is about *each* month. The usual mistake is to add a month to the start of the
//! last period: 31 January becomes 28 February, then 28 March, and the customer's day is lost.
//!
//! ```
//! use tidegate_core::{Calendar, Span, Timestamp, Unit};
//!
//! let at = |secs| Timestamp::ZERO.after(Span::from_secs(secs));
//! let (jan_31, feb_28, mar_31) = (at(1_769_817_600), at(1_772_236_800), at(1_774_915_200));
//!
//! let billing = Calendar::try_new(Unit::Month, "UTC", Some(31))?;
//! let [_, start, end, after] = billing.around(jan_31).bounds();
//! assert_eq!([start, end, after], [jan_31, feb_28, mar_31], "2026: back to the 31st in March");
//!
//! // 29 March 2026 in Berlin: the clock goes from 2:00 to 3:00, and the day has 23 hours.
//! let day = Calendar::try_new(Unit::Day, "Europe/Berlin", None)?;
//! let noon = at(1_774_778_400);
//! let (start, end) = day.around(noon).containing(noon).ok_or("not around noon")?;
//! assert_eq!(end.since(start), Span::from_secs(23 * 3_600));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Who knows the calendar
//!
//! Stores do not. A charge brings the boundaries of three periods in a row, the previous, the
//! current and the next ([`Periods`](crate::Periods)), and the store picks by its own time. When it
//! finds none that contains its time it changes nothing and says [`Stale`](crate::Stale);
//! [chapter 9](super::ch9_where_state_lives) shows what happens then.
//!
//! # A quota says nothing about speed
//!
//! A month's budget can be spent in a second, and twice that in the two seconds around midnight.
//! That is what a budget means. If it is not meant, put a bucket beside the quota in the same
//! policy: both are charged together or not at all ([chapter 5](super::ch5_several_limits)).
//!
//! ```
//! use tidegate_core::{Bucket, Cost, Counts, Period, Quota, Rate, Room, Span, Timestamp};
//!
//! let midnight = Timestamp::ZERO.after(Span::from_secs(20_000 * 86_400));
//! let last_second = Timestamp::from_micros(midnight.as_micros() - 1_000_000);
//! let all = Cost::try_new(10_000)?;
//!
//! let quota = Quota::try_new(10_000, Period::Fixed(Span::DAY), Counts::Admitted)?;
//! let (state, _) = quota.take(None, all, last_second, None)?;
//! assert!(quota.room(Some(state), all, midnight, None)?.is_now(), "20 000 within a second");
//!
//! let burst = Bucket::try_new(Rate::per_second(10)?, 10_000)?;
//! let (state, _) = burst.take(None, all, last_second);
//! assert_eq!(burst.room(Some(state), all, midnight), Room::After(Span::from_secs(999)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Next: [several limits in one decision](super::ch5_several_limits).
