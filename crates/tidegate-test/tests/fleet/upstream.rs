//! The upstream: it writes down every call, and answers when the test says so.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tidegate_test::servers::wait;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// A call that has reached the upstream.
#[derive(Clone, Debug)]
pub(crate) struct Arrived {
    pub(crate) node: usize,
    /// The highest generation that the node knew of.
    pub(crate) generation: u64,
    pub(crate) is_agreed: bool,
}

/// The upstream of all nodes.
pub(crate) struct Upstream {
    addr: SocketAddr,
    calls: Arc<Mutex<Vec<Arrived>>>,
    answer: watch::Sender<Option<&'static str>>,
}

// === impl Upstream ===

impl Upstream {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let calls = Arc::new(Mutex::new(Vec::new()));
        let (answer, answers) = watch::channel(None);
        let theirs = Arc::clone(&calls);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&theirs), answers.clone()));
            }
        });
        Self { addr, calls, answer }
    }

    pub(crate) fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Every call so far, in the order of their arrival.
    pub(crate) fn calls(&self) -> Vec<Arrived> {
        self.calls.lock().unwrap().clone()
    }

    pub(crate) async fn until_calls(&self, count: usize) {
        wait::until("a call arrives", || async { self.calls().len() >= count }).await;
    }

    /// Answers all calls that wait, and all that will come.
    pub(crate) fn answer(&self, answer: &'static str) {
        self.answer.send_replace(Some(answer));
    }
}

async fn serve(
    stream: TcpStream,
    calls: Arc<Mutex<Vec<Arrived>>>,
    mut answers: watch::Receiver<Option<&'static str>>,
) {
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    stream.read_line(&mut line).await.unwrap();
    let words: Vec<&str> = line.split_whitespace().collect();
    let [node, generation, agreed] = words[..] else { panic!("{line:?} is no call") };
    let call = Arrived {
        node: node.parse().unwrap(),
        generation: generation.parse().unwrap(),
        is_agreed: agreed == "agreed",
    };
    calls.lock().unwrap().push(call);
    let Ok(answer) = answers.wait_for(Option::is_some).await.map(|answer| *answer) else { return };
    // A node that was killed does not take its answer.
    let _ = stream.write_all(format!("{}\n", answer.unwrap_or_default()).as_bytes()).await;
}
