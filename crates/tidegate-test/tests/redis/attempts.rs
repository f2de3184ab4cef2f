//! P92: abuse logs on real servers. A block begins in one step, holds for as long as it was begun for,
//! ends by itself, and costs the server the same whatever came before it.

use std::sync::Arc;

use tidegate_core::{
    Attempts, Block, BlockScope, Case, Dimension, Ladder, Level, PolicySet, Shape, Span, Subject,
    Tally, Threshold, Timestamp,
};
use tidegate_test::servers::{Flavour, RunningServer, wait};

use crate::node::{Node, PATIENT, limit, set, window};
use crate::place;

/// Those who ask at once.
const CALLERS: usize = 64;

/// What one attempt met.
#[derive(Clone, Copy, Debug)]
struct Met {
    admitted: bool,
    at: Timestamp,
    tally: Tally,
}

fn threshold(block_at: u16, per: Span, block: Span) -> Threshold {
    Threshold { block_at, per, block }
}

fn windows(temp: Threshold, long: Option<Threshold>) -> Shape {
    Shape::Attempts(Attempts::try_new(temp, long).unwrap())
}

/// Ten in an hour, for an hour.
fn temp() -> Shape {
    windows(threshold(10, Span::HOUR, Span::HOUR), None)
}

pub(crate) fn dual() -> Shape {
    let temp = threshold(10, Span::MINUTE, Span::HOUR);
    windows(temp, Some(threshold(40, Span::HOUR, Span::DAY)))
}

pub(crate) fn ladder() -> Shape {
    Shape::Attempts(Attempts::climbing(10, Span::HOUR, Ladder::default()).unwrap())
}

pub(crate) fn policy(shape: &Shape) -> PolicySet {
    set(vec![limit(Dimension::Org, "login", shape.clone())])
}

/// The name of the log of an organisation.
pub(crate) fn key(org: &str) -> String {
    format!("abuse_limiter:attempts:{{{org}}}:limit:login")
}

async fn attempt(node: &Node, org: &str) -> Met {
    let (set, subject) = (Arc::clone(&node.engine().policies()), Subject::new().org(org));
    let mut case = Case::new(&set.policies()[0], &subject);
    let decision = node.engine().decide_by_store(&mut case).await.unwrap();
    let reading = decision.explain().next().unwrap().reading;
    let (admitted, at) = (decision.is_admitted(), decision.decided_at());
    Met { admitted, at, tally: reading.attempts.expect("an abuse log says what it has counted") }
}

/// So many callers at once, over connections of their own.
async fn at_once(url: &str, shape: &Shape, org: &str) -> Vec<Met> {
    let start = Arc::new(tokio::sync::Barrier::new(CALLERS));
    let mut callers = tokio::task::JoinSet::new();
    for _ in 0..CALLERS {
        let (node, start) = (Node::with(url, PATIENT, policy(shape)), Arc::clone(&start));
        let org = org.to_owned();
        callers.spawn(async move {
            node.store().check().await.unwrap();
            start.wait().await;
            attempt(&node, &org).await
        });
    }
    callers.join_all().await
}

fn admitted(met: &[Met]) -> usize {
    met.iter().filter(|met| met.admitted).count()
}

/// The blocks that attempts say they have begun.
fn begun(met: &[Met]) -> Vec<Block> {
    let tallies = met.iter().map(|met| met.tally).filter(|tally| tally.begins);
    tallies.map(|tally| tally.block.expect("what began holds")).collect()
}

async fn begins_in_one_step(url: &str) {
    for (org, shape) in [("temp", temp()), ("ladder", ladder())] {
        let met = at_once(url, &shape, org).await;
        assert_eq!((admitted(&met), begun(&met).len()), (9, 1), "{org}");
        let last = met.iter().map(|met| met.tally.block.map(|block| block.until)).max();
        assert_eq!(last, Some(Some(begun(&met)[0].until)), "{org}: all are told of the same one");
    }
    let met = at_once(url, &dual(), "dual").await;
    let scopes: Vec<_> = begun(&met).iter().map(|block| block.scope).collect();
    assert_eq!(admitted(&met), 9);
    assert!(
        scopes.contains(&BlockScope::Temp) && scopes.contains(&BlockScope::Long),
        "a short one that becomes a long one: {scopes:?}"
    );
    assert_eq!(scopes.len(), 2, "each of them once");
}

