//! Requests that a browser makes for a page that has no business here.
//!
//! The decision server has no logins: whoever reaches it may ask. A browser on the same machine or in the
//! same network reaches it too, on behalf of any page it shows. Such a page can try two things.
//!
//! * It sends a request across origins. It cannot read the answer, but the request has been counted by
//!   then. Browsers say where such a request comes from, in `Sec-Fetch-Site` and `Origin`, and a page
//!   cannot change either; so requests of another origin are refused.
//! * It lets the name of its own site lead to the address of the server (DNS rebinding). To the browser
//!   that is the same origin, and the page reads the answers as well. Only `Host` gives it away: it names
//!   the site of the page. So a request must name the server by a name of its own
//!   ([`Hosts`](crate::settings::Hosts)), or by the very address that it has reached.
//!
//! Clients that are no browsers send neither of the two fields and pass, as long as they use a good name.
//! A request of HTTP/1.0 without any name passes too: browsers always send one, some old health checks do
//! not.

mod fields;

pub(crate) use fields::{FieldFound, Fields};

use std::net::{IpAddr, SocketAddr};
use std::sync::OnceLock;

use http::request::Parts;
use http::{HeaderValue, Version};

use crate::metrics::HeadRefusal;
use crate::settings::{Hosts, host_and_port};
use tidegate_tower::answer::{Code, Problem, brief};

/// The server's end of one connection: its address, and the name that its client uses.
#[derive(Debug, Default)]
pub(crate) struct LocalEnd {
    /// The server's own address on this connection; an IPv4 address mapped into IPv6 is kept as IPv4.
    address: Option<IpAddr>,
    /// The first host name that was accepted on this connection. A client keeps to one name, so comparing
    /// the next request with it is mostly enough. It is a copy: the header field would keep the whole
    /// head in memory.
    good: OnceLock<Box<[u8]>>,
}

/// Why the head of a request is enough to refuse it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turned<'h> {
    /// The request names another server, by this name.
    Misdirected(&'h [u8]),
    /// The request names no server although HTTP/2 asks for it, or has `Host` twice.
    Unclear,
    /// A page of another origin has sent the request.
    CrossSite,
}

/// The most bytes of a wrong host name that the answer repeats.
const ECHO: usize = 80;

/// Whether a request may be looked at: it names this server, and no page of another origin has sent it.
///
/// # Errors
///
/// 421 if it names another server, 403 if a page of another origin has sent it.
#[inline]
pub(crate) fn check<'h>(
    hosts: &Hosts,
    local: &LocalEnd,
    head: &'h Parts,
    fields: &Fields<'h>,
) -> Result<(), Turned<'h>> {
    // HTTP/2 and the absolute form of HTTP/1 name the server in the target, other requests in `Host`. If
    // a request does both, both must be good: something in between may have looked at either.
    let target = head.uri.authority().map(|authority| authority.as_str().as_bytes());
    let host = fields.host.once().map(HeaderValue::as_bytes);
    for name in [target, host].into_iter().flatten() {
        if !local.is_good(hosts, name) {
            return Err(Turned::Misdirected(name));
        }
    }
    let nameless = head.version == Version::HTTP_2 && target.is_none() && host.is_none();
    if nameless || fields.host == FieldFound::Twice {
        return Err(Turned::Unclear);
    }
    if matches!((&fields.fetch_site, &fields.origin), (FieldFound::No, FieldFound::No)) {
        return Ok(());
    }
    from_elsewhere(fields, target.or(host))
}

/// Refuses a request that a page of another origin has sent. A page of another origin on the same site is
/// a stranger as well: ports and sibling names of a site may be anybody's.
fn from_elsewhere<'h>(fields: &Fields<'h>, own: Option<&[u8]>) -> Result<(), Turned<'h>> {
    let asked_here = match fields.fetch_site {
        FieldFound::No => true,
        FieldFound::Once(site) => site == "same-origin" || site == "none",
        FieldFound::Twice => false,
    };
    let page_of_ours = match fields.origin {
        FieldFound::No => true,
        FieldFound::Once(origin) => own.is_some_and(|own| is_same_origin(origin.as_bytes(), own)),
        FieldFound::Twice => false,
    };
    if asked_here && page_of_ours { Ok(()) } else { Err(Turned::CrossSite) }
}

/// Whether an `Origin` is that of the server itself, by the name that the request uses for it. The scheme
/// may be either: something that speaks TLS may stand before us.
fn is_same_origin(origin: &[u8], own: &[u8]) -> bool {
    let http = origin.strip_prefix(b"http://").map(|rest| (rest, 80));
    let https = || origin.strip_prefix(b"https://").map(|rest| (rest, 443));
    let Some((theirs, usual)) = http.or_else(https) else { return false };
    match (host_and_port(theirs), host_and_port(own)) {
        (Some((host, port)), Some((own, own_port))) => {
            host.eq_ignore_ascii_case(own) && port.unwrap_or(usual) == own_port.unwrap_or(usual)
        }
        _ => false,
    }
}

// === impl Turned ===

impl Turned<'_> {
    /// The reason under which metrics count this refusal.
    pub(crate) const fn reason(self) -> HeadRefusal {
        match self {
            Self::Misdirected(_) | Self::Unclear => HeadRefusal::Host,
            Self::CrossSite => HeadRefusal::CrossSite,
        }
    }

    /// The problem that the request is answered with.
    #[cold]
    pub(crate) fn problem(self) -> Problem {
        match self {
            Self::Misdirected(name) => {
                let name = brief(&String::from_utf8_lossy(name), ECHO);
                Code::Misdirected.problem(format!(
                    "this server does not go by the name `{name}`; if it should, add the name to \
                     `server.hosts` in the policy file, or to --hosts"
                ))
            }
            Self::Unclear => Code::Misdirected.problem(
                "the request does not say once which server it is for: send `:authority` or one `host` field",
            ),
            Self::CrossSite => Code::CrossSite.problem(
                "a web page of another origin has sent this request, by its `Origin` or \
                 `Sec-Fetch-Site`; only programs and pages of this server may ask",
            ),
        }
    }
}

// === impl LocalEnd ===

impl LocalEnd {
    /// The server's end of a connection, with its local address if it is known.
    pub(crate) fn at(address: Option<SocketAddr>) -> Self {
        let address = address.map(|address| address.ip().to_canonical());
        Self { address, good: OnceLock::new() }
    }

    /// Whether a request may use this name for the server.
    #[inline]
    fn is_good(&self, hosts: &Hosts, name: &[u8]) -> bool {
        if self.good.get().is_some_and(|good| **good == *name) {
            return true;
        }
        let good = hosts.accept(name, self.address);
        if good {
            self.good.get_or_init(|| name.into());
        }
        good
    }
}

#[cfg(test)]
mod tests;
