//! T42: constant scripts, known by their hashes, which touch the keys they are given and no others.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use tidegate_core::{
    Account, Attempts, Backoff, Calendar, Case, Counts, Cursor, Dimension, Fleet as _, FleetStep,
    Ladder, Limit, Motion, Period, Quota, Shape, Span, Stage, Subject, Threshold, Unit, Window,
};
use tidegate_test::document::is_update;
use tidegate_test::proxy::Proxy;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

use crate::fleets::fleet;
use crate::node::{self, Node, PATIENT, bucket, quota, window};
use crate::{fleet_rights, place};

/// What is asked of a policy.
#[derive(Clone, Copy, Debug)]
enum Ask {
    Charge,
    Peek,
    Settle(u64),
    /// Blocked by an operator, unblocked and reset.
    Amend,
}

fn limit(it: &str, shape: Shape) -> Limit {
    node::limit(Dimension::Org, it, shape)
}

fn period(period: Period) -> Shape {
    Shape::Quota(Quota::try_new(100, period, Counts::Admitted).unwrap())
}

fn attempts(backoff: Option<Backoff>) -> Shape {
    Shape::Window(Window::try_new(100, Span::MINUTE, Counts::Attempts(backoff)).unwrap())
}

fn log(long: bool) -> Shape {
    let threshold = |block_at, per| Threshold { block_at, per, block: Span::HOUR };
    let long = long.then(|| threshold(80, Span::DAY));
    Shape::Attempts(Attempts::try_new(threshold(40, Span::HOUR), long).unwrap())
}

fn climbing() -> Shape {
    Shape::Attempts(Attempts::climbing(40, Span::HOUR, Ladder::default()).unwrap())
}

/// Representatives: every form of a counter by itself, several together, and everything that can be
/// asked.
fn representatives() -> Vec<(&'static str, Vec<Limit>, Ask)> {
    let month = Calendar::try_new(Unit::Month, "Europe/Berlin", None).unwrap();
    let backoff = Backoff::exponential(Span::SECOND, 2, Span::MINUTE);
    let three = || {
        [("bucket", bucket(9)), ("window", window(99)), ("quota", quota(9))]
            .map(|(name, shape)| limit(name, shape))
            .to_vec()
    };
    let alone = |shape| vec![limit("alone", shape)];
    let distinct = vec![limit("alone", climbing()).distinct(Dimension::Account)];
    let mut staged = three();
    staged.push(limit("all", window(50)).at_stage(Stage::Global));
    staged.push(limit("dry", bucket(5)).in_shadow());
    vec![
        ("bucket", alone(bucket(9)), Ask::Charge),
        ("quota, fixed", alone(period(Period::Fixed(Span::DAY))), Ask::Charge),
        ("quota, from the first use", alone(quota(9)), Ask::Charge),
        ("quota, calendar", alone(period(Period::Calendar(month))), Ask::Charge),
        ("window, times", alone(window(64)), Ask::Charge),
        ("window, counts", alone(window(65)), Ask::Charge),
        ("window, attempts", alone(attempts(None)), Ask::Charge),
        ("window, backoff", alone(attempts(Some(backoff))), Ask::Charge),
        ("attempts, one window", alone(log(false)), Ask::Charge),
        ("attempts, two windows", alone(log(true)), Ask::Charge),
        ("attempts, a ladder", alone(climbing()), Ask::Charge),
        ("attempts, distinct", distinct, Ask::Charge),
        ("attempts, given back", alone(climbing()), Ask::Settle(0)),
        ("attempts, forgiven", vec![limit("alone", climbing()).forgiving()], Ask::Settle(0)),
        ("attempts, amended", alone(climbing()), Ask::Amend),
        ("three", three(), Ask::Charge),
        ("three and a global and a shadow", staged, Ask::Charge),
        ("three, a look", three(), Ask::Peek),
        ("three, given back", three(), Ask::Settle(0)),
        ("three, more taken", three(), Ask::Settle(5)),
    ]
}

async fn ask(url: &str, limits: Vec<Limit>, what: Ask) {
    let node = Node::with(url, PATIENT, node::set(limits));
    let set = Arc::clone(&node.engine().policies());
    let account = Account::new("u7");
    let subject = Subject::new().org("acme").account(&account);
    let mut case = Case::new(&set.policies()[0], &subject);
    match what {
        Ask::Amend => {
            node.engine().block(&mut case, None, Span::HOUR, None).await.unwrap();
            node.engine().unblock(&mut case, None).await.unwrap();
            node.engine().reset(&mut case, None).await.unwrap();
        }
        Ask::Peek => {
            let _ = node.engine().peek_by_store(&mut case).await.unwrap();
        }
        Ask::Charge => {
            let _ = node.engine().decide_by_store(&mut case).await.unwrap();
        }
        Ask::Settle(weight) => {
            let decision = node.engine().decide_by_store(&mut case).await.unwrap();
            let ticket = node.engine().ticket(&decision).unwrap();
            node.engine().settle(ticket.as_str(), weight).await.unwrap();
        }
    }
}

