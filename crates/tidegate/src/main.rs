//! The binary `tidegate`: the decision server and its tools. `tidegate --help` teaches.

mod bench;
mod cli;
mod client;
mod config;
mod descriptors;
mod log;
mod reload;
mod store;
mod text;
mod warnings;

use std::process::ExitCode;

// Decisions allocate nothing; what surrounds them (bodies, headers) does, on many threads.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    cli::run(std::env::args_os())
}
