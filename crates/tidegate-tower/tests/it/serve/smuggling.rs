//! Threat T28: requests that two readers could divide differently, on the listener of a host.

use std::convert::Infallible;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use tidegate_test::smuggling::{Requests, check_all};
use tidegate_tower::serve::{Bounds, Serve, Upload};
use tokio::net::TcpListener;
use tower::service_fn;

/// Reads the body and answers with its length.
async fn answer(request: Request<Upload>) -> Result<Response<Full<Bytes>>, Infallible> {
    let mut response = Response::new(Full::default());
    match request.into_body().collect().await {
        Ok(body) => *response.body_mut() = body.to_bytes().len().to_string().into(),
        Err(_) => *response.status_mut() = StatusCode::UNPROCESSABLE_ENTITY,
    }
    Ok(response)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn t28_no_request_hides_from_a_host() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let serve = Serve::new(Bounds::default());
    let service = service_fn(answer);
    tokio::spawn(async move { serve.run(listener, service, std::future::pending()).await });
    let requests = Requests { get: "/", post: "/upload", fields: "", body: "sixteen letters." };
    let wrong = tokio::task::spawn_blocking(move || check_all(address, requests)).await.unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
