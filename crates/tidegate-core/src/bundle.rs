//! The limits of one decision.

use std::sync::Arc;

use crate::charge::MAX_LIMITS;
use crate::limit::{Limit, LimitError};
use crate::name::Name;
use crate::row::RowId;

/// The limits that one request is charged to: those of a policy, or rows that were put together for one
/// caller and one route.
///
/// ```
/// use std::sync::Arc;
/// use tidegate_core::{
///     Bucket, Bundle, Case, Digests, FailureMode, Limit, Name, PolicySet, PolicySpec, Protects, Rate,
///     RowId, Scope, Shape, Subject,
/// };
///
/// // The policy says what happens if the store fails; the limits are rows.
/// let calls = PolicySpec::stance(Name::try_new("calls")?, FailureMode::Degraded)
///     .protecting(Protects::Outbound);
/// let policies = PolicySet::builder().policy(calls).build(None)?;
///
/// let bucket = Shape::Bucket(Bucket::try_new(Rate::per_minute(600)?, 20)?);
/// let route = Limit::new(Name::try_new("route")?, Scope::GLOBAL, bucket)
///     .as_row(RowId::from_u128(7), &"acme".into())?;
/// let bundle = Bundle::try_new(vec![Arc::new(route)])?;
///
/// let subject = Subject::new();
/// let mut case = Case::over(policies.get("calls").ok_or("no such policy")?, &bundle, &subject);
/// case.resolve(&Digests::new([7, 11]));
/// assert_eq!(case.batch().charges().len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Bundle {
    limits: Vec<Arc<Limit>>,
    /// Whether any limit settles: worked out in advance, because every request asks for it.
    settles: bool,
}

/// Why some rows cannot be charged together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BundleError {
    /// There is no row, so nothing would be limited.
    #[error("a bundle without rows would limit nothing; charge a default row")]
    Empty,
    /// There are more rows than one decision can charge.
    #[error("{} rows apply at once, and one decision charges at most {MAX_LIMITS}: {}", .0.len(), list(.0))]
    TooMany(Vec<RowId>),
    /// A row is there twice.
    #[error("row {0} is there twice; each row is charged once")]
    Twice(RowId),
    /// A limit is not a row.
    #[error("limit `{0}` is not a row; limits of a policy are charged with their policy")]
    NotARow(Name),
    /// A row cannot be charged at all.
    #[error(transparent)]
    Limit(#[from] LimitError),
}

// === impl Bundle ===

impl Bundle {
    /// The rows that are charged together, in the order in which decisions explain them.
    ///
    /// # Errors
    ///
    /// If there is no row, or there are more than [`MAX_LIMITS`], or one of them is there twice or is no
    /// row.
    pub fn try_new(rows: Vec<Arc<Limit>>) -> Result<Self, BundleError> {
        let mut ids = Vec::with_capacity(rows.len());
        for row in &rows {
            let id = row.row_id().ok_or_else(|| BundleError::NotARow(row.name().clone()))?;
            if ids.contains(&id) {
                return Err(BundleError::Twice(id));
            }
            ids.push(id);
        }
        match ids.len() {
            0 => Err(BundleError::Empty),
            1..=MAX_LIMITS => Ok(Self::of(rows)),
            _ => Err(BundleError::TooMany(ids)),
        }
    }

    /// The limits of a policy, which have been checked.
    pub(crate) fn of(limits: Vec<Arc<Limit>>) -> Self {
        let settles = limits.iter().any(|limit| limit.settles());
        Self { limits, settles }
    }

    /// The limits, in the order in which they were given. Charges, readings and explanations have the same
    /// order.
    #[must_use]
    #[inline]
    pub fn limits(&self) -> &[Arc<Limit>] {
        &self.limits
    }

    /// Whether any limit [settles](Limit::settling), so that requests which pass can be settled.
    #[must_use]
    #[inline]
    pub const fn settles(&self) -> bool {
        self.settles
    }

    pub(crate) const fn limits_mut(&mut self) -> &mut Vec<Arc<Limit>> {
        &mut self.limits
    }
}

fn list(ids: &[RowId]) -> String {
    ids.iter().map(RowId::to_string).collect::<Vec<_>>().join(", ")
}
