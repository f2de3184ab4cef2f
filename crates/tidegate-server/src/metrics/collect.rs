//! All threads' counters, added up for one scrape.

use std::fmt;
use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use tidegate_core::{Mode, Policy, PolicySet, ShapeKind, Standing, Store, Verdict};
use tidegate_engine::StoreHistory;
use tidegate_tower::metrics::{Counter, Families};
use tidegate_tower::serve::{MemoryUse, NotServed};

use super::refusals::HeadRefusal;
use super::tally::{CLASSES, DecideFailure, PolicyTally};
use crate::route::ServerRoute;
use crate::state::ServerState;

/// The metrics of a server, taken as they are when a scrape comes.
pub(crate) struct ServerMetrics<S>(pub(crate) Arc<ServerState<S>>);

/// The policies in force and their numbers, for one scrape.
pub(super) struct Scrape<'s> {
    set: &'s PolicySet,
    /// The counters that every thread has for each policy.
    tallies: Vec<Vec<Arc<PolicyTally>>>,
    /// How each policy stands with its store.
    pub(super) standings: Vec<(&'s str, Standing, StoreHistory)>,
}

// === impl ServerMetrics ===

tidegate_core::debug_as!(ServerMetrics<S>, "Metrics { .. }", S);

impl<S: Store + 'static> Collector for ServerMetrics<S> {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut families = Families::new(encoder);
        let set = self.0.engine.policies().into_arc();
        let scrape = Scrape::of(&self.0, &set);
        scrape.decisions(&mut families)?;
        families
            .blocked(|scope| self.0.tallies.sum(|tally| tally.blocked[scope as usize].get()))?;
        scrape.modes(&mut families)?;
        self.requests(&mut families)?;
        self.connections(&mut families)?;
        self.engine(&mut families)?;
        self.store(&mut families)?;
        let help = "Seconds since the server was started";
        families
            .gauge(("tidegate_uptime_seconds", help), self.0.uptime().as_micros() / 1_000_000)?;
        let help = "Version and store of the running server; always 1";
        let values = [env!("CARGO_PKG_VERSION"), self.0.engine.store().name()];
        families.gauges(("tidegate_build_info", help), ["version", "store"], [(values, 1)])
    }
}

impl<S: Store> ServerMetrics<S> {
    fn requests(&self, families: &mut Families<'_>) -> fmt::Result {
        let tallies = &self.0.tallies;
        let help = "Requests answered, by route and class of status";
        let answers = ServerRoute::ALL.into_iter().flat_map(|route| {
            CLASSES.into_iter().enumerate().map(move |(class, name)| {
                let count = tallies.sum(|tally| tally.answers[route as usize][class].get());
                ([route.template(), name], count)
            })
        });
        // Most combinations never happen, and are left out until they do.
        let answers = answers.filter(|(_, count)| *count > 0);
        families.counters(("tidegate_http_requests", help), ["route", "status"], answers)?;
        let help = "Time from the head of a request to its answer";
        let durations = tallies.iter().map(|tally| &tally.durations);
        families.durations(("tidegate_http_request_duration", help), durations)
    }

    fn connections(&self, families: &mut Families<'_>) -> fmt::Result {
        let (serve, memory) = (&self.0.serve, self.0.serve.memory());
        families.gauge(("tidegate_http_connections", "Open connections"), to_u64(serve.open()))?;
        let help = "Connections closed at once, by reason";
        let refused = NotServed::ALL.map(|reason| ([reason.name()], serve.refused(reason)));
        families.counters(("tidegate_http_connections_refused", help), ["reason"], refused)?;
        let help = "Bytes that connections hold, by what they are held for";
        let used = MemoryUse::ALL.map(|kind| ([kind.name()], to_u64(memory.used(kind))));
        families.gauges(("tidegate_http_memory_bytes", help), ["use"], used)?;
        let help = "Requests refused because connections hold too many bytes, by what for";
        let refused = MemoryUse::ALL.map(|kind| ([kind.name()], memory.refused(kind)));
        families.counters(("tidegate_http_memory_refused", help), ["use"], refused)?;
        let help = "Requests refused for what their heads say, by reason";
        let counts = &self.0.head_refusals;
        let count = |reason| counts[reason as usize].get();
        let refused = HeadRefusal::ALL.map(|reason| ([reason.name()], count(reason)));
        families.counters(("tidegate_http_requests_refused", help), ["reason"], refused)
    }

