//! The paths and methods of the server, as closed sets.
//!
//! Paths are compared byte by byte. Nothing is decoded, merged or cut off at the end, so there are no
//! two spellings of one route (threat T05): what is not exactly one of these is not found.

use http::Method;

/// The methods that an endpoint answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Methods {
    Post,
    Get,
    /// There is no endpoint.
    None,
}

/// Makes the routes of a listener from one table: the methods and the path of each, a name in it being
/// written in braces.
macro_rules! routes {
    ($(#[$about:meta])* $Routes:ident: $($Route:ident = $methods:ident $path:literal;)*) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum $Routes {
            $($Route,)*
            /// There is no endpoint at the path.
            Other,
        }

        impl $Routes {
            /// All endpoints, and `Other` at the end.
            pub(crate) const ALL: [Self; [$($path),*].len() + 1] = [$(Self::$Route,)* Self::Other];

            /// The route whose path is exactly this one.
            #[inline]
            pub(crate) fn at(path: &str) -> Self {
                match path {
                    $($path => Self::$Route,)*
                    _ => Self::Other,
                }
            }

            /// The methods that the endpoint answers.
            #[inline]
            pub(crate) const fn methods(self) -> Methods {
                match self {
                    $(Self::$Route => Methods::$methods,)*
                    Self::Other => Methods::None,
                }
            }

            /// The path of the endpoint as a template; the label in metrics.
            pub(crate) const fn template(self) -> &'static str {
                match self {
                    $(Self::$Route => $path,)*
                    Self::Other => "other",
                }
            }
        }
    };
}

routes! {
    /// The endpoint that a request is for.
    ServerRoute:
    Decide = Post "/v1/decide";
    Peek = Post "/v1/peek";
    Batch = Post "/v1/decide/batch";
    Settle = Post "/v1/settle";
    Policies = Get "/v1/policies";
    Explain = Get "/v1/explain/{policy}";
    Gate = Get "/v1/gate/{policy}";
    Livez = Get "/livez";
    Readyz = Get "/readyz";
    Metrics = Get "/metrics";
    Openapi = Get "/openapi.json";
}

routes! {
    /// The endpoint of the admin listener that a request is for.
    AdminRoute:
    Blocks = Get "/admin/blocks";
    Block = Post "/admin/block";
    Unblock = Post "/admin/unblock";
    Reset = Post "/admin/reset";
    Quotas = Get "/admin/quotas";
}

// === impl Methods ===

impl Methods {
    /// The methods as the header `Allow` lists them.
    pub(crate) const fn allowed(self) -> &'static str {
        match self {
            Self::Post => "POST",
            Self::Get => "GET, HEAD",
            Self::None => "",
        }
    }

    /// Whether `method` is one of them.
    #[inline]
    pub(crate) fn contain(self, method: &Method) -> bool {
        match self {
            Self::Post => method == Method::POST,
            Self::Get => method == Method::GET || method == Method::HEAD,
            Self::None => false,
        }
    }
}

// === impl ServerRoute ===

impl ServerRoute {
    /// The route of a path, and the name in it where the route has one.
    #[inline]
    pub(crate) fn of(path: &str) -> (Self, &str) {
        match Self::at(path) {
            Self::Explain | Self::Gate | Self::Other => Self::named(path),
            route => (route, ""),
        }
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
}

#[cfg(test)]
mod tests {
    //! Every template leads to its route, and nothing else does.

    use super::*;

    #[test]
    fn templates_lead_to_their_routes() {
        for route in ServerRoute::ALL {
            let path = route.template().replace("{policy}", "api");
            let (found, name) = ServerRoute::of(&path);
            assert_eq!(found, route);
            assert_eq!(name, if path.ends_with("/api") { "api" } else { "" });
            assert_eq!(route.methods() != Methods::None, route != ServerRoute::Other);
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
            assert_eq!(ServerRoute::of(path).0, ServerRoute::Other, "{path}");
        }
    }
}
