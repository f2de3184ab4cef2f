//! Finds the primary by asking the sentinels.
//!
//! All sentinels are asked at once, since one that hangs must not take the time of the others, and the
//! majority is believed first: right after a failover a sentinel may still name the old primary. A
//! server that is named then has to say itself that it is a primary.

use std::sync::Arc;

use redis::{Cmd, Value};
use tokio::task::JoinSet;

use super::Shared;
use super::live::{command, greeting, lost, no_error};
use super::tls::Tls;
use super::wire::Wire;
use crate::redis::trouble::Trouble;
use crate::redis::url::{Address, Credentials};

/// The addresses that sentinels name as the primary called `master`, the most often named one first; at
/// least one.
pub(super) async fn named(
    shared: &Arc<Shared>,
    master: &str,
    login: &Credentials,
) -> Result<Vec<Address>, Trouble> {
    let mut question = greeting(login);
    question.push(command(&["SENTINEL", "GET-MASTER-ADDR-BY-NAME", master]));
    let (question, target) = (Arc::new(question), &shared.target);
    let mut asked = JoinSet::new();
    for host in target.hosts.clone() {
        let (question, shared) = (Arc::clone(&question), Arc::clone(shared));
        asked.spawn(async move {
            ask(&question, &host, shared.tls.as_ref()).await.map_err(|why| why.at(host))
        });
    }
    // The addresses that were named, each with how often, in the order of the first mention.
    let mut named: Vec<(Address, usize)> = Vec::new();
    let mut refused = Vec::new();
    let all = async {
        while let Some(answer) = asked.join_next().await {
            match answer {
                Ok(Ok(address)) => match named.iter_mut().find(|(known, _)| *known == address) {
                    Some((_, votes)) => *votes += 1,
                    None => named.push((address, 1)),
                },
                Ok(Err(why)) => refused.push(why),
                Err(_) => {}
            }
            if named.iter().any(|(_, votes)| votes * 2 > target.hosts.len()) {
                return;
            }
        }
    };
    // Sentinels that do not answer are waited for no longer; the rest of the deadline is the primary's.
    let _ = tokio::time::timeout(target.timeout() / 2, all).await;
    if named.is_empty() {
        return Err(not_named(&refused, target.hosts.len()));
    }
    named.sort_by_key(|(_, votes)| core::cmp::Reverse(*votes));
    Ok(named.into_iter().map(|(address, _)| address).collect())
}

/// The trouble if none of `count` sentinels has named the primary, and these have said why.
fn not_named(refused: &[Trouble], count: usize) -> Trouble {
    let words = refused.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
    let what = match words.as_str() {
        "" => "no sentinel has answered".to_owned(),
        words => format!("no sentinel has named the primary: {words}"),
    };
    // A sentinel that is only late could still name the primary.
    let all_refuse = refused.len() == count && refused.iter().all(Trouble::is_refusal);
    if all_refuse { Trouble::refusal(what) } else { Trouble::passing(what) }
}

async fn ask(question: &[Cmd], sentinel: &Address, tls: Option<&Tls>) -> Result<Address, Trouble> {
    let wire = Wire::open(sentinel, tls).await?;
    let mut replies = wire.greet(question).await.map_err(|error| lost(&error))?;
    no_error(question, &replies)?;
    match replies.pop() {
        Some(Value::Array(parts)) => address_of(&parts)
            .ok_or_else(|| Trouble::passing("it names a primary without an address")),
        Some(Value::Nil) => {
            Err(Trouble::refusal("it watches no primary of this name: look for a typing error"))
        }
        _ => Err(Trouble::passing("it does not answer as a sentinel does")),
    }
}

/// Reads an address: host and port, each as text.
fn address_of(parts: &[Value]) -> Option<Address> {
    match parts {
        [Value::BulkString(host), Value::BulkString(port)] => {
            let host = str::from_utf8(host).ok().filter(|host| !host.is_empty())?;
            let port = str::from_utf8(port).ok()?.parse().ok().filter(|port| *port != 0)?;
            Some(Address::new(host, port))
        }
        _ => None,
    }
}
