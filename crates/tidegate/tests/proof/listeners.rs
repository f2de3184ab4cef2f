//! The attacks of `memory.rs` on the other two listeners: that of operators, and that of a host of the
//! layers, which is the example `org-api` as a process.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use crate::attacks::Aim;
use crate::latency::decide;
use crate::process::Server;
use crate::site::{host, operators};

#[test]
fn t35_answers_that_nobody_takes_are_not_kept_by_the_other_listeners() {
    let _alone = crate::alone();
    for (site, through) in [(operators(), 1_000), (host(), 10_000)] {
        let attack = "25,600 answers that nobody takes";
        site.holds(attack, Aim::unread_pages, (12_800, 25_600), through, &[]);
    }
}

#[test]
fn t35_heads_of_many_fields_are_not_kept_by_the_other_listeners() {
    let _alone = crate::alone();
    for site in [operators(), host()] {
        let attack = "180 MiB of heads of 400 fields";
        site.holds(attack, Aim::many_fields, (10 << 20, 180 << 20), 10_000, &[]);
    }
}

#[test]
fn t12_half_bodies_are_bounded_at_the_other_listeners() {
    let _alone = crate::alone();
    rlimit::increase_nofile_limit(u64::MAX).unwrap();
    for (site, kept) in [(operators(), 1), (host(), 500)] {
        let told = [("tidegate_http_memory_bytes{use=\"bodies\"}", 1 << 20)];
        let attack = "60,000 bodies of 61 KB, 6,000 at once";
        site.holds(attack, Aim::half_bodies, (6_000, 60_000), kept, &told);
    }
}

#[test]
fn t34_half_heads_are_bounded_at_the_other_listeners() {
    let _alone = crate::alone();
    rlimit::increase_nofile_limit(u64::MAX).unwrap();
    for (site, kept) in [(operators(), 1), (host(), 500)] {
        let told = [("tidegate_http_memory_bytes{use=\"heads\"}", 128 << 10)];
        let attack = "half heads of 16 KiB, 10,000 at once";
        site.holds(attack, Aim::half_heads, (10_000, 20_000), kept, &told);
    }
}

#[test]
fn t12_a_hundred_and_sixty_readers_slow_nobody_down_at_the_other_listeners() {
    let _alone = crate::alone();
    for site in [operators(), host()] {
        let read = |aim: &Aim, progress: &_| aim.readers(160, progress);
        site.holds("160 who ask for a page", read, (160, 1_600), 10 << 20, &[]);
    }
}

const POLICIES: &str = "version: 1\npolicies:\n- name: api\n  failure_mode: fail_open\n  limits:\n  \
    - { name: l, by: user, bucket: { rate: 1000000/s, burst: 1000000 } }\n";

/// Idle connections cost their sockets and little else, although each has been answered once.
#[test]
fn t12_nine_thousand_idle_connections_cost_little_memory() {
    const CONNECTIONS: usize = 9_000;
    const MOST_BYTES_EACH: u64 = 12 << 10;
    let _alone = crate::alone();
    rlimit::increase_nofile_limit(u64::MAX).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("policies.yaml");
    let text = format!("server: {{ max_connections_per_address: 10000 }}\n{POLICIES}");
    std::fs::write(&file, text).unwrap();
    let (server, address) = Server::on(&file);
    let request = decide(r#"{"policy":"api","subject":{"user":"u1"}}"#);
    let ask = |stream: &mut TcpStream| {
        stream.write_all(request.as_bytes()).unwrap();
        let count = stream.read(&mut [0; 4096]).unwrap();
        assert!(count > 0, "closed");
    };
    let mut last = TcpStream::connect(address).unwrap();
    ask(&mut last);
    let before = server.resident_kib();
    let mut idle = Vec::with_capacity(CONNECTIONS);
    for _ in 0..CONNECTIONS {
        let mut stream = TcpStream::connect(address).unwrap();
        ask(&mut stream);
        idle.push(stream);
    }
    let busy = server.resident_kib();
    let each = || (server.resident_kib().saturating_sub(before) << 10) / CONNECTIONS as u64;
    let start = std::time::Instant::now();
    // The allocator gives memory back while it works, so somebody asks on.
    while each() > MOST_BYTES_EACH && start.elapsed() < crate::process::PATIENCE {
        ask(&mut last);
    }
    println!("{CONNECTIONS} connections: {} MiB busy, {} bytes each idle", busy >> 10, each());
    assert!(each() <= MOST_BYTES_EACH, "{} bytes each", each());
    // They are all still good.
    idle.iter_mut().step_by(100).for_each(ask);
}
