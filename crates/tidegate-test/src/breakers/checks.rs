//! What must hold in every run: the checks know the events of a run and nothing of how they came about.

use std::collections::{BTreeMap, VecDeque};

use tidegate_core::{
    Accord, AccordState, Agreed, BreakerSignal, BreakerState, FleetStep, Holder, Lease, Motion,
};

/// What the checks remember of a run.
#[derive(Debug, Default)]
pub(super) struct BreakerChecks {
    /// The record as the fleet last showed it.
    record: Option<Accord>,
    /// When the record got which generation, in real time, oldest first. Of those that are older than
    /// [`ADOPTED_WITHIN`] only the latest is kept.
    history: VecDeque<(u64, u64)>,
    /// The state of every node, put together from what it has reported.
    states: BTreeMap<usize, BreakerState>,
    /// The probes that the upstream is busy with: their ends in real time, whether they were agreed on, and
    /// their nodes.
    probes: Vec<(u64, bool, usize)>,
    /// Whether two agreed probes at once would be a mistake. Setting the clock of a fleet, losing its memory
    /// or forcing a breaker makes it forgivable.
    pub(super) is_forgiving: bool,
}

/// How soon a node that reaches the fleet knows of a change, in microseconds.
const ADOPTED_WITHIN: u64 = 1_000_000;

impl BreakerChecks {
    /// A node has begun anew. The upstream does not notice that a probe has lost its node; but the new
    /// process may make one of its own.
    pub(super) fn start(&mut self, node: usize) {
        self.states.insert(node, BreakerState::Closed);
        self.probes.retain(|(_, is_agreed, of)| *is_agreed || *of != node);
    }

    /// The fleet has lost its memory.
    pub(super) fn lose(&mut self) {
        self.record = None;
        self.history.clear();
        self.is_forgiving = true;
    }

    /// G2, G4: the fleet has answered a step. One lease at a time; a change is a generation; a lease ends by
    /// its time, by its holder or by an operator.
    pub(super) fn agreed(
        &mut self,
        step: &FleetStep,
        agreed: &Agreed,
        now: u64,
    ) -> Result<(), String> {
        let Agreed { accord, at, .. } = *agreed;
        let before = self.record.replace(accord).unwrap_or(Accord::FRESH);
        if accord == before {
            return Ok(());
        }
        self.history.push_back((now, accord.generation));
        let is_same_lease = accord.generation == before.generation
            && lease(&accord).map(|it| it.holder) == lease(&before).map(|it| it.holder);
        if accord.generation <= before.generation && !is_same_lease {
            return Err(format!("G4: {step:?} makes {accord:?} of {before:?}"));
        }
        let Some(Lease { holder, .. }) = before.lease(at).filter(|_| !is_same_lease) else {
            return Ok(());
        };
        match step.motion {
            Motion::Report { holder: by, .. } if (by, step.seen) == (holder, before.generation) => {
                Ok(())
            }
            Motion::Force(_) => Ok(()),
            // An operator lifts what he knows of, and the fleet has lost.
            Motion::Lift if step.seen > before.generation && self.is_forgiving => Ok(()),
            _ => Err(format!("G2: {step:?} takes the lease of {before:?} away at {at:?}")),
        }
    }

    /// A node that has reached the fleet since `reached`, with every message, knows of every change within a
    /// second.
    pub(super) fn adopted(
        &mut self,
        node: usize,
        known: u64,
        reached: u64,
        now: u64,
    ) -> Result<(), String> {
        let Some(then) = now.checked_sub(ADOPTED_WITHIN) else { return Ok(()) };
        while self.history.get(1).is_some_and(|(at, _)| *at <= then) {
            self.history.pop_front();
        }
        match self.history.front() {
            Some((at, generation)) if *at <= then && reached <= then && known < *generation => {
                Err(format!("node {node} knows {known} at {now}; it was {generation} at {at}"))
            }
            _ => Ok(()),
        }
    }

    /// P79: a node has reported; its reports alone tell its state.
    pub(super) fn told(
        &mut self,
        node: usize,
        signals: &[BreakerSignal],
        state: BreakerState,
    ) -> Result<(), String> {
        let known = self.states.entry(node).or_insert(BreakerState::Closed);
        for signal in signals {
            if let BreakerSignal::Changed(change) = signal {
                if change.from != *known || change.from == change.to {
                    return Err(format!("P79: {change:?} while node {node} is {known:?}"));
                }
                *known = change.to;
            }
        }
        if *known == state {
            Ok(())
        } else {
            Err(format!("P79: node {node} is {state:?}, its reports say {known:?}"))
        }
    }

    /// G1: a call begins on a node.
    pub(super) fn calls(&self, node: usize) -> Result<(), String> {
        match self.states.get(&node) {
            Some(BreakerState::Closed | BreakerState::ForcedClosed) => Ok(()),
            state => Err(format!("G1: node {node} calls while it is {state:?}")),
        }
    }

    /// G2: a probe begins on a node at `now`, and will have ended at `end`, in real time.
    pub(super) fn probes(
        &mut self,
        node: usize,
        holder: Option<Holder>,
        (now, end): (u64, u64),
    ) -> Result<(), String> {
        if self.states.get(&node) != Some(&BreakerState::HalfOpen) {
            return Err(format!("G1: node {node} probes while it is {:?}", self.states.get(&node)));
        }
        self.probes.retain(|(end, _, _)| *end > now);
        let is_agreed = holder.is_some();
        let is_twin = |(_, agreed, of): &&(u64, bool, usize)| match is_agreed {
            true => *agreed && !self.is_forgiving,
            false => !*agreed && *of == node,
        };
        if let Some((end, _, other)) = self.probes.iter().find(is_twin) {
            return Err(format!("G2: node {node} probes at {now}, node {other} until {end}"));
        }
        self.probes.push((end, is_agreed, node));
        Ok(())
    }

    /// G3: all is well for long enough, so everybody has closed, and knows the same.
    pub(super) fn closed(&self, nodes: &[(BreakerState, u64)]) -> Result<(), String> {
        let generation = self.record.map_or(0, |record| record.generation);
        for (node, (state, known)) in nodes.iter().enumerate() {
            if *state != BreakerState::Closed {
                return Err(format!(
                    "G3: node {node} is {state:?}; the record is {:?}",
                    self.record
                ));
            }
            if self.record.is_some() && *known < generation {
                return Err(format!("node {node} knows {known} of {:?}", self.record));
            }
        }
        Ok(())
    }
}

fn lease(accord: &Accord) -> Option<Lease> {
    match accord.state {
        AccordState::HalfOpen { lease, .. } => lease,
        _ => None,
    }
}
