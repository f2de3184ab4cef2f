//! All threads' counters, added up for one scrape.

use std::fmt;
use std::sync::Arc;

use arc_swap::Guard;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};
use tidegate_core::{BlockScope, Changes, Kind, Mode, PolicySet, Standing, Store, Usage, Verdict};
use tidegate_engine::Record;

use super::refusals::HeadRefusal;
use super::tally::{BOUNDS, CLASSES, Failure, PolicyTally, Tally};
use tidegate_tower::serve::{Refused, Serve, Use};

use crate::route::Route;
use crate::state::Shared;

/// The numbers of one scrape of `/metrics`.
pub(crate) struct Snapshot {
    tallies: Vec<Arc<Tally>>,
    policies: Arc<PolicySet>,
    serve: Serve,
    usage: Option<Usage>,
    /// The standing and the record of each policy with its store, in the order of `policies`.
    pub(super) failover: Vec<(Standing, Record)>,
    /// Restarts and failovers of the servers of a shared store; `None` if the store is not shared.
    changes: Option<Changes>,
    store: &'static str,
    reloads: [(&'static str, u64); 2],
    dropped_events: u64,
    /// Requests refused for their heads, in the order of [`HeadRefusal::ALL`].
    pub(super) head_refusals: [u64; HeadRefusal::ALL.len()],
    /// Seconds since the server was bound.
    uptime: u64,
}

// === impl Snapshot ===

impl Snapshot {
    /// Takes all numbers as they are now.
    pub(crate) fn of<S: Store + 'static>(shared: &Shared<S>) -> Self {
        let engine = &shared.engine;
        let policies = Guard::into_inner(engine.policies());
        let failover = policies.policies().iter().map(|policy| {
            let name = policy.name().as_str();
            (
                engine.standing(name).unwrap_or(Standing::NORMAL),
                engine.record(name).unwrap_or_default(),
            )
        });
        Self {
            failover: failover.collect(),
            tallies: shared.tallies(),
            policies,
            serve: shared.serve.clone(),
            usage: engine.store().usage(),
            changes: S::SHARED.then(|| engine.store().changes()),
            store: engine.store().name(),
            reloads: [("accepted", shared.reloads(true)), ("refused", shared.reloads(false))],
            dropped_events: engine.dropped_events(),
            head_refusals: shared.head_refusals.counts(),
            uptime: shared.uptime().as_micros() / 1_000_000,
        }
    }

    /// The metrics as `OpenMetrics` text.
    pub(crate) fn encode(self) -> Result<String, fmt::Error> {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(self));
        let mut text = String::with_capacity(16 << 10);
        prometheus_client::encoding::text::encode(&mut text, &registry)?;
        Ok(text)
    }

    fn decisions(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let mut metric = encoder.encode_descriptor(
            "tidegate_decisions",
            "Decisions made, by policy and verdict",
            None,
            MetricType::Counter,
        )?;
        for (policy, tallies) in self.by_policy() {
            for (place, verdict) in Verdict::NAMES.into_iter().enumerate() {
                let by_mode = |tally: &Arc<PolicyTally>| {
                    Mode::ALL.map(|mode| tally.decisions(mode, place)).iter().sum::<u64>()
                };
                let count = tallies.iter().map(by_mode).sum();
                counter(
                    &mut metric,
                    &[("policy", policy.clone()), ("verdict", verdict.into())],
                    count,
                )?;
            }
        }
        Ok(())
    }

    fn refusals(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let mut metric = encoder.encode_descriptor(
            "tidegate_refusals",
            "Requests not admitted, by policy and the limit that decided",
            None,
            MetricType::Counter,
        )?;
        for (policy, (name, tallies)) in self.policies.policies().iter().zip(self.by_policy()) {
            for limit in policy.limits() {
                let count = tallies.iter().map(|tally| tally.refusals(limit.name())).sum();
                let labels = [("policy", name.clone()), ("limit", limit.name().to_string())];
                counter(&mut metric, &labels, count)?;
            }
        }
        Ok(())
    }

