//! The core does no I/O: it names no part of the standard library that could.
//!
//! Clippy cannot forbid a module, and listing every function of one would always miss some.

use crate::demand_none;
use crate::tree::{self, File};

/// Where the outside world begins. `std::net` has addresses, which are data, so its sockets are
/// named one by one.
const OUTSIDE: &[&str] = &[
    "std::env",
    "std::fs",
    "std::io",
    "std::os",
    "std::process",
    "std::thread",
    "TcpListener",
    "TcpStream",
    "UdpSocket",
    "ToSocketAddrs",
];

#[test]
fn the_core_does_no_io() {
    let files = tree::rust_files();
    let is_core =
        |file: &&File| file.path.starts_with("crates/tidegate-core/src/") && !file.is_test();
    let core: Vec<&File> = files.iter().filter(is_core).collect();
    assert!(core.len() > 20, "the core has moved");
    demand_none(&core.into_iter().flat_map(doors).collect::<Vec<_>>());
}

fn doors(file: &File) -> Vec<String> {
    let door = |line: &str| OUTSIDE.iter().find(|name| line.contains(*name)).copied();
    file.code_lines()
        .filter_map(|(number, line)| Some((number, door(line)?)))
        .map(|(number, door)| {
            format!("{}:{number}: `{door}` in the core; let the engine do it", file.path)
        })
        .collect()
}

#[cfg(test)]
mod self_test {
    use super::*;

    #[test]
    fn a_door_to_the_outside_is_found() {
        let said = |text| doors(&File::new("a.rs", text)).len();
        assert_eq!(said("use std::fs::File;\nlet s: TcpStream;"), 2);
        assert_eq!(said("use std::net::IpAddr;\n// no std::io here"), 0);
    }
}
