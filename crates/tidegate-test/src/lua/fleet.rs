//! The commands that the scripts of a fleet use, over one hash and one sorted set.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mlua::{Lua, Value};
use tidegate_core::Clock;
use tidegate_stores::redis::RedisFleet;

use super::{Machine, number};

/// The two keys of a simulated server that a fleet uses.
#[derive(Clone, Debug, Default)]
pub struct FleetKeys(Arc<Mutex<Held>>);

#[derive(Clone, Debug, Default)]
struct Held {
    hash: BTreeMap<Vec<u8>, Vec<u8>>,
    /// Scores by their members; whole numbers, as the scripts have them.
    sorted: BTreeMap<Vec<u8>, i64>,
    /// When the hash and the sorted set expire, in milliseconds.
    expiries: [Option<u64>; 2],
    /// Whether a key is of another type.
    wrong: Option<&'static str>,
    writes: u64,
}

/// A fleet whose scripts see the time of `clock` and work on `keys`.
///
/// # Panics
///
/// If a script fails, or calls a command or touches a key that it should not.
#[must_use]
pub fn fleet(clock: Arc<dyn Clock>, keys: &FleetKeys) -> RedisFleet {
    let keys = keys.clone();
    let call = move |lua: &Lua, args: &[Vec<u8>]| keys.call(lua, args, clock.now().as_micros());
    RedisFleet::scripted(Machine::new(call).into_run())
}

// === impl FleetKeys ===

impl FleetKeys {
    /// The bytes under a name, or under `{}`.
    #[must_use]
    pub fn record(&self, name: &str) -> Option<Vec<u8>> {
        self.held().hash.get(name.as_bytes()).cloned()
    }

    /// Puts bytes under a name, whatever they are.
    pub fn put(&self, name: &str, bytes: &[u8]) {
        self.held().hash.insert(name.as_bytes().to_vec(), bytes.to_vec());
    }

    /// Everything that is kept, and when it expires, in milliseconds.
    #[must_use]
    #[expect(clippy::type_complexity, reason = "a picture to compare with another one")]
    pub fn all(&self) -> (BTreeMap<Vec<u8>, Vec<u8>>, BTreeMap<Vec<u8>, i64>, [Option<u64>; 2]) {
        let held = self.held();
        (held.hash.clone(), held.sorted.clone(), held.expiries)
    }

    /// The number of commands so far that can write.
    #[must_use]
    pub fn writes(&self) -> u64 {
        self.held().writes
    }

    /// Makes a key be of another type, `records` or `changes`.
    pub fn be_wrong(&self, key: Option<&'static str>) {
        self.held().wrong = key;
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn call(&self, lua: &Lua, args: &[Vec<u8>], now: u64) -> mlua::Result<Value> {
        let args: Vec<&[u8]> = args.iter().map(Vec::as_slice).collect();
        let mut held = self.held();
        held.expire(now);
        if let [b"TIME"] = args.as_slice() {
            let time = [(now / 1_000_000).to_string(), (now % 1_000_000).to_string()];
            return Ok(Value::Table(lua.create_sequence_from(time)?));
        }
        let key = str::from_utf8(args[1]).expect("a key of ours").strip_prefix("tg:{fleet}:");
        let key = key.expect("a key of ours");
        if held.wrong == Some(key) {
            let error = lua.create_table()?;
            error.set("err", "WRONGTYPE Operation against a key of another type")?;
            return Ok(Value::Table(error));
        }
        let command = str::from_utf8(args[0]).expect("a command");
        match (key, command, &args[2..]) {
            ("records", "HMGET" | "HLEN", rest) => held.look(lua, command, rest),
            ("changes", "ZRANGE", rest) => held.range(lua, rest),
            ("changes", "ZCARD", []) => Ok(whole(held.sorted.len())),
            ("records" | "changes", _, rest) => {
                held.writes += 1;
                held.change(key, command, rest, now);
                Ok(Value::Boolean(true))
            }
            other => panic!("the scripts do not use {other:?}"),
        }
    }
}

// === impl Held ===

impl Held {
    fn expire(&mut self, now: u64) {
        let is_over = |expiry: Option<u64>| expiry.is_some_and(|at| now / 1_000 > at);
        if is_over(self.expiries[0]) {
            self.hash.clear();
            self.expiries[0] = None;
        }
        if is_over(self.expiries[1]) {
            self.sorted.clear();
            self.expiries[1] = None;
        }
    }

    fn look(&self, lua: &Lua, command: &str, fields: &[&[u8]]) -> mlua::Result<Value> {
        let get = |field: &&[u8]| match self.hash.get(*field) {
            Some(value) => Ok(Value::String(lua.create_string(value)?)),
            None => Ok(Value::Boolean(false)),
        };
        match (command, fields) {
            ("HLEN", []) => Ok(whole(self.hash.len())),
            ("HMGET", fields) => {
                let values = fields.iter().map(get).collect::<mlua::Result<Vec<_>>>()?;
                Ok(Value::Table(lua.create_sequence_from(values)?))
            }
            other => panic!("the scripts do not use {other:?}"),
        }
    }

    fn range(&self, lua: &Lua, args: &[&[u8]]) -> mlua::Result<Value> {
        let (from, to, rest) = match args {
            [b"-inf", to, b"BYSCORE", rest @ ..] => (i64::MIN, score(to), rest),
            [from, b"+inf", b"BYSCORE", rest @ ..] => {
                let after = from.strip_prefix(b"(").expect("without the cursor itself");
                (score(after) + 1, i64::MAX, rest)
            }
            other => panic!("the scripts do not use {other:?}"),
        };
        let [b"LIMIT", b"0", most, scores @ ..] = rest else { panic!("{rest:?} has no bound") };
        let mut found: Vec<(i64, &Vec<u8>)> =
            self.sorted.iter().map(|(it, at)| (*at, it)).collect();
        found.retain(|(at, _)| (from..=to).contains(at));
        found.sort();
        found.truncate(usize::try_from(number(most)).expect("a small number"));
        let list = lua.create_table()?;
        for (at, member) in found {
            list.push(lua.create_string(member)?)?;
            if scores == [b"WITHSCORES"] {
                list.push(at.to_string())?;
            }
        }
        Ok(Value::Table(list))
    }

    fn change(&mut self, key: &str, command: &str, args: &[&[u8]], now: u64) {
        let place = usize::from(key == "changes");
        match (key, command, args) {
            ("records", "HSET", [name, value, other, more]) => {
                self.hash.insert(name.to_vec(), value.to_vec());
                self.hash.insert(other.to_vec(), more.to_vec());
            }
            ("records", "HDEL", [name]) => {
                self.hash.remove(*name);
            }
            ("changes", "ZADD", [at, member]) => {
                self.sorted.insert(member.to_vec(), score(at));
            }
            ("changes", "ZREM", members) => {
                self.sorted.retain(|member, _| !members.contains(&member.as_slice()));
            }
            (_, "PEXPIREAT", [at]) => {
                let at = number(at);
                assert!(at > now / 1_000, "it would be gone at once");
                self.expiries[place] = Some(at);
            }
            (_, "PERSIST", []) => self.expiries[place] = None,
            other => panic!("the scripts do not use {other:?}"),
        }
    }
}

fn score(text: &[u8]) -> i64 {
    let text = str::from_utf8(text).expect("digits");
    text.parse().unwrap_or_else(|_| panic!("{text} is no whole number"))
}

#[expect(clippy::cast_precision_loss, reason = "a count of some thousands")]
fn whole(count: usize) -> Value {
    Value::Number(count as f64)
}
