//! The nodes of a test: processes that are told what to do over a socket.

use core::str::FromStr;
use std::path::Path;

use tempfile::TempDir;
use tidegate_test::servers::process::{Process, Recipe, text_of};
use tidegate_test::servers::{RunningServer, wait};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Mutex;

use crate::upstream::Upstream;

/// Some nodes, and the upstream they guard.
pub(crate) struct Crew {
    pub(crate) upstream: Upstream,
    members: Vec<Member>,
}

struct Member {
    process: Process,
    folder: TempDir,
    line: Mutex<BufReader<TcpStream>>,
    is_gone: bool,
}

/// What a node says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) state: String,
    /// Probes that it has begun.
    pub(crate) probes: u64,
    /// Times that it was told to wait for the probe of somebody else.
    pub(crate) refused: u64,
    pub(crate) cancelled: u64,
    /// Reports that the fleet has not answered, and that it has lost something.
    pub(crate) alone: u64,
    pub(crate) lost: u64,
}

// === impl Crew ===

impl Crew {
    /// Starts nodes on this Redis.
    pub(crate) async fn start(redis: &RunningServer, nodes: usize) -> Self {
        let upstream = Upstream::start().await;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut members = Vec::new();
        for node in 0..nodes {
            let folder = TempDir::with_prefix("tidegate-node-").unwrap();
            let (control, calls) = (listener.local_addr().unwrap(), upstream.addr());
            let plan = format!("{node} {} {control} {calls}", redis.url());
            std::fs::write(folder.path().join("plan"), plan).unwrap();
            let process = Process::start(&recipe(folder.path()));
            let accepted = tokio::time::timeout(wait::LIMIT, listener.accept()).await;
            let (stream, _) = accepted
                .unwrap_or_else(|_| panic!("no node: {}", text_of(&folder.path().join("log"))))
                .unwrap();
            let line = Mutex::new(BufReader::new(stream));
            members.push(Member { process, folder, line, is_gone: false });
        }
        Self { upstream, members }
    }

    /// Tells a node what to do, and returns what it says.
    pub(crate) async fn ask(&self, node: usize, what: &str) -> Told {
        let member = &self.members[node];
        let mut line = member.line.lock().await;
        line.write_all(format!("{what}\n").as_bytes()).await.unwrap();
        let mut answer = String::new();
        line.read_line(&mut answer).await.unwrap();
        let log = || text_of(&member.folder.path().join("log"));
        answer.parse().unwrap_or_else(|()| panic!("node {node} answers {answer:?}: {}", log()))
    }

    pub(crate) async fn ask_all(&self, what: &str) {
        for node in self.present() {
            self.ask(node, what).await;
        }
    }

    /// What all nodes that are there say about themselves.
    pub(crate) async fn told(&self) -> Vec<Told> {
        let mut all = Vec::new();
        for node in self.present() {
            all.push(self.ask(node, "tell").await);
        }
        all
    }

    pub(crate) async fn until_all(&self, what: &str, is: impl Fn(&Told) -> bool + Copy) {
        for node in self.present() {
            self.until_node(node, what, is).await;
        }
    }

    pub(crate) async fn until_node(&self, node: usize, what: &str, is: impl Fn(&Told) -> bool) {
        let what = format!("node {node} is {what}: {:?}", self.ask(node, "tell").await);
        // Several times the usual patience: a hundred thousand probes take as long as they take.
        for _ in 0..5 {
            let look = || async { is(&self.ask(node, "tell").await).then_some(()) };
            if wait::until_some(look).await.is_some() {
                return;
            }
        }
        panic!("never: {what}, now {:?}", self.ask(node, "tell").await);
    }

    /// Kills a node with SIGKILL, by the id of its process.
    pub(crate) fn kill(&mut self, node: usize) {
        self.members[node].process.kill();
        self.members[node].is_gone = true;
    }

    fn present(&self) -> Vec<usize> {
        (0..self.members.len()).filter(|node| !self.members[*node].is_gone).collect()
    }
}

/// This program, told to be a node.
fn recipe(folder: &Path) -> Recipe {
    let args = ["--ignored", "--exact", "node_as_a_process", "--nocapture"];
    Recipe {
        program: std::env::current_exe().unwrap(),
        args: args.map(str::to_owned).to_vec(),
        folder: folder.to_owned(),
    }
}

// === impl Told ===

impl core::fmt::Display for Told {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Self { state, probes, refused, cancelled, alone, lost } = self;
        write!(f, "{state} {probes} {refused} {cancelled} {alone} {lost}")
    }
}

impl FromStr for Told {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let [state, numbers @ ..] = words.as_slice() else { return Err(()) };
        let numbers: Vec<u64> =
            numbers.iter().map(|word| word.parse().map_err(|_| ())).collect::<Result<_, ()>>()?;
        let [probes, refused, cancelled, alone, lost] = numbers[..] else { return Err(()) };
        Ok(Self { state: (*state).to_owned(), probes, refused, cancelled, alone, lost })
    }
}
