//! The API on a port and a clock of ours, and a client that says exactly what it is told.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use serde_json::Value;
use tidegate::file::File;
use tidegate::{ManualClock, Span, Timestamp};
use tidegate_tower::report::{Metrics, Reporter};
use tidegate_tower::serve::{Bounds, Serve};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

use crate::example::POLICIES;
use crate::example::app::app;
use crate::example::tokens::Tokens;

/// The API. It ends with the runtime of its test.
pub(crate) struct Site {
    pub(crate) address: SocketAddr,
    clock: Arc<ManualClock>,
}

/// What a test changes before the API starts.
pub(crate) struct Setting {
    pub(crate) policies: String,
    pub(crate) environment: Option<&'static str>,
    pub(crate) reporter: Reporter,
    pub(crate) tokens: Tokens,
    pub(crate) bounds: Bounds,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

/// One request, as it is going to be sent.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    method: &'static str,
    target: String,
    headers: String,
    body: String,
    from: IpAddr,
}

/// When time begins, in seconds since the epoch: at a full day.
pub(crate) const START: u64 = 20_833 * 86_400;

// === impl Setting ===

impl Default for Setting {
    fn default() -> Self {
        Self {
            policies: POLICIES.to_owned(),
            environment: None,
            reporter: Reporter::default().measuring(Metrics::default()),
            tokens: Tokens::example(),
            bounds: Bounds::default(),
        }
    }
}

impl Setting {
    /// With this text of the policy file in the place of another, which is there.
    pub(crate) fn replacing(mut self, text: &str, with: &str) -> Self {
        assert!(self.policies.contains(text), "{text:?} is not in the file");
        self.policies = self.policies.replace(text, with);
        self
    }

    /// Without the lines that have these texts, which are there.
    pub(crate) fn without(mut self, texts: &[&str]) -> Self {
        for text in texts {
            assert!(self.policies.contains(text), "{text:?} is not in the file");
        }
        let left =
            self.policies.lines().filter(|line| !texts.iter().any(|text| line.contains(text)));
        self.policies = left.collect::<Vec<_>>().join("\n");
        self
    }

    /// With more at the end of the section `http`.
    pub(crate) fn saying(self, more: &str) -> Self {
        self.replacing("  # Behind a proxy:", &format!("  {more}\n  # Behind a proxy:"))
    }

    pub(crate) fn site(self) -> (axum::Router, Serve, Arc<ManualClock>) {
        let start = Timestamp::from_micros(START * 1_000_000);
        let clock = Arc::new(ManualClock::new(start));
        let Self { policies, environment, reporter, tokens, bounds } = self;
        let file = File::parse_in("policies.yaml", &policies, environment).unwrap();
        let api = app(&file, Arc::clone(&clock), reporter, tokens).unwrap();
        (api, Serve::new(bounds), clock)
    }

    pub(crate) async fn start(self) -> Site {
        let (api, serve, clock) = self.site();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { serve.run(listener, api, std::future::pending()).await });
        Site { address, clock }
    }
}

// === impl Site ===

impl Site {
    pub(crate) async fn start() -> Self {
        Setting::default().start().await
    }

    pub(crate) fn without(texts: &[&str]) -> Setting {
        Setting::default().without(texts)
    }

    pub(crate) fn pass_time(&self, seconds: u64) {
        self.clock.advance(Span::from_secs(seconds));
    }

    /// A connection from one of our own addresses.
    pub(crate) async fn connect(&self, from: IpAddr) -> TcpStream {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(SocketAddr::new(from, 0)).unwrap();
        let stream = socket.connect(self.address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        stream
    }

    /// Sends a request on a connection of its own.
    pub(crate) async fn send(&self, ask: &Ask) -> Answer {
        self.exchange(ask.from, ask.text().as_bytes()).await
    }

    /// Sends these bytes, and reads until the connection ends.
    pub(crate) async fn exchange(&self, from: IpAddr, bytes: &[u8]) -> Answer {
        let mut stream = self.connect(from).await;
        stream.write_all(bytes).await.unwrap();
        let mut heard = String::new();
        stream.read_to_string(&mut heard).await.unwrap();
        Answer::parse(&heard)
    }

    /// The statuses of so many equal requests, one after another.
    pub(crate) async fn statuses(&self, ask: &Ask, count: usize) -> Vec<u16> {
        let mut statuses = Vec::with_capacity(count);
        for _ in 0..count {
            statuses.push(self.send(ask).await.status);
        }
        statuses
    }

    /// How many of so many equal requests pass; the rest has to be refused as too many.
    pub(crate) async fn passed(&self, ask: &Ask, count: usize) -> usize {
        let statuses = self.statuses(ask, count).await;
        let refused = statuses.iter().filter(|status| **status == 429).count();
        let passed = statuses.iter().filter(|status| (200..300).contains(*status)).count();
        assert_eq!(refused + passed, count, "{ask:?}: {statuses:?}");
        passed
    }
}

// === impl Ask ===

impl Ask {
    pub(crate) fn new(method: &'static str, target: &str) -> Self {
        let (headers, body) = (String::new(), String::new());
        Self { method, target: target.to_owned(), headers, body, from: Ipv4Addr::LOCALHOST.into() }
    }

    pub(crate) fn get(target: &str) -> Self {
        Self::new("GET", target)
    }

    /// Writes a report.
    pub(crate) fn report() -> Self {
        Self::new("POST", "/v1/reports").json(r#"{"title": "Tides"}"#)
    }

    pub(crate) fn json(self, body: &str) -> Self {
        let mut ask = self.header("content-type", "application/json");
        body.clone_into(&mut ask.body);
        ask
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers = format!("{}{name}: {value}\r\n", self.headers);
        self
    }

    /// As the bearer of a token.
    pub(crate) fn bearing(self, token: &str) -> Self {
        self.header("authorization", &format!("Bearer {token}"))
    }

    /// From `127.0.0.<last>`.
    pub(crate) fn from(mut self, last: u8) -> Self {
        self.from = Ipv4Addr::new(127, 0, 0, last).into();
        self
    }

    pub(crate) fn text(&self) -> String {
        let Self { method, target, headers, body, .. } = self;
        let length = body.len();
        format!(
            "{method} {target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{headers}\
             content-length: {length}\r\n\r\n{body}"
        )
    }
}

// === impl Answer ===

impl Answer {
    pub(crate) fn parse(text: &str) -> Self {
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{text:?}"));
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Self { status, head: head.to_owned(), body: body.to_owned() }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("{:?}", self.body))
    }

    /// The code in the body of a refusal.
    pub(crate) fn code(&self) -> String {
        self.json()["error"]["code"].as_str().unwrap_or_default().to_owned()
    }

    /// The limit that refused, by the body.
    pub(crate) fn limit(&self) -> String {
        self.json()["error"]["details"]["limit"].as_str().unwrap_or_default().to_owned()
    }
}
