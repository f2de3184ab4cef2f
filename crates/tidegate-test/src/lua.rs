//! The production scripts without a server, run by a Lua interpreter that is told the time.
//!
//! The store is the real one, and it sends its real scripts. They run in Lua 5.1, with the few
//! commands they use implemented over a map. So the time can be anything, and a hundred thousand
//! traces take seconds. Behaviour that only a real server has is held to the same expectations by
//! other tests.

mod fleet;
mod pack;

pub use fleet::{FleetKeys, fleet};

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use mlua::{Function, Lua, MultiValue, Table, Value};
use tidegate_core::{Clock, Secret};
use tidegate_stores::redis::{RedisStore, RunScript};

/// What happens to a key whose time to live has passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expired {
    /// The key is deleted, as on a server.
    Gone,
    /// The key stays. For tests that set the clock back: there a server may have deleted a key that
    /// the rules still count.
    Stays,
}

/// The keys of the simulated server, each with its value and its expiry in milliseconds.
#[derive(Clone, Debug, Default)]
pub struct Keys(Arc<Mutex<Stored>>);

/// Values by their keys, each with its expiry in milliseconds.
type Stored = BTreeMap<Vec<u8>, (Vec<u8>, u64)>;

/// The secret that all tests use.
///
/// # Panics
///
/// Never: the secret is long enough.
#[must_use]
pub fn secret() -> Secret {
    Secret::try_new("a secret that every test knows").expect("it is long enough")
}

/// A store whose scripts see the time of `clock`. If `grouped`, it charges together only counters
/// with the same hash tag, as on a cluster.
///
/// # Panics
///
/// If a script fails, or leaves a key without a time to live.
#[must_use]
pub fn store(clock: Arc<dyn Clock>, expired: Expired, grouped: bool) -> RedisStore {
    store_over(clock, expired, grouped, &Keys::default())
}

/// The store of [`store`], over keys that the test can look at.
///
/// # Panics
///
/// If a script fails, or leaves a key without a time to live.
#[must_use]
pub fn store_over(
    clock: Arc<dyn Clock>,
    expired: Expired,
    grouped: bool,
    keys: &Keys,
) -> RedisStore {
    let keys = keys.clone();
    let call =
        move |lua: &Lua, args: &[Vec<u8>]| keys.call(lua, args, clock.now().as_micros(), expired);
    RedisStore::scripted(&secret(), grouped, Machine::new(call).into_run())
}

/// A Lua interpreter with the functions that a server gives a script.
struct Machine {
    lua: Lua,
    made: HashMap<String, Function>,
}

// === impl Machine ===

impl Machine {
    /// An interpreter whose scripts call `command`.
    fn new(
        command: impl Fn(&Lua, &[Vec<u8>]) -> mlua::Result<Value> + Send + Sync + 'static,
    ) -> Self {
        let lua = Lua::new();
        let call = move |lua: &Lua, args: MultiValue| {
            command(lua, &args.iter().map(text_of).collect::<Vec<_>>())
        };
        let install = || -> mlua::Result<()> {
            let call = lua.create_function(call)?;
            let redis = lua.create_table()?;
            redis.set("call", call.clone())?;
            redis.set("pcall", call)?;
            redis.set(
                "error_reply",
                lua.create_function(|_, text: String| -> mlua::Result<()> {
                    Err(mlua::Error::runtime(text))
                })?,
            )?;
            lua.globals().set("redis", redis)?;
            lua.globals().set("struct", pack::library(&lua)?)
        };
        install().expect("Lua takes a few functions");
        Self { lua, made: HashMap::new() }
    }

    /// What a store or fleet is made with, to run its scripts here.
    fn into_run(self) -> RunScript {
        let machine = Mutex::new(self);
        Box::new(move |text: &str, keys: &[&str], arg: &[u8]| {
            let mut machine = machine.lock().unwrap_or_else(PoisonError::into_inner);
            machine.run(text, keys, arg).unwrap_or_else(|error| panic!("{error}\n{text}"))
        })
    }

