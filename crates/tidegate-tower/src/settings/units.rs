//! Values of the section that are written as text: lengths of time, sizes, networks, header names.
//!
//! Each is checked while the file is read, so that an error shows the line and column of the very
//! value that is wrong.

use std::borrow::Cow;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use std::time::Duration;

use http::HeaderName;
use ipnet::IpNet;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error, Visitor};
use tidegate_core::{Span, SpanError};

/// A length of time as written: `250ms`, `5s`, `10min`, `2h`, `1d`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Length(pub Duration);

/// A number of bytes as written: `65536`, `64KiB` or `1MiB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(pub usize);

/// Some addresses as written: `10.0.0.0/8`, `fd00::/8`, or a single one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network(pub IpNet);

/// The name of a header as written: `x-org-id`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header(pub HeaderName);

/// Why a text is not a length, size, network or header name, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UnitError(Cow<'static, str>);

// === impl Length ===

impl FromStr for Length {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let span: Result<Span, SpanError> = text.parse();
        span.map(|span| Self(span.into())).map_err(|error| UnitError(error.to_string().into()))
    }
}

// === impl Size ===

impl FromStr for Size {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        const HELP: &str = "write a whole number of bytes, or one with a unit: 65536, 64KiB, 1MiB";
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (count, unit) = text.split_at(digits);
        let count: u64 = count.parse().map_err(|_| UnitError(HELP.into()))?;
        let bytes = match unit {
            "" | "B" => 1,
            "KiB" => 1 << 10,
            "MiB" => 1 << 20,
            _ => return Err(UnitError(HELP.into())),
        };
        let size = count.checked_mul(bytes).and_then(|size| usize::try_from(size).ok());
        size.map(Self).ok_or(UnitError("this is larger than can be counted".into()))
    }
}

// === impl Network ===

impl FromStr for Network {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        if let Ok(address) = text.parse::<IpAddr>() {
            return Ok(Self(IpNet::from(address.to_canonical())));
        }
        let network: IpNet = text.parse().map_err(|_| {
            UnitError("write an address or a network: 10.0.0.7, 10.0.0.0/8, fd00::/8".into())
        })?;
        if network != network.trunc() {
            let meant = network.trunc();
            return Err(UnitError(format!("the network of this address is `{meant}`").into()));
        }
        // Addresses are compared in their canonical form, so a mapped network would match nothing.
        match network {
            IpNet::V6(v6) if v6.addr().to_ipv4_mapped().is_some() => {
                Err(UnitError("write the IPv4 network itself, not the mapped one".into()))
            }
            _ => Ok(Self(network)),
        }
    }
}

// === impl Header ===

impl FromStr for Header {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        if text.contains('_') {
            let why = "proxies drop or rewrite header names with `_`; choose one with `-`";
            return Err(UnitError(why.into()));
        }
        HeaderName::from_str(text)
            .map(Self)
            .map_err(|_| UnitError("this is not the name of a header, such as `x-org-id`".into()))
    }
}

// === serde and schemars ===

/// Reads a value from text; a plain number stands for its own digits.
struct FromText<T>(&'static str, std::marker::PhantomData<T>);

impl<T: FromStr<Err = UnitError>> Visitor<'_> for FromText<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }
}

macro_rules! written_as_text {
    ($($type:ident, $what:literal, $read:ident, $schema:tt;)*) => {$(
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.$read(FromText($what, std::marker::PhantomData))
            }
        }

        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!($schema)
            }
        }
    )*};
}

written_as_text! {
    Length, "a length of time such as 5s", deserialize_str,
        { "type": "string", "pattern": Span::PATTERN, "examples": ["5s", "250ms"] };
    Size, "a number of bytes such as 64KiB", deserialize_any,
        { "type": ["integer", "string"], "minimum": 0, "pattern": "^[0-9]+(B|KiB|MiB)?$",
          "examples": [65536, "64KiB"] };
    Network, "an address or network such as 10.0.0.0/8", deserialize_str,
        { "type": "string", "examples": ["10.0.0.0/8", "fd00::/8", "192.0.2.7"] };
    Header, "the name of a header such as x-org-id", deserialize_str,
        { "type": "string", "pattern": "^[!#$%&'*+.^`|~0-9A-Za-z-]+$", "examples": ["x-org-id"] };
}

#[cfg(test)]
mod tests {
    //! What may be written, and what is said about the rest.

    use super::*;

    #[test]
    fn lengths_have_a_unit() {
        assert_eq!("250ms".parse(), Ok(Length(Duration::from_millis(250))));
        assert!("5m".parse::<Length>().unwrap_err().to_string().contains("`min`"));
    }

    #[test]
    fn sizes_are_bytes_or_powers_of_two() {
        let size = |text: &str| text.parse::<Size>().map(|size| size.0);
        assert_eq!(size("65536"), Ok(65_536));
        assert_eq!(size("64KiB"), Ok(65_536));
        assert_eq!(size("1MiB"), Ok(1 << 20));
        for wrong in ["", "KiB", "64KB", "64 KiB", "-1", "1.5KiB", "99999999999999999MiB"] {
            assert!(size(wrong).is_err(), "{wrong:?}");
        }
        assert_eq!(serde_json::from_str::<Size>("65536").unwrap(), Size(65_536));
        assert_eq!(serde_json::from_str::<Size>("\"64KiB\"").unwrap(), Size(65_536));
    }

    #[test]
    fn networks_are_exact() {
        let network = |text: &str| text.parse::<Network>().map(|network| network.0.to_string());
        assert_eq!(network("10.0.0.0/8").unwrap(), "10.0.0.0/8");
        assert_eq!(network("10.0.0.7").unwrap(), "10.0.0.7/32");
        assert_eq!(network("::ffff:10.0.0.7").unwrap(), "10.0.0.7/32");
        assert_eq!(network("fd00::/8").unwrap(), "fd00::/8");
        assert!(network("10.0.0.7/8").unwrap_err().to_string().contains("`10.0.0.0/8`"));
        for wrong in ["", "10.0.0.0/33", "::ffff:10.0.0.0/104", "localhost", "10.0.0"] {
            assert!(network(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn header_names_have_no_underscore() {
        assert!("X-Org-Id".parse::<Header>().is_ok());
        for wrong in ["", "x_org_id", "x org", "x:org", "Ünicode"] {
            assert!(wrong.parse::<Header>().is_err(), "{wrong:?}");
        }
    }
}
