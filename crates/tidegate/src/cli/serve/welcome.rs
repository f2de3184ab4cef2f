//! The first thing a newcomer sees: where the server listens, and what to type next.

use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use tracing::info;

use crate::cli::source::PolicySource;
use crate::config::Config;
use crate::log::LogFormat;
use crate::text::{counted, escaped};

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The option with which curl sends JSON. Not `--json`, which curl has had only since 2022.
const JSON: &str = "-H content-type:application/json";

/// A request that the built-in policies admit; of [`TWO_REPORTS`], they refuse the second.
const ADMITTED: &str = r#"{"policy":"api","subject":{"org":"acme","user":"u7"}}"#;
const TWO_REPORTS: &str = r#"{"requests":[{"policy":"report","subject":{"org":"acme"}},{"policy":"report","subject":{"org":"acme"}}]}"#;

/// Says where the server listens: in the log, and to people also on standard output.
pub(super) fn say(source: &PolicySource, config: &Config, address: SocketAddr, store: &str) {
    let environment = config.overlay.environment.as_deref();
    let policies = config.policies().policies().len();
    info!(version = VERSION, %address, policies, source = %source, environment, store, "listening");
    if config.log().0 == LogFormat::Json {
        return;
    }
    let url = format!("http://{}", reachable(address));
    let policies = counted(policies, "policy", "policies");
    let text = match source {
        PolicySource::BuiltIn => invitation(&url, &policies),
        PolicySource::File(_) | PolicySource::Stdin => {
            let source = escaped(&source.to_string());
            let environment = environment.map(|name| format!(" in {}", escaped(name)));
            let environment = environment.unwrap_or_default();
            format!(
                "tidegate {VERSION} listens on {url} with the {policies} of {source}{environment}\n"
            )
        }
    };
    // If nobody reads it, that is no reason not to serve.
    let _ = io::stdout().lock().write_all(text.as_bytes());
}

fn invitation(url: &str, policies: &str) -> String {
    let program = program();
    format!(
        "\
tidegate {VERSION} listens on {url} with {policies} of a built-in example.

A request that is admitted:

  curl -sw '\\n' {url}/v1/decide {JSON} -d '{ADMITTED}'

Two reports of one organisation; the second within a minute is denied, and told when to come back:

  curl -sw '\\n' {url}/v1/decide/batch {JSON} -d '{TWO_REPORTS}'

For policies of your own:

  {program} example > policies.yaml && {program} --config policies.yaml

"
    )
}

/// The command that starts this program again: as it was typed, because it need not be on the path.
fn program() -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    let typed = std::env::args().next().filter(|typed| typed.chars().all(plain));
    typed.filter(|typed| !typed.is_empty()).unwrap_or_else(|| "tidegate".to_owned())
}

/// An address that a client can use: one that stands for every address is replaced by loopback.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}
