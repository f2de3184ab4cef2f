//! Operators: the listener that is off by default, and the commands that ask it.

use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::process::{Ran, Server, address_in, finished, ran, tidegate};
use crate::wire::{get, metric, post};

const TOKEN: &str = "canary-token-of-the-operators";

const POLICIES: &str = "
version: 1
policies:
  - name: door
    failure_mode: fail_open
    limits:
      - name: tries
        by: account
        attempts:
          temp: { block_at: 3, per: 10min, block: 15min }
      - name: all
        by: account
        stage: global
        window: { count: 50, per: 10min }
  - name: watch
    failure_mode: fail_open
    limits:
      - name: spray
        by: ip
        distinct: account
        attempts: { block_at: 3, per: 10min, ladder: { from: L3 } }
";

/// A server that listens to operators.
struct Admin {
    server: Server,
    main: SocketAddr,
    url: String,
    token_file: PathBuf,
    _dir: tempfile::TempDir,
}

// === impl Admin ===

impl Admin {
    #[track_caller]
    fn start(args: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (policies, token_file) = (dir.path().join("policies.yaml"), dir.path().join("token"));
        fs::write(&policies, POLICIES).unwrap();
        fs::write(&token_file, format!("{TOKEN}\n")).unwrap();
        let config = ["--config", policies.to_str().unwrap(), "--admin-listen", "127.0.0.1:0"];
        let token = ["--admin-token-file", token_file.to_str().unwrap()];
        let (mut server, main) = Server::start(&[&config[..], &token, args].concat());
        let line = server.wait_for("the admin listener is on");
        let url = format!("http://{}", address_in(&line).unwrap());
        Self { server, main, url, token_file, _dir: dir }
    }

    /// Runs a command of operators.
    #[track_caller]
    fn ran(&self, args: &[&str]) -> Ran {
        let token = self.token_file.to_str().unwrap();
        ran(&[args, &["--admin", &self.url, "--token-file", token]].concat())
    }

    #[track_caller]
    fn said(&self, args: &[&str]) -> String {
        let ran = self.ran(args);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{args:?}: {ran:?}");
        ran.out
    }

