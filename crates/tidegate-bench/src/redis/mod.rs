//! The shared store beside scripts for one purpose, and beside `INCR`.
//!
//! All of them ask one Redis over loopback, through the same client library, and take turns. Client
//! and server share the machine: requests per second say as much about the one as about the other,
//! so the processor time of both is reported too, and the instructions of the server per call, which
//! stay the same however busy the machine is.

mod asker;
mod attempts;
mod contender;
mod instructions;
mod load;
mod other_client;
mod overload;
mod report;
mod server;
mod workload;

use tokio::runtime;

use crate::args::Options;
use crate::{Fallible, progress};
use asker::Door;
use contender::{Contender, Who};
use server::Server;

pub(crate) use attempts::run as attempts;
pub(crate) use overload::run as overload;
pub(crate) use workload::Workload;

/// Starts a server, lets every contender take turns, counts instructions, and prints the report.
pub(crate) fn run(options: &Options) -> Fallible<()> {
    runtime()?.block_on(async {
        let mut server = Server::start().await?;
        let contenders = take_turns(&mut server, options.rounds).await?;
        let version = server.version().await?;
        drop(server);
        let instructions = match instructions::can_be_counted() {
            true => instructions::count().await?,
            false => Vec::new(),
        };
        println!("{}", report::whole(&contenders, &instructions, &version, options));
        Ok(())
    })
}

/// Lets Tidegate alone decide on a shared store, for a profiler.
pub(crate) fn profile(workload: Workload, decisions: u32) -> Fallible<()> {
    runtime()?.block_on(async {
        let server = Server::start().await?;
        let door = Door { port: server.port, db: 0 };
        let contender = Contender::new(Who::Tidegate, workload, door).await?;
        contender.ask(u64::from(decisions)).await
    })
}

/// A runtime with one thread for all callers, because the server needs the other core.
fn runtime() -> Fallible<runtime::Runtime> {
    Ok(runtime::Builder::new_current_thread().enable_all().build()?)
}

async fn take_turns(server: &mut Server, rounds: usize) -> Fallible<Vec<Contender>> {
    let mut contenders = Vec::new();
    for workload in Workload::ALL {
        for who in Who::of(workload) {
            let door = Door { port: server.port, db: contenders.len() };
            contenders.push(Contender::new(*who, workload, door).await?);
        }
    }
    progress("redis", 0, rounds);
    for contender in &contenders {
        contender.warm_up().await?;
    }
    for round in 1..=rounds {
        progress("redis", round, rounds);
        for contender in &mut contenders {
            contender.turn(server).await?;
        }
    }
    Ok(contenders)
}
