//! The section `server` as it is written: every field may be left out, none may be unknown.

use std::net::SocketAddr;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

use tidegate_tower::settings::{Header, Length, Network, Size};

/// The section `server` of the policy file, as written. [`Settings`](super::Settings) is what the
/// server works with; flags and the environment are laid over this one first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WrittenSettings {
    /// The address and port to listen on. Default: 127.0.0.1:7700, which only this machine reaches.
    #[schemars(with = "Option<String>", example = "127.0.0.1:7700")]
    pub listen: Option<SocketAddr>,
    /// How many threads answer. Default: one for each core.
    #[schemars(range(min = 1, max = 1024))]
    pub threads: Option<usize>,
    /// How many connections are open at most; further ones are closed at once. Default: 10000.
    #[schemars(range(min = 1))]
    pub max_connections: Option<usize>,
    /// How many of them one address may have; an IPv6 /64 counts as one. Default: no limit.
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

/// The section `server.gate.headers`, as written: a header for each fact that comes in one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WrittenHeaders {
    /// The organisation.
    pub org: Option<Header>,
    /// The upstream.
    pub upstream: Option<Header>,
    /// The route, as its template.
    pub route: Option<Header>,
    /// The user.
    pub user: Option<Header>,
    /// The token, by its public id.
    pub token: Option<Header>,
    /// The account somebody tries to enter.
    pub account: Option<Header>,
    /// The device.
    pub device: Option<Header>,
    /// The client's address: `x-forwarded-for`, `forwarded`, or a header with one address.
    pub ip: Option<Header>,
    /// The user agent.
    pub agent: Option<Header>,
    /// The endpoint class.
    pub class: Option<Header>,
    /// The plan, by which limits choose numbers.
    pub plan: Option<Header>,
}
