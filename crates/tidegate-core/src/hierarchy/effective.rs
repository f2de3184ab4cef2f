//! Merged numbers that say where they come from.
//!
//! A tenant's administrator who asked for 500 per second and got 100 wants to know who said 100. So
//! numbers that several rows have a say in name the row behind each field.

use super::tighten::{Allowance, tighten};
use crate::cost::Cost;
use crate::row::RowId;

/// Merged numbers, with the row that each of them comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effective {
    /// The merged numbers.
    pub allowance: Allowance,
    /// The rows that the merged numbers come from.
    pub provenance: Provenance,
}

/// The row behind each field of merged numbers. Of rows that say the same, the most specific one is
/// named: the route before the upstream before the nearest tenant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Provenance {
    /// The row that the rate comes from, in the words of that row: `600/min` is not turned into `10/s`.
    pub rate: RowId,
    /// The row that the burst comes from.
    pub burst: RowId,
    /// The row that the cost comes from. Where one row counts by request and another by weight, the
    /// merged cost may be that of neither; then it is the row with the larger number of units.
    pub cost: RowId,
}

// === impl Effective ===

impl Effective {
    /// Merges the numbers of rows that are given from the most specific to the least; `None` without
    /// rows.
    ///
    /// ```
    /// use tidegate_core::{Allowance, Bucket, CostRule, Effective, Rate, RowId};
    ///
    /// let allowance = |rate, burst| -> Result<_, tidegate_core::ShapeError> {
    ///     Ok(Allowance { bucket: Bucket::try_new(rate, burst)?, cost: CostRule::default() })
    /// };
    /// let (route, upstream) = (RowId::from_u128(1), RowId::from_u128(2));
    /// let merged = Effective::merge(&[
    ///     (route, allowance(Rate::per_second(100)?, 10)?),
    ///     (upstream, allowance(Rate::per_minute(600)?, 500)?),
    /// ]);
    ///
    /// let merged = merged.ok_or("there are rows")?;
    /// assert_eq!(merged.allowance, allowance(Rate::per_minute(600)?, 10)?);
    /// assert_eq!((merged.provenance.rate, merged.provenance.burst), (upstream, route));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn merge(rows: &[(RowId, Allowance)]) -> Option<Self> {
        let allowance = rows.iter().map(|(_, allowance)| *allowance).reduce(tighten)?;
        let (rate, burst, cost) =
            (allowance.bucket.rate(), allowance.bucket.burst(), allowance.cost);
        let of = |is: &dyn Fn(&Allowance) -> bool| {
            rows.iter().find(|(_, own)| is(own)).map(|(row, _)| *row)
        };
        let provenance = Provenance {
            rate: of(&|own| !rate.is_slower_than(own.bucket.rate()))?,
            burst: of(&|own| own.bucket.burst() == burst)?,
            cost: of(&|own| own.cost == cost)
                .or_else(|| of(&|own| own.cost.factor() == cost.factor()))?,
        };
        Some(Self { allowance, provenance })
    }

    /// Whether even the lightest request costs more than the bucket ever holds, so that all are
    /// refused. Rows that are each sensible can be merged to that: the cost of one, the burst of
    /// another.
    #[must_use]
    pub fn never_passes(&self) -> bool {
        self.allowance.cost.units(Cost::ONE).get() > self.allowance.bucket.burst()
    }
}
