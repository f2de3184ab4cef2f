//! The section `server` as it is written: every field may be left out, none may be unknown.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use tidegate_core::Dimension;
use tidegate_engine::file::Report;
use tidegate_tower::settings::{Header, Length, Network, Size};

use super::Settings;
use super::hosts::WrittenHost;
use crate::wire::ask::fact_names;

/// The section `server` of the policy file, as written. [`Settings`](super::Settings) is what the
/// server works with; flags and the environment are laid over this one first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WrittenSettings {
    /// The address and port to listen on. Default: 127.0.0.1:7700, which only this machine reaches.
    #[schemars(with = "Option<String>", example = "127.0.0.1:7700")]
    pub listen: Option<SocketAddr>,
    /// The names that requests may use for the server in `Host`, each with a port if only that port is
    /// meant. The address that a request has reached is always good. Default: localhost, 127.0.0.1 and
    /// `[::1]`.
    #[schemars(example = ["tidegate", "tidegate.internal:7700"])]
    pub hosts: Option<Vec<WrittenHost>>,
    /// How many threads answer. Default: one for each core.
    #[schemars(range(min = 1, max = 1024))]
    pub threads: Option<usize>,
    /// How many connections are open at most; further ones are closed at once. Default: 10000.
    #[schemars(range(min = 1))]
    pub max_connections: Option<usize>,
    /// How many connections one address may have; an IPv6 /64 counts as one address, and one in
    /// `gate.trusted_peers` may have all of `max_connections`. Default: a quarter of `max_connections`.
    #[schemars(range(min = 1))]
    pub max_connections_per_address: Option<usize>,
    /// How long a client may take to send the head of a request. Default: 5s.
    pub header_timeout: Option<Length>,
    /// How long a client may take to send a body, or to accept an answer. Default: 5s.
    pub body_timeout: Option<Length>,
    /// How long a connection may stay open without a request. Default: 60s.
    pub idle_timeout: Option<Length>,
    /// How long requests in progress may take to finish when the server stops. Default: 10s.
    pub drain_timeout: Option<Length>,
    /// How large a request body may be, in bytes. Default: 64KiB.
    pub max_body: Option<Size>,
    /// The forward-auth door, `/v1/gate/{policy}`.
    pub gate: WrittenGate,
    /// The admin listener, for operators. It is off without a token.
    pub admin: WrittenAdmin,
}

/// The section `server.admin`, as written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WrittenAdmin {
    /// The address and port to listen on. Default: 127.0.0.1:7707, which only this machine reaches.
    #[schemars(with = "Option<String>", example = "127.0.0.1:7707")]
    pub listen: Option<SocketAddr>,
    /// Whether `listen` may be an address that other machines reach. Default: false.
    pub allow_remote: Option<bool>,
    /// The file with the token, unless the environment has it in `TIDEGATE_ADMIN_TOKEN`.
    pub token_file: Option<PathBuf>,
}

/// The section `server.gate`, as written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WrittenGate {
    /// The reverse proxies: only these peers' headers are believed.
    pub trusted_peers: Vec<Network>,
    /// Which header carries which fact.
    pub headers: WrittenHeaders,
    /// The status of a refusal: 429, or 403 for nginx, whose `auth_request` understands nothing
    /// else. Default: 429.
    #[schemars(extend("enum" = [429, 403, null]))]
    pub deny_status: Option<u16>,
}

/// The section `server.gate.headers`, as written: which header carries which fact.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct WrittenHeaders(BTreeMap<Told, Option<Header>>);

/// The name of a fact, as a key in `server.gate.headers`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
struct Told(Dimension);

// === impl WrittenSettings ===

impl WrittenSettings {
    /// Reports what is wrong with the section beyond its types.
    pub fn check(&self, report: &mut Report<'_>) {
        if let Err(error) = Settings::try_new(self) {
            report.say(&error.field, error.problem);
        }
    }
}

// === impl WrittenHeaders ===

impl WrittenHeaders {
    /// The header that carries a fact, if one does.
    #[must_use]
    pub fn get(&self, dimension: Dimension) -> Option<&Header> {
        self.0.get(&Told(dimension))?.as_ref()
    }
}

impl JsonSchema for WrittenHeaders {
    fn schema_name() -> Cow<'static, str> {
        "WrittenHeaders".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut properties = serde_json::Map::new();
        for dimension in Dimension::told() {
            let mut header = generator.subschema_for::<Option<Header>>();
            header.insert("description".to_owned(), dimension.meaning().into());
            properties.insert(dimension.name().to_owned(), header.to_value());
        }
        json_schema!({
            "description": "A header for each fact that comes in one.",
            "type": "object",
            "properties": properties,
            "additionalProperties": false,
        })
    }
}

// === impl Told ===

impl TryFrom<String> for Told {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        let unknown = || format!("unknown field `{name}`, expected one of {}", fact_names());
        Dimension::told_as(&name).map(Self).ok_or_else(unknown)
    }
}
