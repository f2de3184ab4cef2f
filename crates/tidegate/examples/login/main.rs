//! A login with a password, and a step with a one-time code, guarded: `cargo run -p tidegate --example
//! login`. The guide in `docs/guides/login.md` explains it piece by piece.

mod device;
mod users;

use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{ConnectInfo, State};
use axum::http::header::{CACHE_CONTROL, RETRY_AFTER, SET_COOKIE, USER_AGENT};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use serde::Deserialize;
use tidegate::memory::{Budget, MemoryStore};
use tidegate::{
    Account, AttemptError, Clock, Engine, FailureMode, Name, PolicySet, Preset, Span, Store,
    Subject, SystemClock,
};

use device::{DeviceStep, Devices};
use users::Users;

/// Everything a request needs.
struct App<S> {
    engine: Engine<S>,
    users: Users,
    devices: Devices,
}

/// A login with the ready-made limits, counted in memory; a fleet would share a `RedisStore`.
pub(crate) fn app<C: Clock + 'static>(
    clock: C,
    secret: [u8; 32],
) -> Result<Router, Box<dyn Error>> {
    let login = Preset::Login.policy(Name::try_new("login")?, FailureMode::FailClosed);
    let otp = Preset::Otp.policy(Name::try_new("otp")?, FailureMode::FailClosed);
    let policies = PolicySet::builder().policy(login).policy(otp).build(None)?;
    let engine = Engine::new(MemoryStore::new(Budget::default(), clock), policies);
    let app = App { engine, users: Users::example(), devices: Devices::new(secret) };
    Ok(Router::new()
        .route("/login", post(login_handler))
        .route("/otp", post(otp_handler))
        .with_state(Arc::new(app)))
}

#[derive(Deserialize)]
struct Login {
    account: String,
    password: String,
}

async fn login_handler<S: Store + 'static>(
    State(app): State<Arc<App<S>>>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
    Json(form): Json<Login>,
) -> Result<Response, Refused> {
    // Folded once: the limiter and the look-up forgive the same spellings.
    let account = Account::new(&form.account);
    let device = app.devices.vouched(DeviceStep::Password, &headers, &account);
    let subject = subject(&account, peer, &headers, device.as_deref());

    // Counted now, before anything is verified; known and unknown accounts alike.
    let attempt = app.engine.attempt("login", &subject).await?;
    if !app.users.password_is_right(&account, &form.password) {
        attempt.failed();
        return Err(Refused::Wrong);
    }
    // Given back. If that fails the attempt stays counted, and who got in is in all the same.
    let _ = attempt.succeeded().await;
    let cookie = app.devices.cookie(DeviceStep::Password, &account);
    Ok((StatusCode::NO_CONTENT, [(SET_COOKIE, cookie)]).into_response())
}

#[derive(Deserialize)]
struct Otp {
    account: String,
    code: String,
}

async fn otp_handler<S: Store + 'static>(
    State(app): State<Arc<App<S>>>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
    Json(form): Json<Otp>,
) -> Result<Response, Refused> {
    let account = Account::new(&form.account);
    // Not one that has only known the password: that is what the code is there for.
    let device = app.devices.vouched(DeviceStep::Code, &headers, &account);
    let subject = subject(&account, peer, &headers, device.as_deref());
    let attempt = app.engine.attempt("otp", &subject).await?;
    // A code is used up by its first use, right or wrong elsewhere.
    if !app.users.use_code(&account, &form.code) {
        attempt.failed();
        return Err(Refused::Wrong);
    }
    let _ = attempt.succeeded().await;
    let cookie = app.devices.cookie(DeviceStep::Code, &account);
    Ok((StatusCode::NO_CONTENT, [(SET_COOKIE, cookie)]).into_response())
}

/// The facts about the client. The address is the socket's: behind a proxy, take the one that your proxy
/// vouches for, and never a header that anybody can send.
fn subject<'a>(
    account: &'a Account<'_>,
    peer: SocketAddr,
    headers: &'a HeaderMap,
    device: Option<&'a str>,
) -> Subject<'a> {
    let agent = headers.get(USER_AGENT).and_then(|agent| agent.to_str().ok()).unwrap_or("none");
    let subject = Subject::new().account(account).ip(peer.ip()).agent(agent);
    match device {
        Some(device) => subject.device(device),
        None => subject,
    }
}

/// Why a login is refused. The words are the same for every account.
enum Refused {
    Wrong,
    TooMany { seconds: u64 },
    Unavailable { seconds: u64 },
}

impl From<AttemptError> for Refused {
    fn from(error: AttemptError) -> Self {
        match error {
            AttemptError::TooMany(refusal) => {
                let wait = refusal.retry_after();
                Self::TooMany { seconds: wait.map_or(86_400, Span::as_secs_ceil) }
            }
            // Nobody can tell, so nobody gets in: that is what failing closed means.
            AttemptError::Unavailable { retry_after } => {
                Self::Unavailable { seconds: retry_after.map_or(5, Span::as_secs_ceil) }
            }
            AttemptError::NoPolicy(_)
            | AttemptError::NoEntrance(_)
            | AttemptError::Undecided(_) => Self::Unavailable { seconds: 5 },
        }
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let (status, code, seconds) = match self {
            Self::Wrong => (StatusCode::UNAUTHORIZED, "wrong_credentials", None),
            Self::TooMany { seconds } => {
                (StatusCode::TOO_MANY_REQUESTS, "too_many_attempts", Some(seconds))
            }
            Self::Unavailable { seconds } => {
                (StatusCode::SERVICE_UNAVAILABLE, "try_again_later", Some(seconds))
            }
        };
        let mut response = (status, Json(serde_json::json!({ "code": code }))).into_response();
        let headers = response.headers_mut();
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Some(seconds) = seconds {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // In production this comes from where your secrets are kept: a new one forgets all devices.
    let mut secret = [0; 32];
    getrandom::fill(&mut secret)?;
    let app = app(SystemClock::new(), secret)?;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:3000").await?;
    let service = app.into_make_service_with_connect_info::<SocketAddr>();
    axum::serve(listener, service).await?;
    Ok(())
}
