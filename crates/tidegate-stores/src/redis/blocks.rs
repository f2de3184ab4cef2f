//! Lists the blocks that hold, one page at a time.
//!
//! Every server that is written to is asked for the names of abuse logs, a bounded number of keys at a
//! time, and then for the first bytes of each. That is done with plain commands: a script may only
//! touch keys it is given. A block that is written, expires or moves in between may be missed or listed
//! twice, as is the way of `SCAN`; a block that holds from the first page to the last is listed.

use redis::{Pipeline, Value};
use tidegate_core::{AttemptsHead, Blocks, Listed, Page, StoreError, Timestamp};

use super::amend::{LOGS, is_log};
use super::servers::{Keeper, Servers, text_of};
use super::store::Connected;

/// Roughly the most counters that are looked at for one page, which bounds how long a server is busy.
const MOST: usize = 1_000;

/// How many heads of abuse logs are asked for at once; other calls on the connection wait for them.
const AT_ONCE: usize = 250;

/// Where a page begins: at which server, and how far its scan got.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Cursor {
    /// The identity of the server; empty if there is only one.
    id: String,
    at: u64,
}

pub(super) async fn blocks(store: &Connected, page: Page<'_>) -> Result<Blocks, StoreError> {
    let servers = store.servers().ok_or(StoreError::Refused)?;
    let after =
        page.after.map(|text| Cursor::parse(text, servers.is_cluster()).ok_or(StoreError::Refused));
    let after = after.transpose()?;
    let keepers = servers.keepers().await?;
    let Some((place, at)) = Cursor::place(after.as_ref(), &keepers) else {
        // Nothing is listed, so the time does not matter.
        return Ok(Blocks { list: Vec::new(), next: None, at: Timestamp::ZERO });
    };
    let keeper = &keepers[place];
    let (now, next, keys) = scan(servers, keeper, at, page.at_most.clamp(1, MOST)).await?;
    let mut list = Vec::new();
    for keys in keys.chunks(AT_ONCE) {
        heads(servers, keeper, keys, now, &mut list).await?;
    }
    let next = match next {
        0 => keepers.get(place + 1).map(|keeper| Cursor { id: keeper.id.clone(), at: 0 }),
        at => Some(Cursor { id: keeper.id.clone(), at }),
    };
    Ok(Blocks { list, next: next.map(|cursor| cursor.to_string()), at: now })
}

/// Adds the keys that are under a block to `list`.
async fn heads(
    servers: &Servers,
    keeper: &Keeper,
    keys: &[String],
    now: Timestamp,
    list: &mut Vec<Listed>,
) -> Result<(), StoreError> {
    let mut commands = Pipeline::with_capacity(keys.len());
    for key in keys {
        commands.cmd("GETRANGE").arg(key).arg(0).arg(AttemptsHead::SIZE - 1);
    }
    let replies = servers.look(keeper, &commands).await?;
    for (key, reply) in keys.iter().zip(replies) {
        let head = match reply {
            Value::BulkString(bytes) => AttemptsHead::decode(&bytes).ok(),
            Value::ServerError(error) => match error.code() {
                "WRONGTYPE" => None,
                // The key is with another server by now.
                "MOVED" | "ASK" => {
                    servers.look_again();
                    None
                }
                _ => return Err(servers.refused(&error)),
            },
            _ => None,
        };
        if let Some(AttemptsHead { limit, block: Some(block), .. }) = head
            && block.holds(now)
        {
            list.push(Listed { key: key.clone(), limit, block });
        }
    }
    Ok(())
}

// === impl Cursor ===

impl Cursor {
    /// Reads a cursor: `17` on one server, `<identity>:17` on a cluster.
    fn parse(text: &str, is_cluster: bool) -> Option<Self> {
        let (id, at) = match text.split_once(':') {
            Some((id, at)) if is_cluster => (id, at),
            None if !is_cluster => ("", text),
            _ => return None,
        };
        let is_id = !is_cluster || (1..=64).contains(&id.len());
        let is_plain = id.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let digits = !at.is_empty() && at.bytes().all(|byte| byte.is_ascii_digit());
        let at = at.parse().ok().filter(|_| is_id && is_plain && digits)?;
        Some(Self { id: id.to_owned(), at })
    }

    /// The server to go on with, and where in its scan. If the server that was asked last is gone, that
    /// is the next one, from its beginning.
    fn place(after: Option<&Self>, keepers: &[Keeper]) -> Option<(usize, u64)> {
        let Some(after) = after else { return (!keepers.is_empty()).then_some((0, 0)) };
        let place = keepers.iter().position(|keeper| keeper.id >= after.id)?;
        Some((place, if keepers[place].id == after.id { after.at } else { 0 }))
    }
}

impl core::fmt::Display for Cursor {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self.id.as_str() {
            "" => write!(f, "{}", self.at),
            id => write!(f, "{id}:{}", self.at),
        }
    }
}

/// Takes one step of a server's scan: the time, where the scan goes on (zero is the end), and some keys.
async fn scan(
    servers: &Servers,
    keeper: &Keeper,
    at: u64,
    count: usize,
) -> Result<(Timestamp, u64, Vec<String>), StoreError> {
    let mut commands = Pipeline::with_capacity(2);
    commands.cmd("TIME");
    commands.cmd("SCAN").arg(at).arg("MATCH").arg(format!("{LOGS}*")).arg("COUNT").arg(count);
    let replies = servers.look(keeper, &commands).await?;
    if let Some(Value::ServerError(error)) =
        replies.iter().find(|reply| matches!(reply, Value::ServerError(_)))
    {
        return Err(servers.refused(error));
    }
    scanned(&replies).ok_or(StoreError::Unavailable)
}

/// Reads the time, and a cursor with keys.
fn scanned(replies: &[Value]) -> Option<(Timestamp, u64, Vec<String>)> {
    let [Value::Array(time), Value::Array(scanned)] = replies else { return None };
    let [seconds, micros] = time.as_slice() else { return None };
    let now = number(seconds)?.checked_mul(1_000_000)?.checked_add(number(micros)?)?;
    let [next, Value::Array(keys)] = scanned.as_slice() else { return None };
    // A key that is not text is none of ours.
    let keys = keys.iter().filter_map(text_of).filter(|key| is_log(key));
    Some((Timestamp::from_micros(now), number(next)?, keys.map(str::to_owned).collect()))
}

fn number(value: &Value) -> Option<u64> {
    text_of(value)?.parse().ok()
}

#[cfg(test)]
mod tests {
    //! A cursor is one of ours, or none.

    use super::*;

    #[test]
    fn a_cursor_reads_as_it_was_written() {
        for (id, is_cluster) in [("", false), ("07c37dfeb235213a872192d90877d0cd55635b91", true)] {
            for at in [0, 17, u64::MAX] {
                let cursor = Cursor { id: id.to_owned(), at };
                assert_eq!(Cursor::parse(&cursor.to_string(), is_cluster), Some(cursor));
            }
        }
    }

    #[test]
    fn what_is_no_cursor_is_refused() {
        for text in ["", "x", "-1", "+1", "1 ", "0x1", "18446744073709551616", "a:1", ":1", "1:"] {
            assert_eq!(Cursor::parse(text, false), None, "{text}");
        }
        let long = format!("{}:1", "a".repeat(65));
        for text in ["", "1", ":1", "a:", "a:x", "a:1:2", "a b:1", "a\r\n:1", long.as_str()] {
            assert_eq!(Cursor::parse(text, true), None, "{text}");
        }
    }
}
