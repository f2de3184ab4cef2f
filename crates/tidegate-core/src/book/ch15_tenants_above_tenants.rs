//! Chapter 15. Tenants above tenants: which limits one request meets, and whose numbers they have.
//!
//! A gateway serves tenants that have tenants of their own. Each may write a limit for itself, for the
//! upstreams it owns and for their routes. Every such limit is a *row* of a database
//! ([`LimitRow`](crate::LimitRow)), known by its [`RowId`](crate::RowId). [Chapter
//! 8](super::ch8_changing_numbers) told how numbers are merged; this one tells which rows are charged.
//!
//! ```text
//!            platform      row: 100/s, enforce       owns upstream "search", row: 80/s
//!            ┌───┴───┐                                      └ route /find, row: 500/s
//!         reseller   shop  row: 20/s, private
//!            │
//!          bakery          no row; calls /find of "search"
//! ```
//!
//! # What is charged
//!
//! [`charges`](crate::charges) is a pure function of the hierarchy, the tenant that calls and the route:
//!
//! | row | charged | at |
//! |---|---|---|
//! | the route's | if it has one | its numbers, tightened by the upstream's and the owner's chain |
//! | the upstream's | if it has one | its numbers, tightened by the owner's chain |
//! | the caller's tenant's | if it has one | its numbers, tightened by the tenants above |
//! | the nearest one above to inherit | if the caller's tenant has none | its numbers, with a counter for each tenant that inherits |
//! | those above that enforce | always, all of them | their numbers; one counter caps the sum of all below |
//! | those of upstreams above with the same alias that enforce | always, all of them | their numbers |
//! | the default row | if nothing of the above can refuse, and nobody wrote `unlimited` | its numbers |
//!
//! The *owner's chain* is the tenant that owns the upstream and all above it, without private rows. So
//! the numbers of a row never depend on who calls: if they did, two who share a counter would disagree
//! about its size, and the counter would be as large as the looser of them believes.
//!
//! An alias means the caller's own upstream, or else that of the nearest tenant above which has one
//! ([`upstream_for`](crate::upstream_for)). A child may have an upstream `search` of its own. It does not
//! escape by that: what the hidden upstream enforces is charged too.
//!
//! ```
//! use tidegate_core::{
//!     Allowance, Bucket, ChargedAs, CostRule, Hierarchy, LimitRow, Overflow, Rate, RouteView, RowId,
//!     RowScope, Sharing, TenantView, Terms, UpstreamView, charges,
//! };
//!
//! const PLATFORM: RowId = RowId::from_u128(1);
//! const RESELLER: RowId = RowId::from_u128(2);
//! const BAKERY: RowId = RowId::from_u128(3);
//! const SEARCH: RowId = RowId::from_u128(4);
//! const FIND: RowId = RowId::from_u128(5);
//!
//! /// The rows of the platform, of its upstream, of the route, and the default.
//! struct Small([LimitRow; 4]);
//!
//! impl Hierarchy for Small {
//!     fn tenant(&self, id: RowId) -> Option<TenantView<'_>> {
//!         match id {
//!             PLATFORM => Some(TenantView { id, parent: None, rows: &self.0[0..1] }),
//!             RESELLER => Some(TenantView { id, parent: Some(PLATFORM), rows: &[] }),
//!             BAKERY => Some(TenantView { id, parent: Some(RESELLER), rows: &[] }),
//!             _ => None,
//!         }
//!     }
//!     fn upstream(&self, id: RowId) -> Option<UpstreamView<'_>> {
//!         let rows = &self.0[1..2];
//!         (id == SEARCH).then_some(UpstreamView { id, owner: PLATFORM, alias: "search", rows })
//!     }
//!     fn route(&self, id: RowId) -> Option<RouteView<'_>> {
//!         (id == FIND).then_some(RouteView { id, upstream: SEARCH, rows: &self.0[2..3] })
//!     }
//!     fn upstream_of(&self, tenant: RowId, alias: &str) -> Option<UpstreamView<'_>> {
//!         self.upstream(SEARCH).filter(|it| it.owner == tenant && it.alias == alias)
//!     }
//!     fn default_row(&self) -> &LimitRow {
//!         &self.0[3]
//!     }
//! }
//!
//! let row = |id, per_second, burst, sharing| -> Result<_, tidegate_core::ShapeError> {
//!     let bucket = Bucket::try_new(Rate::per_second(per_second)?, burst)?;
//!     let terms = Terms::Rate(Allowance { bucket, cost: CostRule::default() });
//!     let (scope, overflow) = (RowScope::Global, Overflow::Reject);
//!     Ok(LimitRow { id: RowId::from_u128(id), terms, sharing, scope, overflow })
//! };
//! let tree = Small([
//!     row(11, 100, 50, Sharing::Enforce)?,
//!     row(14, 80, 200, Sharing::Private)?,
//!     row(15, 500, 500, Sharing::Private)?,
//!     row(99, 10, 10, Sharing::Private)?,
//! ]);
//!
//! let charged = charges(&tree, BAKERY, FIND)?;
//! let charged_as: Vec<ChargedAs> = charged.rows.iter().map(|it| it.charged_as).collect();
//! assert_eq!(charged_as, [ChargedAs::Route, ChargedAs::Upstream, ChargedAs::Enforced]);
//!
//! // The route asked for 500 per second and a burst of 500. Who said otherwise?
//! let route = charged.rows[0].numbers.ok_or("a rate has numbers")?;
//! assert_eq!(route.allowance.bucket.rate(), Rate::per_second(80)?);
//! assert_eq!(route.provenance.rate, RowId::from_u128(14));
//! assert_eq!(route.allowance.bucket.burst(), 50);
//! assert_eq!(route.provenance.burst, RowId::from_u128(11));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What a child can do
//!
//! It can be stricter. Whatever it writes, the rows above that enforce are charged in the same decision,
//! at numbers that it has no say in, and a decision is all or nothing ([chapter
//! 5](super::ch5_several_limits)). A row of the child that degrades or only counts lets requests past
//! itself, and past nobody else. Even `unlimited` is merged like any number, and the stricter wins.
//!
//! # What is refused when it is written
//!
//! A decision charges at most [twelve](crate::MAX_LIMITS) limits: route and upstream, six rows of tenants
//! and of upstreams above, two budgets, two shadows. Tenants are at most [five levels
//! deep](crate::MAX_DEPTH) below the top, so six that all enforce fit. A row too many is refused when
//! it is written, with the rows that take the places ([`check_fit`](crate::check_fit)): were it found by a
//! request, the request of a tenant that wrote nothing would fail. The check counts upstreams that a
//! nearer alias hides as well, so a deletion never leaves more than fits.
//!
//! The cost of one row can be merged above the burst of another, and then nothing ever passes. Neither row
//! is wrong by itself, and either may have been there first, so that is no refusal but a warning that
//! names both ([`never_passing`](crate::never_passing)).
//!
//! Back to the [table of contents](super).
