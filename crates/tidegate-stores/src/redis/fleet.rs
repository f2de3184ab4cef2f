//! A fleet in Redis or Valkey: where the nodes of many processes agree on the state of their breakers.
//!
//! A step is one call of one script, which reads the clock of the server, finds the record, applies the
//! core's rule to it and keeps the result. Its answer is the record that it found and the one that it
//! left; the core's own rule is applied to the first and has to come to the second, so a mistake in
//! either is an error and no second lease.
//!
//! Everything lies in two keys of one hash tag, so that a cluster keeps them in one slot and a script is
//! given all keys that it touches: a hash with all records, and a sorted set with the order of their
//! changes. A record that says "closed" is forgotten an hour after its last change, two with each step;
//! when all records are closed, both keys have a time to live of an hour. Otherwise they have none: a
//! breaker that is open or forced must not be forgotten. So the number of records is bounded, and a step
//! that would need one more fails with [`FleetError::Full`].
//!
//! The numbers of changes are times of the server, so a server that lost its latest writes, or all of
//! them, hands out none twice: nodes hear of everything that follows.

mod reply;

use core::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;

use tidegate_core::{
    Agreed, CallOutcome, Changed, Cursor, FLEET_DEADLINE, Fleet, FleetError, FleetStep, Forced,
    Holder, MAX_CHANGED, MAX_EXACT, Motion, Span, StoreError, is_fleet_name,
};

use super::args::Nonce;
use super::runner::{RunScript, Runner};
use super::scripts::Script;
use super::servers::{Garbled, Servers};
use super::trouble::Trouble;
use super::url::{Target, TargetError};

/// The keys of a fleet: all records, and the order of their changes.
const KEYS: [&str; 2] = ["tg:{fleet}:records", "tg:{fleet}:changes"];

/// The most records that a fleet keeps, unless its node is told otherwise: about 30 MB on the server.
const PLACES: u64 = 100_000;

/// A fleet that agrees in Redis or Valkey.
#[derive(Clone, Debug)]
pub struct RedisFleet {
    joined: Arc<Joined>,
    /// The most records that are kept.
    places: u64,
}

/// What all handles of a fleet share.
#[derive(Debug)]
struct Joined {
    runner: Runner,
    agree: Script,
    changes: Script,
    /// The longest that a call may take.
    deadline: Span,
    calls: AtomicU32,
}

// === impl RedisFleet ===

impl RedisFleet {
    /// A fleet on these servers. It connects to nothing until that is needed. A call takes at most
    /// [`FLEET_DEADLINE`], or the timeout of the target where that is shorter.
    ///
    /// # Errors
    ///
    /// If a certificate that the target names cannot be read.
    pub fn new(target: Target) -> Result<Self, TargetError> {
        Self::within(target, FLEET_DEADLINE)
    }

    /// A fleet whose calls may take longer, for tests on machines that are busy with other things.
    ///
    /// # Errors
    ///
    /// If a certificate that the target names cannot be read.
    #[doc(hidden)]
    pub fn within(target: Target, deadline: Span) -> Result<Self, TargetError> {
        Ok(Self::run_by(Runner::Servers(Servers::new(target)?), deadline))
    }

    /// A fleet whose scripts are run by `run` instead of a server, for tests: with the same texts, keys
    /// and argument.
    #[doc(hidden)]
    #[must_use]
    pub fn scripted(run: RunScript) -> Self {
        Self::run_by(Runner::Scripted { grouped: false, run }, FLEET_DEADLINE)
    }

    fn run_by(runner: Runner, deadline: Span) -> Self {
        let agree = Script::new(include_str!("lua/fleet_agree.lua"));
        let changes = Script::new(include_str!("lua/fleet_changes.lua"));
        let calls = AtomicU32::new(0);
        Self {
            joined: Arc::new(Joined { runner, agree, changes, deadline, calls }),
            places: PLACES,
        }
    }

    /// The same fleet with another bound of its records, at least one. Every node goes by its own bound.
    #[must_use]
    pub fn keeping(self, places: u64) -> Self {
        Self { places: places.clamp(1, MAX_EXACT), ..self }
    }

