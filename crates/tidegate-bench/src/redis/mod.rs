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

use clap::ValueEnum as _;
use tokio::runtime;

use crate::Fallible;
use crate::args::Rounds;
use crate::callgrind;
use crate::measure::progress;
use asker::DatabaseAddress;
use contender::{StoreClient, StoreContender};
use load::CallLoad;
use server::RedisProcess;

pub(crate) use attempts::run as attempts;
pub(crate) use overload::run as overload;
pub(crate) use workload::Workload;

/// Starts a server, lets every contender take turns, counts instructions, and prints the report.
pub(crate) fn run(Rounds { rounds }: Rounds) -> Fallible<()> {
    runtime()?.block_on(async {
        let mut server = RedisProcess::start().await?;
        let contenders = take_turns(&mut server, rounds).await?;
        let version = server.version().await?;
        drop(server);
        let instructions = match callgrind::is_installed() {
            true => instructions::count().await?,
            false => Vec::new(),
        };
        println!("{}", report::whole(&contenders, &instructions, &version, rounds));
        Ok(())
    })
}

/// Lets Tidegate alone decide on a shared store, for a profiler.
pub(crate) fn profile(workload: Workload, decisions: u32) -> Fallible<()> {
    runtime()?.block_on(async {
        let server = RedisProcess::start().await?;
        let callers = StoreClient::Tidegate.callers(workload, server.door()).await?;
        load::run(&callers, &workload.requests()?, CallLoad::Count(decisions.into())).await?;
        Ok(())
    })
}

/// A runtime with one thread for all callers, because the server needs the other core.
fn runtime() -> Fallible<runtime::Runtime> {
    Ok(runtime::Builder::new_current_thread().enable_all().build()?)
}

async fn take_turns(server: &mut RedisProcess, rounds: u32) -> Fallible<Vec<StoreContender>> {
    let mut contenders = Vec::new();
    for workload in Workload::value_variants() {
        for who in StoreClient::of(*workload) {
            let door = DatabaseAddress { port: server.port, db: contenders.len() };
            contenders.push(StoreContender::new(*who, *workload, door).await?);
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