    fn run(&mut self, text: &str, keys: &[&str], arg: &[u8]) -> mlua::Result<Vec<u8>> {
        if !self.made.contains_key(text) {
            let function = self.lua.load(text).into_function()?;
            self.made.insert(text.to_owned(), function);
        }
        let globals = self.lua.globals();
        globals.set("KEYS", self.lua.create_sequence_from(keys.iter().copied())?)?;
        let args: Table = self.lua.create_sequence_from([self.lua.create_string(arg)?])?;
        globals.set("ARGV", args)?;
        let answer: mlua::LuaString = self.made[text].call(())?;
        Ok(answer.as_bytes().to_vec())
    }
}

// === impl Keys ===

impl Keys {
    /// Every key with its value and its expiry in milliseconds.
    #[must_use]
    pub fn all(&self) -> BTreeMap<Vec<u8>, (Vec<u8>, u64)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn call(&self, lua: &Lua, args: &[Vec<u8>], now: u64, expired: Expired) -> mlua::Result<Value> {
        let args: Vec<&[u8]> = args.iter().map(Vec::as_slice).collect();
        let mut keys = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if expired == Expired::Gone
            && let Some(key) = args.get(1)
            && keys.get(*key).is_some_and(|(_, expiry)| now / 1_000 > *expiry)
        {
            keys.remove(*key);
        }
        match args.as_slice() {
            [b"TIME"] => {
                let time = [(now / 1_000_000).to_string(), (now % 1_000_000).to_string()];
                Ok(Value::Table(lua.create_sequence_from(time)?))
            }
            [b"GET", key] => match keys.get(*key) {
                Some((value, _)) => Ok(Value::String(lua.create_string(value)?)),
                None => Ok(Value::Boolean(false)),
            },
            // This expiry has passed, so the key is deleted.
            [b"SET", key, b"", b"PXAT", b"1"] => {
                keys.remove(*key);
                Ok(Value::Boolean(true))
            }
            [b"SET", key, value, b"PXAT", expiry] => {
                keys.insert(key.to_vec(), (value.to_vec(), whole(expiry, now)));
                Ok(Value::Boolean(true))
            }
            [b"SET", key, value, b"KEEPTTL"] => {
                let kept = keys.get_mut(*key).expect("only what is there has a time to live");
                kept.0 = value.to_vec();
                Ok(Value::Boolean(true))
            }
            [b"SET", key, value, b"NX", b"PXAT", expiry] => {
                if keys.contains_key(*key) {
                    return Ok(Value::Boolean(false));
                }
                keys.insert(key.to_vec(), (value.to_vec(), whole(expiry, now)));
                Ok(Value::Table(lua.create_table()?))
            }
            [b"DEL", key] => Ok(Value::Number(if keys.remove(*key).is_some() { 1.0 } else { 0.0 })),
            [b"SETRANGE", key, from, value] => {
                let (kept, _) = keys.get_mut(*key).expect("only what is there is changed");
                let from = usize::try_from(number(from)).expect("a place in a string");
                kept[from..from + value.len()].copy_from_slice(value);
                Ok(Value::Boolean(true))
            }
            other => panic!("the scripts do not use {other:?}"),
        }
    }
}

/// The bytes that a server gets for an argument of a command.
fn text_of(value: &Value) -> Vec<u8> {
    match value {
        Value::String(text) => text.as_bytes().to_vec(),
        other => panic!("a server is sent text, not {other:?}"),
    }
}

/// Parses the expiry of a key, and panics if it has already passed.
fn whole(expiry: &[u8], now: u64) -> u64 {
    let expiry = number(expiry);
    assert!(expiry > now / 1_000, "some servers delete at once what expires in this millisecond");
    expiry
}

fn number(text: &[u8]) -> u64 {
    let text = std::str::from_utf8(text).expect("digits");
    text.parse().unwrap_or_else(|_| panic!("{text} is no whole number"))
}
