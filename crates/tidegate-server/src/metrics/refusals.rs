//! Requests that were refused for what their heads say, before anybody looked at what they ask for.
//!
//! Counted for the whole process and not by thread: such requests do no other work, and are rare unless
//! somebody attacks.

/// Why the head of a request was enough to refuse it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum HeadRefusal {
    /// The request names another server.
    Host,
    /// A web page of another origin has sent the request.
    CrossSite,
    /// A request to the admin listener had a token, and not the right one.
    WrongToken,
}

tidegate_core::names!(HeadRefusal {
    Host: "host",
    CrossSite: "cross_site",
    WrongToken: "wrong_token"
});
