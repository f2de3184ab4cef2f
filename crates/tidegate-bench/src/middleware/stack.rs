//! The same hello world on axum inside different layers.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{ConnectInfo, Request};
use axum::http::Extensions;
use axum::routing::get;
use clap::ValueEnum;
use governor::middleware::StateInformationMiddleware;
use tidegate_engine::file::File;
use tidegate_engine::memory::{Budget, MemoryStore};
use tidegate_engine::{Engine, SystemClock};
use tidegate_tower::settings::HttpFile;
use tidegate_tower::{Gate, Identity};
use tower::util::MapRequestLayer;
use tower_governor::GovernorLayer;
use tower_governor::governor::{GovernorConfig, GovernorConfigBuilder};
use tower_governor::key_extractor::PeerIpKeyExtractor;

use crate::Fallible;

/// The limiter that stands around the hello world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Stack {
    /// No limiter.
    Bare,
    /// Our layer behind authentication: burst, quota and header fields.
    Org,
    /// Our layer behind authentication and our layer before it.
    Both,
    /// The peer: one bucket by address, and header fields.
    Governor,
    /// Our layer behind authentication, with its limits used up.
    Refused,
    /// The peer, with its limits used up.
    RefusedByGovernor,
}

type Store = MemoryStore<SystemClock>;
type Limits = GovernorConfig<PeerIpKeyExtractor, StateInformationMiddleware>;

/// Policies whose limits never run out, so that every stack is measured while it admits. The early
/// layer has one bucket, as the peer does.
const ROOMY: &str = "\
version: 1
http:
  default: read
  classes:
    read: { early: address, policy: api }
  routes:
    - { path: /hello, methods: [GET], class: read }
policies:
  - name: address
    failure_mode: fail_open
    limits:
      - { name: address, by: [ip, class], bucket: { rate: 1000000/s, burst: 1000000 } }
  - name: api
    failure_mode: degraded
    limits:
      - { name: burst, by: [org, class], bucket: { rate: 1000000/s, burst: 1000000 } }
      - { name: daily, by: [org, class], quota: { count: 10000000000, per: day } }
";

/// Requests that a refusing stack admits before it refuses.
pub(crate) const LEFT: u32 = 1;

// === impl Stack ===

impl Stack {
    /// The name of this stack in a report.
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Bare => "no limiter",
            Self::Org => "tidegate, org layer",
            Self::Both => "tidegate, both layers",
            Self::Governor => "tower_governor",
            Self::Refused => "tidegate, org layer, refusing",
            Self::RefusedByGovernor => "tower_governor, refusing",
        }
    }

    pub(crate) const fn refuses(self) -> bool {
        matches!(self, Self::Refused | Self::RefusedByGovernor)
    }

    /// The application. Every stack gets the same identity for each request, so only the limiter
    /// differs. All layers around the handler are one layer to axum, which boxes once for each.
    pub(crate) fn app(self) -> Fallible<Router> {
        let hello = Router::new().route("/hello", get(async || "Hello, world!"));
        let identity = Identity::new("acme").user("u1").token("t1");
        let known = MapRequestLayer::new(move |mut request: Request| {
            request.extensions_mut().insert(identity.clone());
            request
        });
        Ok(match self {
            Self::Bare => hello.layer(known),
            Self::Org => hello.layer((known, gate(ROOMY)?.org())),
            Self::Both => {
                let gate = gate(ROOMY)?;
                hello.layer((gate.early(), known, gate.org()))
            }
            Self::Refused => hello.layer((known, gate(&exhausted())?.org())),
            Self::Governor => {
                let limits = limits(Duration::from_nanos(1), u32::MAX)?;
                hello.layer((known, GovernorLayer::new(limits)))
            }
            Self::RefusedByGovernor => {
                let limits = limits(Duration::from_secs(86_400), LEFT)?;
                hello.layer((known, GovernorLayer::new(limits)))
            }
        })
    }
}

/// [`ROOMY`] with limits so small that they do not refill during a run.
fn exhausted() -> String {
    let bucket = format!("rate: 1/h, burst: {LEFT}");
    ROOMY
        .replace("rate: 1000000/s, burst: 1000000", &bucket)
        .replace("count: 10000000000", "count: 10")
}

fn gate(policies: &str) -> Fallible<Gate<Store>> {
    let file: File<HttpFile> = File::parse("policies.yaml", policies)?;
    let store = MemoryStore::new(Budget::default(), SystemClock::new());
    let engine = Engine::new(store, file.policies().clone().build(None)?);
    Ok(file.door().http.gate(Arc::new(engine))?.peer(peer).build()?)
}

/// The client address that axum has recorded for the connection.
fn peer(extensions: &Extensions) -> Option<IpAddr> {
    Some(extensions.get::<ConnectInfo<SocketAddr>>()?.0.ip())
}

fn limits(period: Duration, burst: u32) -> Fallible<Limits> {
    let mut builder = GovernorConfigBuilder::default();
    let limits = builder.period(period).burst_size(burst).use_headers().finish();
    limits.ok_or_else(|| "tower_governor does not take these limits".into())
}
