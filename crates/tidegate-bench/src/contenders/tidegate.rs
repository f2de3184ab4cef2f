//! Tidegate: the whole call as a user makes it.
//!
//! Take the policies in force, pick one by its handle, name the subject, decide, and read the
//! verdict and what is left of the limit that decided.

use std::hint::black_box;
use std::sync::Arc;

use tidegate_core::{Cost, Dimension, FailureMode, Name, PolicySet, PolicySpec, Readings, Subject};
use tidegate_engine::memory::MemoryStore;
use tidegate_engine::{Engine, SystemClock, ready};

use super::shapes::Shapes;
use super::{Contender, Numbers, Tally};
use crate::Fallible;
use crate::workload::Stream;

/// An engine on the memory of this process.
#[derive(Clone)]
pub(crate) struct Tidegate {
    engine: Arc<Engine<MemoryStore<SystemClock>>>,
    /// The policy's handle.
    place: usize,
    shapes: Shapes,
}

// === impl Tidegate ===

impl Tidegate {
    pub(crate) fn new(shapes: Shapes, numbers: Numbers, keys: u32) -> Fallible<Self> {
        let spec = PolicySpec::new(Name::try_new("bench")?, FailureMode::FailClosed);
        let spec = shapes.limits(numbers)?.into_iter().fold(spec, PolicySpec::limit);
        let set = PolicySet::builder().policy(spec).build(None)?;
        let place = set.place("bench").ok_or("the policy is missing from its set")?;
        let store = MemoryStore::new(shapes.budget(keys as usize), SystemClock::new());
        Ok(Self { engine: Arc::new(Engine::new(store, set)), place, shapes })
    }

    /// How many buckets have an entry of their own.
    pub(crate) fn buckets_held(&self) -> usize {
        self.engine.store().usage().buckets
    }

    #[inline]
    fn admits(&self, subject: &Subject<'_>) -> Option<bool> {
        let set = self.engine.policies();
        let mut readings = Readings::new();
        let policy = &set.policies()[self.place];
        let deciding = self.engine.decide(policy, subject, Cost::ONE, &mut readings);
        let decision = ready(deciding)?.ok()?;
        black_box(decision.binding().reading.remaining);
        Some(decision.is_admitted())
    }
}

impl Contender for Tidegate {
    fn name(&self) -> &'static str {
        self.shapes.name()
    }

    fn run(&mut self, stream: &Stream, start: usize, count: usize) -> Tally {
        let keys = stream.part(start, count);
        match self.shapes {
            Shapes::FiveBuckets => Tally::of(keys, |key| {
                let subject = Subject::new().org(key).user(key).token(key);
                self.admits(&subject.with(Dimension::Route, b"/v1/items/{id}").class("read"))
            }),
            _ => Tally::of(keys, |key| self.admits(&Subject::new().org(key))),
        }
    }

    fn shared(&self) -> Option<Box<dyn Contender>> {
        Some(Box::new(self.clone()))
    }
}
