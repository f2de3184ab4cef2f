//! The paths and methods of the decision server, as a closed set.
//!
//! Paths are compared byte by byte. Nothing is decoded, merged or cut off at the end, so there are no
//! two spellings of one route (threat T05): what is not exactly one of these is not found.

use http::Method;

/// The endpoint that a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    Decide,
    Peek,
    Batch,
    Settle,
    Policies,
    Explain,
    Gate,
    Livez,
    Readyz,
    Metrics,
    Openapi,
    /// There is no endpoint at the path.
    Other,
}

// === impl Route ===

impl Route {
    pub(crate) const ALL: [Self; 12] = [
        Self::Decide,
        Self::Peek,
        Self::Batch,
        Self::Settle,
        Self::Policies,
        Self::Explain,
        Self::Gate,
        Self::Livez,
        Self::Readyz,
        Self::Metrics,
        Self::Openapi,
        Self::Other,
    ];

    /// The route of a path, and the name in it where the route has one.
    #[inline]
    pub(crate) fn of(path: &str) -> (Self, &str) {
        let route = match path {
            "/v1/decide" => Self::Decide,
            "/v1/peek" => Self::Peek,
            "/v1/decide/batch" => Self::Batch,
            "/v1/settle" => Self::Settle,
            "/v1/policies" => Self::Policies,
            "/livez" => Self::Livez,
            "/readyz" => Self::Readyz,
            "/metrics" => Self::Metrics,
            "/openapi.json" => Self::Openapi,
            _ => return Self::named(path),
        };
        (route, "")
    }

    fn named(path: &str) -> (Self, &str) {
        let (route, name) = match path.strip_prefix("/v1/gate/") {
            Some(name) => (Self::Gate, name),
            None => (Self::Explain, path.strip_prefix("/v1/explain/").unwrap_or_default()),
        };
        match name {
            "" => (Self::Other, ""),
            name if name.contains('/') => (Self::Other, ""),
            name => (route, name),
        }
    }

    /// The path of the endpoint as a template; the label in metrics.
    pub(crate) const fn template(self) -> &'static str {
        match self {
            Self::Decide => "/v1/decide",
            Self::Peek => "/v1/peek",
            Self::Batch => "/v1/decide/batch",
            Self::Settle => "/v1/settle",
            Self::Policies => "/v1/policies",
            Self::Explain => "/v1/explain/{policy}",
            Self::Gate => "/v1/gate/{policy}",
            Self::Livez => "/livez",
            Self::Readyz => "/readyz",
            Self::Metrics => "/metrics",
            Self::Openapi => "/openapi.json",
            Self::Other => "other",
        }
    }

    /// The methods that the endpoint answers, as the header `Allow` lists them; `None` if there is no
    /// endpoint.
    pub(crate) const fn methods(self) -> Option<&'static str> {
        match self {
            Self::Decide | Self::Peek | Self::Batch | Self::Settle => Some("POST"),
            Self::Policies
            | Self::Explain
            | Self::Gate
            | Self::Livez
            | Self::Readyz
            | Self::Metrics
            | Self::Openapi => Some("GET, HEAD"),
            Self::Other => None,
        }
    }

    /// Whether the endpoint answers `method`.
    #[inline]
    pub(crate) fn answers(self, method: &Method) -> bool {
        match self {
            Self::Decide | Self::Peek | Self::Batch | Self::Settle => method == Method::POST,
            Self::Other => false,
            _ => method == Method::GET || method == Method::HEAD,
        }
    }
}

#[cfg(test)]
mod tests {
    //! Every template leads to its route, and nothing else does.

    use super::*;

    #[test]
    fn templates_lead_to_their_routes() {
        for route in Route::ALL {
            let path = route.template().replace("{policy}", "api");
            let (found, name) = Route::of(&path);
            assert_eq!(found, route);
            assert_eq!(name, if path.ends_with("/api") { "api" } else { "" });
            assert_eq!(route.methods().is_some(), route != Route::Other);
        }
    }

    #[test]
    fn t05_there_are_no_other_spellings() {
        for path in [
            "",
            "/",
            "*",
            "//v1/decide",
            "/v1/decide/",
            "/V1/decide",
            "/v1//decide",
            "/v1/./decide",
            "/v1/x/../decide",
            "/v1/decide%2fbatch",
            "/v1/%64ecide",
            "/v1/decide;x",
            "/livez/",
            "/v1/gate",
            "/v1/gate/",
            "/v1/gate/a/b",
            "/v1/gate//",
            "/v1/explain/",
            "/v1/explain/a/",
            "/v1/policies/api",
            "/v1/decide\\",
            "/v1/decide ",
        ] {
            assert_eq!(Route::of(path).0, Route::Other, "{path}");
        }
    }
}
