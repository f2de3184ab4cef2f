//! The judge: what every store and every rule of Tidegate is held to.
//!
//! A test that repeats the code it tests agrees with its mistakes. So the expectation is written
//! down twice more here, in other ways: as a slow [`model`] that knows the definitions and no
//! tricks, and as the [`vectors`] that say in data what the documents mean. [`trace`] makes up
//! policies and steps that nobody would think of, [`drive`] runs them through any [`Store`], and
//! [`plain`] is the smallest store there is: the pure rules of the core around a map. [`stub`] is a
//! store that waits and fails as a test says, and records its calls; a [`page`] collects the log of
//! a program under test. What tests find out about faults is written into a [`document`].
//!
//! Shared stores are judged on real [`servers`] that are killed, stopped and restarted, and behind
//! a [`proxy`] that breaks the wire in between. Metrics are parsed strictly by [`openmetrics`].
//! Listeners are sent the requests of [`smuggling`], which no client library would write.
//!
//! Nothing here reads a clock. Only the harness waits: for other processes, and never without a
//! bound. A failure prints the trace that led to it.
//!
//! [`Store`]: tidegate_core::Store
#![allow(
    clippy::panic,
    clippy::expect_used,
    reason = "the judge: what it cannot read or build is a failed test, and says so by panicking"
)]

pub mod breakers;
pub mod document;
pub mod drive;
pub mod fleet;
pub mod lua;
pub mod model;
pub mod openmetrics;
pub mod page;
pub mod plain;
pub mod proxy;
pub mod servers;
pub mod sim;
pub mod smuggling;
pub mod stub;
pub mod trace;
pub mod twelve;
pub mod vectors;

use core::future::Future;
use core::pin::pin;
use core::task::{Context, Poll, Waker};

use tidegate_core::Store;
use tidegate_engine::Engine;

/// Makes the probes that are due by the engine's clock, and returns their number.
///
/// # Panics
///
/// If the store makes a probe wait.
pub fn probe<S: Store>(engine: &Engine<S>) -> usize {
    let due = engine.poll(engine.now());
    let probes = due.len();
    due.into_iter().for_each(|probe| ready(engine.probe(probe)));
    probes
}

/// The output of a future that is ready at once, such as that of a store without I/O.
///
/// # Panics
///
/// If the future is not ready: its store would have to be run under an executor.
pub fn ready<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("a store without I/O answers at once; this one wants to wait"),
    }
}
