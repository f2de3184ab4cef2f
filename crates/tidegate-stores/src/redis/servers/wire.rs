//! One connection that is alive or known to be dead.
//!
//! The `redis` crate speaks the protocol and shares the connection among callers. Its own clients
//! would also connect anew and send again by themselves, and a decision that is sent twice counts
//! twice. So the stream is opened here, and the task that drives it is ours: when it ends, the
//! connection is known to be dead before anything more is sent on it.

use core::fmt;
use core::future::{Future, poll_fn};
use core::sync::atomic::{AtomicU64, Ordering};
use core::task::Poll;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Cmd, Pipeline, RedisConnectionInfo, RedisResult, Value};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use tidegate_core::Headroom;

use super::tls::Tls;
use crate::redis::trouble::Trouble;
use crate::redis::url::Address;

/// The most calls that may wait for the driver to take them up: as many as a node ever has under way.
const QUEUE: usize = Headroom::MOST as usize;

#[derive(Debug)]
pub(super) struct Wire {
    connection: MultiplexedConnection,
    /// The number of replies that somebody was still there to take. A caller that got no reply in time,
    /// while nobody else got one either, knows that the connection is at fault and not only its call.
    answers: AtomicU64,
    /// The task that drives the connection, which is dead once this has ended, by itself or with the
    /// runtime that ran it.
    driver: JoinHandle<()>,
}

// === impl Wire ===

impl Wire {
    /// Connects, without a handshake: that is the caller's first message.
    pub(super) async fn open(address: &Address, tls: Option<&Tls>) -> Result<Self, Trouble> {
        let stream = TcpStream::connect((address.host.as_str(), address.port)).await;
        let stream = stream.map_err(not_connected)?;
        stream.set_nodelay(true).map_err(not_connected)?;
        match tls {
            None => Self::over(stream).await,
            Some(tls) => Self::over(tls.wrap(address, stream).await?).await,
        }
    }

    async fn over(
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    ) -> Result<Self, Trouble> {
        // The crate is to say nothing on its own: neither a password nor a database nor the name of the
        // library.
        let silent = RedisConnectionInfo::default().set_skip_set_lib_name();
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(None)
            .set_response_timeout(None)
            .set_pipeline_buffer_size(QUEUE);
        let opened = MultiplexedConnection::new_with_config(&silent, stream, config).await;
        let (connection, driver) = opened.map_err(not_connected)?;
        Ok(Self { connection, answers: AtomicU64::new(0), driver: tokio::spawn(driver) })
    }

    /// Whether nothing can be sent any more.
    pub(super) fn is_dead(&self) -> bool {
        self.driver.is_finished()
    }

    /// How many replies there have been so far.
    pub(super) fn answers(&self) -> u64 {
        self.answers.load(Ordering::Relaxed)
    }

    /// Sends a command and waits for its reply, which may be an error reply.
    pub(super) async fn send(&self, command: &Cmd) -> RedisResult<Value> {
        let reply = self.connection.clone().send_packed_command(command).await;
        self.count(reply.is_ok());
        reply
    }

    /// Sends the first commands on a new connection, all at once and yet each on its own: for a group,
    /// the `redis` crate does not tell why the connection ended, which has to be known here.
    pub(super) async fn greet(&self, commands: &[Cmd]) -> RedisResult<Vec<Value>> {
        let mut sent: Vec<_> = commands.iter().map(|one| Box::pin(self.send(one))).collect();
        let mut replies: Vec<_> = commands.iter().map(|_| None).collect();
        poll_fn(|context| {
            for (sent, reply) in sent.iter_mut().zip(&mut replies) {
                if reply.is_none()
                    && let Poll::Ready(came) = sent.as_mut().poll(context)
                {
                    *reply = Some(came);
                }
            }
            if replies.iter().all(Option::is_some) { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        replies.into_iter().flatten().collect()
    }

    /// Sends commands with no other call's in between. There is one reply for each, error replies
    /// included.
    pub(super) async fn send_all(&self, commands: &Pipeline) -> RedisResult<Vec<Value>> {
        let count = commands.len();
        let replies = self.connection.clone().send_packed_commands(commands, 0, count).await;
        self.count(replies.is_ok());
        replies
    }

    fn count(&self, answered: bool) {
        if answered {
            self.answers.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        // By itself the driver would wait for replies to calls that everybody has given up.
        self.driver.abort();
    }
}

fn not_connected(error: impl fmt::Display) -> Trouble {
    Trouble::passing(format!("cannot connect: {error}"))
}