#[tokio::test]
async fn t42_scripts_change_only_on_purpose() {
    let server = place::fleet_builder().start().await;
    let proxy = Proxy::start(server.addr()).await;
    let url = place::url(proxy.addr());
    let hash = async || {
        let sent = proxy.record();
        let last = sent.iter().rfind(|words| words[0] == "EVALSHA").unwrap();
        let hash = String::from_utf8_lossy(&last[1]).into_owned();
        let known = server.command(&["SCRIPT", "EXISTS", &hash]).await;
        assert_eq!(redis::from_redis_value::<Vec<u8>>(known).unwrap(), [1], "by the server's word");
        hash
    };
    let mut found = String::new();
    for (what, limits, how) in representatives() {
        // A settlement wants a ticket of its own, and everything else a counter of its own.
        server.command(&["FLUSHALL"]).await;
        proxy.clear_record();
        ask(&url, limits, how).await;
        found += &format!("{} {what}\n", hash().await);
    }
    let fleet = fleet(&url, Span::from_secs(10));
    let lift = FleetStep { seen: 0, motion: Motion::Lift };
    fleet.agree("up", lift).await.unwrap();
    found += &format!("{} fleet, a step\n", hash().await);
    fleet.changed_since(Cursor::START).await.unwrap();
    found += &format!("{} fleet, changes\n", hash().await);
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/redis/scripts.txt");
    if is_update() {
        std::fs::write(&golden, &found).unwrap();
    }
    let expected = std::fs::read_to_string(&golden).unwrap_or_default();
    assert_eq!(found, expected, "if the change of a script is meant, run this with UPDATE=1");
}

/// The words of a line of MONITOR: `1700000000.5 [0 lua] "GET" "key"`.
fn words(line: &str) -> Vec<String> {
    let quoted = line.split_once("] \"").map_or("", |(_, rest)| rest.trim_end_matches('"'));
    quoted.split("\" \"").map(str::to_owned).collect()
}

#[tokio::test]
async fn t42_scripts_touch_the_keys_they_are_given_and_no_others() {
    let server = place::fleet_builder().start().await;
    let stream = TcpStream::connect(server.addr()).await.unwrap();
    let mut monitor = BufReader::new(stream);
    monitor.write_all(b"MONITOR\r\n").await.unwrap();
    let mut line = String::new();
    monitor.read_line(&mut line).await.unwrap();
    assert_eq!(line, "+OK\r\n");
    let url = place::url(server.addr());
    for (_, limits, how) in representatives() {
        ask(&url, limits, how).await;
    }
    Node::new(&url, PATIENT).probe().await.unwrap();
    fleet_rights::forget(&server, &fleet(&url, Span::from_secs(10))).await.unwrap();
    server.command(&["ECHO", "that was all"]).await;
    let (mut given, mut touched, mut commands) = (BTreeSet::new(), 0, BTreeSet::new());
    while !line.contains("that was all") {
        line.clear();
        monitor.read_line(&mut line).await.unwrap();
        let words = words(line.trim_end());
        match words[0].as_str() {
            "EVALSHA" | "EVAL" => {
                let count: usize = words[2].parse().unwrap();
                given = words[3..3 + count].iter().cloned().collect();
            }
            "TIME" => {}
            command if line.contains(" lua] ") => {
                assert!(given.contains(&words[1]), "{line} was not among {given:?}");
                let ours = [
                    "rl:{acme}:",
                    "rq:{acme}:",
                    "abuse_limiter:attempts:{acme}:",
                    "tg:{",
                    "rl:{!0}:",
                    "rq:{!0}:",
                ];
                assert!(ours.iter().any(|it| words[1].starts_with(it)));
                commands.insert(command.to_owned());
                touched += 1;
            }
            _ => {}
        }
    }
    assert!(touched > 60, "{touched}");
    // Each of them is a right of the user, and the user has no other that scripts would need.
    let of_fleet = |command: &String| {
        let right = format!("+{}", command.to_lowercase());
        place::fleet_rules().contains(&right)
    };
    let (fleets, stores): (Vec<_>, Vec<_>) = commands.into_iter().partition(of_fleet);
    assert_eq!(stores, ["DEL", "GET", "SET", "SETRANGE"]);
    assert_eq!(fleets.len(), place::fleet_rules().len(), "{fleets:?}");
}
