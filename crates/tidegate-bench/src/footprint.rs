//! Resident memory per key.
//!
//! Allocators keep memory that others have freed, so each contender is measured in a fresh process
//! of this same program: the growth of its resident memory from before the limiter is made until it
//! has met every key once.

use std::fs;
use std::process::Command;

use crate::Fallible;
use crate::contenders::{BenchNumbers, Contender, Governor, Shapes, Throttlecrab, Tidegate};
use crate::workload::Stream;

/// One contender's memory.
#[derive(Clone, Debug)]
pub(crate) struct Footprint {
    pub(crate) name: &'static str,
    pub(crate) bytes_per_key: f64,
    /// Number of keys with a counter of their own, for contenders that can tell.
    pub(crate) exact: Option<u32>,
}

/// The contenders that are measured.
const NAMES: [&str; 3] = ["governor", "throttlecrab", "tidegate"];
/// Keys that are built at a time, so that their text takes little memory.
const AT_ONCE: u32 = 4_096;

// === impl Footprint ===

impl Footprint {
    /// A row of the table of footprints after meeting `keys` keys.
    pub(crate) fn row(&self, keys: u32) -> String {
        let without = self.exact.map(|exact| format!("{} of {keys}", keys.saturating_sub(exact)));
        let without = without.as_deref().unwrap_or("–");
        format!("{} | {:.1} | {without}", self.name, self.bytes_per_key)
    }
}

/// Measures every contender, each in a process of its own.
pub(crate) fn all(keys: u32) -> Fallible<Vec<Footprint>> {
    let program = std::env::current_exe()?;
    let mut footprints = Vec::new();
    for name in NAMES {
        eprintln!("bytes: {name}");
        let output =
            Command::new(&program).args(["footprint", name, &keys.to_string()]).output()?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
        }
        let text = String::from_utf8(output.stdout)?;
        let mut words = text.split_whitespace();
        let bytes: f64 = words.next().ok_or("the child said nothing")?.parse()?;
        let exact = words.next().map(str::parse).transpose()?;
        footprints.push(Footprint { name, bytes_per_key: bytes / f64::from(keys), exact });
    }
    Ok(footprints)
}

/// Runs in the child process: measures `who`, then prints the growth in bytes and, if known, the
/// number of keys with a counter of their own.
pub(crate) fn child(who: &str, keys: u32) -> Fallible<()> {
    let before = resident()?;
    let numbers = BenchNumbers::ROOMY;
    match who {
        "governor" => println!("{}", growth(&mut Governor::<1>::new(numbers), keys, before)?),
        "throttlecrab" => {
            println!("{}", growth(&mut Throttlecrab::new(numbers, keys), keys, before)?);
        }
        "tidegate" => {
            let mut tidegate = Tidegate::new(Shapes::Bucket, numbers, keys)?;
            let growth = growth(&mut tidegate, keys, before)?;
            println!("{growth} {}", tidegate.buckets_held());
        }
        _ => return Err(format!("no contender is named `{who}`").into()),
    }
    Ok(())
}

fn growth(contender: &mut dyn Contender, keys: u32, before: u64) -> Fallible<u64> {
    for start in (0..keys).step_by(AT_ONCE as usize) {
        let part = Stream::of(start..keys.min(start + AT_ONCE));
        contender.run(&part, 0, part.len()).checked(contender.name())?;
    }
    Ok(resident()?.saturating_sub(before))
}

/// The resident memory of this process in bytes. Read from `smaps_rollup`, which counts pages;
/// `statm` adds up counters that may lag behind.
pub(crate) fn resident() -> Fallible<u64> {
    let path = "/proc/self/smaps_rollup";
    let text = fs::read_to_string(path)?;
    let kilobytes = text
        .lines()
        .find_map(|line| line.strip_prefix("Rss:")?.strip_suffix("kB")?.trim().parse::<u64>().ok());
    Ok(1024 * kilobytes.ok_or_else(|| format!("{path} does not tell the resident memory"))?)
}
