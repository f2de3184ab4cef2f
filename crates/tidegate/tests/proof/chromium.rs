//! Pages in a real Chromium that try to use a server on the same machine.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};

use crate::process::{PATIENCE, Server};
use crate::wire::{metric, verdict};

/// A Chromium of this test, with a profile of its own; it ends with the test.
struct Chromium {
    child: Child,
    _profile: tempfile::TempDir,
}

/// What the page asks for: one report of `victim`, of which the built-in example admits one a minute.
const ASK: &str = r#"{"policy":"report","subject":{"org":"victim"}}"#;

/// A page that sends the request as pages may without asking, and then tells its own server about it.
fn page(victim: SocketAddr) -> String {
    format!(
        "<!doctype html><title>page</title><script>\n\
         fetch('http://{victim}/v1/decide', {{method: 'POST', mode: 'no-cors', body: '{ASK}',\n\
           headers: {{'content-type': 'text/plain'}}}})\n\
         .then(answer => fetch('/done?' + answer.type), error => fetch('/done?' + error.name));\n\
         </script>\n"
    )
}

/// Serves a page on a port of its own; the receiver gets what the page tells.
fn site(page: String) -> (SocketAddr, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, told) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            // A connection that a browser opens in advance must not keep others waiting.
            let (page, sender) = (page.clone(), sender.clone());
            std::thread::spawn(move || serve(&stream, &page, &sender));
        }
    });
    (address, told)
}

fn serve(mut stream: &TcpStream, page: &str, told: &Sender<String>) {
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let Some(request) = lines.next() else { return };
    let fields: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
    let target = request.split(' ').nth(1).unwrap_or_default();
    let (status, body) = match target.strip_prefix("/done?") {
        _ if target == "/probe" => {
            let of = |line: &String| line.to_ascii_lowercase().starts_with("sec-fetch-site:");
            let _ = told.send(fields.into_iter().find(of).unwrap_or_default());
            ("200 OK", "")
        }
        Some(what) => {
            let _ = told.send(what.to_owned());
            ("200 OK", "")
        }
        None if target == "/" => ("200 OK", page),
        None => ("404 Not Found", ""),
    };
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/html\r\ncontent-length: {length}\r\n\
         connection: close\r\n\r\n"
    );
    let _ = stream.write_all(format!("{head}{body}").as_bytes());
}

// === impl Chromium ===

impl Chromium {
    /// Opens a URL; names of `example` lead to this machine.
    fn open(url: &str, more: &[&str]) -> Self {
        let profile = tempfile::tempdir().unwrap();
        let child = Command::new("chromium")
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
            .args(["--disable-quic", "--no-first-run", "--no-proxy-server", "--disable-sync"])
            .args(["--disable-background-networking", "--disable-component-update"])
            .arg("--host-resolver-rules=MAP attacker.example 127.0.0.1")
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .args(more)
            .arg(url)
            .env("HOME", profile.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("chromium is installed by `cargo xtask test --only install`");
        Self { child, _profile: profile }
    }

    /// What it writes until it ends.
    fn written(&mut self) -> String {
        let out = self.child.stdout.take().unwrap();
        BufReader::new(out).lines().map_while(Result::ok).collect::<Vec<_>>().join("\n")
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A page that asks `probe` first, which is a server like the victim and tells what it is sent.
fn page_with_probe(victim: SocketAddr, probe: SocketAddr) -> String {
    let asks = format!("<script>fetch('http://{probe}/probe', {{mode: 'no-cors'}})</script>\n");
    format!("{asks}{}", page(victim))
}

/// How many requests the server has refused for this reason.
fn refused(server: SocketAddr, reason: &str) -> Option<u64> {
    metric(server, &format!("tidegate_http_requests_refused_total{{reason=\"{reason}\"}}"))
}

#[test]
fn t43_a_page_of_another_origin_charges_nobody() {
    let _alone = crate::alone();
    let (_server, address) = Server::start(&[]);
    let (site, told) = site(page(address));
    let _chromium = Chromium::open(&format!("http://{site}/"), &[]);
    let told = told.recv_timeout(PATIENCE).expect("the page tells its server what became of it");
    assert_eq!(told, "opaque", "the request was answered, and the page may not see how");
    assert_eq!(verdict(address, "report", "victim"), "admit", "it has charged nothing");
    assert_eq!(verdict(address, "report", "victim"), "deny", "as one request does");
    assert_eq!(refused(address, "cross_site"), Some(1), "and it has reached the server");
}

/// The page has a name of its own, so that the browser says `cross-site`; a page at another port of this
/// machine is `same-site`.
#[test]
fn t43_a_page_of_another_site_charges_nobody() {
    let _alone = crate::alone();
    let (_server, address) = Server::start(&[]);
    let (probe, sent) = site(String::new());
    let (site, told) = site(page_with_probe(address, probe));
    let url = format!("http://attacker.example:{}/", site.port());
    let _chromium = Chromium::open(&url, &[]);
    let told = told.recv_timeout(PATIENCE).expect("the page tells its server what became of it");
    assert_eq!(told, "opaque", "the request was answered, and the page may not see how");
    let sent = sent.recv_timeout(PATIENCE).unwrap().to_ascii_lowercase();
    assert_eq!(sent, "sec-fetch-site: cross-site");
    assert_eq!(verdict(address, "report", "victim"), "admit", "it has charged nothing");
    assert_eq!(verdict(address, "report", "victim"), "deny", "as one request does");
    assert_eq!(refused(address, "cross_site"), Some(1), "and it has reached the server");
}

#[test]
fn t43_a_name_of_an_attacker_that_leads_here_shows_nothing() {
    let _alone = crate::alone();
    let (_server, address) = Server::start(&[]);
    let url = |host: &str| format!("http://{host}:{}/v1/policies", address.port());
    let shown = |host| Chromium::open(&url(host), &["--dump-dom"]).written();
    let foreign = shown("attacker.example");
    assert!(foreign.contains("does not go by the name"), "{foreign}");
    assert!(!foreign.contains("report"), "{foreign}");
    let own = shown("localhost");
    assert!(own.contains("report"), "by its own name it shows what there is: {own}");
    assert_ne!(refused(address, "host"), Some(0));
}
