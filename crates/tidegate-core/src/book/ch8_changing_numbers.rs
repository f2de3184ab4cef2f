//! Chapter 8. Changing numbers: reloads, other numbers for some, and hierarchies.
//!
//! # A reload is no amnesty
//!
//! Policies are replaced as a whole: a [`PolicySet`](crate::PolicySet) never changes, and its
//! successor is [built](crate::PolicySetBuilder::build) with the one it replaces at hand. If a
//! reload forgot all counters, every change of configuration would be a free burst; if it kept them
//! as raw numbers, half a bucket of 10 might become half a bucket of 1 000. So state carries the
//! numbers it was written under, as a [`Stamp`](crate::Stamp): a place in the list of all shapes
//! its limit has had. The successor takes over that list, and can read what it did not write.
//!
//! | state of a | under new numbers |
//! |---|---|
//! | bucket | tokens stay tokens; until it is written again it has the slower rate and the smaller burst of both; once full by those it is as good as new |
//! | window | charges are facts, and count under the new count and length |
//! | quota | what was used is a fact, and counts until its own period would have ended; longer, if that began within the new one |
//!
//! ```
//! use tidegate_core::{Bucket, Cost, Rate, Room, Span, Timestamp};
//!
//! let old = Bucket::try_new(Rate::per_second(1)?, 10)?;
//! let new = Bucket::try_new(Rate::per_second(1_000)?, 1_000)?;
//! let now = Timestamp::from_micros(1_800_000_000_000_000);
//! let (state, _) = old.take(None, Cost::try_new(10)?, now);
//!
//! // A thousand times the rate, and yet nothing is granted by the change itself.
//! let met = new.look_inherited(&old, state, Cost::ONE, now);
//! assert_eq!((met.remaining, met.room), (0, Room::After(Span::SECOND)));
//!
//! // The first request that is counted continues under the new numbers.
//! let later = now.after(Span::SECOND);
//! let (state, _) = new.take(new.inherit(&old, state, later), Cost::ONE, later);
//! let then = later.after(Span::from_millis(5));
//! assert_eq!(new.look(Some(state), Cost::ONE, then).remaining, 5);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A limit is the same limit for as long as its policy, its name and its kind of shape are. Under
//! another name it starts anew. One that was left out and comes back finds its state again.
//!
//! The *text* of a key names the period as it is written ([chapter 6](super::ch6_who_is_counted)), so
//! in a store that goes by that text a reload may give a counter another name. A limit therefore
//! remembers the last two names its counters had ([`Names`](crate::Names)), for as long as counters can
//! be left under them. A store that finds nothing under the present name reads the former one in the
//! same step, by the rules of the table, and writes the present one; it never adds two up. If a reload
//! comes back to a name, what was counted in between is found first. A former name that another limit
//! has now is not read. A process that is *restarted* with other policies does not know the former
//! names, and a limit with another period then begins anew.
//!
//! ```
//! use tidegate_core::{Counts, Cost, Period, Quota, Room, Span, Timestamp};
//!
//! // Ten a day, all of them used at nine; then the file says ten an hour.
//! let day = Quota::try_new(10, Period::Fixed(Span::DAY), Counts::Admitted)?;
//! let hour = Quota::try_new(10, Period::Fixed(Span::HOUR), Counts::Admitted)?;
//! let nine = Timestamp::from_micros(1_768_035_600_000_000);
//! let (used, _) = day.take(None, Cost::try_new(10)?, nine, None)?;
//!
//! // They count for the rest of the day, which has fifteen hours left, and not only until ten.
//! let met = hour.look(Some(used), Cost::ONE, nine, None)?;
//! assert_eq!(met.room, Room::After(Span::from_secs(15 * 3_600)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Other numbers for some
//!
//! An [`Override`](crate::Override) gives the subjects it selects other numbers of the same shape:
//! exact values first, then patterns in the order they were written, then the usual numbers. It changes
//! no key, so a customer who is moved to a larger plan keeps what it has used, and the rule above holds
//! for it as for a reload. It can only select by a dimension that the limit counts by; otherwise two
//! subjects who share a counter would disagree about its size.
//!
//! A [plan](crate::Dimension::Plan) is the exception: a fact that the host knows about a subject, from
//! a database or a claim. It selects numbers, but no limit counts by it. An exact value that the limit
//! counts by comes before it, so one customer can still have numbers of its own. If two requests on one
//! counter disagree about the plan, the rule above holds between them too. Plans that are not written
//! in the policies are [learnt](crate::PolicySet::learning) while requests come.
//!
//! # Hierarchies
//!
//! A route, the upstream behind it and the tenants above may each have an
//! [`Allowance`](crate::Allowance). They are merged field by field towards the stricter, by
//! [`tighten`](crate::tighten): the slower rate, the smaller burst, the larger cost. The result may
//! be stricter than each of them, and is never looser than any.
//!
//! | [`Sharing`](crate::Sharing) of an ancestor | its numbers below | its own bucket |
//! |---|---|---|
//! | [`Private`](crate::Sharing::Private) | do not count | for itself |
//! | [`Inherit`](crate::Sharing::Inherit) | count where there are none, and tighten where there are | for itself |
//! | [`Enforce`](crate::Sharing::Enforce) | tighten always | charged for everything below |
//!
//! Merged numbers alone would not be enough to enforce anything: ten routes that are each held to
//! 100 per second are a thousand per second together. That is why an enforcing ancestor's own
//! bucket is charged too, in the same decision, and caps the sum. Which rows a request meets is told in
//! [chapter 15](super::ch15_tenants_above_tenants).
//!
//! ```
//! use tidegate_core::{Allowance, Bucket, CostRule, Rate, Sharing, effective};
//!
//! let allowance = |rate, burst| -> Result<_, tidegate_core::ShapeError> {
//!     Ok(Allowance { bucket: Bucket::try_new(rate, burst)?, cost: CostRule::default() })
//! };
//! let route = allowance(Rate::per_second(100)?, 10)?;
//! let tenant = allowance(Rate::per_minute(600)?, 500)?;
//! let secret = allowance(Rate::per_second(1)?, 1)?;
//! let ancestors = [(Sharing::Enforce, tenant), (Sharing::Private, secret)];
//!
//! // The tenant's rate, the route's burst: neither of them has both. What is private has no say.
//! let merged = effective(Some(route), None, &ancestors);
//! assert_eq!(merged, Some(allowance(Rate::per_minute(600)?, 10)?));
//!
//! // A route that says nothing is not unlimited, if anybody above says something.
//! assert_eq!(effective(None, None, &ancestors), Some(tenant));
//! assert_eq!(effective(None, None, &[(Sharing::Private, secret)]), None);
//! # Ok::<(), tidegate_core::ShapeError>(())
//! ```
//!
//! Next: [where state lives](super::ch9_where_state_lives).
