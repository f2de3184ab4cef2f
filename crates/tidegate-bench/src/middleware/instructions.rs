//! Instructions per request, which other load on the machine does not change.
//!
//! This program sends requests through a stack under callgrind, few and then more; the difference
//! is the cost of the requests alone. No socket and no HTTP is involved: only axum, the limiter,
//! and building a request.

use std::process::Command;

use super::stack::Stack;
use crate::Fallible;
use crate::server::process;

const FEW: u32 = 1000;
const MORE: u32 = 6000;

/// Whether valgrind, which callgrind is part of, is installed.
pub(crate) fn can_be_counted() -> bool {
    Command::new("valgrind").arg("--version").output().is_ok()
}

/// Instructions per request of a stack.
pub(crate) fn count(stack: Stack) -> Fallible<f64> {
    eprintln!("instructions: {}", stack.name());
    let (few, more) = (total(stack, FEW)?, total(stack, MORE)?);
    Ok(more.saturating_sub(few) as f64 / f64::from(MORE - FEW))
}

fn total(stack: Stack, requests: u32) -> Fallible<u64> {
    let out = process::scratch()?.join(format!("{}.callgrind", stack.name()));
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", &format!("--callgrind-out-file={}", out.display())])
        .arg(std::env::current_exe()?)
        .args(["middleware-profile", stack.name(), &requests.to_string()])
        .output()?;
    let text = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!("{} under callgrind:\n{text}", stack.name()).into());
    }
    parse(&text).ok_or_else(|| format!("callgrind said:\n{text}").into())
}

/// Reads the instruction count from callgrind's output.
fn parse(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.split_once("Collected :"))?.1;
    line.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_read() {
        let text = "==7== Events    : Ir\n==7== Collected : 123456\n==7==\n";
        assert_eq!(parse(text), Some(123_456));
        assert_eq!(parse("==7== Events    : Ir\n"), None);
    }
}
