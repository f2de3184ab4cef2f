//! A tonic server behind both layers, asked by a tonic client over a socket.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use http::{Extensions, Request};
use tidegate_core::{ManualClock, Span, Timestamp};
use tidegate_engine::Engine;
use tidegate_engine::file::File;
use tidegate_tower::settings::HttpFile;
use tidegate_tower::{Gate, Identity};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tonic::body::Body;
use tonic::transport::server::{TcpConnectInfo, TcpIncoming};
use tonic::transport::{Channel, Endpoint, Server};
use tonic::{Code, Status};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;
use tonic_health::pb::health_server::{Health, HealthServer};
use tower::util::MapRequestLayer;

use crate::world::{Store, store};

const FILE: &str = "
version: 1
http:
  default: read
  classes:
    read: { early: address, policy: api }
  routes:
    - { path: /grpc.health.v1.Health/Check, methods: [POST], class: read, scope: health:check }
policies:
  - name: address
    failure_mode: fail_open
    limits: [ { name: address, by: [ip, class], bucket: { rate: 1/s, burst: 8 } } ]
  - name: api
    failure_mode: degraded
    limits:
      - { name: burst, by: [org, class], bucket: { rate: 1/min, burst: 2 } }
      - { name: daily, by: [org, class], quota: { count: 5, per: day } }
";

/// A server that is there until this value is dropped, its time, and a client.
struct Served {
    clock: Arc<ManualClock>,
    client: HealthClient<Channel>,
    server: JoinHandle<()>,
}

// === impl Served ===

impl Served {
    async fn start() -> Self {
        let clock = Arc::new(ManualClock::new(Timestamp::from_micros(1_800_000_000_000_000)));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (reporter, health) = tonic_health::server::health_reporter();
        reporter.set_service_status("", tonic_health::ServingStatus::Serving).await;
        let server = tokio::spawn(serve(gate(&clock), listener, health));
        let endpoint = Endpoint::from_shared(format!("http://{address}")).unwrap();
        let client = HealthClient::new(endpoint.connect().await.unwrap());
        Self { clock, client, server }
    }

    /// Asks as somebody of this organisation, who was granted this scope.
    async fn check(&mut self, org: &str, scope: &str) -> Result<(), Status> {
        self.client.check(asking(org, scope)).await.map(|answer| {
            assert_eq!(answer.get_ref().status, 1, "the service within has answered");
        })
    }

    async fn codes(&mut self, org: &str, scope: &str, count: usize) -> Vec<Code> {
        let mut codes = Vec::new();
        for _ in 0..count {
            codes.push(
                self.check(org, scope).await.map_or_else(|status| status.code(), |()| Code::Ok),
            );
        }
        codes
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.server.abort();
    }
}

fn gate(clock: &Arc<ManualClock>) -> Gate<Store> {
    let file: File<HttpFile> = File::parse("policies.yaml", FILE).unwrap();
    let store = store(clock);
    let engine = Engine::new(store, file.policies().clone().build(None).unwrap());
    let gate = file.door().http.gate(Arc::new(engine)).unwrap();
    gate.timed_by(clock.clone()).peer(peer).build().unwrap()
}

/// Where tonic says who is connected.
fn peer(extensions: &Extensions) -> Option<IpAddr> {
    Some(extensions.get::<TcpConnectInfo>()?.remote_addr()?.ip())
}

async fn serve(gate: Gate<Store>, listener: TcpListener, health: HealthServer<impl Health>) {
    let server = Server::builder()
        .layer(gate.early())
        .layer(MapRequestLayer::new(authenticate))
        .layer(gate.org())
        .add_service(health);
    server.serve_with_incoming(TcpIncoming::from(listener)).await.unwrap();
}

/// Takes whoever the request says it is.
fn authenticate(mut request: Request<Body>) -> Request<Body> {
    let said = |name| Some(request.headers().get(name)?.to_str().unwrap().to_owned());
    if let Some(org) = said("org") {
        let identity = Identity::new(org).scopes(said("scope"));
        request.extensions_mut().insert(identity);
    }
    request
}

fn asking(org: &str, scope: &str) -> tonic::Request<HealthCheckRequest> {
    let mut request = tonic::Request::new(HealthCheckRequest::default());
    request.metadata_mut().insert("org", org.parse().unwrap());
    request.metadata_mut().insert("scope", scope.parse().unwrap());
    request
}

const GRANTED: &str = "health:check";

#[tokio::test]
async fn tonic_serves_up_to_the_limit_of_each_organisation() {
    let mut served = Served::start().await;
    let codes = served.codes("acme", GRANTED, 3).await;
    assert_eq!(codes, [Code::Ok, Code::Ok, Code::ResourceExhausted]);
    assert_eq!(served.codes("other", GRANTED, 2).await, [Code::Ok, Code::Ok]);
    served.clock.advance(Span::from_secs(60));
    let codes = served.codes("acme", GRANTED, 2).await;
    assert_eq!(codes, [Code::Ok, Code::ResourceExhausted], "one a minute comes back");
}

#[tokio::test]
async fn a_refusal_tells_a_grpc_client_when_to_come_back() {
    let mut served = Served::start().await;
    served.codes("acme", GRANTED, 2).await;
    let refused = served.check("acme", GRANTED).await.unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted);
    let wait = refused.metadata().get("retry-after").expect("how long to wait");
    assert_eq!(wait.to_str().unwrap(), "60");
    assert!(refused.metadata().contains_key("x-request-id"), "by which it is found in the logs");
}

#[tokio::test]
async fn a_lacking_scope_is_told_before_anything_is_counted() {
    let mut served = Served::start().await;
    let codes = served.codes("acme", "health:watch", 3).await;
    assert_eq!(codes, [Code::PermissionDenied; 3]);
    assert_eq!(served.codes("acme", GRANTED, 2).await, [Code::Ok, Code::Ok], "nothing was charged");
}

#[tokio::test]
async fn before_authentication_the_address_of_the_socket_is_limited() {
    let mut served = Served::start().await;
    let codes = served.codes("acme", "health:watch", 9).await;
    assert_eq!(codes[..8], [Code::PermissionDenied; 8]);
    assert_eq!(codes[8], Code::ResourceExhausted);
}

#[tokio::test]
async fn a_stream_passes_as_it_comes_and_is_one_request() {
    let mut served = Served::start().await;
    let mut stream = served.client.watch(asking("acme", GRANTED)).await.unwrap().into_inner();
    let first = stream.message().await.unwrap().expect("the status as it is now");
    assert_eq!(first.status, 1);
    let codes = served.codes("acme", GRANTED, 2).await;
    assert_eq!(codes, [Code::Ok, Code::ResourceExhausted], "while the stream stays open");
}
