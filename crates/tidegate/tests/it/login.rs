//! The guide to logins: its program is driven through a socket, and what it shows is what is run.

use std::net::SocketAddr;
use std::sync::Arc;

use tidegate::{ManualClock, Span, Timestamp};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

#[expect(dead_code, reason = "`main` is for `cargo run`")]
#[path = "../../examples/login/main.rs"]
mod example;

/// The program, on a port and a clock of ours.
struct Site {
    address: SocketAddr,
    clock: Arc<ManualClock>,
}

/// What came back.
struct Answer {
    status: u16,
    head: String,
}

impl Site {
    async fn start() -> Self {
        let clock = Arc::new(ManualClock::new(Timestamp::from_micros(1_800_000_000_000_000)));
        let app = example::app(Arc::clone(&clock), [7; 32]).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let service = app.into_make_service_with_connect_info::<SocketAddr>();
        tokio::spawn(async move { axum::serve(listener, service).await });
        Self { address, clock }
    }

    async fn post(&self, path: &str, body: &str, cookie: Option<&str>) -> Answer {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let cookie = cookie.map(|cookie| format!("cookie: {cookie}\r\n")).unwrap_or_default();
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{cookie}\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut head = String::new();
        stream.read_to_string(&mut head).await.unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Answer { status, head }
    }

    async fn login(&self, account: &str, password: &str, cookie: Option<&str>) -> Answer {
        let body = format!(r#"{{"account": "{account}", "password": "{password}"}}"#);
        self.post("/login", &body, cookie).await
    }
}

impl Answer {
    fn header(&self, name: &str) -> Option<&str> {
        let line = self.head.lines().find(|line| line.to_lowercase().starts_with(name))?;
        line.split_once(": ").map(|(_, value)| value)
    }

