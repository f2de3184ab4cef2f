//! Tidegate, measured over the whole call as a user makes it.
//!
//! Take the policies in force, pick one by its handle, name the subject, decide, and read the
//! verdict and what is left of the limit that decided.

use std::hint::black_box;
use std::sync::Arc;

use tidegate_core::{Case, Dimension, PolicySet, ShapeKind, Subject};
use tidegate_engine::memory::MemoryStore;
use tidegate_engine::{Engine, SystemClock, ready};

use super::shapes::Shapes;
use super::{BenchNumbers, BenchTally, Contender};
use crate::Fallible;
use crate::policy::policy;
use crate::workload::Stream;

/// An engine whose counters are in the memory of this process.
#[derive(Clone)]
pub(crate) struct Tidegate {
    engine: Arc<Engine<MemoryStore<SystemClock>>>,
    shapes: Shapes,
    view: View,
}

/// How a thread finds the policies in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum View {
    /// The policies are loaded for each request, as a handler does that any thread may run.
    Shared,
    /// The thread keeps the policies and only checks whether they have been swapped.
    Reader,
}

// === impl Tidegate ===

impl Tidegate {
    pub(crate) fn new(shapes: Shapes, numbers: BenchNumbers, keys: u32) -> Fallible<Self> {
        let store = MemoryStore::new(shapes.budget(keys as usize), SystemClock::new());
        let engine = Arc::new(Engine::new(store, policy(shapes.limits(numbers)?)?));
        Ok(Self { engine, shapes, view: View::Shared })
    }

    /// The same engine, for a thread that keeps a view of the policies (`View::Reader`).
    pub(crate) fn with_reader(&self) -> Self {
        Self { view: View::Reader, ..self.clone() }
    }

    /// Number of buckets that have an entry of their own.
    pub(crate) fn buckets_held(&self) -> usize {
        self.engine.store().usage().of(ShapeKind::Bucket)
    }

    /// Decides one request under `policies`; `None` is a failure.
    #[inline]
    fn admits(&self, policies: &PolicySet, subject: &Subject<'_>) -> Option<bool> {
        let mut case = Case::new(&policies.policies()[0], subject);
        let decision = ready(self.engine.decide(&mut case))?.ok()?;
        black_box(decision.binding().map(|binding| binding.reading.remaining));
        Some(decision.is_admitted())
    }
}

impl Contender for Tidegate {
    fn name(&self) -> &'static str {
        match self.view {
            View::Shared => self.shapes.name(),
            View::Reader => "tidegate, policies by a reader",
        }
    }

    fn run(&mut self, stream: &Stream, start: usize, count: usize) -> BenchTally {
        let keys = stream.part(start, count);
        match (self.shapes, self.view) {
            (Shapes::FiveBuckets, _) => BenchTally::of(keys, |key| {
                let subject = Subject::new().org(key).user(key).token(key);
                let subject = subject.with(Dimension::Route, b"/v1/items/{id}").class("read");
                self.admits(&self.engine.policies(), &subject)
            }),
            (_, View::Shared) => BenchTally::of(keys, |key| {
                self.admits(&self.engine.policies(), &Subject::new().org(key))
            }),
            (_, View::Reader) => {
                let mut reader = self.engine.reader();
                BenchTally::of(keys, |key| self.admits(reader.policies(), &Subject::new().org(key)))
            }
        }
    }

    fn shared(&self) -> Option<Box<dyn Contender>> {
        Some(Box::new(self.clone()))
    }
}
