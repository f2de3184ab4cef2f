//! The names that a server goes by, which requests may have in `Host`.
//!
//! Names are compared without case and without the dot at the end, addresses by value. A port counts only
//! where the setting has one: a proxy in front of the server often has another.

use std::borrow::Cow;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

/// One name of a server, as written: `tidegate`, `tidegate.internal:7700`, `192.0.2.7` or
/// `[2001:db8::7]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct WrittenHost {
    name: HostName,
    /// The only port that the name is good for; any port if there is none.
    port: Option<u16>,
}

/// A name, or an address in place of one.
#[derive(Clone, Debug, PartialEq, Eq)]
enum HostName {
    /// A name, in lower case and without the dot at the end.
    Name(Box<str>),
    /// An address; an IPv4 address mapped into IPv6 is kept as IPv4.
    Address(IpAddr),
}

/// A text is not the name of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "this is not a name of a server; write one such as `tidegate`, `tidegate.internal:7700`, \
     `192.0.2.7` or `[2001:db8::7]`: without a scheme, a path or wildcards"
)]
pub struct HostError;

/// All names that a server goes by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hosts(Vec<WrittenHost>);

/// The port of a request that names none.
const HTTP: u16 = 80;

/// The longest name there is in DNS.
const MAX_NAME: usize = 253;

/// Splits a text into a host and its port, if it has one. An IPv6 address keeps its brackets. `None` if
/// the text is not of this form.
pub(crate) fn host_and_port(text: &[u8]) -> Option<(&[u8], Option<u16>)> {
    let end = match text.iter().position(|byte| *byte == b']') {
        Some(bracket) if text.starts_with(b"[") => bracket + 1,
        Some(_) => return None,
        None => text.iter().position(|byte| *byte == b':').unwrap_or(text.len()),
    };
    let (host, rest) = text.split_at(end);
    let port = match rest {
        [] => None,
        [b':', digits @ ..] if !digits.is_empty() && digits.iter().all(u8::is_ascii_digit) => {
            Some(std::str::from_utf8(digits).ok()?.parse().ok()?)
        }
        _ => return None,
    };
    (!host.is_empty()).then_some((host, port))
}

/// A name without the dot that may end it.
fn without_dot(name: &[u8]) -> &[u8] {
    name.strip_suffix(b".").unwrap_or(name)
}

/// Parses a host as an address, with IPv6 in brackets; `None` if it is a name.
fn address(host: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(host).ok()?;
    match text.strip_prefix('[') {
        Some(rest) => {
            let address: Ipv6Addr = rest.strip_suffix(']')?.parse().ok()?;
            Some(IpAddr::V6(address).to_canonical())
        }
        None => text.parse().ok().map(IpAddr::V4),
    }
}

// === impl WrittenHost ===

impl FromStr for WrittenHost {
    type Err = HostError;

    fn from_str(text: &str) -> Result<Self, HostError> {
        let (host, port) = host_and_port(text.as_bytes()).ok_or(HostError)?;
        let host = without_dot(host);
        if let Some(address) = address(host) {
            return Ok(Self { name: HostName::Address(address), port });
        }
        let name = std::str::from_utf8(host).map_err(|_| HostError)?;
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        let is_label = |label: &str| !label.is_empty() && label.bytes().all(plain);
        // Without a letter it is an address that is spelt wrongly.
        let has_letter = name.bytes().any(|byte| byte.is_ascii_alphabetic());
        if name.len() > MAX_NAME || !has_letter || !name.split('.').all(is_label) {
            return Err(HostError);
        }
        Ok(Self { name: HostName::Name(name.to_ascii_lowercase().into()), port })
    }
}

impl TryFrom<String> for WrittenHost {
    type Error = HostError;

    fn try_from(text: String) -> Result<Self, HostError> {
        text.parse()
    }
}

impl fmt::Display for WrittenHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            HostName::Name(name) => f.write_str(name)?,
            HostName::Address(IpAddr::V4(address)) => write!(f, "{address}")?,
            HostName::Address(IpAddr::V6(address)) => write!(f, "[{address}]")?,
        }
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

impl JsonSchema for WrittenHost {
    fn schema_name() -> Cow<'static, str> {
        "Host".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": "^([0-9A-Za-z._-]+|\\[[0-9A-Fa-f:.]+\\])(:[0-9]{1,5})?$",
            "examples": ["tidegate", "tidegate.internal:7700", "[2001:db8::7]"],
        })
    }
}

// === impl Hosts ===

impl Hosts {
    /// The names in the settings, and no others.
    pub(crate) fn written(hosts: &[WrittenHost]) -> Self {
        Self(hosts.to_vec())
    }

    /// Whether a request that reached the server at `local` may use this name for it: one of the list, or
    /// that very address.
    pub(crate) fn accept(&self, name: &[u8], local: Option<IpAddr>) -> bool {
        let Some((host, port)) = host_and_port(name) else { return false };
        let plain = without_dot(host);
        let (address, port) = (address(plain), port.unwrap_or(HTTP));
        if address.is_some() && address == local {
            return true;
        }
        self.0.iter().any(|good| {
            let same = match &good.name {
                HostName::Name(name) => name.as_bytes().eq_ignore_ascii_case(plain),
                HostName::Address(good) => address == Some(*good),
            };
            same && good.port.is_none_or(|good| good == port)
        })
    }
}

impl Default for Hosts {
    /// The names that every machine has for itself: `localhost`, `127.0.0.1` and `[::1]`.
    fn default() -> Self {
        let any_port = |name| WrittenHost { name, port: None };
        Self(vec![
            any_port(HostName::Name("localhost".into())),
            any_port(HostName::Address(Ipv4Addr::LOCALHOST.into())),
            any_port(HostName::Address(Ipv6Addr::LOCALHOST.into())),
        ])
    }
}

#[cfg(test)]
mod tests;
