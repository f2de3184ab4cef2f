//! The clients that ask the server, each on connections of the `redis` crate.

use std::sync::Arc;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, Cmd};
use tidegate_core::{Case, PolicySet, Secret};
use tidegate_engine::Engine;
use tidegate_stores::redis::{RedisStore, Target};

use super::workload::Request;
use crate::Fallible;

/// One caller; a clone is another caller on the same connection.
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
    /// A script whose reply, like the seed's, names the scope of a block after the numbers.
    Seed {
        connection: MultiplexedConnection,
        call: Arc<Call>,
    },
    Incr {
        connection: MultiplexedConnection,
    },
}

/// A script that is loaded on the server, and its arguments.
pub(crate) struct Call {
    hash: String,
    args: Vec<String>,
}

/// The reply of the seed's script: whether the request passes, the wait, both counts, the scope.
type Told = (i64, i64, i64, i64, String);

/// The address of a server and a database on it. Each contender has its own database, so that none
/// finds the values of others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Door {
    pub(crate) port: u16,
    pub(crate) db: usize,
}

/// The response timeout: long enough for a server under valgrind on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// The secret that all contenders' counter names are made with.
pub(crate) fn secret() -> Fallible<Secret> {
    Ok(Secret::try_new("known to everybody who reads the benchmark")?)
}

// === impl Door ===

impl Door {
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

    /// A caller of a single-purpose script, which always gets the arguments `args`.
    pub(crate) async fn script(text: &str, args: Vec<String>, door: Door) -> Fallible<Self> {
        let mut connection = door.connect().await?;
        let call = Arc::new(Call::load(text, args, &mut connection).await?);
        Ok(Self::Script { connection, call })
    }

    /// A caller of a script that replies as the seed's script does; it always gets the arguments
    /// `args`.
    pub(crate) async fn seed(text: &str, args: Vec<String>, door: Door) -> Fallible<Self> {
        let mut connection = door.connect().await?;
        let call = Arc::new(Call::load(text, args, &mut connection).await?);
        Ok(Self::Seed { connection, call })
    }

    /// A caller of `INCR`, the cheapest counter there is.
    pub(crate) async fn incr(door: Door) -> Fallible<Self> {
        Ok(Self::Incr { connection: door.connect().await? })
    }

    /// Makes one request; an outcome other than the one the request requires is an error.
    pub(crate) async fn ask(&mut self, request: &Request) -> Result<(), String> {
        let admitted = self.answer(request).await?;
        match request.passes {
            Some(true) if !admitted => Err("a request was refused".to_owned()),
            Some(false) if admitted => Err("a request was admitted".to_owned()),
            _ => Ok(()),
        }
    }

    /// Whether the request was admitted.
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
