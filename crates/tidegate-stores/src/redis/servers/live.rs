//! A connection that is ready for calls: connected, logged in, and its server inspected.

use redis::{Arg, Cmd, Pipeline, RedisResult, ServerError, Value};

use super::node_info::{NodeInfo, NodeMode};
use super::tls::{self, Tls};
use super::wire::Wire;
use crate::redis::trouble::Trouble;
use crate::redis::url::{Address, Credentials, HiddenText};

#[derive(Debug)]
pub(super) struct Live {
    pub(super) wire: Wire,
    pub(super) address: Address,
    pub(super) info: NodeInfo,
}

// === impl Live ===

impl Live {
    /// Connects and asks the server who it is, all in one message.
    pub(super) async fn open(
        address: &Address,
        tls: Option<&Tls>,
        login: &Credentials,
        db: u32,
        mode: NodeMode,
    ) -> Result<Self, Trouble> {
        let wire = Wire::open(address, tls).await?;
        let mut hello = greeting(login);
        if db != 0 {
            hello.push(command(&["SELECT", &db.to_string()]));
        }
        let greetings = hello.len();
        hello.extend(NodeInfo::SECTIONS.map(|section| command(&["INFO", section])));
        let replies = wire.greet(&hello).await.map_err(|error| lost(&error))?;
        no_error(&hello, &replies)?;
        let mut info = NodeInfo::default();
        replies.iter().skip(greetings).try_for_each(|section| info.read(section))?;
        info.judge(mode)?;
        Ok(Self { wire, address: address.clone(), info })
    }

    /// Runs a command. With `asking`, the server takes it for a slot that is on its way to it.
    pub(super) async fn call(&self, command: &Cmd, asking: bool) -> RedisResult<Value> {
        if !asking {
            return self.wire.send(command).await;
        }
        let mut both = Pipeline::with_capacity(2);
        both.cmd("ASKING").add_command(command.clone());
        Ok(self.wire.send_all(&both).await?.pop().unwrap_or(Value::Nil))
    }
}

/// The first commands to a server: our login, if there is one.
pub(super) fn greeting(login: &Credentials) -> Vec<Cmd> {
    let password = login.password.as_ref().map(HiddenText::reveal);
    match (login.user.as_deref(), password) {
        (None, None) => Vec::new(),
        (None, Some(password)) => vec![command(&["AUTH", password])],
        // A user without a password is one that accepts any password.
        (Some(user), password) => vec![command(&["AUTH", user, password.unwrap_or_default()])],
    }
}

pub(super) fn command(words: &[&str]) -> Cmd {
    let mut command = Cmd::new();
    for word in words {
        command.arg(word);
    }
    command
}

/// The text of a reply, if it is text.
pub(crate) fn text_of(reply: &Value) -> Option<&str> {
    match reply {
        Value::BulkString(bytes) => str::from_utf8(bytes).ok(),
        Value::SimpleString(text) => Some(text),
        _ => None,
    }
}

/// Fails with the first error among the replies to the first commands. The reply to `AUTH` is not
/// repeated: some servers quote the command they do not understand, password and all.
pub(super) fn no_error(commands: &[Cmd], replies: &[Value]) -> Result<(), Trouble> {
    for (command, reply) in commands.iter().zip(replies) {
        if let Value::ServerError(error) = reply {
            let is_login = command.args_iter().next() == Some(Arg::Simple(b"AUTH"));
            return Err(if is_login { not_let_in(error) } else { refused(error) });
        }
    }
    Ok(())
}

fn not_let_in(error: &ServerError) -> Trouble {
    match error.code() {
        "WRONGPASS" | "NOPERM" => Trouble::refusal("wrong user or password"),
        "ERR" => Trouble::refusal(
            "it rejects AUTH; perhaps no password is set, or it does not support users",
        ),
        code => Trouble::passing(format!("it answers {code} to the password")),
    }
}

/// The trouble that it means if there was no reply to the first commands.
pub(super) fn lost(error: &redis::RedisError) -> Trouble {
    // A server that wants our certificate says so only once it has let us write.
    tls::refusal(error).unwrap_or_else(|| {
        Trouble::passing(format!("closed or garbled before it answered: {error}"))
    })
}

/// The trouble that an error reply to the first commands means.
pub(super) fn refused(error: &ServerError) -> Trouble {
    let text = error.details().unwrap_or_default();
    match error.code() {
        "NOAUTH" => Trouble::refusal("it wants a password, and none was given"),
        "NOPERM" => Trouble::refusal(format!(
            "the user lacks a permission ({text}); grant it with ACL SETUSER <user> \
             +info +select +eval +evalsha, in a cluster also +cluster|slots +asking"
        )),
        "ERR" if text.contains("DB index") => Trouble::refusal("it does not have this database"),
        code => Trouble::passing(format!("it answers {code} {text}")),
    }
}
