//! The servers, against real ones that are broken on purpose.

mod cancelled;
mod cluster;
mod faults;
mod layout;
mod replies;
mod sentinel;
mod single;
mod tls;

use core::time::Duration;

use redis::Value;
use tidegate_core::StoreError;
use tidegate_test::servers::wait;

use super::{Garbled, Servers};
use crate::redis::scripts::Script;
use crate::redis::url::Target;

/// Long beside what a healthy server on loopback takes on a busy machine.
const PATIENT: Duration = Duration::from_secs(5);

/// Counts the calls, so that one that is sent twice shows.
fn counting() -> Script {
    Script::new("return redis.call('INCRBY', KEYS[1], ARGV[1])")
}

fn servers(url: &str, timeout: Duration) -> Servers {
    Servers::new(Target::parse(url).unwrap().with_timeout(timeout)).unwrap()
}

/// Takes an integer and nothing else.
#[allow(clippy::needless_pass_by_value, reason = "replies are handed over")]
fn integer(value: Value) -> Result<i64, Garbled> {
    match value {
        Value::Int(value) => Ok(value),
        _ => Err(Garbled),
    }
}

async fn count(servers: &Servers, key: &str) -> Result<i64, StoreError> {
    servers.run(&counting(), &[key], b"1", integer).await
}

/// Until it works again; how long that takes is not what is asked.
async fn count_at_last(servers: &Servers, key: &str) -> i64 {
    let found = wait::until_some(async || count(servers, key).await.ok()).await;
    found.unwrap_or_else(|| panic!("never again: {:?}", servers.trouble()))
}

fn trouble(servers: &Servers) -> String {
    servers.trouble().map(|trouble| trouble.to_string()).unwrap_or_default()
}