    fn engine(&self, families: &mut Families<'_>) -> fmt::Result {
        let policies = to_u64(self.0.engine.policies().policies().len());
        families.gauge(("tidegate_policies", "Policies in force"), policies)?;
        let help = "Reloads of the policies, by result";
        let [refused, accepted] = self.0.reloads.each_ref().map(Counter::get);
        let reloads = [(["accepted"], accepted), (["refused"], refused)];
        families.counters(("tidegate_reloads", help), ["result"], reloads)?;
        let help = "Events that no observer was told of";
        families.counter(("tidegate_events_dropped", help), self.0.engine.dropped_events())
    }

    fn store(&self, families: &mut Families<'_>) -> fmt::Result {
        let store = self.0.engine.store();
        if let Some(usage) = store.usage() {
            let help = "Counters in the store that differ from fresh ones, by shape";
            let entries = ShapeKind::ALL.map(|kind| ([kind.name()], to_u64(usage.of(kind))));
            families.gauges(("tidegate_store_entries", help), ["shape"], entries)?;
            let help = "The most memory the store can take";
            families.gauge(("tidegate_store_max_bytes", help), to_u64(usage.max_bytes))?;
        }
        if !S::SHARED {
            return Ok(());
        }
        let changes = store.changes();
        let help = "Servers of the store that began anew or took over; counts may have been lost";
        let counts = [(["restart"], changes.restarts), (["failover"], changes.failovers)];
        let counts = counts.map(|(kind, count)| (kind, count.into()));
        families.counters(("tidegate_store_changes", help), ["kind"], counts)
    }
}

// === impl Scrape ===

impl<'s> Scrape<'s> {
    fn of<S: Store>(shared: &ServerState<S>, set: &'s PolicySet) -> Self {
        let engine = &shared.engine;
        let names = || set.policies().iter().map(Policy::name);
        let standings = names().map(|name| {
            let name = name.as_str();
            let standing = engine.standing(name).unwrap_or(Standing::NORMAL);
            (name, standing, engine.record(name).unwrap_or_default())
        });
        let tallies = names()
            .map(|name| shared.tallies.iter().filter_map(|tally| tally.policy(name)).collect());
        Self { set, tallies: tallies.collect(), standings: standings.collect() }
    }

    fn decisions(&self, families: &mut Families<'_>) -> fmt::Result {
        let help = "Decisions made, by policy and verdict";
        let decisions = self.each(|policy, sum| {
            Verdict::NAMES.into_iter().enumerate().map(move |(place, verdict)| {
                let count = |tally: &PolicyTally| {
                    Mode::ALL.map(|mode| tally.decisions[mode as usize][place].get()).iter().sum()
                };
                ([policy, verdict], sum.of(count))
            })
        });
        families.counters(("tidegate_decisions", help), ["policy", "verdict"], decisions)?;
        let help = "Requests not admitted, by policy and the limit that decided";
        let refusals =
            self.set.policies().iter().zip(&self.tallies).flat_map(|(policy, tallies)| {
                policy.limits().iter().map(|limit| {
                    let names = [policy.name().as_str(), limit.name().as_str()];
                    (names, Sum(tallies).of(|tally| tally.refusals(limit.name())))
                })
            });
        families.counters(("tidegate_refusals", help), ["policy", "limit"], refusals)?;
        let help = "Blocks that attempts have begun, by policy";
        let begun = self.each(|policy, sum| [([policy], sum.of(|tally| tally.begun.get()))]);
        families.counters(("tidegate_blocks_begun", help), ["policy"], begun)?;
        let help = "Requests that could not be decided, by policy and reason";
        let failures = self.each(|policy, sum| {
            DecideFailure::ALL.map(|failure| {
                let count = sum.of(|tally| tally.failures[failure as usize].get());
                ([policy, failure.name()], count)
            })
        });
        families.counters(("tidegate_decide_errors", help), ["policy", "kind"], failures)
    }

    /// The rows that `rows` makes of each policy and the counters of all threads for it.
    pub(super) fn each<'a, R: IntoIterator>(
        &'a self,
        rows: impl Fn(&'s str, Sum<'a>) -> R,
    ) -> impl Iterator<Item = R::Item> {
        let policies = self.standings.iter().zip(&self.tallies);
        policies.flat_map(move |((policy, ..), tallies)| rows(policy, Sum(tallies)))
    }
}

/// The counters that all threads have for one policy.
#[derive(Clone, Copy)]
pub(super) struct Sum<'t>(&'t [Arc<PolicyTally>]);

impl Sum<'_> {
    pub(super) fn of(self, count: impl Fn(&PolicyTally) -> u64) -> u64 {
        self.0.iter().map(|tally| count(tally)).sum()
    }
}

fn to_u64(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}
