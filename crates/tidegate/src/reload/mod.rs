//! Puts a changed policy file in force while requests are decided.
//!
//! The file is read on SIGHUP, and when it has changed. A file that is wrong is refused as a whole: the
//! policies in force stay, and an error is logged. A file that is gone for a moment, as while it is
//! replaced, is not reported at all. A file that cannot be opened because the process is out of
//! descriptors is not called wrong; it is read when there is one again.

mod compare;
mod watch;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use tidegate_core::Store;
use tidegate_engine::Engine;
use tidegate_server::Handle;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::spawn_blocking;
use tracing::{error, info, warn};

use crate::cli::Source;
use crate::config::{Config, Overlay};
use crate::descriptors;
use compare::Fixed;
use watch::Watch;

/// How often a missing file is looked for before it is reported.
const LOOKS: usize = 10;

/// Reloads the policies of a running engine.
pub(crate) struct Reloader<S> {
    engine: Arc<Engine<S>>,
    handle: Handle<S>,
    overlay: Overlay,
    /// The settings that the process was started with and cannot change.
    fixed: Fixed,
    hangup: Signal,
    /// The file to watch; `None` for the built-in example, which does not change, and for pipes.
    file: Option<Watched>,
}

/// A policy file, and what was last seen of it.
struct Watched {
    path: PathBuf,
    watch: Watch,
    seen: Seen,
}

/// What was last seen of a file. The same is not reported twice.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Seen {
    Text(String),
    /// The file could not be read, for this reason.
    Unreadable(String),
}

/// Why the file is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Why {
    /// SIGHUP: somebody asked for a reload, and wants an answer.
    Hangup,
    /// The file may have changed.
    Change,
}

// === impl Reloader ===

impl<S: Store + 'static> Reloader<S> {
    /// Begins to watch the file that the policies in force come from.
    pub(crate) fn start(
        source: &Source,
        config: &Config,
        overlay: &Overlay,
        engine: Arc<Engine<S>>,
        handle: Handle<S>,
    ) -> Result<Self> {
        let file = match source {
            // A pipe can be read once.
            Source::File(path) if path.is_file() => {
                let watch = Watch::start(path).context("watching the policy file")?;
                Some(Watched {
                    path: path.clone(),
                    watch,
                    seen: Seen::Text(config.text().to_owned()),
                })
            }
            Source::File(_) | Source::BuiltIn | Source::Stdin => None,
        };
        let hangup = signal(SignalKind::hangup()).context("listening for SIGHUP")?;
        let fixed = Fixed::of(config, overlay);
        Ok(Self { engine, handle, overlay: overlay.clone(), fixed, hangup, file })
    }

    /// Waits for a reason to reload the policies, and reloads them.
    pub(crate) async fn next(&mut self) {
        let Some(file) = &mut self.file else {
            if self.hangup.recv().await.is_some() {
                info!("nothing to reload: the policies come from no file that could have changed");
            }
            return;
        };
        let why = tokio::select! {
            _ = self.hangup.recv() => Why::Hangup,
            () = file.watch.changed() => Why::Change,
        };
        let Some(text) = file.look(why).await else { return };
        let path = file.path.display().to_string();
        match text {
            Ok(text) => self.reload(path, text).await,
            Err(error) => self.refuse(&path, &anyhow!(error).context("it cannot be read")),
        }
    }

    /// Checks a text and puts its policies in force, away from the thread that accepts connections.
    async fn reload(&self, path: String, text: String) {
        let engine = Arc::clone(&self.engine);
        let (name, environment) = (path.clone(), self.overlay.environment.clone());
        let reloaded = spawn_blocking(move || {
            let config = Config::parse(&name, &text, environment.as_deref())?;
            engine.reload(config.builder())?;
            Ok(config)
        });
        match reloaded.await.unwrap_or_else(|error| Err(anyhow!("reading it failed: {error}"))) {
            Ok(config) => self.accept(&path, &config),
            Err(error) => self.refuse(&path, &error),
        }
    }

    fn accept(&self, path: &str, config: &Config) {
        self.handle.count_reload(true);
        let policies = config.policies().policies().len();
        info!(path, policies, "reloaded; the policies of the file are in force");
        let waiting = self.fixed.changed(config, &self.overlay);
        if !waiting.is_empty() {
            let sections = waiting.join(", ");
            warn!(sections, "these have changed and take effect when the process is restarted");
        }
    }

    fn refuse(&self, path: &str, error: &anyhow::Error) {
        self.handle.count_reload(false);
        let diagnostic = format!("{error:#}");
        self.engine.refuse_reload(&diagnostic);
        if descriptors::were_missing(error) {
            error!(
                path,
                diagnostic,
                "NOT reloaded: no file descriptor is left to read the file with; the policies in \
                 force stay, and the file is read when one is free"
            );
            return;
        }
        error!(path, diagnostic, "NOT reloaded: the file is wrong; the policies in force stay");
    }
}

// === impl Watched ===

impl Watched {
    /// Reads the file; `None` if it is as it was and nobody asked.
    async fn look(&mut self, why: Why) -> Option<io::Result<String>> {
        let mut found = self.read().await;
        // A file that is being replaced is back in a moment.
        for _ in 0..LOOKS {
            if found.is_ok() || why == Why::Hangup {
                break;
            }
            self.watch.pause().await;
            found = self.read().await;
        }
        let seen = match &found {
            Ok(text) => Seen::Text(text.clone()),
            Err(error) => Seen::Unreadable(error.to_string()),
        };
        let changed = std::mem::replace(&mut self.seen, seen) != self.seen;
        (changed || why == Why::Hangup).then_some(found)
    }

    async fn read(&self) -> io::Result<String> {
        let source = Source::File(self.path.clone());
        let read = move || match &source {
            // To open a pipe would be to wait for its writer.
            Source::File(path) if path.exists() && !path.is_file() => {
                Err(io::Error::other("it is not a file any more"))
            }
            source => source.read(),
        };
        spawn_blocking(read).await.unwrap_or_else(|error| Err(io::Error::other(error)))
    }
}
