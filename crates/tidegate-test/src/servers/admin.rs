//! The harness's own connection to a server: a Unix socket, past every proxy, TLS and TCP fault.
//!
//! One connection is kept, because a new one would be refused by the very `maxclients` a test has
//! set. It is replaced when it breaks, because tests kill servers all the time.

use core::time::Duration;
use std::path::{Path, PathBuf};

use redis::aio::MultiplexedConnection;
use redis::{
    AsyncConnectionConfig, Client, ConnectionAddr, IntoConnectionInfo, RedisConnectionInfo,
    RedisError, RedisResult, Value,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::sync::Mutex;

/// Timeout of the harness's connection: longer than any stall that a test makes on purpose.
const PATIENCE: Duration = Duration::from_secs(10);

/// The user and password with which the harness logs in.
#[derive(Clone, Debug, Default)]
pub(super) struct Login {
    pub(super) user: Option<String>,
    pub(super) password: Option<String>,
}

/// A connection that survives restarts.
pub(super) struct Admin {
    socket: PathBuf,
    login: Login,
    open: Mutex<Option<MultiplexedConnection>>,
}

// === impl Admin ===

impl Admin {
    pub(super) fn new(socket: PathBuf, login: Login) -> Self {
        Self { socket, login, open: Mutex::new(None) }
    }

    /// Runs one command; repeats it over a new connection if the kept one turns out to be dead.
    pub(super) async fn command(&self, args: &[&str]) -> RedisResult<Value> {
        let mut open = self.open.lock().await;
        let kept = open.take();
        let was_kept = kept.is_some();
        let connection = match kept {
            Some(connection) => connection,
            None => self.connect().await?,
        };
        let (answer, connection) = ask(connection, args).await;
        if was_kept && answer.as_ref().is_err_and(is_dead) {
            let (answer, connection) = ask(self.connect().await?, args).await;
            *open = Some(connection);
            return answer;
        }
        *open = Some(connection);
        answer
    }

    pub(super) async fn connect(&self) -> RedisResult<MultiplexedConnection> {
        let mut login = RedisConnectionInfo::default();
        if let Some(user) = &self.login.user {
            login = login.set_username(user);
        }
        if let Some(password) = &self.login.password {
            login = login.set_password(password);
        }
        let addr = ConnectionAddr::Unix(self.socket.clone());
        let client = Client::open(addr.into_connection_info()?.set_redis_settings(login))?;
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(PATIENCE))
            .set_response_timeout(Some(PATIENCE));
        client.get_multiplexed_async_connection_with_config(&config).await
    }
}

async fn ask(
    mut connection: MultiplexedConnection,
    args: &[&str],
) -> (RedisResult<Value>, MultiplexedConnection) {
    let mut command = redis::Cmd::new();
    for arg in args {
        command.arg(*arg);
    }
    let answer = connection.send_packed_command(&command).await.and_then(Value::extract_error);
    (answer, connection)
}

fn is_dead(error: &RedisError) -> bool {
    error.is_io_error() && !error.is_timeout()
}

/// Whether a server answers at this socket, even with an error: it runs and it reads.
pub(super) async fn answers(socket: &Path) -> bool {
    let ping = async {
        let mut stream = UnixStream::connect(socket).await.ok()?;
        stream.write_all(b"PING\r\n").await.ok()?;
        stream.read_u8().await.ok()
    };
    let answer = tokio::time::timeout(Duration::from_secs(1), ping).await;
    matches!(answer, Ok(Some(b'+' | b'-')))
}
