//! Families of metrics, written for one scrape.

use std::fmt;

use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Unit;
use tidegate_core::{BlockScope, Mode, Standing};
use tidegate_engine::StoreHistory;

use super::counter::{BOUNDS, Histogram};

/// Writes families of metrics, one after another. Without labels, a family has one series.
pub struct Families<'e>(DescriptorEncoder<'e>);

// === impl Families ===

impl<'e> Families<'e> {
    /// Begins to write what a collector was asked for.
    #[must_use]
    pub const fn new(encoder: DescriptorEncoder<'e>) -> Self {
        Self(encoder)
    }

    /// Writes counters, each with the values of its labels. The text format adds `_total` to the name.
    ///
    /// # Errors
    ///
    /// If the text cannot be written.
    pub fn counters<const N: usize>(
        &mut self,
        about: (&str, &str),
        labels: [&'static str; N],
        rows: impl IntoIterator<Item = ([impl AsRef<str>; N], u64)>,
    ) -> fmt::Result {
        self.rows(about, MetricType::Counter, labels, rows)
    }

    /// Writes gauges, each with the values of its labels.
    ///
    /// # Errors
    ///
    /// If the text cannot be written.
    pub fn gauges<const N: usize>(
        &mut self,
        about: (&str, &str),
        labels: [&'static str; N],
        rows: impl IntoIterator<Item = ([impl AsRef<str>; N], u64)>,
    ) -> fmt::Result {
        self.rows(about, MetricType::Gauge, labels, rows)
    }

    fn rows<const N: usize>(
        &mut self,
        (name, help): (&str, &str),
        kind: MetricType,
        labels: [&'static str; N],
        rows: impl IntoIterator<Item = ([impl AsRef<str>; N], u64)>,
    ) -> fmt::Result {
        let mut metric = self.0.encode_descriptor(name, help, None, kind)?;
        let write = |metric: &mut MetricEncoder<'_>, value: u64| match kind {
            MetricType::Counter => metric.encode_counter::<NoLabelSet, u64, u64>(&value, None),
            _ => metric.encode_gauge(&value),
        };
        for (values, value) in rows {
            let pairs: [_; N] = std::array::from_fn(|at| (labels[at], values[at].as_ref()));
            match N {
                0 => write(&mut metric, value)?,
                _ => write(&mut metric.encode_family(&pairs)?, value)?,
            }
        }
        Ok(())
    }

    /// Writes a counter without labels.
    ///
    /// # Errors
    ///
    /// If the text cannot be written.
    pub fn counter(&mut self, about: (&str, &str), count: u64) -> fmt::Result {
        self.counters(about, [], [([""; 0], count)])
    }

    /// Writes a gauge without labels.
    ///
    /// # Errors
    ///
    /// If the text cannot be written.
    pub fn gauge(&mut self, about: (&str, &str), value: u64) -> fmt::Result {
        self.gauges(about, [], [([""; 0], value)])
    }

    /// Writes how many requests blocks of each scope kept out, under the name that those who watch for abuse
    /// know.
    ///
    /// # Errors
    ///
    /// If the text cannot be written.
    pub fn blocked(&mut self, count: impl Fn(BlockScope) -> u64) -> fmt::Result {
        let help = "Requests that a block kept out, by its scope";
        let rows = BlockScope::ALL.map(|scope| ([scope.name()], count(scope)));
        self.counters(("limiter_blocked", help), ["scope"], rows)
    }

    /// Writes the durations of all histograms together, in seconds.
    ///
    /// # Errors
    ///
    /// If the text cannot be written.
    pub fn durations<'h>(
        &mut self,
        (name, help): (&str, &str),
        histograms: impl Iterator<Item = &'h Histogram>,
    ) -> fmt::Result {
        let unit = Some(&Unit::Seconds);
        let mut metric = self.0.encode_descriptor(name, help, unit, MetricType::Histogram)?;
        let all = Histogram::default();
        histograms.for_each(|one| all.merge(one));
        let (counts, sum) = all.counts();
        let bounds = BOUNDS.into_iter().map(seconds).chain([f64::INFINITY]);
        let buckets: Vec<_> = bounds.zip(counts).collect();
        metric.encode_histogram::<NoLabelSet>(seconds(sum), counts.iter().sum(), &buckets, None)
    }

    /// Writes what the engine knows of each policy and its store and every door shows: the mode, and
    /// what was admitted, recreated and shed.
    ///
    /// # Errors
    ///
    /// If the text cannot be written.
    pub fn standings(&mut self, policies: &[(&str, Standing, StoreHistory)]) -> fmt::Result {
        let help = "Whether a policy is in a mode: 1 for the one it is in, 0 for the others";
        let modes = policies.iter().flat_map(|(policy, standing, _)| {
            Mode::ALL.map(|mode| ([*policy, mode.name()], u64::from(mode == standing.mode)))
        });
        self.gauges(("tidegate_mode", help), ["policy", "mode"], modes)?;
        let each = |count: fn(&StoreHistory) -> u64| {
            policies.iter().map(move |(policy, _, record)| ([*policy], count(record)))
        };
        // The failure contract demands this name.
        let help = "Requests admitted because the store failed and the policy fails open";
        let admitted = each(|record| record.fail_open_admitted);
        self.counters(("fail_open_admitted", help), ["policy"], admitted)?;
        let help = "Counters that could not be read and were recreated";
        let recreated = each(|record| record.recreated);
        self.counters(("tidegate_counters_recreated", help), ["policy"], recreated)?;
        let help =
            "Requests shed because more came at once than the store can be asked about in time";
        self.counters(("tidegate_shed", help), ["policy"], each(|record| record.shed))
    }
}

tidegate_core::debug_as!(Families<'_>, "Families { .. }");

/// Microseconds as seconds, the unit of Prometheus.
#[expect(clippy::float_arithmetic, clippy::cast_precision_loss, reason = "metrics are floats")]
fn seconds(micros: u64) -> f64 {
    micros as f64 / 1e6
}
