//! A client for a running server: a few requests, one after another, bounded in time and size.
//!
//! Plain HTTP only. A server that is not on this machine belongs behind something that speaks TLS.

use std::net::{SocketAddr, ToSocketAddrs};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue};
use hyper::{Method, Request, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tidegate_engine::file::Hidden;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::text::{Capped, escaped};

/// How long a server may take to answer one request.
const PATIENCE: Duration = Duration::from_secs(10);

/// The most bytes of an answer.
const MAX_ANSWER: usize = 4 * 1024 * 1024;

/// A server to ask: its addresses, and the token if it is an admin listener.
#[derive(Clone, Debug)]
pub(crate) struct ServerAddress {
    /// `host:port`, as the `Host` header has it.
    pub(crate) authority: String,
    /// The addresses of the host, as they were looked up once.
    pub(crate) addresses: Vec<SocketAddr>,
    /// The path and query of the URL; `/` if it has none.
    pub(crate) path: String,
    /// The admin token, if the server is an admin listener.
    pub(crate) token: Option<Hidden>,
}

/// The answer of a server.
#[derive(Debug)]
pub(crate) struct ServerAnswer {
    pub(crate) status: StatusCode,
    body: Bytes,
}

// === impl ServerAddress ===

impl ServerAddress {
    /// Finds the server that a URL names: `http://127.0.0.1:7700`, or without the scheme.
    pub(crate) fn find(url: &str) -> Result<Self> {
        let wrong =
            || format!("`{}` is not the URL of a server; write http://HOST:PORT", escaped(url));
        let full = if url.contains("://") { url.to_owned() } else { format!("http://{url}") };
        let uri: Uri = full.parse().with_context(wrong)?;
        if uri.scheme_str() != Some("http") {
            bail!("only http:// is spoken here; put a proxy in between for anything else");
        }
        let host = uri.host().with_context(wrong)?;
        let port = uri.port_u16().unwrap_or(80);
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let addresses: Vec<_> = (bare, port)
            .to_socket_addrs()
            .with_context(|| format!("cannot look up `{}`", escaped(host)))?
            .collect();
        let path = uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
        Ok(Self { authority: format!("{host}:{port}"), addresses, path, token: None })
    }

    /// The first address of the server that accepts a connection.
    pub(crate) async fn reach(&self) -> Result<SocketAddr> {
        Ok(self.connect().await?.peer_addr()?)
    }

    async fn connect(&self) -> Result<TcpStream> {
        let connected = TcpStream::connect(self.addresses.as_slice()).await;
        connected.with_context(|| {
            let advice = match self.token {
                None => "is the server running? `tidegate serve` starts one",
                Some(_) => {
                    "is the admin listener on? It is there only if the server was started with a \
                     token, in TIDEGATE_ADMIN_TOKEN or --admin-token-file"
                }
            };
            format!("cannot connect to {}; {advice}", self.authority)
        })
    }

    /// Gets a path.
    pub(crate) async fn get(&self, path: &str) -> Result<ServerAnswer> {
        self.ask(Method::GET, path, Bytes::new()).await
    }

    /// Posts JSON to a path.
    pub(crate) async fn post(&self, path: &str, body: &Value) -> Result<ServerAnswer> {
        self.ask(Method::POST, path, body.to_string().into()).await
    }

    async fn ask(&self, method: Method, path: &str, body: Bytes) -> Result<ServerAnswer> {
        let asked = timeout(PATIENCE, self.exchange(method, path, body)).await;
        asked
            .unwrap_or_else(|_| Err(anyhow!("no answer within {} s", PATIENCE.as_secs())))
            .with_context(|| format!("asking http://{}{}", self.authority, escaped(path)))
    }

    /// Makes one request on a connection of its own: no command needs more.
    async fn exchange(&self, method: Method, path: &str, body: Bytes) -> Result<ServerAnswer> {
        let stream = self.connect().await?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        // Driven beside the exchange, which fails if the connection breaks.
        drop(tokio::spawn(connection));
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(HOST, &self.authority)
            .header(ACCEPT, "application/json")
            .header(CONTENT_TYPE, "application/json");
        if let Some(token) = &self.token {
            let mut bearer = HeaderValue::try_from(format!("Bearer {}", token.reveal()))?;
            bearer.set_sensitive(true);
            request = request.header(AUTHORIZATION, bearer);
        }
        let response = sender.send_request(request.body(Full::new(body))?).await?;
        let status = response.status();
        let body = Limited::new(response.into_body(), MAX_ANSWER).collect().await;
        let body = body.map_err(|error| anyhow!("its answer cannot be read: {error}"))?;
        Ok(ServerAnswer { status, body: body.to_bytes() })
    }
}

// === impl ServerAnswer ===

impl ServerAnswer {
    /// The text of a good answer, which is JSON; otherwise an error with the problem.
    pub(crate) fn text(self) -> Result<String> {
        let text = String::from_utf8_lossy(&self.body).into_owned();
        self.json().map(|_| text)
    }

    /// The JSON of a good answer; otherwise an error with the problem.
    pub(crate) fn json(self) -> Result<Value> {
        let json = serde_json::from_slice::<Value>(&self.body);
        if self.status.is_success() {
            return json.context("the answer is not JSON; is this a Tidegate server?");
        }
        let text = |value: &Value, name: &str| Some(escaped(value.get(name)?.as_str()?));
        let problem = json.ok().and_then(|problem| {
            let what = text(&problem, "detail").or_else(|| text(&problem, "title"))?;
            let field = text(&problem, "field").map(|field| format!(" (at {field})"));
            let meant =
                text(&problem, "suggestion").map(|word| format!("; did you mean `{word}`?"));
            Some(format!("{what}{}{}", field.unwrap_or_default(), meant.unwrap_or_default()))
        });
        bail!("{}: {}", self.status, problem.unwrap_or_else(|| excerpt(&self.body)))
    }
}

/// Percent-encodes a text for a path or a query.
pub(crate) fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let each = text.bytes().map(|byte| match byte {
        byte if plain(byte) => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    });
    each.collect()
}

