//! The limit that a row of the hierarchy is charged as.

use std::sync::Arc;

use super::charges::{ChargedAs, ChargedRow};
use super::limit_row::{RowScope, Terms};
use super::tighten::Sharing;
use crate::limit::{Limit, LimitError};
use crate::name::Name;
use crate::shape::Shape;
use crate::subject::{Dimension, Scope};

// === impl ChargedRow ===

impl ChargedRow<'_> {
    /// The limit that the row is charged as, with its merged numbers and the hash tag of the top tenant. It
    /// depends on the row and on those above it, never on who calls. So does its scope: a row that lets
    /// descendants inherit counts each tenant by itself, its own as well.
    ///
    /// Tenants are counted as organisations, their principals as users.
    ///
    /// # Errors
    ///
    /// If the row is an abuse log in shadow, which [cannot](Limit::as_row) be a row.
    pub fn limit(&self, tag: &Arc<str>) -> Result<Limit, LimitError> {
        let (shape, cost) = match (&self.row.terms, &self.numbers) {
            (Terms::Budget { quota, cost }, _) => (Shape::Quota(quota.clone()), *cost),
            (Terms::Shadow { shape, cost }, _) => (shape.clone(), *cost),
            (Terms::Rate(allowance), None) => (Shape::Bucket(allowance.bucket), allowance.cost),
            (Terms::Rate(_) | Terms::Unlimited, Some(numbers)) => {
                (Shape::Bucket(numbers.allowance.bucket), numbers.allowance.cost)
            }
            (Terms::Unlimited, None) => return Err(LimitError::NoRow(self.name())),
        };
        let limit = Limit::new(self.name(), self.scope(), shape);
        let limit = limit.costing(cost).settling().on_overflow(self.row.overflow);
        let is_shadow = matches!(self.row.terms, Terms::Shadow { .. });
        let limit = if is_shadow { limit.in_shadow() } else { limit };
        limit.as_row(self.row.id, tag)
    }

    /// The dimensions that tell the counters of the row apart.
    fn scope(&self) -> Scope {
        use Dimension::{Ip, Org, User};
        let by: &[Dimension] = match self.row.scope {
            RowScope::Global if self.is_inherited_by_tenants() => &[Org],
            RowScope::Ip if self.is_inherited_by_tenants() => &[Org, Ip],
            RowScope::Global => &[],
            RowScope::Tenant => &[Org],
            RowScope::User => &[Org, User],
            RowScope::Ip => &[Ip],
        };
        Scope::of(by.iter().copied())
    }

    fn is_inherited_by_tenants(&self) -> bool {
        let of_tenant =
            matches!(self.charged_as, ChargedAs::Own | ChargedAs::Inherited | ChargedAs::Enforced);
        of_tenant && self.row.sharing == Sharing::Inherit
    }

    /// The name of the limit in answers and metrics: whose row it is.
    fn name(&self) -> Name {
        Name::known(match self.charged_as {
            ChargedAs::Route => "route",
            ChargedAs::Upstream | ChargedAs::Shadowed => "upstream",
            ChargedAs::Own | ChargedAs::Inherited | ChargedAs::Enforced => "tenant",
            ChargedAs::Default => "default",
        })
    }
}
