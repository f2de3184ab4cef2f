//! One node: an engine on the simulated store, with a clock of its own.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use tidegate_core::{
    Account, Case, Digests, Level, Name, Page, Signal, Span, Standing, Subject, Timestamp,
};
use tidegate_engine::{DecideError, Engine, Event};

use super::hub::{EPOCH, Hub, NodeClock};
use super::policies;
use super::rng::mix;
use super::step::{Client, OperatorVerb};
use super::store::SimStore;
use super::trace::{RequestAnswer, SimClient, What};

/// A node: its engine, its clock and the policies in force on it.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) engine: Arc<Engine<SimStore>>,
    pub(super) number: u8,
    /// How far the node's clock is ahead of the trace.
    ahead: u64,
    /// The policies in force, one bit each.
    pub(super) in_force: u32,
    /// When the engine is due to be polled, if that is known: `Some(None)` means never.
    pub(super) due: Option<Option<u64>>,
}

/// Number of tickets that are kept. How long they may be settled does not matter in the simulation.
pub(super) const TICKETS: usize = 64;

// === impl Node ===

impl Node {
    /// Starts a node; `lives` is the number of restarts so far in the simulation.
    pub(super) fn start(hub: &Arc<Hub>, number: u8, lives: u32, keys: u64) -> Self {
        // Clocks of nodes differ from each other, and from those before a restart.
        let ahead = EPOCH + mix(u64::from(number) << 32 | u64::from(lives)) % 1_000_000_000_000;
        let clock = NodeClock { hub: Arc::clone(hub), ahead };
        let digests = Digests::new([mix(keys), mix(keys ^ 1)]);
        let told = Arc::clone(hub);
        let engine =
            Engine::with_digests(SimStore(Arc::clone(hub)), policies::set(policies::ALL), digests)
                .timed_by(Arc::new(clock))
                .told_at_once(Arc::new(move |event: &Event| observe(&told, number, ahead, event)));
        hub.record(number, 0, What::Started);
        Self { engine: Arc::new(engine), number, ahead, in_force: policies::ALL, due: None }
    }

    /// The time of this node's clock at the trace time `at`.
    pub(super) const fn time(&self, at: u64) -> Timestamp {
        Timestamp::from_micros(self.ahead + at)
    }

    /// When the engine is due to be polled next, in the time of the trace.
    pub(super) fn next_poll(&mut self) -> Option<u64> {
        let (engine, ahead) = (&self.engine, self.ahead);
        *self.due.get_or_insert_with(|| engine.next_poll().map(|at| on_trace(at, ahead)))
    }

    /// How a policy stands, with its times in the time of the trace.
    pub(super) fn standing(&self, policy: &str) -> Option<Standing> {
        let mut standing = self.engine.standing(policy)?;
        let at = |since| Timestamp::from_micros(on_trace(since, self.ahead));
        standing.degraded_since = standing.degraded_since.map(at);
        Some(standing)
    }
}

/// Runs one request to its end, and returns a ticket if it gets one.
pub(super) async fn request(
    hub: Arc<Hub>,
    node: (u8, Arc<Engine<SimStore>>),
    policy: u8,
    ask: (u32, Client, bool),
) -> Option<String> {
    let (number, engine) = node;
    let (request, client, peek) = ask;
    let policies = Arc::clone(&engine.policies());
    let found = policies.get(policies::NAMES[usize::from(policy)])?;
    let name = client.account.map(|account| format!("user{account}"));
    let account = name.as_deref().map(Account::new);
    let agent = client.agent.map(|agent| [b'a', agent]);
    let subject = subject(account.as_ref(), agent.as_ref(), &client, request);
    hub.record(number, policy, What::Asked { request, who: who(&client), counted: !peek });
    let mut case = match found.is_stance() {
        true => Case::over(found, hub.rows(), &subject),
        false => Case::new(found, &subject),
    };
    let decided = match peek {
        true => engine.peek(&mut case).await,
        false => engine.decide(&mut case).await,
    };
    match decided {
        Ok(decision) => {
            let answer = RequestAnswer::of(&decision);
            hub.record(number, policy, What::Decided { request, answer });
            let ticket = engine.ticket(&decision).filter(|_| answer.admitted && !peek);
            ticket.map(|ticket| ticket.as_str().to_owned())
        }
        Err(DecideError::Overloaded) => {
            hub.record(number, policy, What::Shed { request });
            None
        }
        // No limit of the policy applies to what is known of this client.
        Err(_) => {
            hub.record(number, policy, What::Gone { request });
            None
        }
    }
}

