//! Chapter 5. Several limits in one decision: all or nothing, and one answer.
//!
//! A [`Policy`](crate::Policy) has up to [twelve](crate::MAX_LIMITS) limits: a burst per user, a
//! budget per organisation, a ceiling for everybody. One request is one decision over all of them
//! that apply.
//!
//! ```text
//!  Subject ─▶ Case::resolve ─▶ Batch ─▶ Store ─▶ Readings ─▶ fold ─▶ Decision
//!               which limits,   one              one per     the verdict, and
//!               which keys      charge each      charge      every limit's reading
//! ```
//!
//! # All or nothing
//!
//! Asking one limit after the other and stopping at the first refusal is simple and wrong. What the
//! earlier limits took is gone: a caller who hammers a spent quota drains the budget it shares with its
//! colleagues, for requests that never passed. Giving it back later is no cure, because in the meantime
//! somebody else was refused. So every limit is looked at first, [`plan`](crate::plan) decides from all
//! of them, and only then is anything written. A case that no store was asked about, or only in part,
//! is denied by [`fold`](crate::fold): no answer is not "yes".
//!
//! ```
//! # use tidegate_core::{
//! #     Bucket, Case, Counts, Digests, Dimension, FailureMode, Limit, Name, Period, PolicySet,
//! #     PolicySpec, Quota, Rate, Room, Scope, Shape, Span, Subject, plan,
//! # };
//! let burst = Shape::Bucket(Bucket::try_new(Rate::per_second(1)?, 5)?);
//! let daily = Shape::Quota(Quota::try_new(1_000, Period::Fixed(Span::DAY), Counts::Admitted)?);
//! let api = PolicySpec::new(Name::try_new("api")?, FailureMode::FailOpen)
//!     .limit(Limit::new(Name::try_new("burst")?, Scope::of([Dimension::User]), burst))
//!     .limit(Limit::new(Name::try_new("daily")?, Scope::of([Dimension::Org]), daily));
//! let set = PolicySet::builder().policy(api).build(None)?;
//!
//! let subject = Subject::new().org("acme").user("u7");
//! let mut case = Case::new(set.get("api").ok_or("no such policy")?, &subject);
//! case.resolve(&Digests::new([7, 11]));
//!
//! // The user has room, the organisation has spent its day: the user is not charged either.
//! let met = [Room::Now, Room::After(Span::HOUR)];
//! let plan = plan(case.batch().charges().iter().zip(met));
//! assert!(!plan.is_admitted());
//! assert!(!plan.writes(0) && !plan.writes(1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The longest wait, and every reason
//!
//! All limits are read even if the first refuses. The caller is told the longest wait of all, so
//! one retry is enough; told the first, it would come back only to be refused by the second. Ask
//! [`Decision::explain`](crate::Decision::explain) for what each limit said, and
//! [`Decision::binding`](crate::Decision::binding) for the one that decided.
//!
//! A limit may be asked in an earlier [`Stage`](crate::Stage). If a global limit refuses, the
//! action's limits are read but none of them is charged, not even one that counts attempts, and the
//! denial names the global stage as its source. The wait is still the longest of both. Within a
//! stage the order of the limits changes nothing but the order of the explanations, and which of
//! two equal ones binds.
//!
//! ```
//! # use tidegate_core::{
//! #     Bucket, Case, Counts, Denial, Digests, FailureMode, Limit, Name, Period, PolicySet,
//! #     PolicySpec, Quota, Rate, Retry, Scope, Shape, Span, Stage, Subject, Timestamp, Verdict,
//! #     fold,
//! # };
//! let per_second = Shape::Bucket(Bucket::try_new(Rate::per_second(1)?, 1)?);
//! let per_hour = Shape::Quota(Quota::try_new(1, Period::Fixed(Span::HOUR), Counts::Admitted)?);
//! let hourly = Limit::new(Name::try_new("hourly")?, Scope::GLOBAL, per_hour);
//! let overall = Limit::new(Name::try_new("overall")?, Scope::GLOBAL, per_second);
//! let api = PolicySpec::new(Name::try_new("api")?, FailureMode::FailOpen)
//!     .limit(hourly)
//!     .limit(overall.at_stage(Stage::Global));
//! let set = PolicySet::builder().policy(api).build(None)?;
//! let (policy, subject) = (set.get("api").ok_or("no such policy")?, Subject::new());
//!
//! let mut case = Case::new(policy, &subject);
//! case.resolve(&Digests::new([7, 11]));
//! let now = Timestamp::ZERO.after(Span::DAY);
//! let (batch, readings) = case.ask();
//! readings.begin(now);
//! // Both limits are spent, so this is what a store would read:
//! for charge in batch.charges() {
//!     readings.push(match charge.shape() {
//!         Shape::Bucket(bucket) => bucket.look(Some(bucket.exhausted(now)), charge.cost(), now),
//!         Shape::Quota(quota) => quota.look(Some(quota.exhausted(now)), charge.cost(), now, None)?,
//!         Shape::Window(window) => window.look(Some(&window.exhausted(now)), charge.cost(), now),
//!         Shape::Attempts(log) => log.look(Some(&log.exhausted(now)), charge.member(), now),
//!     });
//! }
//!
//! // The global limit decided, and has room in a second. But coming back then would be in vain.
//! let decision = fold(&mut case);
//! assert_eq!(decision.binding().ok_or("asked")?.limit.name().as_str(), "overall");
//! let (retry, source) = (Retry::After(Span::HOUR), Stage::Global);
//! assert_eq!(decision.verdict(), Verdict::Deny(Denial { retry, source }));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Shadows, weights, overflow
//!
//! * A limit [in shadow](crate::Limit::in_shadow) is read and explained like any other and never
//!   refuses. It is charged only if the request is admitted and the shadow has room, so its
//!   count is that of a limit in force and never runs past its numbers.
//! * A request has a weight ([`Case::weighing`](crate::Case::weighing)), and each limit says what it
//!   makes of it ([`CostRule`](crate::CostRule)): *60 requests per minute* and *100 000 tokens per
//!   minute* stand side by side in one policy.
//! * What a refusal becomes is the policy's [`Overflow`](crate::Overflow): a denial, a place in a
//!   queue with the wait until there is room, or a pass at lower quality, which is not counted.
//!
//! Next: [who is counted](super::ch6_who_is_counted).
