//! The counters, written down for one scrape.

use std::fmt;
use std::sync::atomic::Ordering::Relaxed;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Unit;
use tidegate_core::{BlockScope, Mode, PolicySet};

use super::stripes::{BOUNDS, VERDICTS};
use super::{Enforcement, Inner, Metrics};
use crate::answer::Code;
use crate::report::{Audit, Stage};

/// The label of values that have none of their own.
pub(super) const OTHER: &str = "other";

/// The collector that a registry asks for these metrics.
pub(super) struct Collected<E> {
    pub(super) metrics: Metrics,
    pub(super) of: E,
}

// === impl Collected ===

impl<E> fmt::Debug for Collected<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Collected").finish_non_exhaustive()
    }
}

impl<E: Enforcement> Collector for Collected<E> {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let (inner, policies) = (&*self.metrics.0, self.of.policies());
        inner.exceeded(&mut encoder)?;
        inner.blocked(&mut encoder)?;
        inner.rulings(&mut encoder)?;
        inner.refusals(&mut encoder)?;
        inner.durations(&mut encoder)?;
        inner.quotas(&mut encoder, &policies)?;
        modes(&mut encoder, &policies, &self.of)?;
        records(&mut encoder, &policies, &self.of)?;
        self.of.audit().map_or(Ok(()), |audit| written(&mut encoder, audit))
    }
}

// === impl Inner ===

impl Inner {
    fn exceeded(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let help = "Requests past a limit, by what it counts by and by endpoint class";
        // Operators of an interface know this name, and `limiter_blocked` too.
        let mut metric = counters(encoder, "rate_limit_exceeded", help)?;
        for (scope, class, count) in self.exceeded.counts() {
            counter(&mut metric, &[("scope", &scope), ("endpoint_class", &class)], count)?;
        }
        Ok(())
    }

    fn blocked(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let help = "Requests that a block kept out, by its scope";
        let mut metric = counters(encoder, "limiter_blocked", help)?;
        for scope in BlockScope::ALL {
            let count = self.blocked[scope as usize].load(Relaxed);
            counter(&mut metric, &[("scope", scope.name())], count)?;
        }
        Ok(())
    }

    fn rulings(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let help = "Requests ruled on, by stage and verdict";
        let mut metric = counters(encoder, "tidegate_http_rulings", help)?;
        for stage in Stage::ALL {
            for (place, verdict) in VERDICTS.into_iter().enumerate() {
                let count = self.stripes.rulings(stage, place);
                counter(&mut metric, &[("stage", stage.name()), ("verdict", verdict)], count)?;
            }
        }
        Ok(())
    }

    fn refusals(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let help = "Requests refused, by the code they were answered with";
        let mut metric = counters(encoder, "tidegate_http_refusals", help)?;
        for code in Code::ALL {
            let count = self.refusals[code as usize].load(Relaxed);
            counter(&mut metric, &[("code", code.name())], count)?;
        }
        Ok(())
    }

    fn durations(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let mut metric = encoder.encode_descriptor(
            "tidegate_decision_duration",
            "Time that decisions took",
            Some(&Unit::Seconds),
            MetricType::Histogram,
        )?;
        let counts = self.stripes.durations();
        let bounds = BOUNDS.into_iter().map(seconds).chain([f64::INFINITY]);
        let buckets: Vec<_> = bounds.zip(counts).collect();
        let sum = seconds(self.stripes.duration_sum());
        metric.encode_histogram::<NoLabelSet>(sum, counts.iter().sum(), &buckets, None)
    }

    fn quotas(&self, encoder: &mut DescriptorEncoder<'_>, policies: &PolicySet) -> fmt::Result {
        let help = "What an organisation has left of a quota; of all others, the least";
        let name = "tidegate_quota_remaining";
        let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for left in self.quotas.left(policies) {
            let (policy, limit) = (left.policy.as_str(), left.limit.as_str());
            let labels = [("org_id", &*left.org), ("policy", policy), ("limit", limit)];
            metric.encode_family(&labels)?.encode_gauge(&left.remaining)?;
        }
        Ok(())
    }
}

// === the pieces ===

fn modes(
    encoder: &mut DescriptorEncoder<'_>,
    policies: &PolicySet,
    of: &impl Enforcement,
) -> fmt::Result {
    let help = "Whether a policy is in a mode: 1 for the one it is in, 0 for the others";
    let mut metric = encoder.encode_descriptor("tidegate_mode", help, None, MetricType::Gauge)?;
    for policy in policies.policies() {
        let name = policy.name().as_str();
        let present = of.standing(name).mode;
        for mode in Mode::ALL {
            let labels = [("policy", name), ("mode", mode.name())];
            metric.encode_family(&labels)?.encode_gauge(&u64::from(mode == present))?;
        }
    }
    Ok(())
}

/// Writes what the engine has counted for each policy, under the names that the server uses too.
fn records(
    encoder: &mut DescriptorEncoder<'_>,
    policies: &PolicySet,
    of: &impl Enforcement,
) -> fmt::Result {
    let names = || policies.policies().iter().map(|policy| policy.name().as_str());
    let help = "Requests admitted because the store failed and the policy fails open";
    let mut metric = counters(encoder, "fail_open_admitted", help)?;
    for policy in names() {
        counter(&mut metric, &[("policy", policy)], of.record(policy).fail_open_admitted)?;
    }
    let help = "Counters that could not be read and were recreated";
    let mut metric = counters(encoder, "tidegate_counters_recreated", help)?;
    for policy in names() {
        counter(&mut metric, &[("policy", policy)], of.record(policy).recreated)?;
    }
    let help = "Requests shed because more came at once than the store can be asked about in time";
    let mut metric = counters(encoder, "tidegate_shed", help)?;
    for policy in names() {
        counter(&mut metric, &[("policy", policy)], of.record(policy).shed)?;
    }
    Ok(())
}

fn written(encoder: &mut DescriptorEncoder<'_>, audit: &Audit) -> fmt::Result {
    let help = "How often the audit could not be written; it is kept and tried again";
    let mut metric = counters(encoder, "tidegate_audit_failures", help)?;
    metric.encode_counter::<NoLabelSet, u64, u64>(&audit.failures(), None)?;
    let help = "Records of the audit that wait to be written";
    let name = "tidegate_audit_records_waiting";
    let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
    metric.encode_gauge(&u64::try_from(audit.waiting()).unwrap_or(u64::MAX))
}

fn counters<'e>(
    encoder: &'e mut DescriptorEncoder<'_>,
    name: &'e str,
    help: &str,
) -> Result<MetricEncoder<'e>, fmt::Error> {
    encoder.encode_descriptor(name, help, None, MetricType::Counter)
}

fn counter<const N: usize>(
    metric: &mut MetricEncoder<'_>,
    labels: &[(&'static str, &str); N],
    count: u64,
) -> fmt::Result {
    metric.encode_family(labels)?.encode_counter::<NoLabelSet, u64, u64>(&count, None)
}

/// Microseconds as seconds, which is what Prometheus counts in.
#[expect(clippy::float_arithmetic, clippy::cast_precision_loss, reason = "metrics are floats")]
fn seconds(micros: u64) -> f64 {
    micros as f64 / 1e6
}
