//! One client and its server: two lanes, and how they end together.

use core::sync::atomic::AtomicBool;
use core::time::Duration;
use std::net::Shutdown;

use socket2::SockRef;
use tokio::net::TcpStream;
use tokio::sync::watch;

use super::lane::{Direction, Lane, LaneEnd};
use super::switches::{Shared, Switches};

/// Forwards between client and server until one side ends, or until the switches end the
/// connection.
pub(super) async fn serve(
    client: TcpStream,
    shared: &Shared,
    mut switches: watch::Receiver<Switches>,
) {
    let (kills, upstream) = {
        let now = switches.borrow();
        (now.kills, now.upstream)
    };
    let Ok(upstream) = TcpStream::connect(upstream).await else { return reset(&client) };
    // Each part that is written is sent at once, not gathered.
    let _ = (client.set_nodelay(true), upstream.set_nodelay(true));
    let cut = AtomicBool::new(false);
    let lane = |from, to, direction| Lane {
        from,
        to,
        direction,
        shared,
        cut: &cut,
        switches: switches.clone(),
    };
    let up = lane(&client, &upstream, Direction::Up).run();
    let down = lane(&upstream, &client, Direction::Down).run();
    let requests = async {
        match up.await {
            // The client has sent everything, and may still read.
            LaneEnd::Finished => {
                let _ = SockRef::from(&upstream).shutdown(Shutdown::Write);
                core::future::pending().await
            }
            end => end,
        }
    };
    let end = tokio::select! {
        end = requests => end,
        end = down => end,
        // The connection was killed, or the proxy is gone.
        _ = switches.wait_for(|switches| switches.kills > kills) => LaneEnd::Broken,
    };
    match end {
        LaneEnd::Finished => {}
        LaneEnd::Cut => reset(&client),
        LaneEnd::Broken => {
            reset(&client);
            reset(&upstream);
        }
    }
}

/// Makes the close that follows a reset, and not an orderly end.
fn reset(stream: &TcpStream) {
    // This can fail only if the socket is already dead.
    let _ = SockRef::from(stream).set_linger(Some(Duration::ZERO));
}