    fn cookie(&self) -> String {
        self.header("set-cookie").unwrap().split(';').next().unwrap().to_owned()
    }
}

#[tokio::test]
async fn five_guesses_pass_in_every_spelling_and_the_sixth_is_blocked_for_15_seconds() {
    let site = Site::start().await;
    for name in ["ada@example.com", "Ada@Example.com", " ada@example.com", "ADA@EXAMPLE.COM"] {
        assert_eq!(site.login(name, "guess", None).await.status, 401);
    }
    assert_eq!(site.login("ada@example.com", "guess", None).await.status, 401);
    let refused = site.login("ada@example.com", "correct horse", None).await;
    assert_eq!(refused.status, 429, "the right password does not help");
    assert_eq!(refused.header("retry-after"), Some("15"));
    site.clock.advance(Span::from_secs(15));
    assert_eq!(site.login("ada@example.com", "correct horse", None).await.status, 204);
}

#[tokio::test]
async fn t19_a_vouched_device_gets_in_while_the_account_is_under_attack() {
    let site = Site::start().await;
    let cookie = site.login("ada@example.com", "correct horse", None).await.cookie();
    for _ in 0..20 {
        let _ = site.login("ada@example.com", "guess", None).await;
    }
    assert_eq!(site.login("ada@example.com", "correct horse", None).await.status, 429);
    let own = site.login("ada@example.com", "correct horse", Some(&cookie)).await;
    assert_eq!(own.status, 204);
    let forged = cookie.replace('=', "=x");
    assert_eq!(site.login("ada@example.com", "correct horse", Some(&forged)).await.status, 429);
    let of_another = site.login("bob@example.com", "battery staple", None).await.cookie();
    let stranger = site.login("ada@example.com", "correct horse", Some(&of_another)).await;
    assert_eq!(stranger.status, 429, "good for its own account alone");
}

#[tokio::test]
async fn t20_unknown_accounts_are_told_the_same() {
    let site = Site::start().await;
    let mut answers = Vec::new();
    for account in ["ada@example.com", "nobody@example.com"] {
        for _ in 0..7 {
            let answer = site.login(account, "guess", None).await;
            let body = answer.head.rsplit("\r\n\r\n").next().map(str::to_owned);
            answers.push((answer.status, answer.header("retry-after").map(str::to_owned), body));
        }
    }
    let (known, unknown) = answers.split_at(7);
    assert_eq!(known, unknown);
}

#[tokio::test]
async fn pitfall_s_a_good_login_does_not_clear_the_failures_of_the_address() {
    let site = Site::start().await;
    for number in 0..20 {
        let name = format!("somebody{number}@example.com");
        assert_eq!(site.login("bob@example.com", "battery staple", None).await.status, 204);
        assert_eq!(site.login(&name, "guess", None).await.status, 401);
    }
    let refused = site.login("somebody21@example.com", "guess", None).await;
    assert_eq!(refused.status, 429, "the 21st account in 10 minutes is spraying");
    assert_eq!(refused.header("retry-after"), Some("300"));
}

#[tokio::test]
async fn t18_a_code_is_used_once_and_guessed_at_three_times() {
    let site = Site::start().await;
    let otp = |code: &str| format!(r#"{{"account": "ada@example.com", "code": "{code}"}}"#);
    assert_eq!(site.post("/otp", &otp("492039"), None).await.status, 204);
    for _ in 0..3 {
        assert_eq!(site.post("/otp", &otp("492039"), None).await.status, 401, "used up");
    }
    let refused = site.post("/otp", &otp("000000"), None).await;
    assert_eq!((refused.status, refused.header("retry-after")), (429, Some("300")));
}

#[tokio::test]
async fn t18_who_knows_the_password_gets_no_guesses_at_the_code_by_logging_in_again() {
    let site = Site::start().await;
    let otp = r#"{"account": "ada@example.com", "code": "000000"}"#;
    let mut guesses = 0;
    for _ in 0..20 {
        let cookie = site.login("ada@example.com", "correct horse", None).await.cookie();
        let forged = cookie.replace("device=", "code_device=");
        for cookie in [cookie, forged] {
            guesses += u32::from(site.post("/otp", otp, Some(&cookie)).await.status == 401);
        }
    }
    assert_eq!(guesses, 3);
}

#[tokio::test]
async fn a_device_that_has_passed_a_code_has_guesses_of_its_own_at_the_next() {
    let site = Site::start().await;
    let otp = |code: &str| format!(r#"{{"account": "ada@example.com", "code": "{code}"}}"#);
    let cookie = site.post("/otp", &otp("492039"), None).await.cookie();
    for _ in 0..4 {
        let _ = site.post("/otp", &otp("000000"), None).await;
    }
    assert_eq!(site.post("/otp", &otp("000000"), None).await.status, 429);
    assert_eq!(site.post("/otp", &otp("000000"), Some(&cookie)).await.status, 401);
}

#[tokio::test]
async fn pitfall_t_parallel_guesses_do_not_slip_through() {
    let site = Arc::new(Site::start().await);
    let guesses = (0..40).map(|_| {
        let site = Arc::clone(&site);
        tokio::spawn(async move { site.login("ada@example.com", "guess", None).await.status })
    });
    let mut wrong = 0;
    for guess in guesses.collect::<Vec<_>>() {
        wrong += u32::from(guess.await.unwrap() == 401);
    }
    assert_eq!(wrong, 5);
}

#[test]
fn what_the_guide_shows_is_what_is_run() {
    let guide = include_str!("../../../../docs/guides/login.md");
    let program = [
        include_str!("../../examples/login/main.rs"),
        include_str!("../../examples/login/device.rs"),
    ];
    let blocks: Vec<&str> = guide.split("```rust\n").skip(1).collect();
    assert!(blocks.len() >= 6, "the guide shows the program");
    for block in blocks {
        let code = block.split("```").next().unwrap();
        assert!(program.iter().any(|file| file.contains(code)), "not in the program:\n{code}");
    }
}
