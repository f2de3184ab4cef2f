//! Chapter 10. What it really cost: tickets, and how they are settled.
//!
//! What some requests cost is known only afterwards. A login that succeeded was no attack; a model
//! wrote twice as many tokens as were reserved. To decide first and count later would let parallel
//! requests through before the first is counted, so Tidegate counts first, and corrects.
//!
//! A limit that may be corrected is marked ([`Limit::settling`](crate::Limit::settling)). A request
//! admitted under such a limit gets a [`Ticket`](crate::Ticket): which counters were charged, how much
//! and when. Settling it says what the request really weighed:
//!
//! | it weighed | then |
//! |---|---|
//! | nothing | all of it is given back: a login that succeeded |
//! | less than was taken | the difference is given back |
//! | what was taken | nothing moves |
//! | more | the difference is taken, whether or not there is room: the request has already passed |
//!
//! A limit that takes [the same of every request](crate::CostRule::PerRequest) gives it back for a
//! weight of nothing, and is left alone otherwise.
//!
//! # Counting by the answer
//!
//! A limit may count requests by [what came of them](crate::Limit::counting_outcomes): one 403 after
//! another is what probing for rights looks like. Such a limit still takes from every request, and the
//! host settles at nothing each request that ended otherwise. A ticket settles everything on it by one
//! weight, so such limits and others that settle do not stand in one policy. A request that is refused
//! before the rest of its limits may be charged still counts as probing:
//! [`Case::only_outcomes`](crate::Case::only_outcomes).
//!
//! # Nobody else's count gets smaller
//!
//! To give back is to undo one charge, and not to top a counter up. A window gives back only units
//! that are still within it, a quota only in the period they were taken in, a bucket never above its
//! burst, and a wait that a backoff has imposed stays. Where several keys share a counter for lack of
//! memory, nothing is given back at all.
//!
//! ```
//! use tidegate_core::{Cost, Counts, Span, Timestamp, Window};
//!
//! let window = Window::try_new(3, Span::MINUTE, Counts::Admitted)?;
//! let at = |secs| Timestamp::from_micros(1_800_000_000_000_000).after(Span::from_secs(secs));
//! let (state, _) = window.take(None, Cost::try_new(2)?, at(0));
//! let (state, _) = window.take(Some(&state), Cost::ONE, at(10));
//!
//! // What was taken at 0:10 comes back, and no more than is there from then on.
//! let (state, returned) = window.give_back(&state, Cost::try_new(2)?, at(10), at(11));
//! assert_eq!(returned, 1);
//! assert_eq!(window.look(Some(&state), Cost::ONE, at(11)).remaining, 1);
//! // Once a minute has passed, there is nothing left to give back.
//! assert_eq!(window.give_back(&state, Cost::ONE, at(0), at(60)).1, 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! One thing a bucket cannot know: how full it would have become meanwhile. If it was full at any time
//! since, what is given back is more than would be there, by as much as would have spilled; it is still
//! no more than was taken, and never above the burst. So that old refunds do not add up, a bucket gives
//! nothing back once the time has passed in which it fills from empty.
//!
//! # Once, in time, and only by the holder
//!
//! A ticket carries a MAC, so nobody can invent or alter one; the digests in it are masked. It is
//! numbered, and the store settles each number at most once, in the same step in which it moves
//! units. After [`Ticket::LIFE`](crate::Ticket::LIFE) it is worthless, and
//! in memory also once eight million later tickets have been made. A ticket that is refused
//! changes nothing, and [`TicketError`](crate::TicketError) says why. To lose a ticket is harmless: the
//! request then costs what it was admitted for.
//!
//! Next: [too many tries](super::ch11_too_many_tries).
