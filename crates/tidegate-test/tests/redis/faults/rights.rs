//! Somebody has changed what we may do: no outage, and nothing that passes by itself.

use core::time::Duration;

use crate::node::{Node, PATIENT};
use crate::place;
use crate::table::Row;
use crate::trial::Trial;

#[tokio::test]
async fn r17_rights_taken_away() {
    let server = place::server().await;
    let url = place::url(server.addr());
    let mut trial = Trial::begin(Node::new(&url, PATIENT)).await;
    let mut back = Duration::ZERO;
    // The command, what the script does with it, the keys; all under an open connection.
    for taken in [&["-evalsha"][..], &["-get"], &["-set"], &["-time"], &["resetkeys"]] {
        server.command(&[&["ACL", "SETUSER", "tidegate"], taken].concat()).await;
        let new = format!("new to {}", taken[0]);
        trial.note(&trial.node.decide(&new).await);
        // What is there may be changed in place, which is another right.
        if taken != ["-set"] {
            trial.fails(1).await;
        }
        let rules: Vec<&str> = place::rules().iter().map(String::as_str).collect();
        server.command(&[&["ACL", "SETUSER", "tidegate"], &rules[..]].concat()).await;
        back = back.max(trial.recovers().await);
        assert_eq!(trial.node.counted(&new).await, [0; 3], "{taken:?}");
    }
    trial.balances(&url, &[&server]).await;
    Row {
        id: "R17",
        fault: "a right is taken away (`NOPERM`)",
        seen: trial.seen(),
        then: "when it is granted again; nothing was changed",
        back: Some(back),
    }
    .record();
}

#[tokio::test]
async fn r18_password_changed() {
    let server = place::server().await;
    let url = place::url(server.addr());
    let mut trial = Trial::begin(Node::new(&url, PATIENT)).await;
    server.command(&["ACL", "SETUSER", "tidegate", "resetpass", ">another"]).await;
    // A connection that is open stays; the next one is not let in.
    assert_eq!(trial.call().await, Ok(true));
    server.command(&["CLIENT", "KILL", "USER", "tidegate"]).await;
    let mut late = Trial::unproven(Node::new(&url, PATIENT));
    late.fails(3).await;
    assert!(late.node.store().check().await.unwrap_err().is_refusal());
    let password = place::rules().iter().find(|rule| rule.starts_with('>')).unwrap();
    server.command(&["ACL", "SETUSER", "tidegate", password]).await;
    let back = late.recovers().await;
    trial.recovers().await;
    assert_eq!(place::left_for_ever(&[&server]).await, Vec::<String>::new());
    Row {
        id: "R18",
        fault: "the password is changed (`WRONGPASS`, `NOAUTH`)",
        seen: late.seen(),
        then: "when the password is right; connections that are open stay",
        back: Some(back),
    }
    .record();
}
