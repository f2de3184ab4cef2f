//! The gate behind a real nginx: `auth_request` asks it about every request.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use crate::process::{PATIENCE, Server};

/// An nginx of this test; it ends with it.
struct Nginx(Child);

const POLICIES: &str = "\
version: 1
server:
  gate:
    trusted_peers: [127.0.0.0/8]
    headers: { org: x-org-id, ip: x-forwarded-for }
policies:
- name: api
  failure_mode: fail_open
  limits:
  - { name: per-org, by: org, bucket: { rate: 1/h, burst: 3 } }
";

fn configuration(dir: &Path, port: u16, gate: SocketAddr) -> String {
    let at = |name: &str| dir.join(name).display().to_string();
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|name| format!("{name}_temp_path {};", at(name)))
        .join("\n");
    format!(
        "daemon off; master_process off; pid {pid}; error_log {log};\n\
         events {{ worker_connections 64; }}\n\
         http {{\n{temporary}\naccess_log off;\n\
         server {{\n  listen 127.0.0.1:{port};\n\
           location / {{\n    set $org $arg_org;\n    auth_request /gate;\n\
             auth_request_set $retry $upstream_http_retry_after;\n\
             error_page 403 = @refused;\n    error_page 404 = @through;\n    try_files /none =404;\n  }}\n\
           location = /gate {{\n    internal;\n\
             proxy_pass http://{gate}/v1/gate/api?deny=403;\n\
             proxy_pass_request_body off;\n    proxy_set_header content-length '';\n\
             proxy_set_header x-org-id $org;\n\
             proxy_set_header x-forwarded-for $remote_addr;\n  }}\n\
           location @through {{ return 200 'through'; }}\n\
           location @refused {{ add_header retry-after $retry always; return 429 'later'; }}\n\
         }} }}\n",
        pid = at("pid"),
        log = at("error.log"),
    )
}

// === impl Nginx ===

impl Nginx {
    #[expect(clippy::disallowed_methods, reason = "another program is given real time to start")]
    fn start(dir: &Path, gate: SocketAddr) -> (Self, SocketAddr) {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let file = dir.join("nginx.conf");
        fs::write(&file, configuration(dir, port, gate)).unwrap();
        let child = Command::new("nginx")
            .arg("-p")
            .arg(dir)
            .arg("-c")
            .arg(&file)
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("nginx is installed by `cargo xtask test --only install`");
        let mut nginx = Self(child);
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let start = Instant::now();
        while TcpStream::connect(address).is_err() {
            let ended = nginx.0.try_wait().unwrap();
            let log = || fs::read_to_string(dir.join("error.log")).unwrap_or_default();
            assert!(ended.is_none() && start.elapsed() < PATIENCE, "nginx: {}", log());
            std::thread::yield_now();
        }
        (nginx, address)
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Status line, headers and body of a request, with this header added by the client itself.
fn get(server: SocketAddr, target: &str, header: &str) -> String {
    let mut stream = TcpStream::connect(server).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let request = format!("GET {target} HTTP/1.1\r\nhost: x\r\n{header}connection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.to_ascii_lowercase()
}

#[test]
fn t01_nginx_asks_the_gate_and_nobody_can_ask_in_another_name() {
    let _alone = crate::alone();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("policies.yaml");
    fs::write(&file, POLICIES).unwrap();
    let (_server, gate) = Server::on(&file);
    let (_nginx, nginx) = Nginx::start(dir.path(), gate);
    for _ in 0..3 {
        let answer = get(nginx, "/?org=acme", "");
        assert!(answer.starts_with("http/1.1 200") && answer.ends_with("through"), "{answer}");
    }
    let refused = get(nginx, "/?org=acme", "");
    assert!(refused.starts_with("http/1.1 429") && refused.ends_with("later"), "{refused}");
    assert!(refused.contains("\r\nretry-after: 3600\r\n"), "{refused}");
    // What the client says of itself is replaced by what the proxy knows.
    let spoofed = get(nginx, "/?org=acme", "x-org-id: other\r\n");
    assert!(spoofed.starts_with("http/1.1 429"), "{spoofed}");
    let other = get(nginx, "/?org=other", "x-org-id: acme\r\n");
    assert!(other.starts_with("http/1.1 200"), "{other}");
    // Without the fact the policy counts by there is no pass.
    let nobody = get(nginx, "/", "");
    assert!(nobody.starts_with("http/1.1 429"), "{nobody}");
}
