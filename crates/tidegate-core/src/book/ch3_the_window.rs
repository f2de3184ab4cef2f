//! Chapter 3. The window: never more than a given count in any span of a given length.
//!
//! Counting per aligned minute is easy to keep and easy to explain, and it admits twice the limit
//! around the full minute:
//!
//! ```text
//!                 100 ▼     ▼ 100
//!  ├──────────────────┃──┼──┃──────────────────┤
//!  12:00       12:00:59     12:01:01        12:02
//!                     └─────┘
//!              200 within two seconds
//! ```
//!
//! A [`Window`](crate::Window) has no edge to double at, because it slides: whenever you look, what
//! was counted during the last minute is at most the count. Unlike a [bucket](super::ch2_the_bucket)
//! it hands out no token in between: a window of 100 per minute admits 100 in any minute, where a
//! bucket of 100 per minute with a burst of 100 may admit 199.
//!
//! # Two ways to keep one
//!
//! | | [`Ring`](crate::Ring) | [`Grid`](crate::Grid) |
//! |---|---|---|
//! | keeps | the time of each unit | 61 sub-counts, each a sixtieth of the window |
//! | used for | up to 64 units ([`EXACT_WINDOW`](crate::EXACT_WINDOW)) | more, and wherever attempts are counted |
//! | a charge counts for | exactly the window | more than the window, at most 61/60 of it |
//! | size | a timestamp for each unit | the same for a hundred and for a billion |
//!
//! The numbers choose ([`Window::is_exact`](crate::Window::is_exact)); there is nothing to
//! configure. Sixty sub-counts would not be enough: the oldest of them is only partly within the
//! window, and to forget it early would admit too many. So the sixty-first is kept until all of it
//! is too old. The error has one direction: a charge is never forgotten before its time, and is
//! remembered for at most a sixtieth longer (rounded up to a microsecond). Many approximate windows
//! weigh the previous period by how much of it still counts, which assumes that requests came
//! evenly. Here nothing is assumed.
//!
//! ```
//! use tidegate_core::{Cost, Counts, Room, Span, Timestamp, Window};
//!
//! let at = |secs| Timestamp::from_micros(1_800_000_000_000_000).after(Span::from_secs(secs));
//!
//! // Up to 64, to the microsecond: what came at 0:59 leaves at 1:59.
//! let exact = Window::try_new(64, Span::MINUTE, Counts::Admitted)?;
//! let (state, _) = exact.take(None, Cost::try_new(64)?, at(59));
//! assert_eq!(exact.room(Some(&state), Cost::ONE, at(61)), Room::After(Span::from_secs(58)));
//!
//! // One more, and sixtieths are counted: what came at 0:59 leaves at 2:00, not earlier.
//! let coarse = Window::try_new(65, Span::MINUTE, Counts::Admitted)?;
//! let (state, _) = coarse.take(None, Cost::try_new(65)?, at(59));
//! assert_eq!(coarse.room(Some(&state), Cost::ONE, at(61)), Room::After(Span::from_secs(59)));
//!
//! // The wait that was told is true all the same, to the microsecond.
//! let almost = Timestamp::from_micros(at(120).as_micros() - 1);
//! assert!(!coarse.room(Some(&state), Cost::ONE, almost).is_now());
//! assert!(coarse.room(Some(&state), Cost::ONE, at(120)).is_now());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # How long a wait is
//!
//! A spent window has room for a request of cost `c` as soon as the oldest `c` units have left. So
//! a heavy request may have to wait longer than a light one that asks at the same instant, and both
//! are told their own wait. [`Reading::reset_after`](crate::Reading::reset_after) is a third
//! number: when the newest unit leaves and the window is as good as never used.
//!
//! ```
//! use tidegate_core::{Cost, Counts, Room, Span, Timestamp, Window};
//!
//! let at = |secs| Timestamp::from_micros(1_800_000_000_000_000).after(Span::from_secs(secs));
//! let window = Window::try_new(3, Span::MINUTE, Counts::Admitted)?;
//! let (state, _) = window.take(None, Cost::ONE, at(0));
//! let (state, _) = window.take(Some(&state), Cost::ONE, at(10));
//! let (state, _) = window.take(Some(&state), Cost::ONE, at(20));
//!
//! let light = window.look(Some(&state), Cost::ONE, at(30));
//! let heavy = window.look(Some(&state), Cost::try_new(2)?, at(30));
//! assert_eq!(light.room, Room::After(Span::from_secs(30)), "the unit of 0:00 leaves at 1:00");
//! assert_eq!(heavy.room, Room::After(Span::from_secs(40)), "that of 0:10 has to leave too");
//! assert_eq!(light.reset_after, Span::from_secs(50));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Next: [the quota](super::ch4_the_quota).
