//! New connections, and which of the listeners they came to.

use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::Arc;

pub(crate) use tidegate_tower::accept::{Admission, Permit, Refused};
use tokio::net::TcpListener;

use crate::admin::Guard;

/// A connection that may be served.
pub(crate) struct Accepted {
    pub(crate) stream: TcpStream,
    /// Who is at the other end; IPv4 is IPv4, however the socket spells it.
    pub(crate) peer: IpAddr,
    pub(crate) side: Side,
    pub(crate) permit: Permit,
}

/// Which of the listeners a connection came to.
#[derive(Clone)]
pub(crate) enum Side {
    /// That of those who ask for decisions.
    Main,
    /// That of operators, with who lets them in.
    Admin(Arc<Guard>),
}

/// The connections the operating system keeps for us until we accept them.
const BACKLOG: i32 = 4096;

/// Listens.
pub(crate) fn listen(address: SocketAddr) -> io::Result<std::net::TcpListener> {
    let domain = socket2::Domain::for_address(address);
    let socket = socket2::Socket::new(domain, socket2::Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

/// Accepts for ever, and hands on what may be served, taken out of this runtime: the one that serves
/// it will enter it into its own.
pub(crate) async fn accept(
    listener: &TcpListener,
    side: &Side,
    admission: &Arc<Admission>,
    mut hand_on: impl FnMut(Accepted),
) -> Infallible {
    tidegate_tower::accept::accept(listener, admission, |stream, peer, permit| {
        let (peer, side) = (peer.ip().to_canonical(), side.clone());
        if let Ok(stream) = stream.into_std() {
            hand_on(Accepted { stream, peer, side, permit });
        }
    })
    .await
}
