//! The accepting side, which can be closed and opened again.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::watch;

use super::connection;
use super::switches::{Shared, Switches};

/// Accepts until the proxy is gone, except while it refuses; reports through `tell` whether it is
/// listening.
pub(super) async fn run(
    addr: SocketAddr,
    shared: Arc<Shared>,
    mut switches: watch::Receiver<Switches>,
    tell: watch::Sender<bool>,
) {
    loop {
        // Without a listener `true` is never sent, and a caller that waits for it fails.
        let Ok(listener) = bind(addr) else { return };
        tell.send_replace(true);
        let refused = {
            let mut watched = switches.clone();
            tokio::select! {
                refused = watched.wait_for(|switches| switches.refuse) => refused.is_ok(),
                () = accept_all(&listener, &shared, &switches) => false,
            }
        };
        drop(listener);
        tell.send_replace(false);
        if !refused || switches.wait_for(|switches| !switches.refuse).await.is_err() {
            return;
        }
    }
}

/// Binds the listener with a long queue: a dropped SYN is sent again only after a second, which
/// would look like our fault.
fn bind(addr: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = TcpSocket::new_v4()?;
    // Connections of the previous listener may linger.
    socket.set_reuseaddr(true)?;
    socket.bind(addr)?;
    socket.listen(4_096)
}

async fn accept_all(
    listener: &TcpListener,
    shared: &Arc<Shared>,
    switches: &watch::Receiver<Switches>,
) {
    loop {
        // An error concerns one connection, or descriptors that will be free again.
        let Ok((client, _)) = listener.accept().await else {
            tokio::task::yield_now().await;
            continue;
        };
        shared.accepted.fetch_add(1, Ordering::Relaxed);
        tokio::spawn(serve(client, Arc::clone(shared), switches.clone()));
    }
}

async fn serve(client: TcpStream, shared: Arc<Shared>, switches: watch::Receiver<Switches>) {
    shared.open.fetch_add(1, Ordering::Relaxed);
    connection::serve(client, &shared, switches).await;
    shared.open.fetch_sub(1, Ordering::Relaxed);
}