    /// Connects and checks whether the servers can be worked with, at start-up.
    ///
    /// # Errors
    ///
    /// Why the servers cannot be worked with, in words. [`Trouble::is_refusal`] tells trouble that an
    /// operator has to mend from trouble that may pass by itself.
    pub async fn check(&self) -> Result<(), Trouble> {
        match self.joined.runner.servers() {
            Some(servers) => servers.check().await,
            None => Ok(()),
        }
    }

    /// Why the last failed call failed, in words for an operator and without secrets.
    #[must_use]
    pub fn trouble(&self) -> Option<Arc<Trouble>> {
        self.joined.runner.servers()?.trouble()
    }
}

impl Fleet for RedisFleet {
    fn name(&self) -> &'static str {
        "redis"
    }

    async fn agree(&self, name: &str, step: FleetStep) -> Result<Agreed, FleetError> {
        if !is_fleet_name(name) || step.seen > MAX_EXACT {
            return Err(FleetError::Refused);
        }
        let nonce = self.joined.nonce();
        let arg = agree_arg(nonce, name, step, self.places);
        let read = |bytes: &[u8]| reply::agreed(bytes, nonce, &step);
        self.joined.call(&self.joined.agree, &arg, read).await
    }

    async fn changed_since(&self, cursor: Cursor) -> Result<Changed, FleetError> {
        let nonce = self.joined.nonce();
        let most = u64::try_from(MAX_CHANGED).unwrap_or(u64::MAX);
        let words = [cursor.life, cursor.change, most].map(u64::to_le_bytes);
        let arg = [&nonce[..], words.as_flattened()].concat();
        self.joined.call(&self.joined.changes, &arg, |bytes| reply::changed(bytes, nonce)).await
    }
}

// === impl Joined ===

impl Joined {
    /// The bytes that come back with the answer: different for calls that can be under way together.
    fn nonce(&self) -> Nonce {
        self.calls.fetch_add(1, Ordering::Relaxed).to_le_bytes()
    }

    async fn call<T>(
        &self,
        script: &Script,
        arg: &[u8],
        read: impl FnOnce(&[u8]) -> Result<Result<T, FleetError>, Garbled>,
    ) -> Result<T, FleetError> {
        let call = self.runner.call(script, &KEYS, arg, read);
        self.runner.in_time(self.deadline, call).await.map_err(|error| error_of(&error))?
    }
}

/// What the error of a call means to a breaker.
const fn error_of(error: &StoreError) -> FleetError {
    match error {
        StoreError::Timeout => FleetError::Timeout,
        StoreError::Refused => FleetError::Refused,
        // The others are about counters, or about calls that were never sent.
        StoreError::Unavailable
        | StoreError::Contended
        | StoreError::Corrupt { .. }
        | StoreError::Version { .. }
        | StoreError::Stale { .. } => FleetError::Unavailable,
    }
}

/// The argument of one step: the nonce, what is wanted and by whom, the numbers, and the name.
fn agree_arg(nonce: Nonce, name: &str, step: FleetStep, places: u64) -> Vec<u8> {
    let none = (Holder { node: 0, number: 0 }, Span::ZERO, b'-', 0);
    let (letter, (holder, lease, outcome, successes), window) = match step.motion {
        Motion::Trip { window } => (b't', none, window),
        Motion::Lease { holder, lease, window } => (b'a', (holder, lease, b'-', 0), window),
        Motion::Report { holder, outcome, window, successes } => {
            let outcome = match outcome {
                CallOutcome::Success => b's',
                CallOutcome::Failure => b'f',
                CallOutcome::Neutral => b'n',
            };
            (b'r', (holder, Span::ZERO, outcome, successes), window)
        }
        Motion::Force(Forced::Open) => (b'O', none, Span::ZERO),
        Motion::Force(Forced::Closed) => (b'C', none, Span::ZERO),
        Motion::Lift => (b'u', none, Span::ZERO),
    };
    let mut arg = Vec::with_capacity(62 + name.len());
    arg.extend(nonce);
    arg.push(letter);
    for word in [step.seen, holder.node, holder.number, exact(lease), exact(window)] {
        arg.extend(word.to_le_bytes());
    }
    arg.push(outcome);
    arg.extend(u64::from(successes).to_le_bytes());
    arg.extend(places.to_le_bytes());
    arg.extend(name.as_bytes());
    arg
}

/// A span that Lua can count with. Nothing ends later than at the largest time there is.
fn exact(span: Span) -> u64 {
    span.as_micros().min(MAX_EXACT)
}
