//! Reads a target from text.
//!
//! It is done by hand, since a list of hosts is no URL to the crates that read URLs, and since their
//! errors quote what they read.

use core::time::Duration;
use std::collections::HashMap;
use std::path::PathBuf;

use tidegate_core::Span;

use super::{Address, Credentials, HiddenText, ServersKind, Target, TargetError, TlsFiles};

pub(super) const SHORTEST: Duration = Duration::from_millis(1);
pub(super) const LONGEST: Duration = Duration::from_secs(60);

const PORT: u16 = 6379;
const SENTINEL_PORT: u16 = 26379;

/// The names of the settings that may follow the question mark.
const SETTINGS: [&str; 6] = ["timeout", "ca", "cert", "key", "sentinel_user", "sentinel_password"];

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
        None => (Credentials::default(), authority),
    };
    let hosts = hosts
        .split(',')
        .map(|host| Address::parse(host, default_port))
        .collect::<Result<Vec<_>, _>>()?;
    let mut settings = settings_of(query)?;
    let timeout = settings.remove("timeout").map(|text| timeout(&text)).transpose()?;
    let (kind, db) = match scheme {
        "redis" | "rediss" if hosts.len() > 1 => return Err(TargetError::Hosts),
        "redis" | "rediss" => (ServersKind::Single, database(path)?),
        "redis+sentinel" | "rediss+sentinel" => {
            let (master, db) = path.split_once('/').unwrap_or((path, ""));
            if master.is_empty() {
                return Err(TargetError::Master);
            }
            let password = settings.remove("sentinel_password").map(HiddenText::new);
            let login = Credentials { user: settings.remove("sentinel_user"), password };
            (ServersKind::Sentinel { master: decode(master)?, login }, database(db)?)
        }
        "redis+cluster" | "rediss+cluster" => match path {
            "" | "0" => (ServersKind::Cluster, 0),
            _ => return Err(TargetError::ClusterDatabase),
        },
        _ => return Err(TargetError::Scheme),
    };
    if settings.keys().any(|name| name.starts_with("sentinel")) {
        return Err(TargetError::WithoutSentinel);
    }
    let timeout = timeout.unwrap_or(Target::DEFAULT_TIMEOUT);
    Ok(Target { kind, hosts, login, db, tls: tls_of(tls, &mut settings)?, timeout })
}

/// Reads the settings that follow the question mark, by name.
fn settings_of(query: &str) -> Result<HashMap<&str, String>, TargetError> {
    let mut settings = HashMap::new();
    for setting in query.split('&').filter(|setting| !setting.is_empty()) {
        let (name, value) = setting.split_once('=').ok_or(TargetError::Setting)?;
        let value = decode(value)?;
        let is_good = SETTINGS.contains(&name) && !value.is_empty();
        if !is_good || settings.insert(name, value).is_some() {
            return Err(TargetError::Setting);
        }
    }
    Ok(settings)
}

/// The files that TLS reads; `None` if TLS is not wanted.
fn tls_of(
    wanted: bool,
    settings: &mut HashMap<&str, String>,
) -> Result<Option<TlsFiles>, TargetError> {
    let mut file = |name| settings.remove(name).map(PathBuf::from);
    let identity = match (file("cert"), file("key")) {
        (None, None) => None,
        (Some(cert), Some(key)) => Some((cert, key)),
        _ => return Err(TargetError::Identity),
    };
    match (wanted, file("ca"), identity) {
        (false, None, None) => Ok(None),
        (false, ..) => Err(TargetError::WithoutTls),
        (true, ca, identity) => Ok(Some(TlsFiles { ca, identity })),
    }
}

fn login_of(text: &str) -> Result<Credentials, TargetError> {
    let (user, password) = match text.split_once(':') {
        Some((user, password)) => (user, Some(password)),
        None => (text, None),
    };
    let user = Some(decode(user)?).filter(|user| !user.is_empty());
    let password = password.map(decode).transpose()?.filter(|password| !password.is_empty());
    Ok(Credentials { user, password: password.map(HiddenText::new) })
}

fn database(text: &str) -> Result<u32, TargetError> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    let text = if text.is_empty() { "0" } else { text };
    text.parse().ok().filter(|_| is_number).ok_or(TargetError::Database)
}

fn timeout(text: &str) -> Result<Duration, TargetError> {
    let timeout = text.parse().map(|span: Span| Duration::from(span)).ok();
    timeout.filter(|timeout| (SHORTEST..=LONGEST).contains(timeout)).ok_or(TargetError::Timeout)
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
