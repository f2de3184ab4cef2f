//! One request on its way through: who asks, what is charged for it, and what the limits said.
//!
//! Everything a decision needs to remember is in one place that the caller keeps, on its stack or
//! wherever it likes. Nothing is allocated, and nothing large is handed around by value: that alone
//! costs more than the arithmetic.

use crate::charge::{Batch, Readings};
use crate::cost::Cost;
use crate::subject::Subject;

/// One request to be decided.
///
/// ```
/// use tidegate_core::{Case, Cost, Subject};
///
/// let subject = Subject::new().org("acme").user("u7");
/// let upload = Case::new(&subject).weighing(Cost::try_new(5)?);
/// assert_eq!(upload.weight().get(), 5);
/// # Ok::<(), tidegate_core::CostError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Case<'a> {
    weight: Cost,
    batch: Batch<'a>,
    readings: Readings,
}

// === impl Case ===

impl<'a> Case<'a> {
    /// A request of this subject, with the weight of one.
    #[must_use]
    #[inline]
    pub fn new(subject: &'a Subject<'a>) -> Self {
        Self { weight: Cost::ONE, batch: Batch::new(subject), readings: Readings::new() }
    }

    /// Sets what the request weighs. A limit may count weight or requests, as its
    /// [`CostRule`](crate::CostRule) says.
    #[must_use]
    #[inline]
    pub const fn weighing(mut self, weight: Cost) -> Self {
        self.weight = weight;
        self
    }

    /// What the request weighs.
    #[must_use]
    #[inline]
    pub const fn weight(&self) -> Cost {
        self.weight
    }

    /// What is charged: empty until a policy has resolved the case.
    #[must_use]
    #[inline]
    pub const fn batch(&self) -> &Batch<'a> {
        &self.batch
    }

    /// What the limits said: empty until a store has answered.
    #[must_use]
    #[inline]
    pub const fn readings(&self) -> &Readings {
        &self.readings
    }

    /// What to send to a store, and where it puts the answer.
    #[inline]
    pub const fn ask(&mut self) -> (&Batch<'a>, &mut Readings) {
        (&self.batch, &mut self.readings)
    }

    #[inline]
    pub(crate) const fn batch_mut(&mut self) -> &mut Batch<'a> {
        &mut self.batch
    }
}
