//! Finds the primary by asking the sentinels.
//!
//! All sentinels are asked at once, since one that hangs must not take the time of the others, and the
//! majority is believed first: right after a failover a sentinel may still name the old primary. A
//! server that is named then has to say itself that it is a primary.

use core::time::Duration;
use std::sync::Arc;

use redis::Value;
use tokio::task::JoinSet;

use super::live::{command, greeting, lost, no_error};
use super::tls::Tls;
use super::wire::Wire;
use crate::redis::trouble::Trouble;
use crate::redis::url::{Address, Login};

#[derive(Debug)]
pub(super) struct Sentinels {
    pub(super) hosts: Vec<Address>,
    pub(super) question: Arc<Question>,
    /// How long to wait for sentinels that do not answer; the rest of the deadline is the primary's.
    pub(super) patience: Duration,
}

/// What each sentinel is asked.
#[derive(Debug)]
pub(super) struct Question {
    pub(super) master: String,
    pub(super) login: Login,
    pub(super) tls: Option<Tls>,
}

// === impl Sentinels ===

impl Sentinels {
    /// The addresses that were named as the primary, the most often named one first; at least one.
    pub(super) async fn named(&self) -> Result<Vec<Address>, Trouble> {
        let mut asked = JoinSet::new();
        for host in self.hosts.clone() {
            let question = Arc::clone(&self.question);
            asked.spawn(async move { question.ask(&host).await.map_err(|why| why.at(host)) });
        }
        let mut votes = Votes::default();
        let count = self.hosts.len();
        let all = async {
            while let Some(answer) = asked.join_next().await {
                match answer {
                    Ok(Ok(address)) => votes.add(address),
                    Ok(Err(why)) => votes.refused.push(why),
                    Err(_) => {}
                }
                if votes.has_majority_of(count) {
                    return;
                }
            }
        };
        let _ = tokio::time::timeout(self.patience, all).await;
        votes.ranked(count)
    }
}

// === impl Question ===

impl Question {
    async fn ask(&self, sentinel: &Address) -> Result<Address, Trouble> {
        let wire = Wire::open(sentinel, self.tls.as_ref()).await?;
        let mut question = greeting(&self.login);
        question.push(command(&["SENTINEL", "GET-MASTER-ADDR-BY-NAME", &self.master]));
        let mut replies = wire.greet(&question).await.map_err(|error| lost(&error))?;
        no_error(&question, &replies)?;
        match replies.pop() {
            Some(Value::Array(parts)) => address_of(&parts)
                .ok_or_else(|| Trouble::passing("it names a primary without an address")),
            Some(Value::Nil) => {
                Err(Trouble::refusal("it watches no primary of this name: look for a typing error"))
            }
            _ => Err(Trouble::passing("it does not answer as a sentinel does")),
        }
    }
}

/// The addresses that were named, each with how often, in the order of the first mention.
#[derive(Default)]
struct Votes {
    named: Vec<(Address, usize)>,
    refused: Vec<Trouble>,
}

// === impl Votes ===

impl Votes {
    fn add(&mut self, address: Address) {
        match self.named.iter_mut().find(|(known, _)| *known == address) {
            Some((_, votes)) => *votes += 1,
            None => self.named.push((address, 1)),
        }
    }

    fn has_majority_of(&self, count: usize) -> bool {
        self.named.iter().any(|(_, votes)| votes * 2 > count)
    }

    fn ranked(mut self, count: usize) -> Result<Vec<Address>, Trouble> {
        if !self.named.is_empty() {
            self.named.sort_by_key(|(_, votes)| core::cmp::Reverse(*votes));
            return Ok(self.named.into_iter().map(|(address, _)| address).collect());
        }
        let words = self.refused.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
        let what = match words.as_str() {
            "" => "no sentinel has answered".to_owned(),
            words => format!("no sentinel has named the primary: {words}"),
        };
        // A sentinel that is only late could still name the primary.
        let all_refuse =
            self.refused.len() == count && self.refused.iter().all(Trouble::is_refusal);
        Err(if all_refuse { Trouble::refusal(what) } else { Trouble::passing(what) })
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
