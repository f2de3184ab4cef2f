//! Certificates a client accepts, and those it must not.

use std::path::Path;
use std::process::Command;

use tidegate_test::servers::tls::{Certificates, Shown};
use tidegate_test::servers::{RunningServer, wait};

use crate::wire::Wire;

/// What the command line client hears, over TLS, if it trusts `ca`.
fn ping(server: &RunningServer, ca: &Path, more: &[&str]) -> String {
    let port = server.port().to_string();
    let args = ["-h", "127.0.0.1", "-p", &port, "--tls", "--cacert", ca.to_str().unwrap()];
    let ran = Command::new("redis-cli").args(args).args(more).arg("PING").output().unwrap();
    String::from_utf8_lossy(&[ran.stdout, ran.stderr].concat()).trim().to_owned()
}

#[tokio::test]
async fn only_the_right_authority_is_believed_and_plain_text_is_not_understood() {
    let made = Certificates::make();
    let server = RunningServer::builder().tls(&made, Shown::Good).start().await;
    assert_eq!(server.url(), format!("rediss://{}/", server.addr()));
    assert_eq!(ping(&server, &made.ca(), &[]), "PONG");
    let refused = ping(&server, &made.other_ca(), &[]);
    assert!(refused.contains("certificate verify failed"), "{refused}");
    let mut plain = Wire::to(server.addr()).await;
    assert!(!matches!(plain.ask("PING").await.as_deref(), Ok("+PONG")));
    server.restart().await;
    assert_eq!(ping(&server, &made.ca(), &[]), "PONG");
}

#[tokio::test]
async fn an_expired_certificate_is_refused() {
    let made = Certificates::make();
    let server = RunningServer::builder().tls(&made, Shown::Expired).start().await;
    let refused = ping(&server, &made.ca(), &[]);
    assert!(refused.contains("certificate verify failed"), "{refused}");
    wait::until("the server has heard of it", || async { server.log().contains("expired") }).await;
}

#[tokio::test]
async fn a_server_may_ask_for_the_certificate_of_the_client() {
    let made = Certificates::make();
    let builder =
        RunningServer::builder().tls(&made, Shown::Good).args(["--tls-auth-clients", "yes"]);
    let server = builder.start().await;
    assert_ne!(ping(&server, &made.ca(), &[]), "PONG");
    let (certificate, key) = made.client();
    let client = ["--cert", certificate.to_str().unwrap(), "--key", key.to_str().unwrap()];
    assert_eq!(ping(&server, &made.ca(), &client), "PONG");
}

#[test]
fn each_certificate_is_for_the_host_and_the_time_it_says() {
    let made = Certificates::make();
    let verify = |shown: Shown, host: &str| {
        let args = ["verify", "-verify_ip", host, "-CAfile", made.ca().to_str().unwrap()]
            .map(String::from);
        let ran = Command::new("openssl").args(args).arg(made.server(shown).0).output().unwrap();
        String::from_utf8_lossy(&[ran.stdout, ran.stderr].concat()).into_owned()
    };
    assert!(verify(Shown::Good, "127.0.0.1").ends_with("OK\n"));
    assert!(verify(Shown::Expired, "127.0.0.1").contains("certificate has expired"));
    assert!(verify(Shown::OtherHost, "127.0.0.1").contains("IP address mismatch"));
    assert!(verify(Shown::Good, "127.0.0.2").contains("IP address mismatch"));
}
