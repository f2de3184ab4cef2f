//! The server that all contenders ask: a process of our own, on a free port, without persistence.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use redis::aio::MultiplexedConnection;

use super::asker::DatabaseAddress;
use crate::Fallible;
use crate::callgrind;
use crate::measure::on_processor;
use crate::server::process::{self, ServerProcess};

/// A running Redis server, which ends when this value is dropped.
pub(crate) struct RedisProcess {
    process: ServerProcess,
    pub(crate) port: u16,
    admin: MultiplexedConnection,
}

/// The work that a server and its client, this process, have done so far.
#[derive(Debug)]
pub(crate) struct ServerWork {
    pub(crate) processor: Duration,
    /// Processor time of this process, where the system reports it.
    pub(crate) client: Option<Duration>,
    pub(crate) commands: Commands,
}

/// Calls that took the server longer than [`SLOW`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Slow {
    pub(crate) calls: usize,
    /// Microseconds that the longest of these calls took.
    pub(crate) longest: u64,
}

/// Number of calls and total microseconds of each command, including commands that scripts run.
pub(crate) type Commands = BTreeMap<String, (u64, u64)>;

/// Microseconds from which a call is slow: other clients should not have to wait that long.
pub(crate) const SLOW: u64 = 1_000;
/// Slow calls that the server keeps: more than are made between two reads.
const KEPT: u64 = 100_000;

const PROGRAM: &str = "redis-server";
/// Server options: local connections only, nothing is saved, little is logged.
const QUIET: &str = "--bind 127.0.0.1 --save  --appendonly no --daemonize no --loglevel warning \
    --hz 1 --dynamic-hz no";

/// An entry of the slow log: its number, time, duration, words, client address and client name.
type Noted = (u64, u64, u64, Vec<Vec<u8>>, String, String);

/// The file that callgrind writes for the server at this port.
fn counted(port: u16) -> Fallible<PathBuf> {
    Ok(process::scratch()?.join(format!("callgrind.{port}")))
}

// === impl RedisProcess ===

impl RedisProcess {
    /// Starts a server and waits until it answers.
    pub(crate) async fn start() -> Fallible<Self> {
        let port = process::free_port()?;
        Self::from(Path::new(PROGRAM), &[], port).await
    }

    /// Starts a server whose instructions are counted into the file [`counted`].
    pub(crate) async fn start_counted() -> Fallible<Self> {
        let port = process::free_port()?;
        let [quiet, tool, out] = callgrind::args(&counted(port)?);
        Self::from(Path::new("valgrind"), &[&quiet, &tool, &out, PROGRAM], port).await
    }

    async fn from(program: &Path, before: &[&str], port: u16) -> Fallible<Self> {
        let (text, scratch) = (port.to_string(), process::scratch()?.display().to_string());
        let quiet: Vec<&str> = QUIET.split(' ').collect();
        let args = [before, &["--port", &text, "--dir", &scratch], &quiet].concat();
        let process = ServerProcess::start(program, &args, port)?;
        let admin = DatabaseAddress { port, db: 0 }.connect().await?;
        Ok(Self { process, port, admin })
    }

    /// The address of the server and its first database.
    pub(crate) const fn door(&self) -> DatabaseAddress {
        DatabaseAddress { port: self.port, db: 0 }
    }

    /// The processor time and the commands of this server so far.
    pub(crate) async fn stand(&mut self) -> Fallible<ServerWork> {
        let mut info = redis::cmd("INFO");
        let text: String = info.arg("commandstats").query_async(&mut self.admin).await?;
        let (processor, client) = (self.process.on_processor()?, on_processor());
        Ok(ServerWork { processor, client, commands: commands(&text)? })
    }

    /// Deletes all keys.
    pub(crate) async fn clear(&mut self) -> Fallible<()> {
        Ok(redis::cmd("FLUSHALL").arg("SYNC").query_async(&mut self.admin).await?)
    }

    /// Clears the slow log, and starts to log calls slower than [`SLOW`].
    pub(crate) async fn watch(&mut self) -> Fallible<()> {
        let mut config = redis::cmd("CONFIG");
        config.arg("SET").arg("slowlog-log-slower-than").arg(SLOW);
        config.arg("slowlog-max-len").arg(KEPT).query_async::<()>(&mut self.admin).await?;
        Ok(redis::cmd("SLOWLOG").arg("RESET").query_async(&mut self.admin).await?)
    }

