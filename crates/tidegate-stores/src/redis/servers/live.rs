//! A server that has been let in: connected, logged in, inspected.

use redis::{Cmd, Pipeline, RedisResult, ServerError, Value};

use super::node_info::{Mode, NodeInfo};
use super::tls::{self, Tls};
use super::wire::Wire;
use crate::redis::target::{Address, Login, Secret};
use crate::redis::trouble::Trouble;

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
        login: &Login,
        db: u32,
        mode: Mode,
    ) -> Result<Self, Trouble> {
        let wire = Wire::open(address, tls).await?;
        let mut hello = greeting(login);
        if db != 0 {
            hello.push(command(&["SELECT", &db.to_string()]));
        }
        let greetings = hello.len();
        hello.extend(NodeInfo::SECTIONS.map(|section| command(&["INFO", section])));
        let replies = wire.greet(&hello).await.map_err(|error| lost(&error))?;
        let mut info = NodeInfo::default();
        for (place, reply) in replies.iter().enumerate() {
            match reply {
                Value::ServerError(error) => return Err(refused(error)),
                _ if place < greetings => {}
                section => info.read(section)?,
            }
        }
        info.judge(mode)?;
        Ok(Self { wire, address: address.clone(), info })
    }

    /// Runs a command. With `asking`, the server lets in a slot that is on its way to it.
    pub(super) async fn call(&self, command: &Cmd, asking: bool) -> RedisResult<Value> {
        if !asking {
            return self.wire.send(command).await;
        }
        let mut both = Pipeline::with_capacity(2);
        both.cmd("ASKING").add_command(command.clone());
        Ok(self.wire.send_all(&both).await?.pop().unwrap_or(Value::Nil))
    }
}

/// The first words to a server: who we are, if it wants to know.
pub(super) fn greeting(login: &Login) -> Vec<Cmd> {
    let password = login.password.as_ref().map(Secret::reveal);
    match (login.user.as_deref(), password) {
        (None, None) => Vec::new(),
        (None, Some(password)) => vec![command(&["AUTH", password])],
        // A user without a password is one that any password will do for.
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

/// What it means that there was no reply to the first words.
pub(super) fn lost(error: &redis::RedisError) -> Trouble {
    // A server that wants to know who we are says so only once it has let us write.
    tls::refusal(error).unwrap_or_else(|| {
        Trouble::passing(format!("closed or garbled before it answered: {error}"))
    })
}

/// What an error reply to the first words means.
pub(super) fn refused(error: &ServerError) -> Trouble {
    let text = error.details().unwrap_or_default();
    match error.code() {
        "NOAUTH" => Trouble::refusal("it wants a password, and none was given"),
        "WRONGPASS" => Trouble::refusal("it does not know this user and password"),
        "NOPERM" => Trouble::refusal(format!(
            "the user lacks a permission ({text}); grant it with \
             ACL SETUSER <user> +info +select +eval +evalsha +cluster|slots"
        )),
        "ERR" if text.contains("AUTH") || text.contains("invalid password") => {
            Trouble::refusal("it does not take this password")
        }
        "ERR" if text.contains("DB index") => Trouble::refusal("it does not have this database"),
        code => Trouble::passing(format!("it answers {code} {text}")),
    }
}
