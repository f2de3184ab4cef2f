//! Which store: file, environment, flag; what is wrong with it; and what nobody is ever shown.

use std::fs;
use std::path::Path;

use tidegate_test::servers::RunningServer as Redis;

use crate::process::{Ran, Server, ran, ran_with, tidegate};
use crate::wire::get;

pub(crate) const SECRET: (&str, &str) = ("TIDEGATE_SECRET", "canary-secret-of-the-fleet");

/// The one before, while it is being changed.
pub(crate) const PREVIOUS: (&str, &str) =
    ("TIDEGATE_SECRET_PREVIOUS", "canary-secret-of-the-fleet-before");

/// A file with these sections and the example's policies.
fn file(folder: &Path, sections: &str) -> String {
    let path = folder.join("policies.yaml");
    fs::write(&path, format!("{sections}\n{}", ran(&["example"]).out)).unwrap();
    path.to_str().unwrap().to_owned()
}

/// A start that comes to an end by itself.
fn refused(args: &[&str], envs: &[(&str, &str)]) -> Ran {
    let free = ["serve", "--listen", "127.0.0.1:0"];
    let mut command = tidegate(&[&free, args].concat());
    let output = command.envs(envs.iter().copied()).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let code = output.status.code().expect("it was not killed");
    Ran { code, out: text(output.stdout), err: text(output.stderr) }
}

#[test]
fn a_wrong_url_in_the_file_is_told_with_its_place_and_without_the_password() {
    let example = ran(&["example"]).out;
    for (store, told) in [
        ("store: rdis://:canary@host", "write `memory`, or start with redis://"),
        ("store: 'redis://:canary@a,b'", "redis:// takes one host"),
        ("store: redis://:can#ary@host", "percent-encode"),
        ("store: redis://host/x?password=canary", "after the ?"),
        ("store: \"redis://:canary@host/x\"", "write the database as a number"),
        ("store: redis+sentinel://h?sentinel_password=canary", "name the primary"),
        ("store:\n  redis://:canary@ho st", "write a host name"),
        ("store:", "left blank"),
        ("store: [redis://:canary@host]", "not a single text"),
        ("store:redis://:canary@host", "standard input:1:1"),
        ("store: redis://:canary@host\nstroe: 1", "did you mean `store`?"),
        ("store: redis://:canary@host\nstore: redis://:canary@host", "is written twice"),
        ("store: redis://:canary@host\nserver: { threads: 0 }", "server"),
        ("secret_file:", "left blank"),
        ("previous_secret_file:", "left blank"),
    ] {
        let ran = ran_with(&["validate", "-"], &format!("{store}\n{example}"));
        assert_eq!(ran.code, 2, "{store}: {ran:?}");
        assert!(ran.err.contains(told), "`{told}` in {}", ran.err);
        assert!(ran.err.contains(" standard input:"), "{}", ran.err);
        assert!(!ran.err.contains("can"), "{}", ran.err);
    }
    let ran = ran_with(&["validate", "-"], &format!("store: redis://:a@b:c\n{example}"));
    assert!(ran.err.contains("--> standard input:1:8\n"), "{}", ran.err);
    assert!(ran.err.contains("1 | store: **"), "the line, without its value: {}", ran.err);
}

#[test]
fn a_good_url_is_validated_without_a_connection_and_not_asked_by_check() {
    let dir = tempfile::tempdir().unwrap();
    // Nobody is there, and nothing but `serve` minds.
    let path = file(dir.path(), "store: redis://192.0.2.1:1/0?timeout=60s\nsecret_file: gone");
    assert_eq!(ran(&["validate", &path]).code, 0);
    let checked = ran(&["check", "report", "--org", "acme", "--config", &path]);
    assert_eq!(checked.code, 0, "{}", checked.err);
    assert_eq!(ran(&["explain", "report", "--org", "acme", "--config", &path]).code, 0);
}

#[test]
fn a_wrong_url_elsewhere_is_told_by_name_and_without_the_password() {
    let flag = refused(&["--store", "rdis://:canary@host"], &[]);
    let environment = refused(&[], &[("TIDEGATE_STORE", "rdis://:canary@host")]);
    let json = refused(&["--store", "rdis://:canary@host", "--log-format", "json"], &[]);
    for ran in [flag, environment, json] {
        assert_eq!(ran.code, 2, "{ran:?}");
        assert!(ran.err.contains("--store or TIDEGATE_STORE: write `memory`"), "{}", ran.err);
        assert!(!ran.err.contains("canary") && ran.out.is_empty(), "{ran:?}");
    }
}

