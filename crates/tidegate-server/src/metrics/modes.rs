//! Metrics of failure modes: how policies stand with their store, and what was decided without it.
//!
//! Nothing is counted here: decisions and alarms are counted by the threads, everything else by the
//! engine, where it happens. There are as many series as policies times the names in this program.

use std::fmt;

use tidegate_core::failover::contract;
use tidegate_core::{Alarm, Cause, Mode, StoreError, Verdict};
use tidegate_engine::StoreHistory;
use tidegate_tower::metrics::Families;

use super::collect::Scrape;

// === impl Scrape ===

impl Scrape<'_> {
    /// Encodes all metrics of failure modes.
    pub(super) fn modes(&self, families: &mut Families<'_>) -> fmt::Result {
        families.standings(&self.standings)?;
        let help = "How often a policy has entered the degraded mode";
        let epochs = self.standings.iter().map(|(name, standing, _)| ([*name], standing.epoch));
        families.counters(("tidegate_degraded_epochs", help), ["policy"], epochs)?;
        self.decided(families)?;
        let help = "Changes of a policy's mode, by their cause";
        let changes =
            self.recorded(|record| Cause::ALL.map(Cause::name).into_iter().zip(record.changes));
        families.counters(("tidegate_mode_changes", help), ["policy", "cause"], changes)?;
        let help = "Requests and probes that the store has failed, by policy and how";
        let failures = self.recorded(|record| StoreError::NAMES.into_iter().zip(record.failures));
        families.counters(("tidegate_store_failures", help), ["policy", "kind"], failures)?;
        let help = "Probes of the store, by policy and outcome";
        let probes =
            self.recorded(|record| [("good", record.good_probes), ("bad", record.bad_probes)]);
        families.counters(("tidegate_probes", help), ["policy", "outcome"], probes)?;
        // The version of the failure contract, with its locked numbers, that is in this program.
        let version = contract::VERSION.to_string();
        let values = [version.as_str(), contract::SPEC_DOC, contract::HARDENING];
        let about = ("tidegate_failure_contract_info", "The contract of failure, always 1");
        families.gauges(about, ["version", "spec", "hardening"], [(values, 1)])
    }

    fn decided(&self, families: &mut Families<'_>) -> fmt::Result {
        let help = "Decisions made, by policy, mode and verdict";
        let decisions = self.each(|policy, sum| {
            Mode::ALL.into_iter().flat_map(move |mode| {
                Verdict::NAMES.into_iter().enumerate().map(move |(place, verdict)| {
                    let count = sum.of(|tally| tally.decisions[mode as usize][place].get());
                    ([policy, mode.name(), verdict], count)
                })
            })
        });
        let labels = ["policy", "mode", "verdict"];
        families.counters(("tidegate_decisions_by_mode", help), labels, decisions)?;
        let help = "Decisions made under a condition that somebody has to do something about";
        let alarms = self.each(|policy, sum| {
            Alarm::ALL.map(|alarm| {
                ([policy, alarm.name()], sum.of(|tally| tally.alarms[alarm as usize].get()))
            })
        });
        families.counters(("tidegate_alarms", help), ["policy", "alarm"], alarms)
    }

    /// The rows of counts that the engine has recorded for each policy, by name.
    fn recorded<R: IntoIterator<Item = (&'static str, u64)>>(
        &self,
        counts: impl Fn(&StoreHistory) -> R,
    ) -> impl Iterator<Item = ([&str; 2], u64)> {
        self.standings.iter().flat_map(move |(policy, _, record)| {
            counts(record).into_iter().map(|(name, count)| ([*policy, name], count))
        })
    }
}
