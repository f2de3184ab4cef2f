//! A fake server that sends the replies it is told to send.
//!
//! A real server cannot be made to answer with a wrong type, half a reply or an error that is yet
//! to be invented. This one can, and always at the same place.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::resp::Parser;
use super::switches::CommandRecord;
use crate::servers::port::Port;

/// A listener whose replies a function makes; it ends when this value is dropped.
pub struct Canned {
    port: Port,
    record: Arc<CommandRecord>,
    listener: JoinHandle<()>,
    /// Dropped with this value, which ends the connections.
    _alive: watch::Sender<()>,
}

type Answer = dyn Fn(&[Bytes]) -> Vec<u8> + Send + Sync;

// === impl Canned ===

impl Canned {
    /// Starts a listener that answers each command with the bytes `handler` returns for it; an
    /// empty result sends nothing.
    ///
    /// # Panics
    ///
    /// If the listener cannot be bound.
    pub async fn start(handler: impl Fn(&[Bytes]) -> Vec<u8> + Send + Sync + 'static) -> Self {
        let port = Port::free();
        let listener = TcpListener::bind(port.addr()).await.expect("a port that was free");
        let (alive, seen) = watch::channel(());
        let record = Arc::new(CommandRecord::default());
        let (handler, kept): (Arc<Answer>, _) = (Arc::new(handler), Arc::clone(&record));
        let listener = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (handler, kept) = (Arc::clone(&handler), Arc::clone(&kept));
                let mut seen = seen.clone();
                tokio::spawn(async move {
                    tokio::select! {
                        _ = seen.changed() => {}
                        // A client that goes away ends its own connection and no other.
                        _ = serve(client, &*handler, &kept) => {}
                    }
                });
            }
        });
        Self { port, record, listener, _alive: alive }
    }

    /// Answers the script commands with `replies`, one after the other over all connections, and
    /// the rest as a healthy server would ([`plausible`]). Once `replies` are used up, script
    /// commands get an error that says so.
    pub async fn scripts(replies: impl IntoIterator<Item = Vec<u8>>) -> Self {
        let replies: Mutex<VecDeque<Vec<u8>>> = Mutex::new(replies.into_iter().collect());
        Self::start(move |command| {
            let name = command.first().map(|name| name.to_ascii_uppercase()).unwrap_or_default();
            if !matches!(&*name, b"EVALSHA" | b"EVAL" | b"EVALSHA_RO" | b"EVAL_RO" | b"FCALL") {
                return plausible(command);
            }
            let next = replies.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            next.unwrap_or_else(|| b"-ERR no canned reply is left\r\n".to_vec())
        })
        .await
    }

    /// The address of the listener.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.port.addr()
    }

    /// The URL by which a client connects to the listener.
    #[must_use]
    pub fn url(&self) -> String {
        format!("redis://{}/", self.addr())
    }

    /// The commands received so far, over all connections.
    #[must_use]
    pub fn record(&self) -> Vec<Vec<Bytes>> {
        self.record.all()
    }
}

impl Drop for Canned {
    fn drop(&mut self) {
        self.listener.abort();
    }
}

async fn serve(
    mut client: TcpStream,
    handler: &Answer,
    record: &CommandRecord,
) -> std::io::Result<()> {
    let mut parser = Parser::default();
    let mut buffer = BytesMut::new();
    while client.read_buf(&mut buffer).await? > 0 {
        let mut answers = Vec::new();
        parser.feed(&buffer.split(), |command| {
            answers.extend(handler(&command));
            record.add(command);
        });
        client.write_all(&answers).await?;
    }
    Ok(())
}

/// The reply of a healthy, empty, stand-alone server to the commands that clients send before they
/// work.
#[must_use]
pub fn plausible(command: &[Bytes]) -> Vec<u8> {
    let word =
        |at: usize| command.get(at).map(|word| word.to_ascii_uppercase()).unwrap_or_default();
    match (&*word(0), &*word(1)) {
        (b"PING", _) => b"+PONG\r\n".to_vec(),
        (b"HELLO", b"3") => hello('%', HELLO.len()),
        (b"HELLO", _) => hello('*', HELLO.len() * 2),
        (b"AUTH" | b"SELECT" | b"CLIENT" | b"READONLY" | b"RESET", _) => b"+OK\r\n".to_vec(),
        (b"INFO", _) => bulk(INFO),
        (b"ROLE", _) => b"*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n".to_vec(),
        (b"TIME", _) => b"*2\r\n$10\r\n1700000000\r\n$1\r\n0\r\n".to_vec(),
        (b"CONFIG", b"GET") if &*word(2) == b"MAXMEMORY-POLICY" => {
            b"*2\r\n$16\r\nmaxmemory-policy\r\n$10\r\nnoeviction\r\n".to_vec()
        }
        (b"CONFIG", b"GET") => b"*0\r\n".to_vec(),
        (b"CLUSTER", _) => b"-ERR This instance has cluster support disabled\r\n".to_vec(),
        _ => b"-ERR unknown command\r\n".to_vec(),
    }
}

const HELLO: [(&str, &str); 6] = [
    ("server", "$5\r\nredis\r\n"),
    ("version", "$6\r\n7.0.15\r\n"),
    ("proto", ":3\r\n"),
    ("id", ":1\r\n"),
    ("mode", "$10\r\nstandalone\r\n"),
    ("role", "$6\r\nmaster\r\n"),
];

const INFO: &str = "# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\n\
    run_id:0000000000000000000000000000000000000001\r\n# Memory\r\nmaxmemory_policy:noeviction\r\n\
    # Replication\r\nrole:master\r\nmaster_replid:0000000000000000000000000000000000000002\r\n\
    # Cluster\r\ncluster_enabled:0\r\n";

fn hello(kind: char, length: usize) -> Vec<u8> {
    let fields = HELLO.map(|(name, value)| format!("${}\r\n{name}\r\n{value}", name.len()));
    format!("{kind}{length}\r\n{}", fields.concat()).into_bytes()
}

fn bulk(text: &str) -> Vec<u8> {
    format!("${}\r\n{text}\r\n", text.len()).into_bytes()
}