    /// The slow script calls since [`Self::watch`]. Their time is by wall clock, so it includes
    /// calls during which the server lost its processor to another process.
    pub(crate) async fn slow(&mut self) -> Fallible<Slow> {
        let mut get = redis::cmd("SLOWLOG");
        let noted: Vec<Noted> = get.arg("GET").arg(-1).query_async(&mut self.admin).await?;
        let scripts = noted.iter().filter(|(_, _, _, words, ..)| {
            words.first().is_some_and(|word| word.eq_ignore_ascii_case(b"EVALSHA"))
        });
        let one = |(_, _, micros, ..): &Noted| Slow { calls: 1, longest: *micros };
        Ok(scripts.map(one).fold(Slow::default(), Slow::with))
    }

    /// The version that the server reports.
    pub(crate) async fn version(&mut self) -> Fallible<String> {
        let mut info = redis::cmd("INFO");
        let text: String = info.arg("server").query_async(&mut self.admin).await?;
        let version = text.lines().find_map(|line| line.strip_prefix("redis_version:"));
        Ok(version.ok_or("the server does not tell its version")?.trim().to_owned())
    }

    /// Shuts the server down cleanly, so that callgrind writes its count, and reads that count.
    pub(crate) async fn instructions(mut self) -> Fallible<u64> {
        let mut end = redis::cmd("SHUTDOWN");
        // The server does not answer `SHUTDOWN`; it closes the connection.
        let _: Result<(), _> = end.arg("NOSAVE").query_async(&mut self.admin).await;
        self.process.wait()?;
        callgrind::total(&counted(self.port)?)
    }
}

// === impl Slow ===

impl Slow {
    pub(crate) fn with(self, other: Self) -> Self {
        Self { calls: self.calls + other.calls, longest: self.longest.max(other.longest) }
    }
}

// === impl ServerWork ===

impl ServerWork {
    /// The work done since `before`, without `INFO`, which is our own command.
    pub(crate) fn since(mut self, before: &Self) -> Self {
        self.processor = self.processor.saturating_sub(before.processor);
        let clients = self.client.zip(before.client);
        self.client = clients.map(|(after, before)| after.saturating_sub(before));
        for (name, (calls, micros)) in &mut self.commands {
            let (earlier, spent) = before.commands.get(name).copied().unwrap_or_default();
            (*calls, *micros) = (*calls - earlier, *micros - spent);
        }
        self.commands.retain(|name, (calls, _)| *calls > 0 && name != "info");
        self
    }
}

/// Reads lines such as `cmdstat_get:calls=4,usec=9,usec_per_call=2.25,…`.
fn commands(text: &str) -> Fallible<Commands> {
    let mut commands = Commands::new();
    for line in text.lines() {
        let Some((name, figures)) =
            line.strip_prefix("cmdstat_").and_then(|line| line.split_once(':'))
        else {
            continue;
        };
        let figure = |name: &str| {
            let value = figures.split(',').find_map(|part| part.strip_prefix(name));
            value.ok_or_else(|| format!("no {name} in {line}"))
        };
        commands.insert(name.to_owned(), (figure("calls=")?.parse()?, figure("usec=")?.parse()?));
    }
    Ok(commands)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "# Commandstats\r\ncmdstat_get:calls=4,usec=9,usec_per_call=2.25\r\n";
    const AFTER: &str = "cmdstat_get:calls=4,usec=9,usec_per_call=2.25\r\n\
        cmdstat_info:calls=1,usec=9,usec_per_call=9.00\r\n\
        cmdstat_evalsha:calls=7,usec=30,usec_per_call=4.29,rejected_calls=0\r\n";

    #[test]
    fn what_was_done_in_between_is_told_without_our_questions() {
        let stand = |text, millis| ServerWork {
            processor: Duration::from_millis(millis),
            client: None,
            commands: commands(text).unwrap(),
        };
        let done = stand(AFTER, 5).since(&stand(BEFORE, 3));
        assert_eq!(done.processor, Duration::from_millis(2));
        assert_eq!(done.commands, Commands::from([("evalsha".to_owned(), (7, 30))]));
    }

    #[test]
    fn figures_that_are_missing_are_no_zeros() {
        assert!(commands("cmdstat_get:calls=4\r\n").is_err());
    }
}
