//! What is refused, and that it names its field.

use super::*;

fn check(json: &str) -> Result<Settings, String> {
    let written: WrittenSettings = serde_json::from_str(json).map_err(|error| error.to_string())?;
    Settings::try_new(&written).map_err(|error| error.to_string())
}

#[test]
fn nothing_written_is_the_defaults() {
    let settings = check("{}").unwrap();
    assert_eq!(settings.listen().to_string(), "127.0.0.1:7700");
    assert_eq!(settings.max_connections(), 10_000);
    assert_eq!(settings.timeouts.drain, Duration::from_secs(10));
    assert_eq!(settings.max_body, 65_536);
    assert_eq!(settings.gate.deny, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(settings.gate.trust, Trust::default(), "nobody is trusted unasked");
}

#[test]
fn what_is_out_of_range_names_its_field() {
    for (json, field) in [
        (r#"{"threads": 0}"#, "server.threads"),
        (r#"{"threads": 2000}"#, "server.threads"),
        (r#"{"max_connections": 0}"#, "server.max_connections"),
        (r#"{"max_connections_per_address": 0}"#, "server.max_connections_per_address"),
        (r#"{"max_body": 10}"#, "server.max_body"),
        (r#"{"max_body": "17MiB"}"#, "server.max_body"),
        (r#"{"idle_timeout": "0s"}"#, "server.idle_timeout"),
        (r#"{"header_timeout": "2d"}"#, "server.header_timeout"),
        (r#"{"gate": {"deny_status": 401}}"#, "server.gate.deny_status"),
        (r#"{"admin": {"listen": "0.0.0.0:7707"}}"#, "server.admin.listen"),
        (r#"{"admin": {"listen": "[::]:1", "allow_remote": false}}"#, "server.admin.listen"),
        (r#"{"gate": {"headers": {"org": "x-org"}}}"#, "server.gate.headers"),
    ] {
        let error = check(json).unwrap_err();
        assert!(error.starts_with(field), "{json}: {error}");
    }
}

#[test]
fn t43_operators_are_listened_to_on_this_machine_unless_asked() {
    let listen = |json| check(json).unwrap().admin_listen().to_string();
    assert_eq!(listen("{}"), "127.0.0.1:7707");
    assert_eq!(listen(r#"{"admin": {"listen": "[::1]:9"}}"#), "[::1]:9");
    let asked = r#"{"admin": {"listen": "0.0.0.0:7707", "allow_remote": true}}"#;
    assert_eq!(listen(asked), "0.0.0.0:7707");
}

#[test]
fn names_of_the_server_are_those_of_this_machine_unless_written() {
    assert_eq!(check("{}").unwrap().hosts, Hosts::default());
    let written = check(r#"{"hosts": ["tidegate:7700"]}"#).unwrap().hosts;
    assert!(written.accept(b"tidegate:7700", None) && !written.accept(b"localhost", None));
    for wrong in [r#"{"hosts": ["http://tidegate"]}"#, r#"{"hosts": ["*"]}"#] {
        assert!(check(wrong).unwrap_err().contains("not a name of a server"), "{wrong}");
    }
}

#[test]
fn unknown_fields_are_refused() {
    for json in [
        r#"{"lisen": "127.0.0.1:1"}"#,
        r#"{"gate": {"trusted": []}}"#,
        r#"{"admin": {"token": "a token does not belong here"}}"#,
        r#"{"gate": {"headers": {"ip56": "x"}}}"#,
    ] {
        assert!(check(json).unwrap_err().contains("unknown field"), "{json}");
    }
}

#[test]
fn every_fact_that_is_told_can_have_a_header() {
    let schema = schemars::schema_for!(WrittenHeaders).to_value();
    let properties = schema["properties"].as_object().unwrap();
    assert_eq!(schema["additionalProperties"], false);
    for dimension in Dimension::ALL {
        let name = dimension.name();
        assert_eq!(properties.contains_key(name), dimension.is_told(), "{name}");
        let json = format!(
            r#"{{"gate": {{"trusted_peers": ["192.0.2.0/24"], "headers": {{"{name}": "x-it"}}}}}}"#
        );
        if !dimension.is_told() {
            assert!(check(&json).unwrap_err().contains("unknown field"), "{name}");
            continue;
        }
        assert!(properties[name]["description"].is_string(), "{name}");
        let gate = check(&json).unwrap().gate;
        let is_address = dimension == Dimension::Ip;
        assert_eq!(gate.facts.iter().any(|(fact, _)| *fact == dimension), !is_address, "{name}");
    }
}

#[test]
fn the_schema_names_every_field() {
    let schema = schemars::schema_for!(WrittenSettings).to_value();
    let written = schema["properties"].as_object().unwrap();
    assert_eq!(written.len(), 12);
    for (field, said) in written {
        assert!(said["description"].is_string(), "{field}");
    }
    assert_eq!(schema["additionalProperties"], false);
}
