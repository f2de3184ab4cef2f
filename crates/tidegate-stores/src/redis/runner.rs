//! What runs the scripts: real servers, or a test in their place.

use tidegate_core::{Span, StoreError};

use super::scripts::Script;
use super::servers::{Garbled, Servers};
use super::turn;

/// What runs the scripts.
pub(super) enum Runner {
    Servers(Servers),
    Scripted { grouped: bool, run: RunScript },
}

/// Runs the text of a script with its keys and its argument, and returns its answer.
#[doc(hidden)]
pub type RunScript = Box<dyn Fn(&str, &[&str], &[u8]) -> Vec<u8> + Send + Sync>;

// === impl Runner ===

impl Runner {
    /// The servers; `None` if a test runs the scripts instead.
    pub(super) const fn servers(&self) -> Option<&Servers> {
        match self {
            Self::Servers(servers) => Some(servers),
            Self::Scripted { .. } => None,
        }
    }

    /// Waits for `asked`, however many calls it takes, for at most `within`, or the timeout of the
    /// target where that is shorter.
    pub(super) async fn in_time<T>(
        &self,
        within: Span,
        asked: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let Some(servers) = self.servers() else { return asked.await };
        let limit = servers.timeout().min(within.into());
        turn::within(limit, asked).await.unwrap_or_else(|| Err(servers.late(limit)))
    }

    /// Runs a script once and reads its answer, which is a string of bytes; any other reply is garbled.
    pub(super) async fn call<T>(
        &self,
        script: &Script,
        keys: &[impl AsRef<str> + AsRef<[u8]>],
        arg: &[u8],
        read: impl FnOnce(&[u8]) -> Result<T, Garbled>,
    ) -> Result<T, StoreError> {
        match self {
            Self::Servers(servers) => {
                let decode = |reply: redis::Value| match reply {
                    redis::Value::BulkString(bytes) => read(&bytes),
                    _ => Err(Garbled),
                };
                servers.run(script, keys, arg, decode).await
            }
            Self::Scripted { run, .. } => {
                let keys: Vec<&str> = keys.iter().map(AsRef::<str>::as_ref).collect();
                read(&run(&script.text, &keys, arg)).map_err(|Garbled| StoreError::Timeout)
            }
        }
    }
}

impl core::fmt::Debug for Runner {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Servers(servers) => servers.fmt(f),
            Self::Scripted { .. } => f.write_str("Scripted"),
        }
    }
}
