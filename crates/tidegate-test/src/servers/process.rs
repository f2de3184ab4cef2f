//! A child process that does not outlive the test, however the test ends.
//!
//! Dropping the guard ends the child, but a test that is killed drops nothing. So the kernel is
//! asked to kill the child together with its parent (`PR_SET_PDEATHSIG`), by way of `setpriv`,
//! which sets this and then becomes the program. The kernel means the parent *thread*, and the
//! threads of a test end before the test does. So all children are started by one thread that never
//! ends.

use core::sync::atomic::{AtomicBool, Ordering};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, OnceLock, PoisonError};

use rustix::process::{Pid, Signal, kill_process};

/// A program with its arguments and its folder, which can be started again and again.
#[derive(Clone, Debug)]
pub struct Recipe {
    /// The executable.
    pub program: PathBuf,
    /// The arguments of the program.
    pub args: Vec<String>,
    /// The working directory of the program, where its log goes as well.
    pub folder: PathBuf,
}

/// A child process, killed and reaped on drop.
#[derive(Debug)]
pub struct Process {
    /// `None` once the child was reaped, so that no signal goes to a process that got the same pid
    /// later.
    child: Mutex<Option<Child>>,
    pid: u32,
    paused: AtomicBool,
}

type Order = (Recipe, Sender<std::io::Result<Child>>);

// === impl Recipe ===

impl Recipe {
    /// The file to which standard output and standard error go.
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
    /// Starts the child.
    ///
    /// # Panics
    ///
    /// If the child cannot be started.
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

    /// The process id, also after the process has ended.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Whether the process still runs (a stopped one does).
    pub fn runs(&self) -> bool {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        if child.as_mut().is_some_and(|child| matches!(child.try_wait(), Ok(Some(_)))) {
            *child = None;
        }
        child.is_some()
    }

    /// Stops the process, as a long pause of the machine would: its sockets stay open.
    pub fn pause(&self) {
        self.paused.store(true, Ordering::Relaxed);
        self.signal(Signal::STOP);
    }

    /// Lets a paused process continue.
    pub fn resume(&self) {
        self.paused.store(false, Ordering::Relaxed);
        self.signal(Signal::CONT);
    }

    /// Whether the process runs and is not paused, so that it can be asked.
    pub fn is_up(&self) -> bool {
        self.runs() && !self.paused.load(Ordering::Relaxed)
    }

    /// Kills the process without a chance to clean up, and returns when it is gone.
    pub fn kill(&self) {
        // A stopped process dies by this signal as well.
        self.signal(Signal::KILL);
        let child = self.child.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(mut child) = child {
            // An error means that there is no process to wait for.
            let _ = child.wait();
        }
    }

    fn signal(&self, signal: Signal) {
        let child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(child) = child.as_ref() {
            // The only possible error is that it has just ended, and then there is nothing to
            // signal.
            let _ = kill_process(Pid::from_child(child), signal);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The content of a file, for a message; empty if the file cannot be read.
#[must_use]
pub fn text_of(path: &Path) -> String {
    std::fs::read(path)
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .unwrap_or_default()
}

/// The channel to the thread that starts all children.
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
