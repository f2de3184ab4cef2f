//! The limits in force during a trace: those of a policy, or rows.

use std::collections::BTreeMap;
use std::sync::Arc;

use tidegate_core::{
    Bundle, Case, Cost, FailureMode, Limit, Name, PolicySet, PolicySpec, Protects, RowId,
    ShapeKind, Subject,
};

use super::START;
use super::plan::{LimitPlan, PolicyPlan};

/// The limits in force at one moment of a trace.
pub(super) enum LimitsInForce {
    Policy(PolicySet),
    Rows {
        stance: PolicySet,
        bundle: Bundle,
        /// All rows there have been, because one that is deleted may be created again.
        known: BTreeMap<RowId, Arc<Limit>>,
    },
}

// === impl LimitsInForce ===

impl LimitsInForce {
    pub(super) fn of(plan: &PolicyPlan, rows: bool) -> Self {
        if !rows {
            return Self::Policy(plan.build(None));
        }
        let name = Name::try_new("stance").expect("it is a name");
        let stance = PolicySpec::stance(name, FailureMode::Degraded)
            .protecting(Protects::Outbound)
            .deadline(*PolicySpec::DEADLINES.end());
        let stance = PolicySet::builder().policy(stance).build(None).expect("a stance is valid");
        let mut known = BTreeMap::new();
        let bundle = bundle(plan, &mut known);
        Self::Rows { stance, bundle, known }
    }

    pub(super) fn replaced_by(self, plan: &PolicyPlan) -> Self {
        match self {
            Self::Policy(set) => Self::Policy(plan.build(Some(&set))),
            Self::Rows { stance, mut known, .. } => {
                let bundle = bundle(plan, &mut known);
                Self::Rows { stance, bundle, known }
            }
        }
    }

    pub(super) fn case<'c>(&'c self, subject: &'c Subject<'c>, weight: Cost) -> Case<'c> {
        let case = match self {
            Self::Policy(set) => Case::new(&set.policies()[0], subject),
            Self::Rows { stance, bundle, .. } => Case::over(&stance.policies()[0], bundle, subject),
        };
        case.weighing(weight)
    }
}

/// The rows of a plan, each of which succeeds its former self if there was one.
fn bundle(plan: &PolicyPlan, known: &mut BTreeMap<RowId, Arc<Limit>>) -> Bundle {
    let rows = plan.limits.iter().map(|limit| {
        let (id, limit) = row(limit);
        // The beginning of the trace: so nothing is forgotten, as little as the model forgets.
        let limit = match known.get(&id) {
            Some(earlier) => limit.replacing(earlier, START).expect("it is the same row"),
            None => limit,
        };
        let limit = Arc::new(limit);
        known.insert(id, Arc::clone(&limit));
        limit
    });
    Bundle::try_new(rows.collect()).expect("plans have few limits, with different names")
}

/// The row of a plan. A row keeps its kind of shape, so another kind is another row.
fn row(plan: &LimitPlan) -> (RowId, Limit) {
    let limit = plan.build();
    let kind = ShapeKind::ALL.iter().position(|kind| *kind == limit.shape().kind());
    let id = u128::from(plan.name) << 8 | kind.unwrap_or_default() as u128;
    let id = RowId::from_u128(id);
    let row = limit.as_row(id, &"trace".into()).expect("a row has no overrides and is no log");
    (id, row)
}