    fn blocks(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        // The name that those who watch for abuse know.
        let mut metric = encoder.encode_descriptor(
            "limiter_blocked",
            "Requests that a block kept out, by its scope",
            None,
            MetricType::Counter,
        )?;
        for scope in BlockScope::ALL {
            let count = self.tallies.iter().map(|tally| tally.blocked(scope)).sum();
            counter(&mut metric, &[("scope", scope.name().to_owned())], count)?;
        }
        let mut metric = encoder.encode_descriptor(
            "tidegate_blocks_begun",
            "Blocks that attempts have begun, by policy",
            None,
            MetricType::Counter,
        )?;
        for (policy, tallies) in self.by_policy() {
            let count = tallies.iter().map(|tally| tally.begun()).sum();
            counter(&mut metric, &[("policy", policy)], count)?;
        }
        Ok(())
    }

    fn failures(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let mut metric = encoder.encode_descriptor(
            "tidegate_decide_errors",
            "Requests that could not be decided, by policy and reason",
            None,
            MetricType::Counter,
        )?;
        for (policy, tallies) in self.by_policy() {
            for failure in Failure::ALL {
                let count = tallies.iter().map(|tally| tally.failures(failure)).sum();
                let labels = [("policy", policy.clone()), ("kind", failure.name().into())];
                counter(&mut metric, &labels, count)?;
            }
        }
        Ok(())
    }

    fn requests(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let mut metric = encoder.encode_descriptor(
            "tidegate_http_requests",
            "Requests answered, by route and class of status",
            None,
            MetricType::Counter,
        )?;
        for route in Route::ALL {
            for (class, name) in CLASSES.into_iter().enumerate() {
                let count = self.tallies.iter().map(|tally| tally.answers(route, class)).sum();
                // Most combinations never happen, and are left out until they do.
                if count > 0 {
                    let labels = [("route", route.template().into()), ("status", name.into())];
                    counter(&mut metric, &labels, count)?;
                }
            }
        }
        Ok(())
    }

    fn durations(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let mut metric = encoder.encode_descriptor(
            "tidegate_http_request_duration",
            "Time from the head of a request to its answer",
            Some(&Unit::Seconds),
            MetricType::Histogram,
        )?;
        let mut counts = [0; BOUNDS.len() + 1];
        for tally in &self.tallies {
            for (sum, count) in counts.iter_mut().zip(tally.durations()) {
                *sum += count;
            }
        }
        let bounds = BOUNDS.into_iter().map(seconds).chain([f64::INFINITY]);
        let buckets: Vec<_> = bounds.zip(counts).collect();
        let sum = self.tallies.iter().map(|tally| tally.duration_sum()).sum();
        metric.encode_histogram::<NoLabelSet>(seconds(sum), counts.iter().sum(), &buckets, None)
    }

    fn connections(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let open = to_u64(self.serve.open());
        gauge(encoder, "tidegate_http_connections", "Open connections", open)?;
        let mut metric = encoder.encode_descriptor(
            "tidegate_http_connections_refused",
            "Connections closed at once, by reason",
            None,
            MetricType::Counter,
        )?;
        for reason in Refused::ALL {
            let labels = [("reason", reason.name().to_owned())];
            counter(&mut metric, &labels, self.serve.refused(reason))?;
        }
        self.memory(encoder)
    }

    fn memory(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let memory = self.serve.memory();
        let label = |kind: Use| [("use", kind.name().to_owned())];
        let mut metric = encoder.encode_descriptor(
            "tidegate_http_memory_bytes",
            "Bytes that connections hold, by what they are held for",
            None,
            MetricType::Gauge,
        )?;
        for kind in Use::ALL {
            metric.encode_family(&label(kind))?.encode_gauge(&to_u64(memory.used(kind)))?;
        }
        let mut metric = encoder.encode_descriptor(
            "tidegate_http_memory_refused",
            "Requests refused because connections hold too many bytes, by what for",
            None,
            MetricType::Counter,
        )?;
        for kind in Use::ALL {
            counter(&mut metric, &label(kind), memory.refused(kind))?;
        }
        Ok(())
    }

