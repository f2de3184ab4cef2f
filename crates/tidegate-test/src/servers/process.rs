//! A child process that does not outlive the test, however the test ends.
//!
//! A guard's drop ends the child, but a test that is killed drops nothing. So the kernel is asked to
//! kill the child together with its parent (`PR_SET_PDEATHSIG`), by way of `setpriv`, which sets it
//! and then becomes the program. The kernel means the parent *thread*, and threads of a test end
//! before the test does, so all children are started by one thread that never ends.

use core::sync::atomic::{AtomicBool, Ordering};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, OnceLock, PoisonError};

use rustix::process::{Pid, Signal, kill_process};

/// What is started: it can be started again.
#[derive(Clone, Debug)]
pub struct Recipe {
    /// The executable.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its working directory, and where its output goes.
    pub folder: PathBuf,
}

/// A child; killed and reaped on drop.
#[derive(Debug)]
pub struct Process {
    /// `None` once it was reaped, so that no signal goes to somebody who got the pid next.
    child: Mutex<Option<Child>>,
    pid: u32,
    paused: AtomicBool,
}

type Order = (Recipe, Sender<std::io::Result<Child>>);

// === impl Recipe ===

impl Recipe {
    /// Where standard output and standard error go.
    #[must_use]
    pub fn log(&self) -> PathBuf {
        self.folder.join("log")
    }

    fn spawn(&self) -> std::io::Result<Child> {
        let log = File::options().create(true).append(true).open(self.log())?;
        Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "--"])
            .arg(&self.program)
            .args(&self.args)
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
    }
}

// === impl Process ===

impl Process {
    /// Starts it.
    ///
    /// # Panics
    ///
    /// If it cannot be started.
    #[must_use]
    pub fn start(recipe: &Recipe) -> Self {
        let (answer, started) = channel();
        spawner().send((recipe.clone(), answer)).expect("the spawning thread never ends");
        let child = started.recv().expect("the spawning thread never ends");
        let child = child.unwrap_or_else(|error| {
            panic!("{}: {error} (by setpriv of util-linux)", recipe.program.display())
        });
        Self { pid: child.id(), child: Mutex::new(Some(child)), paused: AtomicBool::new(false) }
    }

    /// Its process id; after its end, what it was.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Whether it still runs (stopped counts as running).
    pub fn runs(&self) -> bool {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        if child.as_mut().is_some_and(|child| matches!(child.try_wait(), Ok(Some(_)))) {
            *child = None;
        }
        child.is_some()
    }

    /// Stops it where it stands, as a long pause of the machine would: sockets stay open.
    pub fn pause(&self) {
        self.paused.store(true, Ordering::Relaxed);
        self.signal(Signal::STOP);
    }

    /// Lets it go on.
    pub fn resume(&self) {
        self.paused.store(false, Ordering::Relaxed);
        self.signal(Signal::CONT);
    }

    /// Whether it runs and was not paused: whether it can be asked.
    pub fn is_up(&self) -> bool {
        self.runs() && !self.paused.load(Ordering::Relaxed)
    }

    /// Kills it, without a chance to say goodbye, and returns when it is gone.
    pub fn kill(&self) {
        // A stopped process dies by this signal as well.
        self.signal(Signal::KILL);
        let child = self.child.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(mut child) = child {
            // An error means that there is nothing to wait for.
            let _ = child.wait();
        }
    }

    fn signal(&self, signal: Signal) {
        let child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(child) = child.as_ref() {
            // The only error left is that it has just ended, and then there is nothing to signal.
            let _ = kill_process(Pid::from_child(child), signal);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// What a file holds, for a message; a file that cannot be read is an empty one.
#[must_use]
pub fn text_of(path: &Path) -> String {
    std::fs::read(path)
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .unwrap_or_default()
}

/// The way to the thread that starts all children.
fn spawner() -> &'static Sender<Order> {
    static SPAWNER: OnceLock<Sender<Order>> = OnceLock::new();
    SPAWNER.get_or_init(|| {
        let (sender, orders) = channel::<Order>();
        std::thread::spawn(move || {
            // The sender is static, so this loop ends with the process.
            for (recipe, answer) in orders {
                let _ = answer.send(recipe.spawn());
            }
        });
        sender
    })
}
