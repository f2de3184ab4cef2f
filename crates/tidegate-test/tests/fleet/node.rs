//! A node: one circuit on a fleet in Redis, callers that do as they are told, and somebody who polls.

use core::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use tidegate_core::{
    BreakerSettings, BreakerSignal, BreakerState, CallOutcome, Clock as _, FLEET_POLL_EVERY, Fleet,
    Span,
};
use tidegate_engine::SystemClock;
use tidegate_engine::circuit::{Circuit, CircuitCall, CircuitCheck, Circuits};
use tidegate_stores::redis::{RedisFleet, Target};
use tidegate_test::servers::wait;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

use crate::crew::Told;

/// The shortest that a breaker allows: a second, and the slack of a lease and half a second for the probe.
const WINDOW: Span = Span::from_secs(2);
const LEASE: Span = Span::from_millis(5_500);

/// Everything about a node that its tasks share.
struct Node {
    number: usize,
    upstream: String,
    circuits: Circuits<RedisFleet>,
    circuit: Arc<Circuit>,
    clock: SystemClock,
    is_stopped: AtomicBool,
    tally: Arc<Tally>,
}

#[derive(Default)]
struct Tally {
    probes: AtomicU64,
    refused: AtomicU64,
    cancelled: AtomicU64,
    alone: AtomicU64,
    lost: AtomicU64,
}

/// Runs the node whose plan is in the present folder, for as long as the test is there.
pub(crate) fn run() {
    let plan = std::fs::read_to_string("plan").unwrap();
    let words: Vec<String> = plan.split_whitespace().map(str::to_owned).collect();
    let runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = { runtime }.worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let [number, redis, control, upstream] = &words[..] else { panic!("{plan:?} is no plan") };
        let node = Node::new(number.parse().unwrap(), redis, upstream);
        tokio::spawn(poll(Arc::clone(&node)));
        let mut line = BufReader::new(TcpStream::connect(control).await.unwrap());
        let mut asked = String::new();
        while line.read_line(&mut asked).await.is_ok_and(|bytes| bytes > 0) {
            node.obey(asked.trim());
            asked.clear();
            line.write_all(format!("{}\n", node.told()).as_bytes()).await.unwrap();
        }
    });
}

/// Does what is due, at once where a circuit has something to tell, and every quarter of a second.
async fn poll(node: Arc<Node>) {
    loop {
        for duty in node.circuits.poll(node.clock.now()) {
            let node = Arc::clone(&node);
            tokio::spawn(async move { node.circuits.perform(duty, &node.clock).await });
        }
        tokio::select! {
            () = node.circuits.woken() => {}
            () = wait::pause(FLEET_POLL_EVERY.into()) => {}
        }
    }
}

// === impl Node ===

impl Node {
    fn new(number: usize, redis: &str, upstream: &str) -> Arc<Self> {
        let (clock, tally) = (SystemClock::new(), Arc::new(Tally::default()));
        let theirs = Arc::clone(&tally);
        let observe = move |_: &str, signal| match signal {
            BreakerSignal::Alone { .. } => drop(theirs.alone.fetch_add(1, Relaxed)),
            BreakerSignal::Lost { .. } => drop(theirs.lost.fetch_add(1, Relaxed)),
            BreakerSignal::Changed(_) | BreakerSignal::Undecided { .. } => {}
        };
        // The machine is busy with ten thousand callers, and what is tested is not how fast it is.
        let fleet = RedisFleet::within(Target::parse(redis).unwrap(), Span::from_secs(2)).unwrap();
        let id = u64::from(std::process::id());
        let circuits = Circuits::new(fleet, id, observe);
        let settings = BreakerSettings::try_new(NonZeroU32::MIN, WINDOW, LEASE).unwrap();
        let circuit = circuits.circuit("up", settings, clock.now()).unwrap();
        let (upstream, is_stopped) = (upstream.to_owned(), AtomicBool::new(false));
        Arc::new(Self { number, upstream, circuits, circuit, clock, is_stopped, tally })
    }