/// The time of all attempts is that of the newest one in the log, which is ahead of the clock.
async fn in_the_same_microsecond(server: &RunningServer, url: &str) {
    let time: (u64, u64) = redis::from_redis_value(server.command(&["TIME"]).await).unwrap();
    let ahead = (time.0 + 600) * 1_000_000;
    let expiry = (ahead + Span::HOUR.as_micros()) / 1_000 + 60_000;
    let mut state = b"a1".to_vec();
    for word in [expiry, 0, 7] {
        state.extend(word.to_le_bytes());
    }
    state.extend([0, 0, 1, 0]);
    state.extend(ahead.to_le_bytes());
    let mut connection = server.connection().await;
    let mut write = redis::cmd("SET");
    write.arg(key("same")).arg(state).arg("PXAT").arg(expiry);
    write.exec_async(&mut connection).await.unwrap();
    let met = at_once(url, &temp(), "same").await;
    assert_eq!((admitted(&met), begun(&met).len()), (8, 1), "one was there before");
    let until = begun(&met)[0].until;
    assert_eq!(until, Timestamp::from_micros(ahead).after(Span::HOUR));
}

async fn ends_by_itself(server: &RunningServer, url: &str) {
    let short = Span::from_millis(400);
    let shape = windows(threshold(3, Span::from_millis(200), short), None);
    let node = Node::with(url, PATIENT, policy(&shape));
    let mut met = Vec::new();
    for _ in 0..3 {
        met.push(attempt(&node, "short").await);
    }
    assert_eq!((admitted(&met), begun(&met).len()), (2, 1));
    wait::until("the key has expired", async || {
        server.text(&["EXISTS", &key("short")]).await == "0"
    })
    .await;
    let after = attempt(&node, "short").await;
    assert!(after.admitted && after.at >= begun(&met)[0].until, "{after:?}");
    assert_eq!(after.tally.temp, 1, "nothing is left of what was before");
}

/// Records from all sides, and an operator between them: what is blocked stays so for at least as long.
async fn is_never_shortened(url: &str) {
    let shape = dual();
    let recording = at_once(url, &shape, "p92");
    let operator = async {
        let node = Node::with(url, PATIENT, policy(&shape));
        let (set, subject) = (Arc::clone(&node.engine().policies()), Subject::new().org("p92"));
        let mut told = Vec::new();
        for lasts in [Span::SECOND, Span::HOUR, Span::MINUTE, Span::DAY, Span::SECOND] {
            let mut case = Case::new(&set.policies()[0], &subject);
            let change = node.engine().block(&mut case, None, lasts, None).await.unwrap();
            told.push((change.amended.at, change.amended.block.expect("it holds").until));
        }
        told
    };
    let (met, operated) = tokio::join!(recording, operator);
    let blocks = met.iter().filter_map(|met| Some((met.at, met.tally.block?.until)));
    let mut told: Vec<_> = blocks.chain(operated).collect();
    told.sort_unstable();
    assert!(told.is_sorted_by_key(|(_, until)| *until), "{told:?}");
    assert!(told.len() > 50, "{}", told.len());
}

async fn holds_on(flavour: Flavour) {
    let server = place::builder().flavour(flavour).start().await;
    let url = place::url(server.addr());
    begins_in_one_step(&url).await;
    in_the_same_microsecond(&server, &url).await;
    ends_by_itself(&server, &url).await;
    is_never_shortened(&url).await;
    assert_eq!(place::left_for_ever(&[&server]).await, Vec::<String>::new());
}

#[tokio::test]
async fn p92_blocks_hold_on_redis() {
    holds_on(Flavour::Redis).await;
}

#[tokio::test]
async fn p92_blocks_hold_on_valkey_8() {
    holds_on(Flavour::Valkey8).await;
}

#[tokio::test]
async fn p92_blocks_hold_on_valkey_9() {
    holds_on(Flavour::Valkey9).await;
}

/// Two groups: what the first has counted is given back if the second refuses; a block that the first
/// has begun itself stays.
#[tokio::test]
async fn on_a_cluster_a_ladder_gives_back_what_others_refuse() {
    let cluster = place::cluster(3, 0, Flavour::Redis).await;
    let url = place::cluster_url(&cluster);
    let limits = vec![
        limit(Dimension::Org, "login", ladder()),
        limit(Dimension::Account, "narrow", window(2)),
    ];
    let node = Node::with(&url, PATIENT, set(limits));
    for place in 0..5 {
        assert_eq!(node.decide("groups").await, Ok(place < 2));
    }
    wait::until("all is given back", async || node.counted("groups").await == [2, 2]).await;
    let alone = Node::with(&url, PATIENT, policy(&ladder()));
    for _ in 0..7 {
        assert!(attempt(&alone, "groups").await.admitted);
    }
    assert_eq!(node.decide("groups").await, Ok(false));
    let met = attempt(&alone, "groups").await;
    let block = met.tally.block.expect("begun by the one before");
    assert_eq!((met.tally.begins, block.level), (false, Some(Level::L1)));
}

