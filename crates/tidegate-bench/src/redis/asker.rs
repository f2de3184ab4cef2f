//! Everybody who asks the server something, each on connections of the `redis` crate.

use std::sync::Arc;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, Cmd};
use tidegate_core::{Case, PolicySet, Secret};
use tidegate_engine::Engine;
use tidegate_stores::redis::{RedisStore, Target};

use super::workload::Request;
use crate::Fallible;

/// One caller; a copy is another one on the same connection.
#[derive(Clone)]
pub(crate) enum Asker {
    Tidegate {
        engine: Arc<Engine<RedisStore>>,
        place: usize,
    },
    Script {
        connection: MultiplexedConnection,
        call: Arc<Call>,
    },
    /// A script that tells the scope of a block with its numbers.
    Seed {
        connection: MultiplexedConnection,
        call: Arc<Call>,
    },
    Incr {
        connection: MultiplexedConnection,
    },
}

/// A script that the server knows.
pub(crate) struct Call {
    hash: String,
    args: Vec<String>,
}

/// What the seed's script tells: whether it passes, the wait, both counts, the scope.
type Told = (i64, i64, i64, i64, String);

/// Where somebody asks: everybody has a database of their own, so that nobody finds others' values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Door {
    pub(crate) port: u16,
    pub(crate) db: usize,
}

/// A server under valgrind, on a busy machine, answers in time as well.
const PATIENCE: Duration = Duration::from_secs(60);

/// The secret of everybody's names.
pub(crate) fn secret() -> Fallible<Secret> {
    Ok(Secret::try_new("known to everybody who reads the benchmark")?)
}

// === impl Door ===

impl Door {
    /// A connection as anybody gets it.
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
    /// Our store, as a user has it.
    pub(crate) async fn tidegate(
        (policies, place): (PolicySet, usize),
        door: Door,
    ) -> Fallible<Self> {
        let secret = secret()?;
        let target = Target::parse(&format!("{}?timeout={}s", door.url(), PATIENCE.as_secs()))?;
        let store = RedisStore::new(target, &secret)?;
        store.check().await?;
        let engine = Engine::new(store, policies).sharing(&secret);
        Ok(Self::Tidegate { engine: Arc::new(engine), place })
    }

    /// A script for one purpose, which is always called with these arguments.
    pub(crate) async fn script(text: &str, args: Vec<String>, door: Door) -> Fallible<Self> {
        let mut connection = door.connect().await?;
        let call = Arc::new(Call::load(text, args, &mut connection).await?);
        Ok(Self::Script { connection, call })
    }

    /// The same of one that answers as that of the seed does.
    pub(crate) async fn seed(text: &str, args: Vec<String>, door: Door) -> Fallible<Self> {
        let mut connection = door.connect().await?;
        let call = Arc::new(Call::load(text, args, &mut connection).await?);
        Ok(Self::Seed { connection, call })
    }

    /// The least a counter can be.
    pub(crate) async fn incr(door: Door) -> Fallible<Self> {
        Ok(Self::Incr { connection: door.connect().await? })
    }

    /// Asks once; what the request did not have to meet is an error.
    pub(crate) async fn ask(&mut self, request: &Request) -> Result<(), String> {
        let admitted = self.answer(request).await?;
        match request.passes {
            Some(true) if !admitted => Err("a request was refused".to_owned()),
            Some(false) if admitted => Err("a request was admitted".to_owned()),
            _ => Ok(()),
        }
    }

    /// Whether it was admitted.
    async fn answer(&mut self, request: &Request) -> Result<bool, String> {
        match self {
            Self::Tidegate { engine, place } => {
                let policies = engine.policies();
                let subject = request.subject();
                let mut case = Case::new(&policies.policies()[*place], &subject);
                let decision = engine.decide(&mut case).await.map_err(|error| error.to_string())?;
                decision.binding().ok_or("no limit decided")?;
                Ok(decision.is_admitted())
            }
            Self::Script { connection, call } => {
                let command = call.command(&request.names);
                let reply = command.query_async::<Vec<i64>>(connection).await;
                Ok(reply.map_err(|error| error.to_string())?.first() == Some(&1))
            }
            Self::Seed { connection, call } => {
                let command = call.command(&request.names);
                let reply = command.query_async::<Told>(connection).await;
                Ok(reply.map_err(|error| error.to_string())?.0 == 1)
            }
            Self::Incr { connection } => {
                let mut command = redis::cmd("INCR");
                command.arg(&request.names[0]);
                let reply = command.query_async::<i64>(connection).await;
                Ok(reply.map_err(|error| error.to_string())? > 0)
            }
        }
    }
}

// === impl Call ===

impl Call {
    async fn load(
        text: &str,
        args: Vec<String>,
        connection: &mut MultiplexedConnection,
    ) -> Fallible<Self> {
        let mut load = redis::cmd("SCRIPT");
        let hash = load.arg("LOAD").arg(text).query_async(connection).await?;
        Ok(Self { hash, args })
    }

    fn command(&self, names: &[String]) -> Cmd {
        let bytes = names.iter().chain(&self.args).map(String::len).sum::<usize>();
        let mut command = Cmd::with_capacity(names.len() + self.args.len() + 3, bytes + 64);
        command.arg("EVALSHA").arg(&self.hash).arg(names.len()).arg(names).arg(&self.args);
        command
    }
}
