//! The policy file changes while requests are decided.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::process::Server;
use crate::wire::{get, metric, verdict};

/// What is said when a file is in force.
const RELOADED: &str = "reloaded; the policies of the file are in force";

/// A policy that admits `burst` reports at once.
fn policies(burst: u32) -> String {
    format!(
        "version: 1\npolicies:\n- name: report\n  failure_mode: fail_open\n  limits:\n  \
         - {{ name: once, by: org, bucket: {{ rate: 1/h, burst: {burst} }} }}\n"
    )
}

/// Replaces a file as editors do.
fn replace(file: &Path, text: &str) {
    let beside = file.with_extension("new");
    fs::write(&beside, text).unwrap();
    fs::rename(beside, file).unwrap();
}

/// How many reports a new organisation gets at once.
fn burst(server: std::net::SocketAddr, org: &str) -> usize {
    (0..20).take_while(|_| verdict(server, "report", org) == "admit").count()
}

fn started(text: &str) -> (tempfile::TempDir, std::path::PathBuf, Server, std::net::SocketAddr) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("policies.yaml");
    fs::write(&file, text).unwrap();
    let (server, address) = Server::on(&file);
    (dir, file, server, address)
}

#[test]
fn a_file_that_is_replaced_takes_effect() {
    let (_dir, file, mut server, address) = started(&policies(1));
    assert_eq!(burst(address, "before"), 1);
    replace(&file, &policies(3));
    server.wait_for(RELOADED);
    assert_eq!(burst(address, "after"), 3);
    assert_eq!(metric(address, r#"tidegate_reloads_total{result="accepted"}"#), Some(1));
}

#[test]
fn a_file_that_is_written_in_place_takes_effect() {
    let (_dir, file, mut server, address) = started(&policies(1));
    fs::write(&file, policies(4)).unwrap();
    server.wait_for(RELOADED);
    assert_eq!(burst(address, "after"), 4);
}

#[test]
fn a_link_that_is_swapped_some_way_up_takes_effect() {
    // As Kubernetes mounts a ConfigMap.
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    for (folder, count) in [("..one", 1), ("..two", 5)] {
        fs::create_dir(at(folder)).unwrap();
        fs::write(at(folder).join("policies.yaml"), policies(count)).unwrap();
    }
    symlink("..one", at("..data")).unwrap();
    symlink("..data/policies.yaml", at("policies.yaml")).unwrap();
    let (mut server, address) = Server::on(&at("policies.yaml"));
    symlink("..two", at("..new")).unwrap();
    fs::rename(at("..new"), at("..data")).unwrap();
    server.wait_for(RELOADED);
    assert_eq!(burst(address, "after"), 5);
    fs::remove_dir_all(at("..one")).unwrap();
    replace(&at("..two/policies.yaml"), &policies(6));
    server.wait_for(RELOADED);
    assert_eq!(burst(address, "later"), 6);
}

#[test]
fn sighup_reloads_and_says_so_even_if_nothing_changed() {
    let (_dir, _file, mut server, address) = started(&policies(2));
    server.signal("HUP");
    server.wait_for(RELOADED);
    assert_eq!(burst(address, "after"), 2);
    let (mut server, _) = Server::start(&[]);
    server.signal("HUP");
    server.wait_for("nothing to reload");
}

#[test]
fn a_bad_file_is_refused_loudly_and_the_old_policies_stay() {
    let (_dir, file, mut server, address) = started(&policies(1));
    replace(&file, &policies(3).replace("failure_mode", "failure_moed"));
    let line = server.wait_for("NOT reloaded");
    assert!(line.contains("ERROR") && line.contains("policies.yaml"), "{line}");
    let shown = server.wait_for("failure_moed");
    assert!(shown.starts_with("  | "), "behind a bar, below its line: {shown}");
    assert_eq!(burst(address, "after"), 1);
    assert_eq!(metric(address, r#"tidegate_reloads_total{result="refused"}"#), Some(1));
    replace(&file, &policies(2));
    server.wait_for(RELOADED);
    assert_eq!(burst(address, "mended"), 2);
}

#[test]
fn a_file_that_is_gone_for_a_moment_is_not_an_outage() {
    let (_dir, file, mut server, address) = started(&policies(1));
    fs::remove_file(&file).unwrap();
    fs::write(&file, "").unwrap();
    fs::write(&file, policies(7)).unwrap();
    server.wait_for(RELOADED);
    assert_eq!(burst(address, "after"), 7);
    assert_eq!(get(address, "/readyz").0, 200);
}

#[test]
fn a_file_that_stays_away_is_told_once_and_the_old_policies_stay() {
    let (_dir, file, mut server, address) = started(&policies(1));
    fs::remove_file(&file).unwrap();
    let line = server.wait_for("NOT reloaded");
    assert!(line.contains("policies.yaml"), "{line}");
    assert_eq!(burst(address, "after"), 1);
    fs::write(&file, policies(2)).unwrap();
    server.wait_for(RELOADED);
    assert_eq!(burst(address, "back"), 2);
}

#[test]
fn what_takes_a_restart_is_named() {
    let (_dir, file, mut server, address) = started(&policies(1));
    let sections = "server: { listen: '127.0.0.1:1', max_connections: 7 }\nmemory: { buckets: 77 }\n\
                    log: { level: debug }\n";
    replace(&file, &(policies(2) + sections));
    let line = server.wait_for("restarted");
    assert!(line.contains("WARN"), "{line}");
    for section in ["memory", "server", "log"] {
        assert!(line.contains(section), "`{section}` in {line}");
    }
    assert!(!line.contains("listen"), "a flag holds, restart or not: {line}");
    assert_eq!(burst(address, "after"), 2, "the policies are in force all the same");
}

#[test]
fn no_decision_is_wrong_while_policies_are_reloaded() {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
    let text = |burst: u32| {
        format!(
            "version: 1\npolicies:\n- name: report\n  failure_mode: fail_open\n  limits:\n  \
             - {{ name: total, by: org, quota: {{ count: 500, per: 1d }} }}\n  \
             - {{ name: wide, by: global, bucket: {{ rate: 1000000/s, burst: {burst} }} }}\n"
        )
    };
    let (_dir, file, mut server, address) = started(&text(100_000));
    let (admitted, asked, done) =
        (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !done.load(SeqCst) || asked.load(SeqCst) < 1_000 {
                    let admit = verdict(address, "report", "acme") == "admit";
                    admitted.fetch_add(usize::from(admit), SeqCst);
                    asked.fetch_add(1, SeqCst);
                }
            });
        }
        for round in 0..20 {
            replace(&file, &text(100_001 + round));
            server.signal("HUP");
            server.wait_for(RELOADED);
        }
        done.store(true, SeqCst);
    });
    assert_eq!(admitted.into_inner(), 500, "of {}", asked.into_inner());
}
