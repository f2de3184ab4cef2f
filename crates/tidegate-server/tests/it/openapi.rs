//! `/openapi.json` holds every answer to what it promises.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tidegate_core::Dimension;
use tidegate_tower::answer::Code;

use crate::raw::{Client, Reply};
use crate::world::World;

/// The description, and how to hold answers to it.
struct Description(Value);

impl Description {
    fn of(world: &World) -> Self {
        let reply = world.get("/openapi.json");
        assert_eq!(reply.header("content-type"), Some("application/json"));
        Self(reply.json())
    }

    /// Whether the reply is one that is described.
    fn promises(&self, method: &str, template: &str, reply: &Reply) {
        let said = format!("{method} {template} {}", reply.status);
        let operation = &self.0["paths"][template][method];
        let response = &operation["responses"][reply.status.to_string()];
        assert!(response.is_object(), "{said} is not described");
        let Some(content_type) = reply.header("content-type") else {
            assert!(reply.body.is_empty(), "{said}: a body without a type");
            return;
        };
        let media = content_type.split(';').next().unwrap();
        let schema = &response["content"][media]["schema"];
        assert!(schema.is_object(), "{said} {media} is not described");
        if media.ends_with("json") {
            self.check(schema, &reply.json(), &said);
        }
    }

    fn check(&self, schema: &Value, document: &Value, said: &str) {
        let mut schema = schema.clone();
        schema["components"] = self.0["components"].clone();
        let validator = jsonschema::validator_for(&schema).unwrap();
        let errors: Vec<_> =
            validator.iter_errors(document).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{said}: {errors:?} in {document:#}");
    }
}

#[test]
fn every_fact_that_is_told_is_described_and_no_other() {
    let described = Description::of(&World::new()).0;
    let body = described["components"]["schemas"]["Subject"]["properties"].as_object().unwrap();
    let parameters = described["paths"]["/v1/explain/{policy}"]["get"]["parameters"].as_array();
    let in_query = |name: &str| {
        let of_name = |one: &&Value| one["name"] == name && one["in"] == "query";
        parameters.unwrap().iter().find(of_name)
    };
    for dimension in Dimension::ALL {
        let name = dimension.name();
        assert_eq!(body.contains_key(name), dimension.is_told(), "{name}");
        assert_eq!(in_query(name).is_some(), dimension.is_told(), "{name}");
        if let Some(parameter) = in_query(name) {
            assert_eq!(body[name]["description"], dimension.meaning());
            assert_eq!(body[name]["examples"][0], dimension.example());
            assert_eq!(parameter["description"], dimension.meaning());
        }
    }
}

#[test]
fn every_answer_is_as_described() {
    let world = World::new();
    let description = Description::of(&world);
    let subject = json!({"org": "acme", "user": "u7", "ip": "203.0.113.7", "account": "a"});
    let bodies = [
        json!({"policy": "api", "subject": subject}),
        json!({"policy": "api", "subject": subject, "cost": 4}),
        json!({"policy": "login", "subject": subject}),
        json!({"policy": "tokens", "subject": subject, "cost": 7}),
        json!({"policy": "queue"}),
        json!({"policy": "degrade"}),
        json!({"policy": "api"}),
        json!({"policy": "appi"}),
        json!({"policy": "api", "cost": 0}),
        json!([]),
    ];
    for _ in 0..4 {
        for body in &bodies {
            for template in ["/v1/decide", "/v1/peek"] {
                description.promises("post", template, &world.post(template, body));
            }
        }
        let batch = world.post("/v1/decide/batch", &json!({"requests": bodies}));
        description.promises("post", "/v1/decide/batch", &batch);
    }
    let empty = world.post("/v1/decide/batch", &json!({"requests": []}));
    description.promises("post", "/v1/decide/batch", &empty);
    let ask = json!({"policy": "tokens", "subject": subject});
    let ticket = world.post("/v1/decide", &ask).json()["ticket"].clone();
    for body in [
        json!({"ticket": ticket, "cost": 0}),
        json!({"ticket": ticket, "cost": 0}),
        json!({"ticket": "AQ", "cost": 0}),
        json!({"ticket": "AQ"}),
    ] {
        description.promises("post", "/v1/settle", &world.post("/v1/settle", &body));
    }
}

#[test]
fn every_answer_without_the_store_is_as_described() {
    let description = Description::of(&World::new());
    let world = crate::limits::failing_world();
    let subject = json!({"org": "acme", "user": "u7", "ip": "203.0.113.7", "account": "a"});
    for policy in ["api", "login", "tokens", "queue", "degrade"] {
        let ask = json!({"policy": policy, "subject": subject});
        for template in ["/v1/decide", "/v1/peek"] {
            description.promises("post", template, &world.post(template, &ask));
        }
        let gate = world.get(&format!("/v1/gate/{policy}"));
        description.promises("get", "/v1/gate/{policy}", &gate);
        let explained = world.get(&format!("/v1/explain/{policy}?org=acme&ip=::1"));
        description.promises("get", "/v1/explain/{policy}", &explained);
    }
    description.promises("get", "/readyz", &world.get("/readyz"));
}

#[test]
fn every_get_is_as_described() {
    let world = World::new();
    let description = Description::of(&world);
    for (target, template) in [
        ("/v1/policies", "/v1/policies"),
        ("/v1/explain/api", "/v1/explain/{policy}"),
        ("/v1/explain/api?org=a&user=b&ip=::1", "/v1/explain/{policy}"),
        ("/v1/explain/login?account=b", "/v1/explain/{policy}"),
        ("/v1/explain/tokens?org=b&cost=1000", "/v1/explain/{policy}"),
        ("/v1/explain/appi", "/v1/explain/{policy}"),
        ("/v1/explain/api?x=y", "/v1/explain/{policy}"),
        ("/v1/gate/queue", "/v1/gate/{policy}"),
        ("/v1/gate/queue", "/v1/gate/{policy}"),
        ("/v1/gate/queue?deny=403", "/v1/gate/{policy}"),
        ("/v1/gate/queue?deny=404", "/v1/gate/{policy}"),
        ("/v1/gate/nothing", "/v1/gate/{policy}"),
        ("/livez", "/livez"),
        ("/readyz", "/readyz"),
        ("/metrics", "/metrics"),
        ("/openapi.json", "/openapi.json"),
    ] {
        description.promises("get", template, &world.get(target));
    }
}

#[test]
fn examples_are_as_described() {
    let world = World::new();
    let description = Description::of(&world);
    let document = description.0.clone();
    let mut checked = 0;
    for item in document["paths"].as_object().unwrap().values() {
        for operation in item.as_object().unwrap().values() {
            let answers = operation["responses"].as_object().unwrap().values();
            for body in answers.chain([&operation["requestBody"]]) {
                for content in body["content"].as_object().into_iter().flatten() {
                    let example = &content.1["example"];
                    if !example.is_null() {
                        description.check(&content.1["schema"], example, "an example");
                        checked += 1;
                    }
                }
            }
        }
    }
    assert!(checked >= 10, "{checked} examples");
    let ask = &document["paths"]["/v1/decide"]["post"]["requestBody"]["content"];
    let example = &ask["application/json"]["example"];
    assert_eq!(world.post("/v1/decide", example).status, 200, "it works");
}

/// The page for people leaves nothing out either.
#[test]
fn the_guide_names_every_endpoint_and_metric() {
    let guide = include_str!("../../../../docs/server.md");
    let world = World::new();
    let Description(document) = Description::of(&world);
    for template in document["paths"].as_object().unwrap().keys() {
        assert!(guide.contains(template), "{template}");
    }
    let metrics = String::from_utf8(world.get("/metrics").body).unwrap();
    for described in metrics.lines().filter_map(|line| line.strip_prefix("# TYPE ")) {
        let name = described.split(' ').next().unwrap();
        assert!(guide.contains(&format!("`{name}`")), "{name}");
    }
}

/// The codes that a page names.
fn codes_of(page: &str) -> BTreeSet<&str> {
    let families: BTreeSet<_> =
        Code::ALL.iter().map(|code| code.name().split_once('.').unwrap().0).collect();
    let is_code = |text: &&str| {
        let (family, name) = text.split_once('.').unwrap_or_default();
        let is_plain = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        families.contains(family) && !name.is_empty() && is_plain
    };
    page.split(['`', '"']).filter(is_code).collect()
}

#[test]
fn description_and_guides_list_the_codes_that_there_are() {
    let guide = include_str!("../../../../docs/server.md");
    let of_layers = include_str!("../../../../docs/http-answers.md");
    let all: BTreeSet<_> = Code::ALL.into_iter().map(Code::name).collect();
    let Description(document) = Description::of(&World::new());
    let described = &document["components"]["schemas"]["Problem"]["properties"]["code"]["enum"];
    let described: BTreeSet<_> =
        described.as_array().unwrap().iter().map(|code| code.as_str().unwrap()).collect();
    assert_eq!(described, all);
    assert_eq!(codes_of(of_layers), Code::OF_LAYERS.iter().map(|code| code.name()).collect());
    assert!(codes_of(guide).is_subset(&all), "{:?}", codes_of(guide).difference(&all));
    for code in Code::ALL.into_iter().filter(|code| !Code::OF_LAYERS.contains(code)) {
        assert!(codes_of(guide).contains(code.name()), "{}", code.name());
        assert!(guide.contains(&format!("`{}`", code.urn())), "{}", code.urn());
    }
}

#[test]
fn what_is_described_as_wrong_is_refused() {
    let world = World::new();
    let description = Description::of(&world);
    let schema = json!({"$ref": "#/components/schemas/Ask",
                        "components": description.0["components"]});
    let validator = jsonschema::validator_for(&schema).unwrap();
    let mut client = Client::connect(world.address);
    for body in [
        json!({"policy": "api", "subject": {"ip": "203.0.113.7"}}),
        json!({"policy": "api", "subject": {"ip": "203.0.113.7"}, "cost": 1}),
        json!({"policy": "api", "subject": {"ip": "203.0.113.7"}, "cost": 0}),
        json!({"policy": "api", "subject": {"ip": "203.0.113.7"}, "cost": 9_007_199_254_740_991_u64}),
        json!({"policy": "api", "subject": {"ip": "203.0.113.7"}, "cost": 9_007_199_254_740_992_u64}),
        json!({"policy": "api", "subject": {"ip": "203.0.113.7", "user": "x".repeat(256)}}),
        json!({"policy": "api", "subject": {"ip": "203.0.113.7", "user": "x".repeat(257)}}),
        json!({"policy": "api", "subject": {"ip": "203.0.113.7", "user": "\u{1f30a}".repeat(256)}}),
        json!({"policy": "api", "subject": {"ip": "203.0.113.7", "users": "x"}}),
        json!({"policy": "api", "subject": {"ip": "203.0.113.7", "user": null}}),
        json!({"policy": "api", "subject": {"ip": "203.0.113.7"}, "x": 1}),
        json!({"subject": {"ip": "203.0.113.7"}}),
    ] {
        let reply = client.post("/v1/decide", body.to_string().as_bytes());
        assert_eq!(validator.is_valid(&body), reply.status == 200, "{body} {}", reply.status);
    }
}