    fn engine(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let policies = to_u64(self.policies.policies().len());
        gauge(encoder, "tidegate_policies", "Policies in force", policies)?;
        let mut metric = encoder.encode_descriptor(
            "tidegate_reloads",
            "Reloads of the policies, by result",
            None,
            MetricType::Counter,
        )?;
        for (result, count) in self.reloads {
            counter(&mut metric, &[("result", result.to_owned())], count)?;
        }
        let help = "Events that no observer was told of";
        let mut metric = encoder.encode_descriptor(
            "tidegate_events_dropped",
            help,
            None,
            MetricType::Counter,
        )?;
        metric.encode_counter::<NoLabelSet, u64, u64>(&self.dropped_events, None)
    }

    fn store(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let Some(usage) = &self.usage else { return Ok(()) };
        let mut metric = encoder.encode_descriptor(
            "tidegate_store_entries",
            "Counters in the store that differ from fresh ones, by shape",
            None,
            MetricType::Gauge,
        )?;
        for kind in Kind::ALL {
            let entries = to_u64(usage.of(kind));
            metric.encode_family(&[("shape", kind.name())])?.encode_gauge(&entries)?;
        }
        let help = "The most memory the store can take";
        gauge(encoder, "tidegate_store_max_bytes", help, to_u64(usage.max_bytes))
    }

    fn changes(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let Some(changes) = self.changes else { return Ok(()) };
        let mut metric = encoder.encode_descriptor(
            "tidegate_store_changes",
            "Servers of the store that began anew or took over; counts may have been lost",
            None,
            MetricType::Counter,
        )?;
        let kinds = [("restart", changes.restarts), ("failover", changes.failovers)];
        for (kind, count) in kinds {
            counter(&mut metric, &[("kind", kind.to_owned())], count.into())?;
        }
        Ok(())
    }

    fn process(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let help = "Seconds since the server was started";
        gauge(encoder, "tidegate_uptime_seconds", help, self.uptime)?;
        let help = "Version and store of the running server; always 1";
        let mut metric =
            encoder.encode_descriptor("tidegate_build_info", help, None, MetricType::Gauge)?;
        let labels = [("version", env!("CARGO_PKG_VERSION")), ("store", self.store)];
        metric.encode_family(&labels)?.encode_gauge(&1_u64)
    }

    /// The policies in force, each with the counters that every thread has for it.
    pub(super) fn by_policy(&self) -> impl Iterator<Item = (String, Vec<Arc<PolicyTally>>)> {
        self.policies.policies().iter().map(|policy| {
            let tallies = self.tallies.iter().filter_map(|tally| tally.policy(policy.name()));
            (policy.name().to_string(), tallies.collect())
        })
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot").finish_non_exhaustive()
    }
}

impl Collector for Snapshot {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        self.decisions(&mut encoder)?;
        self.refusals(&mut encoder)?;
        self.blocks(&mut encoder)?;
        self.failures(&mut encoder)?;
        self.modes(&mut encoder)?;
        self.requests(&mut encoder)?;
        self.durations(&mut encoder)?;
        self.connections(&mut encoder)?;
        self.head_refusals(&mut encoder)?;
        self.engine(&mut encoder)?;
        self.store(&mut encoder)?;
        self.changes(&mut encoder)?;
        self.process(&mut encoder)
    }
}

// === the pieces ===

pub(super) fn counter<const N: usize>(
    metric: &mut MetricEncoder<'_>,
    labels: &[(&'static str, String); N],
    count: u64,
) -> fmt::Result {
    metric.encode_family(labels)?.encode_counter::<NoLabelSet, u64, u64>(&count, None)
}

fn gauge(encoder: &mut DescriptorEncoder<'_>, name: &str, help: &str, value: u64) -> fmt::Result {
    let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
    metric.encode_gauge(&value)
}

fn to_u64(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

/// Converts microseconds to seconds, the unit of Prometheus.
#[expect(clippy::float_arithmetic, clippy::cast_precision_loss, reason = "metrics are floats")]
fn seconds(micros: u64) -> f64 {
    micros as f64 / 1e6
}
