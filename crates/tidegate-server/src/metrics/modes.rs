//! Metrics of failure modes: how policies stand with their store, and what was decided without it.
//!
//! Nothing is counted here: decisions and alarms are counted by the threads, everything else by the
//! engine, where it happens. There are as many series as policies times the names in this program.

use std::fmt;

use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder};
use prometheus_client::metrics::MetricType;
use tidegate_core::failover::contract;
use tidegate_core::{Alarm, Cause, Mode, Standing, StoreError, Verdict};
use tidegate_engine::Record;

use super::collect::{Snapshot, counter};

// === impl Snapshot ===

impl Snapshot {
    /// Encodes all metrics of failure modes.
    pub(super) fn modes(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        self.present_modes(encoder)?;
        self.decisions_by_mode(encoder)?;
        self.alarms(encoder)?;
        self.changes_of_mode(encoder)?;
        self.troubles(encoder)?;
        self.probes(encoder)?;
        contract_info(encoder)
    }

    fn present_modes(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let help = "Whether a policy is in a mode: 1 for the one it is in, 0 for the others";
        let mut metric =
            encoder.encode_descriptor("tidegate_mode", help, None, MetricType::Gauge)?;
        for (policy, standing, _) in self.by_standing() {
            for mode in Mode::ALL {
                let labels = [("policy", policy.as_str()), ("mode", mode.name())];
                metric.encode_family(&labels)?.encode_gauge(&u64::from(mode == standing.mode))?;
            }
        }
        let help = "How often a policy has entered the degraded mode";
        let mut metric = counting(encoder, "tidegate_degraded_epochs", help)?;
        for (policy, standing, _) in self.by_standing() {
            counter(&mut metric, &[("policy", policy)], standing.epoch)?;
        }
        Ok(())
    }

    fn decisions_by_mode(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let help = "Decisions made, by policy, mode and verdict";
        let mut metric = counting(encoder, "tidegate_decisions_by_mode", help)?;
        for (policy, tallies) in self.by_policy() {
            for mode in Mode::ALL {
                for (place, verdict) in Verdict::NAMES.into_iter().enumerate() {
                    let labels = [
                        ("policy", policy.clone()),
                        ("mode", mode.name().into()),
                        ("verdict", verdict.into()),
                    ];
                    let count = tallies.iter().map(|tally| tally.decisions(mode, place)).sum();
                    counter(&mut metric, &labels, count)?;
                }
            }
        }
        // The failure contract demands this name.
        let help = "Requests admitted because the store failed and the policy fails open";
        let mut metric = counting(encoder, "fail_open_admitted", help)?;
        for (policy, _, record) in self.by_standing() {
            counter(&mut metric, &[("policy", policy)], record.fail_open_admitted)?;
        }
        Ok(())
    }

    fn alarms(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let help = "Decisions made under a condition that somebody has to do something about";
        let mut metric = counting(encoder, "tidegate_alarms", help)?;
        for (policy, tallies) in self.by_policy() {
            for alarm in Alarm::ALL {
                let count = tallies.iter().map(|tally| tally.alarms(alarm)).sum();
                let labels = [("policy", policy.clone()), ("alarm", alarm.name().into())];
                counter(&mut metric, &labels, count)?;
            }
        }
        Ok(())
    }

    fn changes_of_mode(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let help = "Changes of a policy's mode, by their cause";
        let mut metric = counting(encoder, "tidegate_mode_changes", help)?;
        for (policy, _, record) in self.by_standing() {
            for (cause, count) in Cause::ALL.into_iter().zip(record.changes) {
                let labels = [("policy", policy.clone()), ("cause", cause.name().into())];
                counter(&mut metric, &labels, count)?;
            }
        }
        Ok(())
    }

    fn troubles(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let help = "Requests and probes that the store has failed, by policy and how";
        let mut metric = counting(encoder, "tidegate_store_failures", help)?;
        for (policy, _, record) in self.by_standing() {
            for (kind, count) in StoreError::NAMES.into_iter().zip(record.failures) {
                let labels = [("policy", policy.clone()), ("kind", kind.into())];
                counter(&mut metric, &labels, count)?;
            }
        }
        let help = "Counters that could not be read and were recreated";
        let mut metric = counting(encoder, "tidegate_counters_recreated", help)?;
        for (policy, _, record) in self.by_standing() {
            counter(&mut metric, &[("policy", policy)], record.recreated)?;
        }
        let help =
            "Requests shed because more came at once than the store can be asked about in time";
        let mut metric = counting(encoder, "tidegate_shed", help)?;
        for (policy, _, record) in self.by_standing() {
            counter(&mut metric, &[("policy", policy)], record.shed)?;
        }
        Ok(())
    }

    fn probes(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let help = "Probes of the store, by policy and outcome";
        let mut metric = counting(encoder, "tidegate_probes", help)?;
        for (policy, _, record) in self.by_standing() {
            for (outcome, count) in [("good", record.good_probes), ("bad", record.bad_probes)] {
                let labels = [("policy", policy.clone()), ("outcome", outcome.into())];
                counter(&mut metric, &labels, count)?;
            }
        }
        Ok(())
    }

    /// The policies in force, each with its standing and its record.
    fn by_standing(&self) -> impl Iterator<Item = (String, &Standing, &Record)> {
        let names = self.by_policy().map(|(name, _)| name);
        names.zip(&self.failover).map(|(name, (standing, record))| (name, standing, record))
    }
}

fn counting<'e>(
    encoder: &'e mut DescriptorEncoder<'_>,
    name: &'e str,
    help: &'e str,
) -> Result<MetricEncoder<'e>, fmt::Error> {
    encoder.encode_descriptor(name, help, None, MetricType::Counter)
}

/// Encodes which version of the failure contract, with its locked numbers, is in this program.
fn contract_info(encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let (name, help) = ("tidegate_failure_contract_info", "The contract of failure, always 1");
    let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
    let version = contract::VERSION.to_string();
    let labels = [
        ("version", version.as_str()),
        ("spec", contract::SPEC_DOC),
        ("hardening", contract::HARDENING),
    ];
    metric.encode_family(&labels)?.encode_gauge(&1_u64)
}
