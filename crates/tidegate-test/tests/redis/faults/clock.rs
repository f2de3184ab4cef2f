//! Clocks: the server's is the only one, and it may jump.
//!
//! The clock of a real server cannot be set back here. The same scripts run under a Lua that is told
//! the time ([`tidegate_test::lua`]), where `tests/it/lua.rs` compares hundreds of thousands of
//! traces with the rules, some with clocks that are set back; `tests/it/rollback.rs` holds the rules
//! themselves to P90, and `tests/tidy/clock.rs` counts the places that read a clock.

use std::sync::Arc;

use redis::Value;
use tidegate_core::{Case, Denial, ManualClock, Retry, Span, Subject, Timestamp, Verdict};
use tidegate_engine::{Engine, ready};
use tidegate_stores::redis::RedisStore;
use tidegate_test::lua::{self, Expired, secret};
use tidegate_test::proxy::Proxy;
use tidegate_test::servers::RunningServer;

use crate::node::{Node, PATIENT, three};
use crate::place;
use crate::table::Row;
use crate::trial::ORG;

const START: Timestamp = Timestamp::from_micros(1_800_000_000_000_000);
const LIMIT: u64 = 10;

/// An engine whose store is told the time.
struct Told {
    clock: Arc<ManualClock>,
    engine: Engine<RedisStore>,
}

// === impl Told ===

impl Told {
    fn new(expired: Expired) -> Self {
        let clock = Arc::new(ManualClock::new(START));
        let store = lua::store(Arc::clone(&clock) as _, expired, false);
        Self { clock, engine: Engine::new(store, three(LIMIT)).sharing(&secret()) }
    }

    /// Asks until it is refused; tells how much was admitted.
    fn spend(&self) -> u64 {
        let (set, subject) = (self.engine.policies(), Subject::new().org(ORG));
        let admit = || {
            let mut case = Case::new(&set.policies()[0], &subject);
            ready(self.engine.decide_by_store(&mut case)).unwrap().unwrap().is_admitted()
        };
        let mut admitted = 0;
        while admit() {
            admitted += 1;
        }
        admitted
    }

    /// How long somebody who is refused is told to wait.
    fn wait(&self) -> u64 {
        let (set, subject) = (self.engine.policies(), Subject::new().org(ORG));
        let mut case = Case::new(&set.policies()[0], &subject);
        let decision = ready(self.engine.decide_by_store(&mut case)).unwrap().unwrap();
        match decision.verdict() {
            Verdict::Deny(Denial { retry: Retry::After(wait), .. }) => wait.as_micros(),
            other => panic!("{other:?}"),
        }
    }

    fn peek(&self) {
        let (set, subject) = (self.engine.policies(), Subject::new().org(ORG));
        let mut case = Case::new(&set.policies()[0], &subject);
        assert!(ready(self.engine.peek_by_store(&mut case)).unwrap().unwrap().is_admitted());
    }

    fn set(&self, now: u64) {
        self.clock.set(Timestamp::from_micros(now));
    }
}

