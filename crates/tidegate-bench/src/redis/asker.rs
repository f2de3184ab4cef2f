//! The clients that ask the server, each on connections of the `redis` crate.

use std::sync::Arc;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, Cmd, Value};
use tidegate_core::{Case, PolicySet, Secret};
use tidegate_engine::Engine;
use tidegate_stores::redis::{RedisStore, Target};

use super::workload::BenchSubject;
use crate::Fallible;

/// One caller; a clone is another caller on the same connection.
#[derive(Clone)]
pub(crate) enum Asker {
    Tidegate(Arc<Engine<RedisStore>>),
    Script { connection: MultiplexedConnection, call: Arc<ScriptCall> },
    Incr(MultiplexedConnection),
}

/// A script that is loaded on the server, and its arguments.
pub(crate) struct ScriptCall {
    hash: String,
    args: Vec<String>,
}

/// The address of a server and a database on it. Each contender has its own database, so that none
/// finds the values of others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DatabaseAddress {
    pub(crate) port: u16,
    pub(crate) db: usize,
}

/// The response timeout: long enough for a server under valgrind on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// The secret that all contenders' counter names are made with.
pub(crate) fn secret() -> Fallible<Secret> {
    Ok(Secret::try_new("known to everybody who reads the benchmark")?)
}

// === impl DatabaseAddress ===

impl DatabaseAddress {
    /// Opens a connection, as any client would.
    pub(crate) async fn connect(self) -> Fallible<MultiplexedConnection> {
        let config = AsyncConnectionConfig::new().set_response_timeout(Some(PATIENCE));
        let client = Client::open(self.url())?;
        Ok(client.get_multiplexed_async_connection_with_config(&config).await?)
    }

    fn url(self) -> String {
        format!("redis://127.0.0.1:{}/{}", self.port, self.db)
    }
}

// === impl Asker ===

impl Asker {
    /// A caller of our store, set up as a user would.
    pub(crate) async fn tidegate(policies: PolicySet, door: DatabaseAddress) -> Fallible<Self> {
        let secret = secret()?;
        let target = Target::parse(&format!("{}?timeout={}s", door.url(), PATIENCE.as_secs()))?;
        let store = RedisStore::new(target, &secret)?;
        store.check().await?;
        Ok(Self::Tidegate(Arc::new(Engine::new(store, policies).sharing(&secret))))
    }

    /// A caller of a single-purpose script, which always gets the arguments `args`.
    pub(crate) async fn script(
        text: &str,
        args: Vec<String>,
        door: DatabaseAddress,
    ) -> Fallible<Self> {
        let mut connection = door.connect().await?;
        let mut load = redis::cmd("SCRIPT");
        let hash = load.arg("LOAD").arg(text).query_async(&mut connection).await?;
        Ok(Self::Script { connection, call: Arc::new(ScriptCall { hash, args }) })
    }

    /// A caller of `INCR`, the cheapest counter there is.
    pub(crate) async fn incr(door: DatabaseAddress) -> Fallible<Self> {
        Ok(Self::Incr(door.connect().await?))
    }

    /// Makes one request; an outcome other than the one the request requires is an error.
    pub(crate) async fn ask(&mut self, request: &BenchSubject) -> Result<(), String> {
        let admitted = self.answer(request).await?;
        match request.passes {
            Some(true) if !admitted => Err("a request was refused".to_owned()),
            Some(false) if admitted => Err("a request was admitted".to_owned()),
            _ => Ok(()),
        }
    }

    /// Whether the request was admitted.
    async fn answer(&mut self, request: &BenchSubject) -> Result<bool, String> {
        let (command, connection) = match self {
            Self::Tidegate(engine) => {
                let (policies, subject) = (engine.policies(), request.subject());
                let mut case = Case::new(&policies.policies()[0], &subject);
                let decision = engine.decide(&mut case).await.map_err(|error| error.to_string())?;
                decision.binding().ok_or("no limit decided")?;
                return Ok(decision.is_admitted());
            }
            Self::Script { connection, call } => (call.command(&request.names), connection),
            Self::Incr(connection) => {
                let mut command = redis::cmd("INCR");
                command.arg(&request.names[0]);
                (command, connection)
            }
        };
        match command.query_async(connection).await.map_err(|error| error.to_string())? {
            // The scripts reply with a list that begins with whether the request passes.
            Value::Array(reply) => Ok(reply.first() == Some(&Value::Int(1))),
            Value::Int(count) => Ok(count > 0),
            other => Err(format!("an unknown reply: {other:?}")),
        }
    }
}

// === impl ScriptCall ===

impl ScriptCall {
    fn command(&self, names: &[String]) -> Cmd {
        let bytes = names.iter().chain(&self.args).map(String::len).sum::<usize>();
        let mut command = Cmd::with_capacity(names.len() + self.args.len() + 3, bytes + 64);
        command.arg("EVALSHA").arg(&self.hash).arg(names.len()).arg(names).arg(&self.args);
        command
    }
}
