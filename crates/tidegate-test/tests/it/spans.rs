//! Rulings as spans of OpenTelemetry, at a collector that is asked over a socket.

use std::convert::Infallible;
use std::future::ready;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use opentelemetry::Context;
use opentelemetry::trace::{TraceContextExt as _, Tracer as _, TracerProvider as _};
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{
    TraceService, TraceServiceServer,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_sdk::trace::{Sampler, SdkTracerProvider};
use tidegate_core::{ManualClock, Timestamp};
use tidegate_engine::Engine;
use tidegate_engine::file::File;
use tidegate_engine::memory::{Budget, MemoryStore};
use tidegate_tower::report::{Reporter, otel};
use tidegate_tower::settings::HttpFile;
use tidegate_tower::{Gate, Identity, Peer};
use tokio::net::TcpListener;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tower::{Layer as _, ServiceExt as _, service_fn};

const FILE: &str = "
version: 1
http:
  default: read
  classes:
    read: { early: address, policy: api }
policies:
  - name: address
    failure_mode: fail_open
    limits: [ { name: peers, by: [ip, class], bucket: { rate: 1/s, burst: 9 } } ]
  - name: api
    failure_mode: degraded
    limits: [ { name: burst, by: [org, class], bucket: { rate: 1/min, burst: 1 } } ]
";

const NOW: Timestamp = Timestamp::from_micros(1_800_000_000_000_000);
const SAMPLED: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const UNSAMPLED: &str = "00-1af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";

/// Keeps what is exported.
#[derive(Clone, Default)]
struct Collector(Arc<Mutex<Vec<ExportTraceServiceRequest>>>);

/// A gate whose rulings are exported.
struct World {
    gate: Gate<MemoryStore<Arc<ManualClock>>>,
    provider: SdkTracerProvider,
    collector: Collector,
}

// === impl Collector ===

#[tonic::async_trait]
impl TraceService for Collector {
    async fn export(
        &self,
        request: tonic::Request<ExportTraceServiceRequest>,
    ) -> Result<tonic::Response<ExportTraceServiceResponse>, tonic::Status> {
        self.0.lock().unwrap().push(request.into_inner());
        Ok(tonic::Response::new(ExportTraceServiceResponse::default()))
    }
}

impl Collector {
    /// Listens, and says where.
    async fn start(&self) -> String {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let server = Server::builder().add_service(TraceServiceServer::new(self.clone()));
        tokio::spawn(server.serve_with_incoming(TcpIncoming::from(listener)));
        endpoint
    }
}

// === impl World ===

impl World {
    async fn start(change: fn(otel::Spans) -> otel::Spans) -> Self {
        let collector = Collector::default();
        let endpoint = collector.start().await;
        Self::exporting(&endpoint, collector, change)
    }

    fn exporting(
        endpoint: &str,
        collector: Collector,
        change: fn(otel::Spans) -> otel::Spans,
    ) -> Self {
        let provider = otel::pipeline(endpoint, "reports-api").unwrap();
        let clock = Arc::new(ManualClock::new(NOW));
        let file: File<HttpFile> = File::parse("policies.yaml", FILE).unwrap();
        let store = MemoryStore::new(Budget::default(), Arc::clone(&clock));
        let engine = Engine::new(store, file.policies().clone().build(None).unwrap());
        let reporter = Reporter::default().tracing(change(otel::Spans::new(&provider)));
        let gate = file.door().http.gate(Arc::new(engine)).unwrap();
        let gate = gate.timed_by(clock).reporter(reporter).build().unwrap();
        Self { gate, provider, collector }
    }

    /// Sends a request through both layers.
    async fn send(&self, traceparent: &str) -> StatusCode {
        let service = service_fn(|_: Request<Full<Bytes>>| {
            ready(Ok::<_, Infallible>(Response::new(Full::<Bytes>::default())))
        });
        let stack = self.gate.early().layer(self.gate.org().layer(service));
        let mut request = Request::new(Full::default());
        request.headers_mut().insert("traceparent", traceparent.parse().unwrap());
        request.headers_mut().insert("x-request-id", "from-the-edge-7".parse().unwrap());
        request.extensions_mut().insert(Peer("198.51.100.7:5000".parse().unwrap()));
        request.extensions_mut().insert(Identity::new("acme").user("u1").token("t1"));
        stack.oneshot(request).await.unwrap().status()
    }

    /// Everything that has been exported when the provider has ended.
    async fn end(self) -> Vec<Span> {
        let Self { provider, collector, .. } = self;
        tokio::task::spawn_blocking(move || provider.shutdown()).await.unwrap().unwrap();
        let exported = collector.0.lock().unwrap().clone();
        let resources: Vec<_> = exported.into_iter().flat_map(|all| all.resource_spans).collect();
        for resource in &resources {
            let named = &resource.resource.as_ref().unwrap().attributes[0];
            assert_eq!(named.key, "service.name");
        }
        let scopes = resources.into_iter().flat_map(|resource| resource.scope_spans);
        scopes.flat_map(|scope| scope.spans).collect()
    }
}

/// The attributes of a span, one in each line.
fn attributes(span: &Span) -> Vec<String> {
    let said = span.attributes.iter().map(|attribute| {
        let value = attribute.value.clone().and_then(|value| value.value);
        let Some(Value::StringValue(value)) = value else { panic!("{attribute:?} is no text") };
        format!("{}={value}", attribute.key)
    });
    said.collect()
}

fn hex(id: &[u8]) -> String {
    id.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn rulings_arrive_at_the_collector_in_the_trace_of_the_caller() {
    let world = World::start(|spans| spans).await;
    assert_eq!(world.send(SAMPLED).await, StatusCode::OK);
    assert_eq!(world.send(SAMPLED).await, StatusCode::TOO_MANY_REQUESTS);
    let spans = world.end().await;
    for span in &spans {
        assert_eq!(span.name, otel::SPAN);
        assert_eq!(hex(&span.trace_id), "0af7651916cd43dd8448eb211c80319c");
        assert_eq!(hex(&span.parent_span_id), "b7ad6b7169203331");
        assert_eq!(span.start_time_unix_nano, NOW.as_micros() * 1_000, "by the clock of the gate");
        assert!(span.end_time_unix_nano >= span.start_time_unix_nano);
    }
    let told: Vec<_> = spans.iter().map(attributes).collect();
    let early = [
        "tidegate.stage=early",
        "tidegate.endpoint_class=read",
        "tidegate.policy=address",
        "tidegate.limit=peers",
        "tidegate.verdict=admit",
        "tidegate.mode=normal",
    ];
    assert_eq!(told[0], early);
    let org = |verdict| {
        let rest = ["tidegate.limit=burst", verdict, "tidegate.mode=normal"];
        let first = ["tidegate.stage=org", "tidegate.endpoint_class=read", "tidegate.policy=api"];
        [first, rest].concat()
    };
    assert_eq!(told[1], org("tidegate.verdict=admit"));
    let mut refused = org("tidegate.verdict=deny");
    refused.push("tidegate.error_code=throttling.rate_limit_exceeded");
    assert_eq!(told[3], refused);
    assert_eq!(told.len(), 4, "one for each layer and request");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_trace_that_is_not_sampled_is_not_exported() {
    let world = World::start(|spans| spans).await;
    world.send(UNSAMPLED).await;
    world.send("no trace that can be read").await;
    world.send(SAMPLED).await;
    let traces: Vec<_> = world.end().await.iter().map(|span| hex(&span.trace_id)).collect();
    assert_eq!(traces, ["0af7651916cd43dd8448eb211c80319c"; 2]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn who_asked_is_said_only_if_the_host_wants_it() {
    let world = World::start(otel::Spans::saying_ids).await;
    world.send(SAMPLED).await;
    let spans = world.end().await;
    let said = ["org_id=acme", "user_id=u1", "token_id=t1", "request_id=from-the-edge-7"];
    let said = said.map(|id| format!("tidegate.{id}"));
    assert_eq!(attributes(&spans[1])[6..], said);
    assert_eq!(attributes(&spans[0])[6..], said[3..], "before authentication nobody is known");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn the_span_of_the_host_is_the_parent_if_there_is_one() {
    let world = World::start(|spans| spans).await;
    // The host samples as it likes, and its span says so.
    let provider = SdkTracerProvider::builder().with_sampler(Sampler::AlwaysOn).build();
    let span = provider.tracer("host").start("request");
    let context = Context::current_with_span(span);
    let host = hex(&context.span().span_context().span_id().to_bytes());
    {
        let _current = context.attach();
        // A store in memory answers at once, so the context is current all the time.
        tidegate_engine::ready(world.send(UNSAMPLED)).expect("memory never waits");
    }
    let spans = world.end().await;
    let parents: Vec<_> = spans.iter().map(|span| hex(&span.parent_span_id)).collect();
    assert_eq!(parents, [host.clone(), host]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn without_a_collector_requests_are_decided_all_the_same() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let world = World::exporting(&endpoint, Collector::default(), |spans| spans);
    // Twice as many spans as may wait.
    for _ in 0..otel::MAX_WAITING {
        let status = tidegate_engine::ready(world.send(SAMPLED)).expect("nobody waits for it");
        assert!(matches!(status.as_u16(), 200 | 429), "{status}");
    }
    let provider = world.provider;
    let ended = move || provider.shutdown_with_timeout(Duration::from_millis(100));
    // It may say that it could not send; it must not wait for ever.
    let _ = tokio::task::spawn_blocking(ended).await.unwrap();
}