    fn obey(self: &Arc<Self>, asked: &str) {
        match *asked.split(' ').collect::<Vec<_>>() {
            ["tell"] => {}
            ["stop"] => self.is_stopped.store(true, Relaxed),
            ["trip"] => match self.circuit.check(self.clock.now()) {
                CircuitCheck::Pass(call) => call.end(CallOutcome::Failure, self.clock.now()),
                other => panic!("{other:?}"),
            },
            ["callers", count] => {
                self.is_stopped.store(false, Relaxed);
                for _ in 0..count.parse().unwrap() {
                    tokio::spawn(Arc::clone(self).call());
                }
            }
            ["cancel", count] => {
                tokio::spawn(Arc::clone(self).cancel(count.parse().unwrap()));
            }
            _ => panic!("{asked:?} is nothing to do"),
        }
    }

    fn told(&self) -> Told {
        let Tally { probes, refused, cancelled, alone, lost } = &*self.tally;
        Told {
            state: format!("{:?}", self.circuit.state()),
            probes: probes.load(Relaxed),
            refused: refused.load(Relaxed),
            cancelled: cancelled.load(Relaxed),
            alone: alone.load(Relaxed),
            lost: lost.load(Relaxed),
        }
    }

    /// A caller: it comes back when it was told to, until it passes.
    async fn call(self: Arc<Self>) {
        while !self.is_stopped.load(Relaxed) {
            let check = match self.circuit.check(self.clock.now()) {
                CircuitCheck::Try => self.circuit.lease(self.circuits.fleet(), &self.clock).await,
                other => other,
            };
            match check {
                CircuitCheck::Pass(call) if call.is_probe() => return self.probe(call).await,
                CircuitCheck::Pass(_) => return,
                CircuitCheck::Try => {}
                CircuitCheck::Wait(wait) => {
                    let is_half_open = self.circuit.state() == BreakerState::HalfOpen;
                    self.tally.refused.fetch_add(u64::from(is_half_open), Relaxed);
                    wait::pause(wait.into()).await;
                }
            }
        }
    }

    async fn probe(&self, call: CircuitCall<'_>) {
        self.tally.probes.fetch_add(1, Relaxed);
        let agreed = call.lease().is_some_and(|lease| lease.is_agreed());
        let agreed = if agreed { "agreed" } else { "alone" };
        let line = format!("{} {} {agreed}\n", self.number, self.circuit.generation());
        let mut stream = BufReader::new(TcpStream::connect(&self.upstream).await.unwrap());
        stream.write_all(line.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_line(&mut answer).await.unwrap();
        assert_eq!(answer, "ok\n");
        call.end(CallOutcome::Success, self.clock.now());
    }

    /// Asks for the lease so many times, and gives up: before there is an answer, or with the probe in hand.
    async fn cancel(self: Arc<Self>, count: u64) {
        while self.tally.cancelled.load(Relaxed) < count {
            let cancelled = self.tally.cancelled.load(Relaxed);
            if !matches!(self.circuit.check(self.clock.now()), CircuitCheck::Try) {
                tokio::task::yield_now().await;
                continue;
            }
            if cancelled.is_multiple_of(4) {
                // Sent and forgotten.
                if let Ok(request) = self.circuit.ask(self.clock.now()) {
                    let mut asked = Box::pin(self.circuits.fleet().agree("up", request.step()));
                    let once = core::future::poll_fn(|context| {
                        let _ = asked.as_mut().poll(context);
                        core::task::Poll::Ready(())
                    });
                    once.await;
                    self.tally.cancelled.fetch_add(1, Relaxed);
                }
            } else if let CircuitCheck::Pass(call) =
                self.circuit.lease(self.circuits.fleet(), &self.clock).await
                && call.is_probe()
            {
                drop(call);
                self.tally.cancelled.fetch_add(1, Relaxed);
            }
        }
    }
}
