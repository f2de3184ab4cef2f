//! Callers that ask as fast as they are answered, each one request at a time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use super::asker::Asker;
use super::workload::BenchSubject;
use crate::Fallible;
use crate::workload::Random;

/// How many requests the callers make.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CallLoad {
    /// Every request once.
    Each,
    /// This many requests by each caller, chosen at random.
    Count(u64),
    /// Requests chosen at random, for this long.
    For(Duration),
}

/// The requests that were made, and how long they took.
pub(crate) struct CallsDone {
    pub(crate) asked: u64,
    /// Latency of each request; empty if it is not known.
    pub(crate) latencies: Vec<Duration>,
    pub(crate) wall: Duration,
}

/// The order in which one caller makes its requests.
struct Order {
    load: CallLoad,
    /// The index of this caller among `callers`.
    place: usize,
    callers: usize,
    asked: usize,
    random: Random,
}

/// Lets all callers ask until the load is done. A request that fails, or is answered other than it
/// has to be, ends the run with an error: failures are quick, and must not count.
pub(crate) async fn run(
    callers: &[Asker],
    requests: &Arc<[BenchSubject]>,
    load: CallLoad,
) -> Fallible<CallsDone> {
    let start = Instant::now();
    let mut tasks = JoinSet::new();
    for (place, caller) in callers.iter().enumerate() {
        let order = Order::new(load, place, callers.len());
        tasks.spawn(one(caller.clone(), Arc::clone(requests), order, start));
    }
    let mut latencies = Vec::new();
    while let Some(task) = tasks.join_next().await {
        latencies.extend(task??);
    }
    let wall = start.elapsed();
    Ok(CallsDone { asked: latencies.len() as u64, wall, latencies })
}

async fn one(
    mut caller: Asker,
    requests: Arc<[BenchSubject]>,
    mut order: Order,
    start: Instant,
) -> Result<Vec<Duration>, String> {
    let mut latencies = Vec::new();
    let mut began = Instant::now();
    while let Some(at) = order.next(began - start, requests.len()) {
        caller.ask(&requests[at]).await?;
        let now = Instant::now();
        latencies.push(now - began);
        began = now;
    }
    Ok(latencies)
}

// === impl Order ===

impl Order {
    fn new(load: CallLoad, place: usize, callers: usize) -> Self {
        Self { load, place, callers, asked: 0, random: Random::new(place as u64) }
    }

    /// The index of the next request among `requests`, or `None` if this caller is done.
    fn next(&mut self, elapsed: Duration, requests: usize) -> Option<usize> {
        let asked = self.asked;
        self.asked += 1;
        match self.load {
            CallLoad::Each => Some(self.place + asked * self.callers).filter(|at| *at < requests),
            CallLoad::Count(count) => ((asked as u64) < count).then(|| self.any(requests)),
            CallLoad::For(time) => (elapsed < time).then(|| self.any(requests)),
        }
    }

    fn any(&mut self, requests: usize) -> usize {
        self.random.below(u32::try_from(requests).unwrap_or(u32::MAX)) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(load: CallLoad, callers: usize) -> Vec<usize> {
        let places = (0..callers).flat_map(|place| {
            let mut order = Order::new(load, place, callers);
            std::iter::from_fn(move || order.next(Duration::ZERO, 10)).take(100)
        });
        places.collect()
    }

    #[test]
    fn each_request_is_made_once_however_many_callers_there_are() {
        for callers in [1, 3, 64] {
            let mut places = asked(CallLoad::Each, callers);
            places.sort_unstable();
            assert_eq!(places, Vec::from_iter(0..10), "{callers} callers");
        }
    }

    #[test]
    fn a_count_is_of_each_caller_and_time_ends_it() {
        assert_eq!(asked(CallLoad::Count(7), 3).len(), 21);
        let mut order = Order::new(CallLoad::For(Duration::from_secs(1)), 0, 1);
        assert!(order.next(Duration::from_millis(999), 10).is_some_and(|at| at < 10));
        assert_eq!(order.next(Duration::from_secs(1), 10), None);
    }
}