#[test]
fn r41_the_clock_of_the_server_jumps() {
    let start = START.as_micros();
    for jump in [Span::from_millis(1), Span::SECOND, Span::HOUR, Span::DAY] {
        // Frozen, then back, then where it was: nothing more is admitted.
        let told = Told::new(Expired::Stays);
        assert_eq!(told.spend(), LIMIT, "frozen");
        let wait = told.wait();
        told.set(start - jump.as_micros());
        assert_eq!(told.spend(), 0, "set back by {jump}");
        assert_eq!(told.wait(), wait + jump.as_micros(), "the wait includes the step");
        told.set(start);
        assert_eq!(told.spend(), 0, "and forward again");
        // A day later a window and a quota are as new, and the bucket has got its tokens.
        told.set(start + Span::DAY.as_micros() + Span::HOUR.as_micros());
        assert_eq!(told.spend(), LIMIT);

        // Ahead by mistake, it has counted there; back again, nobody waits for ever or gains.
        let told = Told::new(Expired::Stays);
        told.set(start + jump.as_micros());
        assert_eq!(told.spend(), LIMIT);
        told.set(start);
        assert_eq!(told.spend(), 0, "back from {jump} ahead");
        told.set(start + jump.as_micros() + 2 * Span::DAY.as_micros());
        assert_eq!(told.spend(), LIMIT, "{jump} ahead");
    }
    // Forth by two days and back again: what had expired there is gone, as from a server.
    let told = Told::new(Expired::Gone);
    assert_eq!(told.spend(), LIMIT);
    told.set(start + 2 * Span::DAY.as_micros());
    told.peek();
    told.set(start);
    assert_eq!(told.spend(), LIMIT, "one fresh limit, and no more");
    Row {
        id: "R41",
        fault: "the server's clock stands still, or jumps by 1 ms to 1 day, back or forth",
        seen: "decisions; set back it admits nothing more".to_owned(),
        then: "a told wait includes the step back. What expires in a jump forth is forgotten when the clock is set back again: at most one fresh limit for each key",
        back: None,
    }
    .record();
}

/// The time of the server, in microseconds.
async fn time_of(server: &RunningServer) -> u64 {
    let time: (u64, u64) = redis::from_redis_value(server.command(&["TIME"]).await).unwrap();
    time.0 * 1_000_000 + time.1
}

#[tokio::test]
async fn r42_the_time_is_that_of_the_server() {
    let server = place::server().await;
    let node = Node::new(&place::url(server.addr()), PATIENT);
    for _ in 0..100 {
        let (set, subject) = (Arc::clone(&node.engine().policies()), Subject::new().org(ORG));
        let mut case = Case::new(&set.policies()[0], &subject);
        let before = time_of(&server).await;
        let decided_at =
            node.engine().decide_by_store(&mut case).await.unwrap().decided_at().as_micros();
        let after = time_of(&server).await;
        assert!((before..=after).contains(&decided_at), "{before} {decided_at} {after}");
    }
    // Read once in a script, or two limits of one decision could see two times.
    let stats = server.text(&["INFO", "commandstats"]).await;
    let calls = |command: &str| {
        let line = stats.lines().find(|line| line.starts_with(&format!("cmdstat_{command}:")));
        let calls = line.and_then(|line| line.split(['=', ',']).nth(1)).unwrap();
        calls.parse::<u64>().unwrap()
    };
    assert_eq!(calls("time"), 200 + calls("evalsha") + calls("eval") - 1, "{stats}");
    Row {
        id: "R42",
        fault: "nodes whose own clocks are wrong",
        seen: "decisions at the time of the server, read once for each".to_owned(),
        then: "nodes need not agree on the time",
        back: None,
    }
    .record();
}

#[tokio::test]
async fn r43_no_time_of_ours_is_sent() {
    let server = place::server().await;
    let proxy = Proxy::start(server.addr()).await;
    let node = Node::new(&place::url(proxy.addr()), PATIENT);
    let begin = time_of(&server).await;
    for _ in 0..50 {
        assert_eq!(node.decide(ORG).await, Ok(true));
    }
    assert_ne!(server.command(&["DBSIZE"]).await, Value::Int(0));
    let sent = proxy.record();
    let args = sent.iter().filter(|words| words[0] == "EVALSHA").map(|words| words[6].slice(4..));
    let mut args: Vec<_> = args.collect();
    assert!(args.len() >= 50);
    args.dedup();
    // But for the number of the call, which is in front, all say the same at any time.
    assert_eq!(args.len(), 1);
    let (words, _) = args[0].as_chunks::<8>();
    let around = begin / 2..begin * 2;
    assert!(words.iter().all(|word| !around.contains(&u64::from_le_bytes(*word))));
    Row {
        id: "R43",
        fault: "a node, or a client, that claims another time",
        seen: "decisions: no time but that of the server takes part".to_owned(),
        then: "–",
        back: None,
    }
    .record();
}
