//! The probe of one policy, as data: a charge of every limit it has, on counters that nobody else uses.
//!
//! A store may answer a question of its own and still refuse every charge: for want of a right to one
//! command or one family of keys, because it may be read and not written, because one server of several
//! is gone. So a probe asks no question of its own. It is a charge like that of a request, of all limits
//! at once, and a store runs it with whatever it runs for a charge.
//!
//! Two things differ. The keys are spelled so that no subject can have them
//! ([`KeyNames`](crate::KeyNames)), one for each node, so that nobody's count depends on a probe. And the
//! numbers are small: every shape keeps its form, with room for many probes and with spans of a few
//! seconds, so that nothing outlasts [`Trial::OUTLASTS`].

use crate::charge::{Batch, Charge};
use crate::limit::Limit;
use crate::name::Name;
use crate::policy::Policy;
use crate::shape::{Bucket, Counts, Period, Quota, Rate, Shape, Window};
use crate::subject::{Scope, Subject};
use crate::time::{Span, Timestamp};

/// A probe: the charges with which one node tests the store of one policy.
#[derive(Clone, Debug)]
pub struct Trial {
    limits: Vec<Limit>,
    subject: Subject<'static>,
    deadline: Span,
}

// === impl Trial ===

impl Trial {
    /// The longest a store may keep anything of a probe.
    pub const OUTLASTS: Span = Span::from_secs(10);

    /// The probe of `policy` by the node with this number. Calendar periods are those around `now`, by
    /// the clock of the node: a store whose clock differs asks for others, as it does for a request.
    #[must_use]
    pub fn new(policy: &Policy, node: u64, now: Timestamp) -> Self {
        Self {
            limits: match policy.is_stance() {
                true => samples(policy, node, now),
                false => policy.limits().iter().map(|limit| limit.on_trial(node, now)).collect(),
            },
            subject: Subject::new(),
            deadline: policy.deadline(),
        }
    }

    /// The batch to send to the store: one charge for each limit of the policy, in its order, or of each
    /// shape of a row if the policy is a [stance](crate::PolicySpec::stance), within the
    /// deadline of the policy. Limits that exempt some subjects or need optional facts are included.
    #[must_use]
    pub fn batch(&self) -> Batch<'_> {
        let mut batch = Batch::new(&self.subject, None, self.deadline);
        self.limits.iter().for_each(|limit| batch.push(Charge::of_trial(limit)));
        batch
    }
}

/// A limit of each shape that a row can have, in place of the limits of a policy without any.
fn samples(policy: &Policy, node: u64, now: Timestamp) -> Vec<Limit> {
    let bucket = Rate::per_second(1).and_then(|rate| Bucket::try_new(rate, 1)).map(Shape::Bucket);
    let exact = Window::try_new(1, Span::SECOND, Counts::Admitted).map(Shape::Window);
    let counted = Window::try_new(1_000, Span::SECOND, Counts::Admitted).map(Shape::Window);
    let quota = Quota::try_new(1, Period::Fixed(Span::SECOND), Counts::Admitted).map(Shape::Quota);
    let shapes = [("bucket", bucket), ("exact", exact), ("counted", counted), ("quota", quota)];
    // All of these are names and shapes; a test checks that.
    let samples = shapes.into_iter().filter_map(|(name, shape)| {
        let limit = Limit::new(Name::try_new(name).ok()?, Scope::GLOBAL, shape.ok()?);
        Some(limit.owned_by(policy.name().as_str()).on_trial(node, now))
    });
    samples.collect()
}

#[cfg(test)]
mod tests;
