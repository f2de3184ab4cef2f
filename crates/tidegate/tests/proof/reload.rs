//! Reloads under load: nobody is refused for it, nobody gains by it, nothing fails.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde_json::Value;

use crate::latency::Client;
use crate::process::Server;

/// `steady` stays as it is; `moving` changes with every reload.
fn policies(burst: u64) -> String {
    format!(
        "version: 1\npolicies:\n- name: steady\n  failure_mode: fail_open\n  limits:\n  \
         - {{ name: l, by: org, bucket: {{ rate: 1/d, burst: 40 }} }}\n\
         - name: moving\n  failure_mode: fail_open\n  limits:\n  \
         - {{ name: l, by: org, quota: {{ count: {burst}, per: 1d }} }}\n"
    )
}

const COUNTS: [u64; 2] = [20, 30];
const RELOADS: usize = 60;

/// How often one organisation was admitted, asked until the reloads are over and a while longer.
fn admitted(server: std::net::SocketAddr, policy: &str, org: &str, over: &AtomicBool) -> u64 {
    let body = format!(r#"{{"policy":"{policy}","subject":{{"org":"{org}"}}}}"#);
    let mut client = Client::new(server, &body);
    let (mut admitted, mut rest) = (0, 200);
    while rest > 0 {
        let (status, body) = client.ask();
        assert_eq!(status, 200, "{body}");
        let answer: Value = serde_json::from_str(&body).unwrap();
        let limit = answer["limit"].as_u64().unwrap();
        let known = if policy == "steady" { limit == 40 } else { COUNTS.contains(&limit) };
        assert!(known, "{body}");
        admitted += u64::from(answer["verdict"] == "admit");
        rest -= u64::from(over.load(Ordering::Relaxed));
    }
    admitted
}

#[test]
fn a_reload_under_load_decides_nothing_wrong() {
    let _alone = crate::alone();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("policies.yaml");
    fs::write(&file, policies(COUNTS[0])).unwrap();
    let (mut server, address) = Server::on(&file);
    let over = AtomicBool::new(false);
    let asked =
        ["steady", "moving"].into_iter().flat_map(|policy| (0..4).map(move |n| (policy, n)));
    let counts: Vec<(&str, u64)> = thread::scope(|scope| {
        let start = |(policy, number)| {
            let over = &over;
            let ask = move || admitted(address, policy, &format!("org-{number}"), over);
            (policy, scope.spawn(ask))
        };
        let threads: Vec<_> = asked.map(start).collect();
        for round in 1..=RELOADS {
            fs::write(dir.path().join("new"), policies(COUNTS[round % 2])).unwrap();
            fs::rename(dir.path().join("new"), &file).unwrap();
            server.signal("HUP");
            server.wait_for("reloaded");
        }
        over.store(true, Ordering::Relaxed);
        threads.into_iter().map(|(policy, thread)| (policy, thread.join().unwrap())).collect()
    });
    for (policy, count) in counts {
        match policy {
            "steady" => assert_eq!(count, 40, "what has not changed is as if nothing had"),
            _ => assert!((COUNTS[0]..=COUNTS[1]).contains(&count), "{count} admitted"),
        }
    }
}
