//! Threat T34: five thousand clients that say little, and one that works.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use tidegate_tower::serve::{Bounds, Serve};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use crate::site::Setting;

const SLOW: usize = 5_000;

/// Both ends of every connection are in this process.
const DESCRIPTORS: u64 = 2 * 5_000 + 500;

const PATIENCE: Duration = Duration::from_secs(30);

/// What is below this is the machine's own.
const NOISE: Duration = Duration::from_micros(500);

/// An API that has more than enough for everybody, on a runtime of its own.
fn started() -> (Runtime, SocketAddr, Serve) {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let patient = Duration::from_secs(600);
    let bounds = Bounds {
        connections_of_one: usize::MAX,
        header_timeout: patient,
        idle_timeout: patient,
        body_timeout: Some(patient),
        ..Bounds::default()
    };
    let usual = "bucket: { rate: 10/s, burst: 20 }\n        named_key";
    let plenty = "bucket: { rate: 1000000/s, burst: 1000000 }\n        named_key";
    let (api, serve, _) = Setting { bounds, ..Setting::default() }
        .replacing(usual, plenty)
        // Half a body is waited for only if its request may pass.
        .replacing("window: { count: 10, per: 1min }", "window: { count: 100000, per: 1min }")
        .site();
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = listener.local_addr().unwrap();
    let running = serve.clone();
    runtime.spawn(async move { running.run(listener, api, std::future::pending()).await });
    (runtime, address, serve)
}

/// Some say nothing, others half a head, half a body, or half of what tells HTTP/2 from HTTP/1.
fn slow(server: SocketAddr, number: usize) -> TcpStream {
    let mut stream = TcpStream::connect(server).unwrap();
    let said: &[u8] = match number % 4 {
        0 => b"",
        1 => b"GET /v1/reports HTTP/1.1\r\nhost: x\r\nx-sl",
        2 => b"POST /v1/login HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 40\r\n\r\n{",
        _ => b"PRI * HTTP/2.0\r\n",
    };
    stream.write_all(said).unwrap();
    stream
}

/// The latencies of so many requests on one connection; of these the 99th percentile.
#[expect(clippy::disallowed_methods, reason = "latency is of real time")]
fn p99(stream: &mut TcpStream, count: usize) -> Duration {
    let mut latencies: Vec<Duration> = (0..count)
        .map(|_| {
            let (start, mut space) = (Instant::now(), [0; 4096]);
            stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
            let count = stream.read(&mut space).unwrap();
            assert!(space[..count].starts_with(b"HTTP/1.1 200") && space[..count].ends_with(b"ok"));
            start.elapsed()
        })
        .collect();
    latencies.sort_unstable();
    latencies[latencies.len() * 99 / 100]
}

#[expect(clippy::disallowed_methods, reason = "another thread is given real time")]
fn until_served(serve: &Serve, count: usize) {
    let start = Instant::now();
    while serve.open() < count {
        assert!(start.elapsed() < PATIENCE, "only {} are served", serve.open());
        std::thread::yield_now();
    }
}

fn median(mut figures: Vec<Duration>) -> Duration {
    figures.sort_unstable();
    figures[figures.len() / 2]
}

#[test]
fn t34_five_thousand_slow_sockets_leave_the_latency_of_others_within_twice() {
    let most = rlimit::increase_nofile_limit(u64::MAX).unwrap();
    assert!(most > DESCRIPTORS, "only {most} descriptors; raise the hard limit (ulimit -Hn)");
    let (_calm, calm, _) = started();
    let (_attacked, attacked, serve) = started();
    let mut sockets = Vec::with_capacity(SLOW);
    for number in 0..SLOW {
        sockets.push(slow(attacked, number));
        // No more than the operating system keeps until they are accepted.
        if number % 100 == 0 {
            until_served(&serve, number);
        }
    }
    // All of them are served, and not merely waiting to be.
    until_served(&serve, SLOW);
    let [mut calm, mut attacked] = [calm, attacked].map(|address| {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream
    });
    let (mut without, mut with) = (Vec::new(), Vec::new());
    // In turns, so that what else happens on the machine happens to both.
    for _ in 0..11 {
        without.push(p99(&mut calm, 1_000));
        with.push(p99(&mut attacked, 1_000));
    }
    let (without, with) = (median(without), median(with));
    println!("p99 without {without:?}, with {SLOW} slow sockets {with:?}");
    assert!(with <= (2 * without).max(NOISE), "p99 {with:?} instead of {without:?}");
    // They were there all the time.
    assert_eq!(serve.open(), SLOW + 1);
    let last = sockets.last_mut().unwrap();
    last.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
    let still = last.read(&mut [0]).unwrap_err().kind();
    assert!(matches!(still, ErrorKind::WouldBlock | ErrorKind::TimedOut), "{still:?}");
}
