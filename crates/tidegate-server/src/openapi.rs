//! `/openapi.json`: what every endpoint takes and answers.
//!
//! Put together from the same types, routes, kinds of problems and bounds that the server works with,
//! so that it says no more and no less than what happens.

mod examples;
mod operations;
mod schemas;

use std::sync::OnceLock;

use bytes::Bytes;
use utoipa::openapi::{
    ComponentsBuilder, HttpMethod, InfoBuilder, LicenseBuilder, OpenApi, OpenApiBuilder, PathItem,
    PathsBuilder,
};

use crate::route::{Methods, ServerRoute};

/// The `OpenAPI` description of the decision server.
#[must_use]
pub fn openapi() -> OpenApi {
    let mut paths = PathsBuilder::new();
    for route in ServerRoute::ALL.into_iter().filter(|route| *route != ServerRoute::Other) {
        let method = match route.methods() {
            Methods::Post => HttpMethod::Post,
            Methods::Get | Methods::None => HttpMethod::Get,
        };
        let mut item = PathItem::new(method, operations::operation(route));
        if route == ServerRoute::Gate {
            let head = operations::gate_head();
            item.merge_operations(PathItem::new(HttpMethod::Head, head));
        }
        paths = paths.path(route.template(), item);
    }
    let license = LicenseBuilder::new().name("MIT OR Apache-2.0").build();
    let info = InfoBuilder::new()
        .title("Tidegate decision server")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(
            "Decides, for every request, whether it may pass. A refusal is an answer with status \
             200; problems (RFC 9457) are for requests that cannot be decided.",
        ))
        .license(Some(license));
    OpenApiBuilder::new()
        .info(info)
        .paths(paths)
        .components(Some(ComponentsBuilder::new().schemas_from_iter(schemas::all()).build()))
        .build()
}

/// The `OpenAPI` description as a JSON document, made once.
pub(crate) fn document() -> Bytes {
    static DOCUMENT: OnceLock<Bytes> = OnceLock::new();
    let document = || serde_json::to_vec(&openapi()).unwrap_or_default().into();
    DOCUMENT.get_or_init(document).clone()
}

#[cfg(test)]
mod tests {
    //! Nothing is left out, and every reference leads somewhere.

    use serde_json::Value;

    use super::*;

    #[test]
    fn every_route_is_described() {
        let document: Value = serde_json::from_slice(&document()).unwrap();
        let paths = document["paths"].as_object().unwrap();
        assert_eq!(paths.len(), ServerRoute::ALL.len() - 1);
        for (template, item) in paths {
            for (method, operation) in item.as_object().unwrap() {
                let responses = operation["responses"].as_object().unwrap();
                assert!(responses.contains_key("200"), "{method} {template}");
                assert!(operation["summary"].is_string(), "{method} {template}");
                assert!(operation["operationId"].is_string(), "{method} {template}");
            }
        }
    }

    #[test]
    fn every_reference_leads_somewhere() {
        let document: Value = serde_json::from_slice(&document()).unwrap();
        let text = document.to_string();
        for (start, _) in text.match_indices("\"$ref\":\"#") {
            let pointer = text[start + 9..].split('"').next().unwrap();
            assert!(document.pointer(pointer).is_some(), "{pointer}");
        }
    }
}
