//! TLS, and everything that must not pass for it.

use std::path::Path;

use tidegate_core::StoreError;
use tidegate_test::servers::RunningServer;
use tidegate_test::servers::tls::{Certificates, Shown};

use super::super::Servers;
use super::{PATIENT, count, servers, trouble};
use crate::redis::url::{Target, TargetError};

fn url(host: &str, server: &RunningServer, ca: &Path) -> String {
    format!("rediss://{host}:{}?ca={}", server.port(), ca.display())
}

#[tokio::test]
async fn the_right_authority_is_believed() {
    let made = Certificates::make();
    let server = RunningServer::builder().tls(&made, Shown::Good).start().await;
    for (host, expected) in [("127.0.0.1", 1), ("localhost", 2)] {
        let servers = servers(&url(host, &server, &made.ca()), PATIENT);
        assert_eq!(servers.check().await, Ok(()));
        assert_eq!(count(&servers, "k").await, Ok(expected), "{host}");
    }
}

#[tokio::test]
async fn whoever_cannot_prove_its_name_is_refused() {
    let made = Certificates::make();
    for (shown, ca, words) in [
        (Shown::Good, made.other_ca(), "UnknownIssuer"),
        (Shown::Expired, made.ca(), "expired"),
        (Shown::OtherHost, made.ca(), "not valid for"),
    ] {
        let server = RunningServer::builder().tls(&made, shown).start().await;
        let servers = servers(&url("127.0.0.1", &server, &ca), PATIENT);
        assert_eq!(count(&servers, "k").await, Err(StoreError::Refused), "{words}");
        let trouble = servers.check().await.unwrap_err();
        assert!(trouble.is_refusal());
        assert!(trouble.to_string().contains("its certificate is not accepted"), "{trouble}");
        assert!(trouble.to_string().contains(words), "{trouble}");
    }
}

#[tokio::test]
async fn the_systems_authorities_do_not_know_ours() {
    let made = Certificates::make();
    let server = RunningServer::builder().tls(&made, Shown::Good).start().await;
    // Without any authority on this machine, it is refused before connecting.
    let target = Target::parse(&format!("rediss://{}", server.addr())).unwrap();
    match Servers::new(target.with_timeout(PATIENT)) {
        Ok(servers) => assert_eq!(count(&servers, "k").await, Err(StoreError::Refused)),
        Err(error) => assert!(matches!(error, TargetError::Tls { .. }), "{error}"),
    }
}

#[tokio::test]
async fn neither_side_falls_back_to_plain_text() {
    let made = Certificates::make();
    let plain = RunningServer::start().await;
    let wanted = servers(&url("127.0.0.1", &plain, &made.ca()), PATIENT / 10);
    let error = count(&wanted, "k").await.unwrap_err();
    assert!(matches!(error, StoreError::Unavailable | StoreError::Refused), "{error:?}");
    assert_eq!(plain.command(&["EXISTS", "k"]).await, redis::Value::Int(0));

    let secret = RunningServer::builder().tls(&made, Shown::Good).start().await;
    let unaware = servers(&format!("redis://127.0.0.1:{}", secret.port()), PATIENT / 10);
    assert_eq!(count(&unaware, "k").await, Err(StoreError::Unavailable));
}

#[tokio::test]
async fn a_server_may_want_to_know_who_we_are() {
    let made = Certificates::make();
    let builder =
        RunningServer::builder().tls(&made, Shown::Good).args(["--tls-auth-clients", "yes"]);
    let server = builder.start().await;
    let nobody = servers(&url("127.0.0.1", &server, &made.ca()), PATIENT);
    let refused = count(&nobody, "k").await;
    assert_eq!(refused, Err(StoreError::Refused), "{}", trouble(&nobody));
    let (cert, key) = made.client();
    let url = url("127.0.0.1", &server, &made.ca());
    let url = format!("{url}&cert={}&key={}", cert.display(), key.display());
    assert_eq!(count(&servers(&url, PATIENT), "k").await, Ok(1));
}

#[test]
fn files_that_cannot_be_used_are_told_before_anything_is_connected() {
    let made = Certificates::make();
    let (ca, (cert, key)) = (made.ca(), made.client());
    let (ca, cert, key) = (ca.display(), cert.display(), key.display());
    for (settings, named) in [
        ("ca=/nowhere.pem".to_owned(), "ca"),
        (format!("ca={key}"), "ca"),
        (format!("ca={ca}&cert=/nowhere.pem&key={key}"), "cert"),
        (format!("ca={ca}&cert={cert}&key=/nowhere.pem"), "key"),
        (format!("ca={ca}&cert={cert}&key={cert}"), "key"),
        (format!("ca={ca}&cert={ca}&key={key}"), "key"),
    ] {
        let target = Target::parse(&format!("rediss://:hunter2@h?{settings}")).unwrap();
        let error = Servers::new(target).unwrap_err();
        assert!(matches!(error, TargetError::Tls { what, .. } if what == named), "{error}");
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }
}
