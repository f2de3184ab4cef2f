//! Every fault of a real server or of the wire to it, one test for each row of the table.

mod clock;
mod cluster;
mod corrupt;
mod failover;
mod fleet;
mod matrix;
mod process;
mod replies;
mod rights;
mod scripts;
mod stalls;
mod tls;
mod wire;
