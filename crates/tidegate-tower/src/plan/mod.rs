//! Limits that are kept elsewhere: in a database, or in a claim of the token.
//!
//! Keeping the numbers of every organisation in the policies would mean swapping the policies for each
//! new customer. But there are many customers and few plans: so a request says which *plan* it has, and
//! the policies know the numbers of each plan. Plans whose numbers are written in the file are named;
//! those whose numbers come with the request are learnt the first time they are seen.

mod remembered;

pub use remembered::{LimitTable, Remembered};

use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use tidegate_core::{Name, Shape};

use crate::identity::Identity;

/// Says which plan a caller has. It is asked for every request of a known caller, so it must not wait: a
/// claim is at hand, and what a database says is [remembered](Remembered).
pub trait LimitSource: Send + Sync {
    /// The plan of this caller; none for the usual numbers.
    fn plan(&self, identity: &Identity) -> Option<Plan>;
}

/// The plan of a caller: the numbers that its limits have.
///
/// ```
/// use tidegate_core::{Bucket, Name, Rate, Shape};
/// use tidegate_tower::Plan;
///
/// let named = Plan::named("gold");
/// let bucket = Shape::Bucket(Bucket::try_new(Rate::per_second(500)?, 1_000)?);
/// let own = Plan::of([(Name::try_new("burst")?, bucket)]);
/// assert_ne!(named, own);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan(Arc<Numbers>);

#[derive(Debug, PartialEq, Eq)]
struct Numbers {
    name: Box<str>,
    limits: Vec<(Name, Shape)>,
}

// === impl Plan ===

impl Plan {
    /// A plan whose numbers are overrides in the policies: `match: { plan: gold }`. Limits without an
    /// override for this plan keep their usual numbers.
    #[must_use]
    pub fn named(name: impl Into<Box<str>>) -> Self {
        Self(Arc::new(Numbers { name: name.into(), limits: Vec::new() }))
    }

    /// A plan with numbers of its own, for the limits of these names. Each has the shape that its limit
    /// has. Making a plan takes some microseconds, so keep it where the same numbers are used again.
    #[must_use]
    pub fn of(limits: impl IntoIterator<Item = (Name, Shape)>) -> Self {
        let mut limits: Vec<_> = limits.into_iter().collect();
        limits.sort_by(|(one, _), (other, _)| one.cmp(other));
        // Named by a digest: equal numbers are the same plan, and different ones never are.
        let digest = Sha256::digest(format!("{limits:?}"));
        let name =
            digest.iter().fold("numbers-".to_owned(), |name, byte| format!("{name}{byte:02x}"));
        Self(Arc::new(Numbers { name: name.into(), limits }))
    }

    pub(crate) fn name(&self) -> &str {
        &self.0.name
    }

    /// The numbers that the policies have to be taught; empty for a named plan.
    pub(crate) fn numbers(&self) -> &[(Name, Shape)] {
        &self.0.limits
    }
}

impl<F: Fn(&Identity) -> Option<Plan> + Send + Sync> LimitSource for F {
    fn plan(&self, identity: &Identity) -> Option<Plan> {
        self(identity)
    }
}
