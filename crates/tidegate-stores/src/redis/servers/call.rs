//! One call of a script, and how far it got.

use std::sync::Arc;

use redis::{Arg, Cmd};
use tidegate_core::StoreError;

use super::link::Link;
use super::live::Live;
use super::slot::slot_of;
use super::watch::watch;
use crate::redis::scripts::Script;
use crate::redis::url::Address;

/// A script with its keys and its argument, ready to send.
pub(super) struct ServerCall<'a> {
    script: &'a Script,
    /// The command as it is sent first, by hash: the server is expected to know the script.
    pub(super) by_hash: Cmd,
}

/// What is known about a call when its time is over.
#[derive(Default)]
pub(super) struct Progress {
    /// Where the call was sent. If `None`, certainly not a byte was sent.
    sent: Option<Sent>,
    /// Whether a reply is still to come.
    is_open: bool,
}

struct Sent {
    link: Arc<Link>,
    live: Arc<Live>,
    /// The number of replies on this connection before the call; `None` if the connection had to be
    /// opened first, since then it had less than a deadline to answer in.
    answers: Option<u64>,
}

// === impl ServerCall ===

impl<'a> ServerCall<'a> {
    pub(super) fn new(script: &'a Script, keys: &[impl AsRef<[u8]>], arg: &[u8]) -> Self {
        let bytes = keys.iter().map(|key| key.as_ref().len()).sum::<usize>();
        // Room for the command, the hash and the count, so that it is allocated once.
        let mut by_hash = Cmd::with_capacity(keys.len() + 4, bytes + arg.len() + 64);
        by_hash.arg("EVALSHA").arg(&script.hash).arg(keys.len());
        for key in keys {
            by_hash.arg(key.as_ref());
        }
        by_hash.arg(arg);
        Self { script, by_hash }
    }

    /// The slot of the first key, which is that of all keys; any slot if there is no key.
    pub(super) fn slot(&self) -> u16 {
        match self.by_hash.args_iter().nth(3) {
            Some(Arg::Simple(key)) => slot_of(key),
            _ => 0,
        }
    }

    /// The command with the whole script, for a server that does not know it, and then does.
    pub(super) fn by_text(&self) -> Cmd {
        let mut by_text = Cmd::new();
        by_text.arg("EVAL").arg(&self.script.text);
        for arg in self.by_hash.args_iter().skip(2) {
            if let Arg::Simple(bytes) = arg {
                by_text.arg(bytes);
            }
        }
        by_text
    }
}

// === impl Progress ===

impl Progress {
    /// Notes that the call is being sent. From here on, a server may have counted it.
    pub(super) fn sent(&mut self, link: &Arc<Link>, live: &Arc<Live>, was_ready: bool) {
        let answers = was_ready.then(|| live.wire.answers());
        self.sent = Some(Sent { link: Arc::clone(link), live: Arc::clone(live), answers });
        self.is_open = true;
    }

    /// Notes that there was a reply, or that there will be none.
    pub(super) const fn answered(&mut self) {
        self.is_open = false;
    }

    /// The error of a call that is over its deadline. If nobody got an answer on its connection for so
    /// long, the connection is taken out of use: the server behind it is gone, stopped, or cut off.
    pub(super) fn elapsed(&mut self) -> StoreError {
        self.is_open = false;
        let Some(sent) = &self.sent else { return StoreError::Unavailable };
        if sent.answers == Some(sent.live.wire.answers()) {
            sent.link.leave(&sent.live);
        }
        StoreError::Timeout
    }

    /// The error of a call whose reply was none of the script's: nobody knows what was done, nor what
    /// else is on its way on this connection, which is taken out of use.
    pub(super) fn garbled(&self) -> StoreError {
        self.leave();
        StoreError::Timeout
    }

    /// Takes the connection out of use.
    pub(super) fn leave(&self) {
        if let Some(sent) = &self.sent {
            sent.link.leave(&sent.live);
        }
    }

    /// The address that the call was sent to last.
    pub(super) fn address(&self) -> Option<&Address> {
        self.sent.as_ref().map(|sent| &sent.live.address)
    }

    /// The address that the call was sent to, as the beginning of a message about it; empty without
    /// one.
    pub(super) fn place(&self) -> String {
        self.address().map_or_else(String::new, |address| format!("{address}: "))
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        // The caller was cancelled. Somebody else has to find out whether the connection is silent.
        if let (true, Some(sent)) = (self.is_open, &self.sent) {
            watch(&sent.link, &sent.live);
        }
    }
}