#[test]
fn a_shared_store_needs_a_secret_and_says_why() {
    let dir = tempfile::tempdir().unwrap();
    let short = dir.path().join("short");
    fs::write(&short, "canary").unwrap();
    let store = ["--store", "redis://127.0.0.1:1"];
    let with_file = [&store[..], &["--secret-file", short.to_str().unwrap()]].concat();
    let gone = file(dir.path(), "store: redis://127.0.0.1:1\nsecret_file: /nowhere/canary-file");
    for (ran, told) in [
        (refused(&store, &[]), "openssl rand -base64 32"),
        (refused(&store, &[("TIDEGATE_SECRET", "")]), "openssl rand -base64 32"),
        (refused(&store, &[("TIDEGATE_SECRET", "canary")]), "TIDEGATE_SECRET: a secret of 6 bytes"),
        (refused(&with_file, &[]), "short: a secret of 6 bytes"),
        (refused(&["--config", &gone], &[]), "cannot read the secret file /nowhere/"),
        (refused(&store, &[PREVIOUS]), "a previous secret and no current one"),
        (refused(&store, &[SECRET, (PREVIOUS.0, SECRET.1)]), "the previous secret is the current"),
        (refused(&store, &[SECRET, (PREVIOUS.0, "canary")]), "TIDEGATE_SECRET_PREVIOUS: a secret"),
    ] {
        assert_eq!(ran.code, 2, "{ran:?}");
        assert!(ran.err.contains(told), "`{told}` in {}", ran.err);
        assert!(!ran.err.contains("canary") || told.contains("/nowhere/"), "{}", ran.err);
    }
    // Memory needs none, and does not mind one.
    drop(Server::start_with(&["--secret-file", "/nowhere"], &[("TIDEGATE_SECRET", "short")]));
}

#[test]
fn help_shows_no_value_of_the_environment() {
    for command in [&["serve", "--help"][..], &["serve", "-h"], &["check", "--help"]] {
        let mut command = tidegate(command);
        command.env("TIDEGATE_STORE", "redis://:canary@host");
        let output = command.env("TIDEGATE_SECRET", "canary").output().unwrap();
        assert!(output.status.success());
        let out = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        assert!(!out.contains("canary"), "{out}");
    }
    let help = ran(&["serve", "--help"]).out;
    for told in [
        "--store",
        "TIDEGATE_STORE",
        "--secret-file",
        "TIDEGATE_SECRET",
        "--previous-secret-file",
        "TIDEGATE_SECRET_PREVIOUS",
        "redis://",
    ] {
        assert!(help.contains(told), "`{told}` in {help}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_environment_comes_before_the_file_and_a_flag_before_both() {
    let redis = Redis::start().await;
    let dir = tempfile::tempdir().unwrap();
    // The file's store would refuse the start: it is a file for TLS that is not there.
    let path = file(dir.path(), "store: rediss://127.0.0.1:1?ca=/nowhere");
    let args = ["--config", &path];
    assert_eq!(refused(&args, &[SECRET]).code, 2, "the file");
    let url = redis.url();
    let (server, address) = Server::start_with(&args, &[SECRET, ("TIDEGATE_STORE", &url)]);
    let ready = get(address, "/readyz");
    assert!(ready.0 == 200 && ready.1.contains(r#""store":"redis""#), "{ready:?}");
    drop(server);
    let flagged = [&args[..], &["--store", "memory"]].concat();
    let (_server, address) = Server::start_with(&flagged, &[("TIDEGATE_STORE", &url)]);
    assert!(get(address, "/readyz").1.contains(r#""store":"memory""#));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_would_forget_or_does_not_let_us_in_is_refused() {
    let evicting = Redis::builder().args(["--maxmemory-policy", "allkeys-lru"]).start().await;
    let locked = Redis::builder().password("canary-password").start().await;
    let wrong = locked.url().replace("canary-password", "canary-guess");
    let open = format!("redis://{}", locked.addr());
    for (url, told) in [
        (evicting.url(), "set maxmemory-policy noeviction"),
        (wrong, "wrong user or password"),
        (open, "it wants a password"),
        (format!("rediss://{}?ca=/nowhere", locked.addr()), "ca cannot be used"),
    ] {
        let ran = refused(&[], &[SECRET, ("TIDEGATE_STORE", &url)]);
        assert_eq!(ran.code, 2, "{ran:?}");
        assert!(ran.err.contains(told) && ran.err.contains("cannot be used"), "{}", ran.err);
        assert!(!ran.err.contains("canary") && ran.out.is_empty(), "{ran:?}");
    }
}
