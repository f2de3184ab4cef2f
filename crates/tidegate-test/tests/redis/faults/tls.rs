//! Somebody who cannot prove who they are is not talked to, in no way.

use std::path::Path;

use tidegate_stores::redis::Trouble;
use tidegate_test::servers::RunningServer;
use tidegate_test::servers::tls::{Certificates, Shown};

use crate::node::{Node, PATIENT};
use crate::place;
use crate::table::Row;
use crate::trial::Trial;

fn url(server: &RunningServer, ca: &Path) -> String {
    format!("rediss://{}{}?ca={}", place::login(), server.addr(), ca.display())
}

#[tokio::test]
async fn r20_a_certificate_that_is_not_accepted() {
    let made = Certificates::make();
    let good = place::builder().tls(&made, Shown::Good).start().await;
    let expired = place::builder().tls(&made, Shown::Expired).start().await;
    let elsewhere = place::builder().tls(&made, Shown::OtherHost).start().await;
    let mut seen = None;
    for (server, ca) in [(&good, made.other_ca()), (&expired, made.ca()), (&elsewhere, made.ca())] {
        let mut trial = Trial::unproven(Node::new(&url(server, &ca), PATIENT));
        let refused = trial.node.store().check().await;
        assert!(refused.as_ref().is_err_and(Trouble::is_refusal), "{refused:?}");
        trial.fails(2).await;
        assert!(seen.is_none_or(|seen| seen == trial.seen()));
        seen = Some(trial.seen());
        assert_eq!(server.command(&["DBSIZE"]).await, redis::Value::Int(0));
    }
    let mut trusted = Trial::begin(Node::new(&url(&good, &made.ca()), PATIENT)).await;
    trusted.call().await.unwrap();
    trusted.balances(&url(&good, &made.ca()), &[&good]).await;
    Row {
        id: "R20",
        fault: "TLS: another authority, an expired certificate, another host's",
        seen: seen.unwrap(),
        then: "when the certificate is right; the start-up check says so",
        back: None,
    }
    .record();
}

#[tokio::test]
async fn r20b_a_plain_server_where_tls_is_asked_for() {
    let (made, plain) = (Certificates::make(), place::server().await);
    let mut trial = Trial::unproven(Node::new(&url(&plain, &made.ca()), PATIENT / 20));
    trial.fails(2).await;
    let secret = place::builder().tls(&made, Shown::Good).start().await;
    let mut unaware = Trial::unproven(Node::new(&place::url(secret.addr()), PATIENT / 20));
    unaware.fails(2).await;
    // Nothing was said in the clear that only a friend may hear, and nothing was counted.
    for server in [&plain, &secret] {
        assert_eq!(server.command(&["DBSIZE"]).await, redis::Value::Int(0));
        let stats = server.text(&["INFO", "commandstats"]).await;
        assert!(!stats.contains("cmdstat_auth"), "{stats}");
    }
    Row {
        id: "R20b",
        fault: "TLS is asked for and the port is plain; or the other way round",
        seen: format!("{}; {}", trial.seen(), unaware.seen()),
        then: "neither side falls back to plain text",
        back: None,
    }
    .record();
}