/// The beginning of an answer that is not what was expected.
fn excerpt(body: &[u8]) -> String {
    use std::fmt::Write;
    let mut text = Capped::new(200);
    // Writing to memory cannot fail.
    let _ = text.write_str(&escaped(&String::from_utf8_lossy(body)));
    text.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_found_by_its_url_with_or_without_the_scheme() {
        for (url, authority, path) in [
            ("http://127.0.0.1:7700", "127.0.0.1:7700", "/"),
            ("127.0.0.1:7700", "127.0.0.1:7700", "/"),
            ("http://[::1]:7700/v1/gate/api?x=1", "[::1]:7700", "/v1/gate/api?x=1"),
            ("http://127.0.0.1", "127.0.0.1:80", "/"),
        ] {
            let peer = ServerAddress::find(url).unwrap();
            assert_eq!((peer.authority.as_str(), peer.path.as_str()), (authority, path));
            assert_eq!(peer.addresses.len(), 1);
        }
    }

    #[test]
    fn what_is_not_a_server_is_refused_with_advice() {
        for url in ["", "ftp://127.0.0.1", "https://127.0.0.1", "http://", "a b", "http://\u{1b}"] {
            let error = ServerAddress::find(url).unwrap_err().to_string();
            assert!(error.contains("http://"), "{url:?}: {error}");
            assert!(!error.contains('\u{1b}'));
        }
    }

    #[test]
    fn a_problem_is_told_in_its_own_words_and_escaped() {
        let answer = |status, body: &'static str| ServerAnswer { status, body: Bytes::from(body) };
        let problem = r#"{"detail":"no \u001b[2J policy","field":"/policy","suggestion":"api"}"#;
        let told = answer(StatusCode::BAD_REQUEST, problem).json().unwrap_err().to_string();
        assert_eq!(told, "400 Bad Request: no \\u{1b}[2J policy (at /policy); did you mean `api`?");
        let told = answer(StatusCode::BAD_GATEWAY, "<html>\n").json().unwrap_err().to_string();
        assert_eq!(told, "502 Bad Gateway: <html>\\n");
    }
}
