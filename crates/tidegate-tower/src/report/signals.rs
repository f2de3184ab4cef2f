//! What the log says about policies and their store: every change, once, at the severity it has.
//!
//! Policies and limits are named; keys, subjects and the words of a store are not. A gate logs this by
//! itself if its host has named no observer
//! ([`Engine::signalled_to`](tidegate_engine::Engine::signalled_to)).

use tidegate_core::{Mode, Name, Severity, Signal};
use tidegate_engine::Event;
use tracing::{error, info, warn};

/// The `tracing` target of all events about failure modes.
pub const TARGET: &str = "tidegate::failover";

/// Logs how policies stand with their store, counters that were made anew, requests that were shed, and
/// signals that were too many to be kept, but no other events. An
/// [`Observer`](tidegate_engine::Observer) for
/// [`Engine::signalled_to`](tidegate_engine::Engine::signalled_to).
pub fn log(event: &Event) {
    match event {
        Event::Failover { policy, signal } => log_signal(policy, signal),
        Event::Recreated { policy, limit } => error!(
            target: TARGET, %policy, %limit, severity = Severity::Critical.name(),
            "a counter could not be read and was recreated: its counts are lost"
        ),
        Event::Overloaded { policy, shed } => warn!(
            target: TARGET, %policy, shed, severity = Severity::Warning.name(),
            "more requests at once than the store can be asked about in time; the rest are answered \
             with 503"
        ),
        Event::Coalesced { count } => error!(
            target: TARGET, count,
            "signals were dropped; see `/v1/policies` for the modes"
        ),
        // These are logged with more detail where they are done or noticed.
        Event::Decided { .. }
        | Event::Blocked { .. }
        | Event::Amended { .. }
        | Event::StoreFailed { .. }
        | Event::Failed { .. }
        | Event::Settled { .. }
        | Event::StoreChanged { .. }
        | Event::Reloaded { .. }
        | Event::ReloadRefused { .. } => {}
    }
}

fn log_signal(policy: &Name, signal: &Signal) {
    let (from, to, epoch) = match *signal {
        Signal::Changed(change) => (change.from.name(), change.to.name(), change.epoch),
        Signal::Suspected { mode, .. } => (Mode::Normal.name(), mode.name(), 0),
        Signal::Cleared { .. } => ("", Mode::Normal.name(), 0),
        Signal::Prolonged { epoch, .. } => (Mode::Degraded.name(), Mode::Degraded.name(), epoch),
        Signal::Reopened { epoch, .. } => (Mode::FailClosed.name(), Mode::Degraded.name(), epoch),
        Signal::Refused { .. } => ("", "", 0),
    };
    let (cause, text, severity) = (signal.name(), in_words(signal), signal.severity().name());
    match signal.severity() {
        Severity::Critical => {
            error!(target: TARGET, %policy, from, to, cause, epoch, severity, "{text}");
        }
        Severity::Warning => {
            warn!(target: TARGET, %policy, from, to, cause, epoch, severity, "{text}");
        }
        Severity::Info => {
            info!(target: TARGET, %policy, from, to, cause, epoch, severity, "{text}");
        }
    }
}

const fn in_words(signal: &Signal) -> &'static str {
    use tidegate_core::Cause::{
        BackoffOver, BackoffOverUnhealthy, Flapped, Proven, Recovered, Tripped,
    };
    match signal {
        Signal::Suspected { .. } => "the store has failed a request; it is probed from now on",
        Signal::Cleared { .. } => "the store has answered again before it failed too often",
        Signal::Prolonged { .. } => "the node still decides by itself: the store does not get well",
        Signal::Reopened { .. } => {
            "closed for half an hour and the store is still unhealthy: the caps of one-time passwords \
             apply now"
        }
        Signal::Refused { .. } => "the store rejects our requests: fix its permissions or settings",
        Signal::Changed(change) => match change.cause {
            Proven => "the store has answered for the first time, and decides",
            Tripped => {
                "the store is not asked any more: the node decides by itself, for five minutes at least"
            }
            Recovered => "the store has been healthy for long enough, and decides again",
            Flapped => "the store has failed too often: nothing passes for ten minutes",
            BackoffOver => "ten minutes are over and the store is healthy: it decides again",
            BackoffOverUnhealthy => {
                "ten minutes are over and the store is not healthy: the node decides by itself"
            }
        },
    }
}
