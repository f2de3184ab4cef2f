//! The counters, written down for one scrape.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use tidegate_core::PolicySet;

use super::rulings::VERDICTS;
use super::{Enforcement, Inner, Metrics};
use crate::answer::Code;
use crate::metrics::{Counter, Families};
use crate::report::{Audit, RulingStage};

/// The label of values that have none of their own.
pub(super) const OTHER: &str = "other";

/// The collector that a registry asks for these metrics.
pub(super) struct Collected<E> {
    pub(super) metrics: Metrics,
    pub(super) of: E,
}

// === impl Collected ===

tidegate_core::debug_as!(Collected<E>, "Collected { .. }", E);

impl<E: Enforcement> Collector for Collected<E> {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let (mut families, policies) = (Families::new(encoder), self.of.policies());
        self.metrics.0.write(&mut families)?;
        self.metrics.0.quotas(&mut families, &policies)?;
        let standings = policies.policies().iter().map(|policy| {
            let name = policy.name().as_str();
            let (standing, record) = self.of.standing(name);
            (name, standing, record)
        });
        families.standings(&standings.collect::<Vec<_>>())?;
        self.of.audit().map_or(Ok(()), |audit| written(&mut families, audit))
    }
}

// === impl Inner ===

impl Inner {
    fn write(&self, families: &mut Families<'_>) -> fmt::Result {
        let help = "Requests past a limit, by what it counts by and by endpoint class";
        let exceeded = self.exceeded.counts();
        // Operators of an interface know this name, and `limiter_blocked` too.
        families.counters(("rate_limit_exceeded", help), ["scope", "endpoint_class"], exceeded)?;
        families.blocked(|scope| self.blocked[scope as usize].get())?;
        let help = "Requests ruled on, by stage and verdict";
        let rulings = RulingStage::ALL.into_iter().flat_map(|stage| {
            VERDICTS.into_iter().enumerate().map(move |(place, verdict)| {
                let count = |rulings: &super::Rulings| rulings.counts[stage as usize][place].get();
                ([stage.name(), verdict], self.rulings.sum(count))
            })
        });
        families.counters(("tidegate_http_rulings", help), ["stage", "verdict"], rulings)?;
        let help = "Requests refused, by the code they were answered with";
        let refusals = self.refusals.iter().map(Counter::get);
        let refusals = Code::OF_LAYERS.iter().zip(refusals).map(|(code, n)| ([code.name()], n));
        families.counters(("tidegate_http_refusals", help), ["code"], refusals)?;
        let durations = self.rulings.iter().map(|rulings| &rulings.durations);
        families.durations(("tidegate_decision_duration", "Time that decisions took"), durations)
    }

    fn quotas(&self, families: &mut Families<'_>, policies: &PolicySet) -> fmt::Result {
        let help = "What an organisation has left of a quota; of all others, the least";
        let left = self.quotas.left(policies);
        families.gauges(("tidegate_quota_remaining", help), ["org_id", "policy", "limit"], left)
    }
}

fn written(families: &mut Families<'_>, audit: &Audit) -> fmt::Result {
    let help = "How often the audit could not be written; it is kept and tried again";
    families.counter(("tidegate_audit_failures", help), audit.failures())?;
    let help = "Records of the audit that wait to be written";
    let waiting = u64::try_from(audit.waiting()).unwrap_or(u64::MAX);
    families.gauge(("tidegate_audit_records_waiting", help), waiting)
}
