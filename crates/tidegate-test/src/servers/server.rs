//! One server: started, asked, stopped, killed and restarted by a test.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use redis::aio::MultiplexedConnection;
use redis::{RedisResult, Value};
use tempfile::TempDir;

use super::admin::{self, Admin, Login};
use super::flavour::Flavour;
use super::port::Port;
use super::process::{Process, Recipe, text_of};
use super::tls::{Certificates, Shown};
use super::wait;

/// How often a server may find its port taken by a stranger before that is an error.
const ATTEMPTS: u32 = 5;

/// A running server, which ends, and whose folder is deleted, when this is dropped.
///
/// Every method takes `&self`, so that a test can break the server while others use it.
pub struct RunningServer {
    builder: Builder,
    port: Port,
    folder: TempDir,
    admin: Admin,
    process: Mutex<Process>,
}

/// The options that a server is started with.
#[derive(Clone, Debug, Default)]
pub struct Builder {
    flavour: Flavour,
    args: Vec<String>,
    login: Login,
    files: Vec<(String, String)>,
    tls: bool,
    sentinel: bool,
}

// === impl RunningServer ===

impl RunningServer {
    /// Starts a plain Redis: no password, nothing saved, every debugging command allowed.
    pub async fn start() -> Self {
        Self::builder().start().await
    }