/// Runs an operator's request to its end. Its result is ignored: it depends on how the store was
/// made to fail.
pub(super) async fn operate(
    node: Arc<Engine<SimStore>>,
    policy: u8,
    client: Client,
    verb: OperatorVerb,
) -> Option<String> {
    let policies = Arc::clone(&node.policies());
    let found = policies.get(policies::NAMES[usize::from(policy)])?;
    let name = client.account.map(|account| format!("user{account}"));
    let account = name.as_deref().map(Account::new);
    let agent = client.agent.map(|agent| [b'a', agent]);
    let subject = subject(account.as_ref(), agent.as_ref(), &client, 0);
    let mut case = Case::new(found, &subject);
    let page = Page { after: None, at_most: 100 };
    match verb {
        OperatorVerb::Block(lasts, high) => {
            let by = if client.account.is_some() { "account" } else { "prefix" };
            let limit = format!("{}-{by}", found.name());
            let level = high.then_some(Level::L4);
            let _ = node.block(&mut case, Some(&limit), Span::from_micros(lasts), level).await;
        }
        OperatorVerb::Unblock => drop(node.unblock(&mut case, None).await),
        OperatorVerb::Reset => drop(node.reset(&mut case, None).await),
        OperatorVerb::List => drop(node.blocks(page).await),
        OperatorVerb::Lift => {
            let listed = node.blocks(page).await.ok()?;
            let _ = node.unblock_listed(&listed.list.first()?.key).await;
        }
    }
    None
}

/// The subject of a client, from texts that the caller keeps.
fn subject<'a>(
    account: Option<&'a Account<'a>>,
    agent: Option<&'a [u8; 2]>,
    client: &Client,
    request: u32,
) -> Subject<'a> {
    let mut subject = Subject::new();
    if let Some(account) = account {
        subject = subject.account(account);
    }
    if let Some(agent) = agent {
        subject = subject.agent(agent);
    }
    if let Some(prefix) = client.prefix {
        subject = subject.ip(address(prefix, request));
    }
    if client.vouched {
        subject = subject.device("device");
    }
    subject
}

/// An address in a prefix. Those in an IPv6 prefix differ with every request.
fn address(prefix: u32, request: u32) -> IpAddr {
    if prefix.is_multiple_of(2) {
        return IpAddr::V4(Ipv4Addr::from(0x0A00_0000 + prefix));
    }
    // Each prefix is in a site of its own.
    let high = 0x2001_u128 << 112 | u128::from(prefix) << 80;
    IpAddr::V6(Ipv6Addr::from(high | u128::from(mix(u64::from(request)))))
}

const fn wide(number: Option<u32>) -> Option<u64> {
    match number {
        Some(number) => Some(number as u64),
        None => None,
    }
}

fn who(client: &Client) -> SimClient {
    let agent = client.agent.map(u64::from);
    SimClient { account: wide(client.account), prefix: wide(client.prefix), agent }
}

/// Records what observers are told.
fn observe(hub: &Hub, node: u8, ahead: u64, event: &Event) {
    let Some((policy, what)) = What::of(event) else { return };
    let place = |name: &Name| {
        let place = policies::NAMES.iter().position(|known| *known == name.as_str());
        place.and_then(|place| u8::try_from(place).ok()).unwrap_or(u8::MAX)
    };
    let what = match what {
        What::Told(signal) => What::Told(translated(signal, ahead)),
        what => what,
    };
    hub.record(node, policy.map_or(0, place), what);
}

/// The same signal with its times in the time of the trace.
fn translated(signal: Signal, ahead: u64) -> Signal {
    let on = |at: Timestamp| Timestamp::from_micros(on_trace(at, ahead));
    match signal {
        Signal::Suspected { mode, at } => Signal::Suspected { mode, at: on(at) },
        Signal::Cleared { at } => Signal::Cleared { at: on(at) },
        Signal::Changed(mut transition) => {
            transition.at = on(transition.at);
            Signal::Changed(transition)
        }
        Signal::Prolonged { since, epoch, at } => {
            Signal::Prolonged { since: on(since), epoch, at: on(at) }
        }
        Signal::Reopened { since, epoch, at } => {
            Signal::Reopened { since: on(since), epoch, at: on(at) }
        }
        Signal::Refused { at } => Signal::Refused { at: on(at) },
    }
}

const fn on_trace(at: Timestamp, ahead: u64) -> u64 {
    at.as_micros().saturating_sub(ahead)
}
