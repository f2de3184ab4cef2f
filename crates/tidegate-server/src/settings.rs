//! The settings of the server: first as written, then validated. The server sees only the validated ones.

mod hosts;
mod written;

pub use hosts::{HostError, WrittenHost};
pub(crate) use hosts::{Hosts, host_and_port};
pub use tidegate_engine::file::SettingsError;
pub use tidegate_tower::settings::{Header, Length, Network, Size, UnitError};
pub use written::{WrittenAdmin, WrittenGate, WrittenHeaders, WrittenSettings};

use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::time::Duration;

use http::{HeaderName, StatusCode};
use ipnet::IpNet;
use tidegate_core::{Dimension, Span};
use tidegate_tower::client::Trust;
use tidegate_tower::pages::PAGE_AGE;
use tidegate_tower::serve::Bounds;

/// How the server listens, what it bounds, and whose headers it believes.
///
/// ```
/// use tidegate_server::{Settings, WrittenSettings};
///
/// let written: WrittenSettings = serde_json::from_str(r#"{"threads": 2, "idle_timeout": "30s"}"#)?;
/// let settings = Settings::try_new(&written)?;
/// assert_eq!(settings.threads().get(), 2);
/// assert_eq!(settings.listen().port(), 7700, "the default");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Settings {
    pub(crate) listen: SocketAddr,
    /// The names that requests may use for the server.
    pub(crate) hosts: Hosts,
    pub(crate) threads: NonZeroUsize,
    pub(crate) max_connections: usize,
    pub(crate) max_connections_per_address: usize,
    pub(crate) timeouts: Timeouts,
    pub(crate) max_body: usize,
    pub(crate) gate: GateSettings,
    pub(crate) admin_listen: SocketAddr,
    /// How long `/metrics`, `/v1/policies` and `/openapi.json` are good for. Only tests change it, so the
    /// policy file has no field for it.
    pub(crate) page_age: Span,
}

/// How long heads, bodies, idle connections and draining may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timeouts {
    pub(crate) header: Duration,
    pub(crate) body: Duration,
    pub(crate) idle: Duration,
    pub(crate) drain: Duration,
}

/// The settings of the forward-auth door, `/v1/gate/{policy}`.
#[derive(Clone, Debug)]
pub(crate) struct GateSettings {
    /// Whose headers are believed, and where the client's address is found.
    pub(crate) trust: Trust,
    /// The headers that carry the other facts.
    pub(crate) facts: Vec<(Dimension, HeaderName)>,
    /// The status of a refusal, 429 or 403.
    pub(crate) deny: StatusCode,
}

/// The number of connections that are kept for health checks.
const RESERVE: usize = 32;

/// File descriptors for other things than connections: listeners, runtimes, the policy file, the log and
/// the store.
const OTHER_DESCRIPTORS: usize = 64;

/// The paths of health checks.
const HEALTH: [&str; 2] = ["/livez", "/readyz"];

/// The most connections to the admin listener.
const ADMIN_CONNECTIONS: usize = 64;

/// The most connections to the admin listener from one address: a client that connects and sends nothing
/// leaves some for others.
const ADMIN_CONNECTIONS_PER_ADDRESS: usize = 32;

// === impl Settings ===

impl Settings {
    /// The port that the server listens on unless the settings name another.
    pub const PORT: u16 = 7700;
    /// The port of the admin listener unless the settings name another.
    pub const ADMIN_PORT: u16 = 7707;
    /// The most threads that can be set.
    pub const MAX_THREADS: usize = 1024;
    /// The largest bound on bodies that can be set, in bytes.
    pub const MAX_BODY: usize = 16 << 20;
    /// The smallest bound on bodies that can be set, in bytes; that of an ordinary decision fits.
    pub const MIN_BODY: usize = 1 << 10;

