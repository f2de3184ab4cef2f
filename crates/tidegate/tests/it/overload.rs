//! T24 at the real server on a real Redis: no flood of requests makes a healthy store look dead.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use tidegate_test::servers::RunningServer as Redis;

use crate::process::Server;
use crate::store::SECRET;
use crate::wire::{answer, connect, metric, posting};

/// With the usual deadlines, 250 and 100 ms.
const POLICIES: &str = "
version: 1
policies:
- name: login
  failure_mode: fail_closed
  protects: login
  limits:
  - { name: guesses, by: account, window: { count: 5, per: 1min } }
- name: api
  failure_mode: fail_open
  protects: api_heavy
  limits:
  - { name: burst, by: ip, bucket: { rate: 100000/s, burst: 1000000 } }
";

/// Streams of one HTTP/2 connection.
const STREAMS: u32 = 128;

const HEADERS: u8 = 1;
const RESET: u8 = 3;

/// A server on a healthy store that it has asked before.
fn node(store: &Redis) -> (Server, SocketAddr) {
    let most = rlimit::increase_nofile_limit(u64::MAX).unwrap();
    assert!(most > 3_000, "only {most} descriptors; raise the hard limit (ulimit -Hn)");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("policies.yaml");
    fs::write(&path, POLICIES).unwrap();
    let url = format!("redis://{}", store.addr());
    let args = ["--config", path.to_str().unwrap(), "--threads", "2"];
    let (server, node) = Server::start_with(&args, &[SECRET, ("TIDEGATE_STORE", &url)]);
    for policy in ["login", "api"] {
        let asked = post(node, policy, "first");
        assert_eq!(answer(asked).0, 200, "{policy}");
    }
    (server, node)
}

/// Sends a decision, and does not wait for its answer.
fn post(node: SocketAddr, policy: &str, account: &str) -> TcpStream {
    let subject = format!(r#"{{"account":"{account}","ip":"203.0.113.7"}}"#);
    let body = format!(r#"{{"policy":"{policy}","subject":{subject}}}"#);
    let mut stream = connect(node);
    stream.write_all(posting("/v1/decide", &body).as_bytes()).unwrap();
    stream
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut bytes = vec![length[1], length[2], length[3], kind, flags];
    bytes.extend(stream.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// A connection with all its streams in one write: `GET /v1/gate/api` on each.
fn streams(node: SocketAddr) -> TcpStream {
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    bytes.extend(frame(4, 0, 0, &[]));
    let path = b"/v1/gate/api";
    // `:method: GET`, `:scheme: http`, and then `:path` and `:authority` by the numbers of their names.
    let mut block = vec![0x82, 0x86, 0x04, u8::try_from(path.len()).unwrap()];
    block.extend_from_slice(path);
    block.extend_from_slice(&[0x01, 9]);
    block.extend_from_slice(b"localhost");
    for stream in 0..STREAMS {
        bytes.extend(frame(HEADERS, 0x05, 2 * stream + 1, &block));
    }
    let mut stream = connect(node);
    stream.write_all(&bytes).unwrap();
    stream
}

/// Reads until every stream of a connection has its answer, or was refused because so many at once are
/// not allowed at present; how many of each there are.
fn answered(mut stream: TcpStream) -> [u32; 2] {
    let (mut read, mut answers, mut refused) = (Vec::new(), 0, 0);
    while answers + refused < STREAMS {
        let mut piece = [0; 4096];
        let length = stream.read(&mut piece).unwrap();
        assert!(length > 0, "the connection ended after {answers} answers and {refused} refusals");
        read.extend_from_slice(&piece[..length]);
        while let [a, b, c, kind, rest @ ..] = &read[..] {
            let length = 9 + u32::from_be_bytes([0, *a, *b, *c]) as usize;
            if rest.len() + 4 < length {
                break;
            }
            answers += u32::from(*kind == HEADERS);
            refused += u32::from(*kind == RESET);
            read.drain(..length);
        }
    }
    [answers, refused]
}

/// What the server tells about a policy: whether it asks its store, decisions, and requests shed.
fn told(node: SocketAddr, policy: &str) -> (bool, u64, u64) {
    let count = |begins: &str| metric(node, begins).unwrap();
    let normal = count(&format!("tidegate_mode{{policy=\"{policy}\",mode=\"normal\"}}"));
    let verdicts = ["admit", "degrade", "queue", "deny"];
    let decided = verdicts.map(|verdict| {
        let labels = format!("policy=\"{policy}\",mode=\"normal\",verdict=\"{verdict}\"");
        count(&format!("tidegate_decisions_by_mode_total{{{labels}}}"))
    });
    let shed = count(&format!("tidegate_shed_total{{policy=\"{policy}\"}}"));
    (normal == 1, decided.iter().sum(), shed)
}

/// That so many connections of streams at once are all answered, by a decision of the store or by 503.
fn is_weathered(connections: u32) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let store = runtime.block_on(Redis::start());
    let (_server, node) = node(&store);
    let sent: Vec<TcpStream> = (0..connections).map(|_| streams(node)).collect();
    let answered: Vec<[u32; 2]> = sent.into_iter().map(answered).collect();
    assert_eq!(answered[0], [STREAMS, 0], "the first may have all its streams");
    let answers: u32 = answered.iter().map(|[answers, _]| answers).sum();
    assert!(answers >= connections, "and nobody has none");
    let (normal, decided, shed) = told(node, "api");
    assert!(normal, "{decided} decided, {shed} shed");
    assert_eq!(decided + shed, u64::from(answers) + 1, "each by the store, or shed");
    assert!(told(node, "login").0);
}

#[test]
fn t24_forty_connections_of_streams_trip_nothing() {
    is_weathered(40);
}

#[test]
fn t24_four_hundred_connections_of_streams_trip_nothing() {
    is_weathered(400);
}

#[test]
fn t24_a_thousand_logins_at_once_trip_nothing() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let store = runtime.block_on(Redis::start());
    let (_server, node) = node(&store);
    let sent = (0..1_000).map(|number| post(node, "login", &format!("account{number}")));
    let sent: Vec<TcpStream> = sent.collect();
    let mut shed = 0;
    for stream in sent {
        let (status, body) = answer(stream);
        match status {
            200 => assert!(body.contains(r#""mode":"normal""#), "{body}"),
            503 => {
                assert!(body.contains("urn:tidegate:problem:overloaded"), "{body}");
                assert!(body.contains(r#""retry_after":1"#), "{body}");
                shed += 1;
            }
            _ => panic!("{status} {body}"),
        }
    }
    let told = told(node, "login");
    assert_eq!(told, (true, 1_001 - shed, shed));
}