    #[track_caller]
    fn verdict(&self, account: &str) -> String {
        let body = format!(r#"{{"policy":"door","subject":{{"account":"{account}"}}}}"#);
        post(self.main, "/v1/decide", &body).1["verdict"].as_str().unwrap().to_owned()
    }
}

#[test]
fn t43_there_is_no_admin_listener_unless_there_is_a_token() {
    let (server, address) = Server::start(&[]);
    assert_eq!(get(address, "/admin/blocks").0, 404);
    server.signal("TERM");
    let (_, said) = server.ended();
    assert!(!said.contains("admin listener"), "{said}");
    let (mut server, _) = Server::start(&["--admin-listen", "127.0.0.1:0"]);
    server.wait_for("the admin listener is off: it needs a token");
}

#[test]
fn t43_a_token_that_can_be_guessed_and_an_open_address_are_refused() {
    let serve = |args: &[&str], token: &str| {
        let args = [&["serve", "--listen", "127.0.0.1:0"], args].concat();
        finished(tidegate(&args).env("TIDEGATE_ADMIN_TOKEN", token).spawn().unwrap())
    };
    let short = serve(&[], "canary");
    assert_eq!(short.code, 2, "{short:?}");
    assert!(short.err.contains("TIDEGATE_ADMIN_TOKEN: an admin token of 6 bytes"), "{}", short.err);
    assert!(!short.err.contains("canary"), "{}", short.err);
    let open = serve(&["--admin-listen", "0.0.0.0:0"], TOKEN);
    assert_eq!(open.code, 2, "{open:?}");
    assert!(open.err.contains("server.admin.listen") && open.err.contains("allow_remote"));
    let busy = TcpListener::bind("127.0.0.1:0").unwrap();
    let busy = serve(&["--admin-listen", &busy.local_addr().unwrap().to_string()], TOKEN);
    assert_eq!(busy.code, 1, "{busy:?}");
    assert!(busy.err.contains("--admin-listen") && !busy.err.contains("canary"), "{}", busy.err);
}

#[test]
fn t43_the_token_of_the_environment_opens_and_no_other() {
    let free = ["--admin-listen", "127.0.0.1:0"];
    let (mut server, _) = Server::start_with(&free, &[("TIDEGATE_ADMIN_TOKEN", TOKEN)]);
    let line = server.wait_for("the admin listener is on");
    let url = format!("http://{}", address_in(&line).unwrap());
    let blocks = |token: &str| {
        let mut command = tidegate(&["blocks", "--admin", &url]);
        finished(command.env("TIDEGATE_ADMIN_TOKEN", token).spawn().unwrap())
    };
    assert_eq!(blocks(TOKEN).out, "Nobody is blocked.\n");
    let wrong = blocks("another-canary-token");
    assert_eq!((wrong.code, wrong.out.as_str()), (1, ""));
    assert!(wrong.err.contains("401") && wrong.err.contains("--token-file"), "{}", wrong.err);
    assert!(!wrong.err.contains("canary"), "{}", wrong.err);
}

#[test]
fn a_round_trip_of_every_command() {
    let admin = Admin::start(&[]);
    assert_eq!(admin.verdict("alice"), "admit");
    let blocked = admin.said(&["block", "door", "--account", "alice", "--for", "15min"]);
    assert!(blocked.starts_with("BLOCKED  policy `door`, limit `tries`, for 15 min"), "{blocked}");
    assert_eq!(admin.verdict("alice"), "deny");
    let shorter = admin.said(&["block", "door", "--account", "alice", "--level", "l1"]);
    assert!(shorter.starts_with("UNCHANGED") && shorter.contains("ends later"), "{shorter}");
    let table = admin.said(&["blocks"]);
    let lines: Vec<_> = table.lines().collect();
    assert_eq!(lines.len(), 2, "{table}");
    assert!(lines[0].contains("ends in") && lines[1].contains("operator"), "{table}");
    let unblocked = admin.said(&["unblock", "door", "--account", "alice"]);
    assert_eq!(unblocked, "UNBLOCKED  policy `door`, limit `tries`\n");
    assert_eq!(admin.verdict("alice"), "admit");
    let reset = admin.said(&["reset", "door", "--account", "alice"]);
    assert!(reset.starts_with("RESET  policy `door`, limit `tries`"), "{reset}");
    assert_eq!(reset.lines().count(), 1, "the global limit stays: {reset}");
    assert_eq!(admin.said(&["blocks"]), "Nobody is blocked.\n");
}

#[test]
fn a_block_of_the_list_is_lifted_by_its_key() {
    let admin = Admin::start(&[]);
    let verdicts = [(); 4].map(|()| admin.verdict("alice"));
    assert_eq!(verdicts, ["admit", "admit", "deny", "deny"]);
    let list: Value = serde_json::from_str(&admin.said(&["blocks", "--json"])).unwrap();
    assert_eq!((&list["blocks"][0]["scope"], &list["more"]), (&"temp".into(), &false.into()));
    let key = list["blocks"][0]["key"].as_str().unwrap();
    let lifted = admin.said(&["unblock", "--key", key, "--json"]);
    let lifted: Value = serde_json::from_str(&lifted).unwrap();
    assert_eq!(lifted["changes"][0]["changed"], true);
    assert_eq!(admin.verdict("alice"), "admit");
    assert_eq!(metric(admin.main, r#"limiter_blocked_total{scope="temp"}"#), Some(2));
    assert_eq!(metric(admin.main, r#"tidegate_blocks_begun_total{policy="door"}"#), Some(1));
}

#[test]
fn more_than_a_hundred_blocks_are_listed_when_asked() {
    let admin = Admin::start(&[]);
    for number in 0..101 {
        for _ in 0..3 {
            admin.verdict(&format!("account-{number}"));
        }
    }
    let few = admin.ran(&["blocks"]);
    assert_eq!((few.code, few.out.lines().count()), (0, 101), "{}", few.out);
    assert_eq!(few.err, "There are more than these 100; --all lists more.\n");
    assert_eq!(admin.said(&["blocks", "--all"]).lines().count(), 102);
}

#[test]
fn failures_say_what_to_do() {
    let admin = Admin::start(&[]);
    for (args, code, told) in [
        (&["block", "door", "--for", "1h"][..], 1, "/subject"),
        (&["block", "door", "--account", "a", "--for", "1y"], 1, "/for"),
        (&["block", "dor", "--account", "a", "--for", "1h"], 1, "did you mean `door`?"),
        (&["block", "door", "--account", "a", "--for", "1h", "--limit", "trie"], 1, "`tries`"),
        (&["unblock", "--key", "x"], 1, "/key"),
    ] {
        let ran = admin.ran(args);
        assert_eq!(ran.code, code, "{args:?}: {ran:?}");
        assert!(ran.err.contains(told), "`{told}` in {}", ran.err);
    }
    let token = admin.token_file.to_str().unwrap();
    let main = format!("http://{}", admin.main);
    for (url, told) in [("http://127.0.0.1:1", "is the admin listener on?"), (&*main, "--admin")] {
        let ran = ran(&["blocks", "--admin", url, "--token-file", token]);
        assert_eq!(ran.code, 1, "{ran:?}");
        assert!(ran.err.contains(told) && !ran.err.contains(TOKEN), "`{told}` in {}", ran.err);
    }
    let none = ran(&["blocks", "--token-file", "/nowhere/token"]);
    assert_eq!(none.code, 2);
    assert!(none.err.contains("cannot read the token file /nowhere/token"), "{}", none.err);
}

/// Everything the server said while operators and others were at it.
fn busy(args: &[&str]) -> String {
    let admin = Admin::start(args);
    let subject = ["--account", "canary-account"];
    for _ in 0..4 {
        admin.verdict("canary-account");
    }
    for number in 0..3 {
        let body = format!(
            r#"{{"policy":"watch","subject":{{"account":"canary-{number}","ip":"203.0.113.77"}}}}"#
        );
        post(admin.main, "/v1/decide", &body);
    }
    admin.said(&[&["block", "door", "--for", "1h"][..], &subject].concat());
    admin.said(&[&["unblock", "door"][..], &subject].concat());
    admin.said(&[&["reset", "door"][..], &subject].concat());
    admin.ran(&["unblock", "--key", "00000000000000aa"]);
    let other = Path::new(&admin.token_file).with_file_name("other");
    fs::write(&other, "another-canary-token").unwrap();
    let wrong = ["blocks", "--admin", &admin.url, "--token-file", other.to_str().unwrap()];
    assert_eq!(ran(&wrong).code, 1);
    admin.server.signal("TERM");
    let (status, said) = admin.server.ended();
    assert!(status.success(), "{said}");
    said
}

#[test]
fn t41_neither_the_token_nor_a_subject_is_in_the_log() {
    let said = busy(&["--log-format", "json", "--log-level", "trace"]);
    assert!(!said.contains("canary") && !said.contains("203.0.113.77"), "{said}");
    let lines: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let counted: Vec<_> = lines.iter().filter(|line| line["message"] == "counted").collect();
    let third = counted[2];
    assert_eq!(third["target"], "tidegate::attempts");
    assert_eq!((&third["limit"], &third["by"]), (&"tries".into(), &"account".into()));
    assert_eq!((&third["temp"], &third["long"]), (&3.into(), &0.into()));
    assert_eq!((&third["decision"], &third["wait_us"]), (&"deny".into(), &900_000_000.into()));
}

#[test]
fn t43_what_operators_do_and_whom_attempts_block_is_in_the_log() {
    let said = busy(&["--log-format", "json"]);
    let lines: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for verb in ["block", "unblock", "reset"] {
        let line = lines.iter().find(|line| line["verb"] == verb && line["policy"] == "door");
        let line = line.unwrap_or_else(|| panic!("{verb} in {said}"));
        assert_eq!((&line["level"], &line["peer"]), (&"info".into(), &"127.0.0.1".into()));
        assert_eq!(line["limit"], "tries");
    }
    for (level, told) in [
        ("info", "too many attempts: blocked"),
        ("warn", "password spraying"),
        ("warn", "a request to the admin listener had a wrong token"),
        ("info", "operator changed a block, chosen from the list"),
    ] {
        let is = |line: &&Value| line["message"].as_str().unwrap().starts_with(told);
        let line = lines.iter().find(is).unwrap_or_else(|| panic!("{told} in {said}"));
        assert_eq!(line["level"], level, "{line}");
    }
}