    /// Checks what was written and fills in the defaults.
    ///
    /// # Errors
    ///
    /// If a number is out of range, or headers are named that nobody is trusted to send.
    pub fn try_new(written: &WrittenSettings) -> Result<Self, SettingsError> {
        let usual = Self::default();
        let threads = written.threads.unwrap_or(usual.threads.get());
        let connections = written.max_connections.unwrap_or(usual.max_connections);
        let max_body = written.max_body.map_or(usual.max_body, |size| size.0);
        within("threads", threads, 1, Self::MAX_THREADS)?;
        within("max_connections", connections, 1, 10_000_000)?;
        within("max_body", max_body, Self::MIN_BODY, Self::MAX_BODY)?;
        if let Some(most) = written.max_connections_per_address {
            within("max_connections_per_address", most, 1, connections)?;
        }
        let Timeouts { header, body, idle, drain } = usual.timeouts;
        Ok(Self {
            listen: written.listen.unwrap_or(usual.listen),
            hosts: written.hosts.as_deref().map_or(usual.hosts, Hosts::written),
            threads: NonZeroUsize::new(threads).unwrap_or(NonZeroUsize::MIN),
            max_connections: connections,
            max_connections_per_address: written
                .max_connections_per_address
                .unwrap_or_else(|| share_of_one(connections)),
            timeouts: Timeouts {
                header: length("header_timeout", written.header_timeout, header)?,
                body: length("body_timeout", written.body_timeout, body)?,
                idle: length("idle_timeout", written.idle_timeout, idle)?,
                drain: length("drain_timeout", written.drain_timeout, drain)?,
            },
            max_body,
            gate: GateSettings::try_new(&written.gate)?,
            admin_listen: admin_listen(&written.admin, usual.admin_listen)?,
            page_age: usual.page_age,
        })
    }

    /// The address to listen on.
    #[must_use]
    pub const fn listen(&self) -> SocketAddr {
        self.listen
    }

    /// The address of the admin listener, [if there is one](crate::Server::with_admin).
    #[must_use]
    pub const fn admin_listen(&self) -> SocketAddr {
        self.admin_listen
    }

    /// The number of threads that answer requests.
    #[must_use]
    pub const fn threads(&self) -> NonZeroUsize {
        self.threads
    }

    /// The most connections that may be open.
    #[must_use]
    pub const fn max_connections(&self) -> usize {
        self.max_connections
    }

    /// Lowers the number of connections to what so many file descriptors allow. Those of the process
    /// itself, of health checks and of operators are set aside, so that a flood cannot take them.
    #[must_use]
    pub fn within_descriptors(mut self, most: u64) -> Self {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let room = most.saturating_sub(OTHER_DESCRIPTORS + RESERVE + ADMIN_CONNECTIONS).max(1);
        self.max_connections = self.max_connections.min(room);
        self.max_connections_per_address = self.max_connections_per_address.min(room);
        self
    }

    /// Makes pages such as `/metrics` anew for each request, for tests that look at a counter right after
    /// they have moved it.
    #[doc(hidden)]
    #[must_use]
    pub const fn with_fresh_pages(mut self) -> Self {
        self.page_age = Span::ZERO;
        self
    }

    /// The bounds of the listener for decisions.
    pub(crate) fn bounds(&self) -> Bounds {
        Bounds {
            threads: Some(self.threads),
            connections: self.max_connections,
            connections_of_one: self.max_connections_per_address,
            trust: self.gate.trust.clone(),
            reserve: RESERVE,
            health: HEALTH.to_vec(),
            ..self.usual_bounds()
        }
    }

    /// The bounds of the admin listener: it has connections of its own, and few, so nobody keeps one
    /// without a request.
    pub(crate) fn admin_bounds(&self) -> Bounds {
        Bounds {
            connections: ADMIN_CONNECTIONS,
            connections_of_one: ADMIN_CONNECTIONS_PER_ADDRESS,
            prompt: true,
            give_way: true,
            idle_timeout: self.timeouts.header,
            ..self.usual_bounds()
        }
    }