    /// Begins to build a server with other options than [`RunningServer::start`].
    #[must_use]
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// The address on which the server listens.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.port.addr()
    }

    /// The port on which the server listens.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port.number()
    }

    /// The URL by which a client connects, with the password if there is one.
    #[must_use]
    pub fn url(&self) -> String {
        self.url_at(&self.addr().to_string())
    }

    /// The URL of [`RunningServer::url`] with another `host:port`, such as that of a proxy in front of it.
    #[must_use]
    pub fn url_at(&self, address: &str) -> String {
        let scheme = if self.builder.tls { "rediss" } else { "redis" };
        let Login { user, password } = &self.builder.login;
        let login = password.as_ref().map_or_else(String::new, |password| {
            format!("{}:{password}@", user.as_deref().unwrap_or_default())
        });
        format!("{scheme}://{login}{address}/")
    }

    /// The folder of the server, which contains its dumps and its log.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The log of the server, over all its restarts.
    #[must_use]
    pub fn log(&self) -> String {
        text_of(&self.folder.path().join("log"))
    }

    /// The process id of the server.
    pub fn pid(&self) -> u32 {
        self.with_process(Process::pid)
    }

    /// Whether the process exists; a paused one does.
    pub fn runs(&self) -> bool {
        self.with_process(Process::runs)
    }

    /// Whether the server runs and is not paused, so that it can be asked.
    pub fn is_up(&self) -> bool {
        self.with_process(Process::is_up)
    }

    /// Sends SIGKILL, and returns when the process is gone.
    pub fn kill(&self) {
        self.with_process(Process::kill);
    }

    /// Sends SIGSTOP: clients can still connect, but nothing is answered.
    pub fn pause(&self) {
        self.with_process(Process::pause);
    }

    /// Sends SIGCONT, which ends a pause.
    pub fn resume(&self) {
        self.with_process(Process::resume);
    }

    /// Kills the server if it still runs, and starts it on the same port, in the same folder, with
    /// the same arguments.
    pub async fn restart(&self) {
        self.restart_with::<&str>(&[]).await;
    }

    /// Restarts the server like [`RunningServer::restart`], with more arguments that hold until the next
    /// restart.
    ///
    /// # Panics
    ///
    /// If the server does not answer in time.
    pub async fn restart_with<S: AsRef<str>>(&self, more: &[S]) {
        self.kill();
        let mut recipe = self.builder.recipe(&self.port, self.folder.path());
        recipe.args.extend(more.iter().map(|arg| arg.as_ref().to_owned()));
        let process = Process::start(&recipe);
        let ready = ready(&process, self.folder.path()).await;
        *self.process.lock().unwrap_or_else(PoisonError::into_inner) = process;
        assert!(ready, "the server did not come back:\n{}", self.log());
    }

    /// Runs a command over a connection that bypasses all proxies and survives restarts.
    ///
    /// # Panics
    ///
    /// If the answer is an error.
    pub async fn command(&self, args: &[&str]) -> Value {
        let answer = self.try_command(args).await;
        answer.unwrap_or_else(|error| panic!("{args:?} on {}: {error}", self.addr()))
    }

    /// Runs a command like [`RunningServer::command`], but returns an error instead of panicking.
    ///
    /// # Errors
    ///
    /// The error that the server answers, or the reason why it could not be asked.
    pub async fn try_command(&self, args: &[&str]) -> RedisResult<Value> {
        self.admin.command(args).await
    }

    /// A new connection that bypasses all proxies, for more than single commands.
    ///
    /// # Panics
    ///
    /// If the server does not accept the connection.
    pub async fn connection(&self) -> MultiplexedConnection {
        let connected = self.admin.connect().await;
        connected.unwrap_or_else(|error| panic!("no connection to {}: {error}", self.addr()))
    }

    /// Runs a command and reads its answer as text; for `INFO` and similar commands.
    ///
    /// # Panics
    ///
    /// If the answer is an error or is not text.
    pub async fn text(&self, args: &[&str]) -> String {
        let answer = self.command(args).await;
        redis::from_redis_value(answer).unwrap_or_else(|error| panic!("{args:?}: {error}"))
    }

    /// The value of one field of `INFO`, such as `run_id`.
    ///
    /// # Panics
    ///
    /// If the server cannot be asked.
    pub async fn info(&self, field: &str) -> Option<String> {
        field_of(&self.text(&["INFO", "everything"]).await, field)
    }

    fn with_process<T>(&self, act: impl FnOnce(&Process) -> T) -> T {
        act(&self.process.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

// === impl Builder ===

impl Builder {
    /// Sets the server program to start.
    #[must_use]
    pub fn flavour(mut self, flavour: Flavour) -> Self {
        self.flavour = flavour;
        self
    }

    /// Adds arguments, such as `["--maxmemory", "1mb"]`. If two contradict each other, the later
    /// one holds.
    #[must_use]
    pub fn args<S: Into<String>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Makes the server ask all clients, including the harness, for this password.
    #[must_use]
    pub fn password(mut self, password: &str) -> Self {
        self.login.password = Some(password.to_owned());
        self.args(["--requirepass", password])
    }

    /// Sets the user for the harness and for [`RunningServer::url`]. Needed if `--user` or `--aclfile`
    /// leave the default user without rights.
    #[must_use]
    pub fn login(mut self, user: &str, password: &str) -> Self {
        self.login = Login { user: Some(user.to_owned()), password: Some(password.to_owned()) };
        self
    }

    /// Writes a file into the server's folder before the start. Arguments may name it without a
    /// path.
    #[must_use]
    pub fn file(mut self, name: &str, text: &str) -> Self {
        self.files.push((name.to_owned(), text.to_owned()));
        self
    }

    /// Serves only TLS on the port, and asks clients for no certificates. `certificates` must
    /// outlive the server.
    #[must_use]
    pub fn tls(mut self, certificates: &Certificates, shown: Shown) -> Self {
        self.tls = true;
        let (certificate, key) = certificates.server(shown);
        let text = |path: PathBuf| path.display().to_string();
        self.args(["--tls-cert-file".into(), text(certificate)])
            .args(["--tls-key-file".into(), text(key)])
            .args(["--tls-ca-cert-file".into(), text(certificates.ca())])
            .args(["--tls-auth-clients", "no"])
    }

    /// Makes the server a sentinel, configured by the file `sentinel.conf`, which it rewrites.
    #[must_use]
    pub(super) fn sentinel(mut self, config: &str) -> Self {
        self.sentinel = true;
        self.file("sentinel.conf", config)
    }

    /// Starts the server. Returns when it answers, even with an error such as `-NOAUTH` or
    /// `-LOADING`.
    ///
    /// # Panics
    ///
    /// If the server ends or does not answer in time, with its log.
    pub async fn start(self) -> RunningServer {
        for _ in 0..ATTEMPTS {
            let (port, folder) =
                (Port::free(), TempDir::with_prefix("tidegate-").expect("a temporary folder"));
            for (name, text) in &self.files {
                std::fs::write(folder.path().join(name), text).expect("a writable folder");
            }
            let recipe = self.recipe(&port, folder.path());
            let process = Process::start(&recipe);
            if ready(&process, folder.path()).await {
                let admin = Admin::new(socket(folder.path()), self.login.clone());
                return RunningServer {
                    builder: self,
                    port,
                    folder,
                    admin,
                    process: Mutex::new(process),
                };
            }
            let log = text_of(&recipe.log());
            assert!(log.contains("Address already in use"), "no server: {recipe:?}\n{log}");
        }
        panic!("{ATTEMPTS} ports in a row were taken between looking and binding");
    }

    fn recipe(&self, port: &Port, folder: &Path) -> Recipe {
        let number = port.number().to_string();
        let (port, tls_port) = if self.tls { ("0", number.as_str()) } else { (&*number, "0") };
        let mut args: Vec<&str> = Vec::new();
        if self.sentinel {
            args.extend(["sentinel.conf", "--sentinel"]);
        }
        args.extend(["--bind", "127.0.0.1", "--port", port, "--dir", ".", "--daemonize", "no"]);
        args.extend(["--unixsocket", SOCKET]);
        if tls_port != "0" {
            args.extend(["--tls-port", tls_port]);
        }
        if !self.sentinel {
            args.extend(["--save", "", "--appendonly", "no"]);
            args.extend(["--enable-debug-command", "yes", "--enable-protected-configs", "yes"]);
            // A replica need not wait for other replicas that might come.
            args.extend(["--repl-diskless-sync-delay", "0"]);
        }
        let args = args.into_iter().map(str::to_owned).chain(self.args.iter().cloned()).collect();
        Recipe { program: self.flavour.program(), args, folder: folder.to_owned() }
    }
}

/// The file name of the harness's socket, in the server's folder.
const SOCKET: &str = "admin.sock";

fn socket(folder: &Path) -> PathBuf {
    folder.join(SOCKET)
}

/// Waits until the server answers (true), or ends or takes too long (false).
async fn ready(process: &Process, folder: &Path) -> bool {
    let socket = socket(folder);
    let look = || async {
        if !process.runs() {
            return Some(false);
        }
        admin::answers(&socket).await.then_some(true)
    };
    wait::until_some(look).await == Some(true)
}

/// The value of `field` in a text of lines `field:value`.
pub(super) fn field_of(text: &str, field: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name == field).then(|| value.trim_end().to_owned())
    })
}
