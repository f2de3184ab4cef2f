//! The decision server as a tower service, beside a gRPC service on one listener.

use std::sync::Arc;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Request, Response};
use http_body_util::BodyExt;
use http_body_util::combinators::UnsyncBoxBody;
use tidegate_core::ManualClock;
use tidegate_engine::Engine;
use tidegate_engine::memory::MemoryStore;
use tidegate_server::{Server, Settings, WrittenSettings};
use tidegate_tower::serve::{Bounds, BoxError, Serve, Upload};
use tokio::net::TcpListener;
use tonic::transport::Endpoint;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;
use tower::{Service, service_fn};

use crate::raw::Client;
use crate::world::{BUDGET, NOW, policies};

type Boxed = UnsyncBoxBody<Bytes, BoxError>;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn decisions_and_grpc_are_answered_on_one_listener() {
    let clock = Arc::new(ManualClock::new(NOW));
    let store = MemoryStore::new(BUDGET, Arc::clone(&clock));
    let engine = Arc::new(Engine::new(store, policies().build(None).unwrap()));
    let hosts = Some(vec!["t".parse().unwrap()]);
    let listen = "127.0.0.1:0".parse().ok();
    let written = WrittenSettings { listen, hosts, ..Default::default() };
    let server = Server::bind(Settings::try_new(&written).unwrap(), engine, clock).unwrap();
    let oracle = server.service();
    let (reporter, health) = tonic_health::server::health_reporter();
    reporter.set_service_status("", tonic_health::ServingStatus::Serving).await;
    let grpc = tonic::service::Routes::new(health);

    let service = service_fn(move |request: Request<Upload>| {
        let (mut oracle, mut grpc) = (oracle.clone(), grpc.clone());
        async move {
            let of = request.headers().get(CONTENT_TYPE).map(HeaderValue::as_bytes);
            let response: Response<Boxed> =
                if of.is_some_and(|of| of.starts_with(b"application/grpc")) {
                    let response = grpc.call(request.map(tonic::body::Body::new)).await?;
                    response.map(|body| body.map_err(BoxError::from).boxed_unsync())
                } else {
                    let response = oracle.call(request).await?;
                    response.map(|body| body.map_err(BoxError::from).boxed_unsync())
                };
            Ok::<_, BoxError>(response)
        }
    });
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let serve = Serve::new(Bounds::default());
    tokio::spawn(async move { serve.run(listener, service, std::future::pending()).await });

    let endpoint = Endpoint::from_shared(format!("http://{address}")).unwrap();
    let mut client = HealthClient::new(endpoint.connect().await.unwrap());
    // Its status comes in the trailers.
    let answer = client.check(HealthCheckRequest::default()).await.unwrap();
    assert_eq!(answer.get_ref().status, 1);
    let asked = tokio::task::spawn_blocking(move || {
        let body = br#"{"policy":"api","subject":{"org":"acme","user":"u7"}}"#;
        Client::connect(address).post("/v1/decide", body).json()
    });
    assert_eq!(asked.await.unwrap()["verdict"], "admit");
    let unknown = HealthCheckRequest { service: "none".to_owned() };
    assert_eq!(client.check(unknown).await.unwrap_err().code(), tonic::Code::NotFound);
}