    fn usual_bounds(&self) -> Bounds {
        Bounds {
            small_bodies: true,
            header_timeout: self.timeouts.header,
            idle_timeout: self.timeouts.idle,
            // The server reads bodies whole, and bounds the time for each as a whole itself.
            body_timeout: None,
            write_timeout: self.timeouts.body,
            drain: self.timeouts.drain,
            ..Bounds::default()
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            listen: (Ipv4Addr::LOCALHOST, Self::PORT).into(),
            hosts: Hosts::default(),
            threads: cores(),
            max_connections: 10_000,
            max_connections_per_address: share_of_one(10_000),
            timeouts: Timeouts {
                header: Duration::from_secs(5),
                body: Duration::from_secs(5),
                idle: Duration::from_secs(60),
                drain: Duration::from_secs(10),
            },
            max_body: 64 << 10,
            gate: GateSettings {
                trust: Trust::default(),
                facts: Vec::new(),
                deny: StatusCode::TOO_MANY_REQUESTS,
            },
            admin_listen: (Ipv4Addr::LOCALHOST, Self::ADMIN_PORT).into(),
            page_age: PAGE_AGE,
        }
    }
}

/// The default number of connections from one address: a quarter of all, but at least 16 if there are
/// as many.
fn share_of_one(connections: usize) -> usize {
    (connections / 4).max(16).min(connections)
}

fn cores() -> NonZeroUsize {
    let most = NonZeroUsize::new(Settings::MAX_THREADS).unwrap_or(NonZeroUsize::MIN);
    std::thread::available_parallelism().map_or(NonZeroUsize::MIN, |cores| cores.min(most))
}

// === impl GateSettings ===

impl GateSettings {
    fn try_new(written: &WrittenGate) -> Result<Self, SettingsError> {
        let deny = match written.deny_status {
            None | Some(429) => StatusCode::TOO_MANY_REQUESTS,
            Some(403) => StatusCode::FORBIDDEN,
            Some(_) => return Err(error("gate.deny_status", "write 429 or 403")),
        };
        let headers = &written.headers;
        let header = |dimension| Some((dimension, headers.get(dimension)?.0.clone()));
        let (addresses, facts): (Vec<_>, Vec<_>) = Dimension::told()
            .filter_map(header)
            .partition(|(dimension, _)| dimension.prefix_length().is_some());
        let ip = addresses.into_iter().next().map(|(_, header)| header);
        let trusted: Vec<IpNet> = written.trusted_peers.iter().map(|network| network.0).collect();
        if trusted.is_empty() && (ip.is_some() || !facts.is_empty()) {
            let problem = "headers are believed only from `trusted_peers`; list your proxies there";
            return Err(error("gate.headers", problem));
        }
        Ok(Self { trust: Trust::proxies(trusted, ip), facts, deny })
    }
}

// === the checks ===

/// The address of the admin listener: one that only this machine reaches, unless `allow_remote` is set.
/// The token is sent without TLS.
fn admin_listen(written: &WrittenAdmin, usual: SocketAddr) -> Result<SocketAddr, SettingsError> {
    let listen = written.listen.unwrap_or(usual);
    if !listen.ip().to_canonical().is_loopback() && written.allow_remote != Some(true) {
        let problem = "others than this machine reach that address, and the token is sent without \
                       TLS; write 127.0.0.1, or `allow_remote: true` if you mean it";
        return Err(error("admin.listen", problem));
    }
    Ok(listen)
}

fn error(field: &str, problem: impl Into<String>) -> SettingsError {
    SettingsError { field: format!("server.{field}"), problem: problem.into() }
}

fn within(field: &str, value: usize, least: usize, most: usize) -> Result<(), SettingsError> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(error(field, format!("{value} is out of range; write {least} to {most}")))
}

/// A timeout from the settings, or its default: from 10 ms to a day.
fn length(
    field: &str,
    written: Option<Length>,
    default: Duration,
) -> Result<Duration, SettingsError> {
    let length = written.map_or(default, |length| length.0);
    if (Duration::from_millis(10)..=Duration::from_secs(86_400)).contains(&length) {
        return Ok(length);
    }
    Err(error(field, "write a length from 10ms to 1d"))
}

#[cfg(test)]
mod tests;
