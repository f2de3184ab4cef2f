//! A listener that slow and many clients cannot take over (threats T34, T35, T36).
//!
//! A limit on requests says nothing about a client that never finishes one. So a listener has to bound
//! what comes before there is a request: connections, by number and by address; heads, by size and time;
//! streams and resets of HTTP/2; and bodies that stop coming. `axum::serve` and the builders of hyper
//! leave most of this open: without a timer hyper waits for a head for ever, and what tells HTTP/1 from
//! HTTP/2 in hyper-util has no timer at all.
//!
//! ```no_run
//! use tidegate_tower::serve::{Bounds, Serve};
//! # async fn start<V, B>(service: V) -> std::io::Result<()>
//! # where
//! #     V: tower_service::Service<
//! #             http::Request<tidegate_tower::serve::Upload>,
//! #             Response = http::Response<B>,
//! #             Error = std::convert::Infallible,
//! #             Future: Send,
//! #         > + Clone + Send + 'static,
//! #     B: http_body::Body<Data = bytes::Bytes, Error = std::convert::Infallible> + Send + 'static,
//! # {
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:3000").await?;
//! let serve = Serve::new(Bounds::default());
//! // Any tower service, an axum `Router` too.
//! let stopped = serve.run(listener, service, async { tokio::signal::ctrl_c().await.ok(); }).await?;
//! # let _ = stopped;
//! # Ok(())
//! # }
//! ```
//!
//! Every request has its [`Peer`](crate::Peer) in its extensions, which is what the layers count by. To
//! know more about its connections, a service implements [`Host`].
//!
//! ```text
//! admission ─▶ lanes ─▶ connection ─▶ socket ─▶ hyper ─▶ dispatch ─▶ service
//! how many,    which     which         guard: smuggling     upload, memory:
//! from whom    runtime   protocol      watch: slow clients  how much, how slow
//! ```

mod admission;
mod bounds;
mod connection;
mod dispatch;
mod frames;
mod guard;
mod host;
mod instead;
mod lanes;
mod memory;
mod run;
mod socket;
mod strangers;
mod upload;
mod watch;

pub use admission::NotServed;
pub use bounds::Bounds;
pub use host::{BoxError, Each, Host, ListenerRefusal, Origin, PlaceKind, Protocol};
pub use memory::{HeldBytes, Memory, MemoryUse, Share};
pub use run::{Serve, Stopped, listen};
pub use upload::{Upload, UploadError};
