//! Reads a target from text.
//!
//! It is done by hand, since a list of hosts is no URL to the crates that read URLs, and since their
//! errors quote what they read.

use core::time::Duration;
use std::path::PathBuf;

use super::{Address, Kind, Login, Secret, Target, TargetError, TlsFiles};

pub(super) const SHORTEST: Duration = Duration::from_millis(1);
pub(super) const LONGEST: Duration = Duration::from_secs(60);

const PORT: u16 = 6379;
const SENTINEL_PORT: u16 = 26379;

/// The settings that follow the question mark, as written.
#[derive(Default)]
struct Settings {
    timeout: Option<Duration>,
    ca: Option<PathBuf>,
    cert: Option<PathBuf>,
    key: Option<PathBuf>,
    sentinel_user: Option<String>,
    sentinel_password: Option<String>,
}

pub(super) fn parse(text: &str) -> Result<Target, TargetError> {
    let (scheme, rest) = text.split_once("://").ok_or(TargetError::Scheme)?;
    let tls = scheme.starts_with("rediss");
    let default_port = if scheme.ends_with("sentinel") { SENTINEL_PORT } else { PORT };
    if rest.contains('#') {
        return Err(TargetError::Encoding);
    }
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    // A bare @ further on means that the password was cut at a slash or a question mark of its own.
    if path.contains('@') || query.contains('@') {
        return Err(TargetError::Encoding);
    }
    let (login, hosts) = match authority.rsplit_once('@') {
        Some((login, hosts)) => (login_of(login)?, hosts),
        None => (Login::default(), authority),
    };
    let hosts = hosts
        .split(',')
        .map(|host| Address::parse(host, default_port))
        .collect::<Result<Vec<_>, _>>()?;
    let mut settings = Settings::parse(query)?;
    let (kind, db) = match scheme {
        "redis" | "rediss" if hosts.len() > 1 => return Err(TargetError::Hosts),
        "redis" | "rediss" => (Kind::Single, database(path)?),
        "redis+sentinel" | "rediss+sentinel" => {
            let (master, db) = path.split_once('/').unwrap_or((path, ""));
            if master.is_empty() {
                return Err(TargetError::Master);
            }
            let login = settings.sentinel_login();
            (Kind::Sentinel { master: decode(master)?, login }, database(db)?)
        }
        "redis+cluster" | "rediss+cluster" => match path {
            "" | "0" => (Kind::Cluster, 0),
            _ => return Err(TargetError::ClusterDatabase),
        },
        _ => return Err(TargetError::Scheme),
    };
    if settings.sentinel_user.is_some() || settings.sentinel_password.is_some() {
        return Err(TargetError::WithoutSentinel);
    }
    let timeout = settings.timeout.unwrap_or(Target::DEFAULT_TIMEOUT);
    Ok(Target { kind, hosts, login, db, tls: settings.tls(tls)?, timeout })
}

// === impl Settings ===

impl Settings {
    fn parse(query: &str) -> Result<Self, TargetError> {
        let mut settings = Self::default();
        for setting in query.split('&').filter(|setting| !setting.is_empty()) {
            let (name, value) = setting.split_once('=').ok_or(TargetError::Setting)?;
            let value = decode(value)?;
            if value.is_empty() {
                return Err(TargetError::Setting);
            }
            let again = match name {
                "timeout" => settings.timeout.replace(timeout(&value)?).is_some(),
                "ca" => settings.ca.replace(value.into()).is_some(),
                "cert" => settings.cert.replace(value.into()).is_some(),
                "key" => settings.key.replace(value.into()).is_some(),
                "sentinel_user" => settings.sentinel_user.replace(value).is_some(),
                "sentinel_password" => settings.sentinel_password.replace(value).is_some(),
                _ => return Err(TargetError::Setting),
            };
            if again {
                return Err(TargetError::Setting);
            }
        }
        Ok(settings)
    }

    /// Takes the Sentinel login out of the settings, so that one left over belongs to another scheme.
    fn sentinel_login(&mut self) -> Login {
        let password = self.sentinel_password.take().map(Secret::new);
        Login { user: self.sentinel_user.take(), password }
    }

    fn tls(self, wanted: bool) -> Result<Option<TlsFiles>, TargetError> {
        let identity = match (self.cert, self.key) {
            (None, None) => None,
            (Some(cert), Some(key)) => Some((cert, key)),
            _ => return Err(TargetError::Identity),
        };
        match (wanted, self.ca, identity) {
            (false, None, None) => Ok(None),
            (false, ..) => Err(TargetError::WithoutTls),
            (true, ca, identity) => Ok(Some(TlsFiles { ca, identity })),
        }
    }
}

fn login_of(text: &str) -> Result<Login, TargetError> {
    let (user, password) = match text.split_once(':') {
        Some((user, password)) => (user, Some(password)),
        None => (text, None),
    };
    let user = Some(decode(user)?).filter(|user| !user.is_empty());
    let password = password.map(decode).transpose()?.filter(|password| !password.is_empty());
    Ok(Login { user, password: password.map(Secret::new) })
}

fn database(text: &str) -> Result<u32, TargetError> {
    match text {
        "" => Ok(0),
        digits if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            digits.parse().map_err(|_| TargetError::Database)
        }
        _ => Err(TargetError::Database),
    }
}

fn timeout(text: &str) -> Result<Duration, TargetError> {
    let of = |digits: &str, unit_ms: u64| -> Option<Duration> {
        let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
        let count: u64 = digits.parse().ok().filter(|_| plain)?;
        Some(Duration::from_millis(count.checked_mul(unit_ms)?))
    };
    match text.strip_suffix("ms") {
        Some(digits) => of(digits, 1),
        None => text.strip_suffix('s').and_then(|digits| of(digits, 1000)),
    }
    .filter(|timeout| (SHORTEST..=LONGEST).contains(timeout))
    .ok_or(TargetError::Timeout)
}

/// Percent-decodes a text. A `+` stands for itself: passwords have them.
fn decode(text: &str) -> Result<String, TargetError> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let mut digit = || rest.next().and_then(|byte| char::from(byte).to_digit(16));
                let pair = digit().and_then(|high| Some(high * 16 + digit()?));
                pair.and_then(|pair| u8::try_from(pair).ok()).ok_or(TargetError::Encoding)?
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).map_err(|_| TargetError::Encoding)
}
