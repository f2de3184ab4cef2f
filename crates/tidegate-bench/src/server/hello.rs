//! The floor: a server that reads the same request and says hello.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::thread;

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::TcpListener;
use tokio::runtime;
use tokio::task::{LocalSet, spawn_local};

use crate::Fallible;

/// Serves a hello world until the process is killed: one runtime for each processor, all on one
/// port.
pub(crate) fn run(listen: &str) -> Fallible<()> {
    let address: SocketAddr = listen.parse()?;
    let threads = thread::available_parallelism()?.get();
    let workers: Vec<_> = (0..threads)
        .map(|_| thread::spawn(move || serve(address).map_err(|error| error.to_string())))
        .collect();
    for worker in workers {
        worker.join().map_err(|_| "a worker panicked")??;
    }
    Ok(())
}

fn serve(address: SocketAddr) -> Fallible<()> {
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    LocalSet::new().block_on(&runtime, accept(address))
}

async fn accept(address: SocketAddr) -> Fallible<()> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_port(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(1024)?;
    let listener = TcpListener::from_std(socket.into())?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        spawn_local(async move {
            let connection =
                http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(answer));
            // It does not matter whether a client of the benchmark closed the connection properly.
            let _ = connection.await;
        });
    }
}

async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let body = request.into_body().collect().await;
    let greeting = if body.is_ok() { "Hello, world!" } else { "Pardon?" };
    Ok(Response::new(Full::new(Bytes::from_static(greeting.as_bytes()))))
}