/// Percentiles of a command, in µs, by the word of the server: p50, p99 and p99.9.
async fn latencies(server: &RunningServer, command: &str) -> [f64; 3] {
    let field = format!("latency_percentiles_usec_{command}");
    let text = server.text(&["INFO", "latencystats"]).await;
    let line = text.lines().find_map(|line| line.strip_prefix(field.as_str()));
    let line = line.unwrap_or_else(|| panic!("no {field} in {text}"));
    let values = line
        .trim_start_matches(':')
        .split(',')
        .map(|part| part.split_once('=').unwrap().1.trim().parse().unwrap());
    values.collect::<Vec<f64>>().try_into().unwrap()
}

#[tokio::test]
async fn memory_and_time_of_a_key_do_not_grow_with_its_history() {
    const ATTEMPTS: usize = 100_000;
    let server = place::server().await;
    let url = place::url(server.addr());
    // The longest log there is.
    let temp = threshold(99, Span::MINUTE, Span::HOUR);
    let shape = windows(temp, Some(threshold(100, Span::HOUR, Span::DAY)));
    let node = Arc::new(Node::with(&url, PATIENT, policy(&shape)));
    attempt(&node, "often").await;
    server.command(&["CONFIG", "RESETSTAT"]).await;
    let mut callers = tokio::task::JoinSet::new();
    for _ in 0..CALLERS {
        let node = Arc::clone(&node);
        callers.spawn(async move {
            let mut all = 0;
            for _ in 0..ATTEMPTS / CALLERS {
                all += usize::from(attempt(&node, "often").await.admitted);
            }
            all
        });
    }
    let passed: usize = callers.join_all().await.iter().sum();
    assert_eq!(passed, 97, "and one before");
    let bytes: usize = server.text(&["MEMORY", "USAGE", &key("often")]).await.parse().unwrap();
    let length: usize = server.text(&["STRLEN", &key("often")]).await.parse().unwrap();
    let [p50, p99, p999] = latencies(&server, "evalsha").await;
    println!("{ATTEMPTS} attempts: {bytes} bytes; p50 {p50} µs, p99 {p99} µs, p99.9 {p999} µs");
    assert_eq!(length, 30 + 8 * 100);
    assert!(bytes <= 1_200, "{bytes}");
    // The machine may be busy with something else for longer now and then.
    assert!(p999 < 1_000.0, "{p999}");
}

#[tokio::test]
async fn an_operator_blocks_at_the_level_that_is_asked_for() {
    let server = place::server().await;
    let node = Node::with(&place::url(server.addr()), PATIENT, policy(&ladder()));
    let (set, subject) = (Arc::clone(&node.engine().policies()), Subject::new().org("acme"));
    let mut case = Case::new(&set.policies()[0], &subject);
    let lasts = Level::L3.lasts();
    let change = node.engine().block(&mut case, None, lasts, Some(Level::L3)).await.unwrap();
    let block = change.amended.block.unwrap();
    assert_eq!((block.scope, block.level), (BlockScope::Operator, Some(Level::L3)));
    assert_eq!(block.until, change.amended.at.after(lasts));
    assert!(!attempt(&node, "acme").await.admitted);
    // For as long as the next block is higher for this one.
    let left: u64 = server.text(&["PTTL", &key("acme")]).await.parse().unwrap();
    let told = (lasts.as_micros() + 3 * Span::HOUR.as_micros()) / 1_000;
    assert!((told - 5_000..=told + 1).contains(&left), "{left} ms, not {told}");
    let mut case = Case::new(&set.policies()[0], &subject);
    let lifted = node.engine().unblock(&mut case, None).await.unwrap();
    assert!(lifted[0].amended.changed && lifted[0].amended.block.is_none());
    let met = attempt(&node, "acme").await;
    assert!(met.admitted, "{met:?}");
    for _ in 0..9 {
        attempt(&node, "acme").await;
    }
    let climbed = attempt(&node, "acme").await.tally.block.unwrap();
    assert_eq!(climbed.level, Some(Level::L4), "its level stands");
    let mut case = Case::new(&set.policies()[0], &subject);
    assert!(node.engine().reset(&mut case, None).await.unwrap()[0].amended.changed);
    assert_eq!(server.text(&["EXISTS", &key("acme")]).await, "0");
    assert!(attempt(&node, "acme").await.admitted);
}
