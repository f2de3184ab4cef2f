//! Certificates for tests: good ones, and those a client must refuse.
//!
//! They are made by the `openssl` program when a test asks for them, because committed ones would
//! expire on a day when nobody expects it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// An openssl configuration that sets everything needed, so that the machine's own does not matter.
const CONFIG: &str = "\
[req]
distinguished_name = name
x509_extensions = authority
[name]
[authority]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign
subjectKeyIdentifier = hash
[ca]
default_ca = signing
[signing]
database = signed
new_certs_dir = .
default_md = sha256
policy = policy
unique_subject = no
copy_extensions = copy
rand_serial = yes
[policy]
commonName = supplied
";

const LOOPBACK: &str = "DNS:localhost,IP:127.0.0.1";

/// Validity periods, one long past, one long enough; every verifier can read these dates.
const EXPIRED: [&str; 2] = ["20200101000000Z", "20200201000000Z"];
const VALID: [&str; 2] = ["20200101000000Z", "20491231000000Z"];

/// Two authorities and the certificates that the first has signed, as PEM files; deleted on drop.
#[derive(Debug)]
pub struct Certificates {
    folder: TempDir,
}

/// The certificate that a server shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// A certificate for localhost and 127.0.0.1, signed and valid.
    Good,
    /// A certificate for localhost and 127.0.0.1, signed but expired.
    Expired,
    /// A certificate that is signed and valid, but for another host.
    OtherHost,
}

// === impl Certificates ===

impl Certificates {
    /// Makes the authorities and the certificates.
    ///
    /// # Panics
    ///
    /// If `openssl` is missing or fails.
    #[must_use]
    pub fn make() -> Self {
        let made = Self { folder: TempDir::with_prefix("tidegate-").expect("a temporary folder") };
        std::fs::write(made.path("tls.cnf"), CONFIG).expect("a writable folder");
        std::fs::write(made.path("signed"), "").expect("a writable folder");
        made.authority("ca");
        made.authority("other-ca");
        for shown in [Shown::Good, Shown::Expired, Shown::OtherHost] {
            made.sign(shown.name(), shown.host(), shown.period());
        }
        made.sign("client", "DNS:client.test", VALID);
        made
    }

    /// The authority that signed all certificates here.
    #[must_use]
    pub fn ca(&self) -> PathBuf {
        self.path("ca.crt")
    }

    /// An authority that signed none of the certificates here.
    #[must_use]
    pub fn other_ca(&self) -> PathBuf {
        self.path("other-ca.crt")
    }

    /// The certificate and key of a server.
    #[must_use]
    pub fn server(&self, shown: Shown) -> (PathBuf, PathBuf) {
        self.pair(shown.name())
    }

    /// The certificate and key of a client, for servers that ask for them.
    #[must_use]
    pub fn client(&self) -> (PathBuf, PathBuf) {
        self.pair("client")
    }

    fn pair(&self, name: &str) -> (PathBuf, PathBuf) {
        (self.path(&format!("{name}.crt")), self.path(&format!("{name}.key")))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn authority(&self, name: &str) {
        let (subject, certificate) = (format!("/CN={name}"), format!("{name}.crt"));
        let kind = ["-x509", "-days", "3650", "-out", &certificate];
        self.request(name, &subject, &kind);
    }

    fn sign(&self, name: &str, host: &str, [from, until]: [&str; 2]) {
        let (request, certificate) = (format!("{name}.csr"), format!("{name}.crt"));
        let names = format!("subjectAltName={host}");
        self.request(name, "/CN=tidegate", &["-addext", &names, "-out", &request]);
        let authority =
            ["-cert", "ca.crt", "-keyfile", "ca.key", "-startdate", from, "-enddate", until];
        let files = ["-in", &request, "-out", &certificate, "-notext", "-batch"];
        openssl(
            self.folder.path(),
            &[&["ca", "-config", "tls.cnf"], &authority[..], &files].concat(),
        );
    }

    fn request(&self, name: &str, subject: &str, more: &[&str]) {
        let key = format!("{name}.key");
        let new = ["req", "-config", "tls.cnf", "-new", "-newkey", "ec", "-nodes"];
        let curve = ["-pkeyopt", "ec_paramgen_curve:P-256", "-keyout", &key, "-subj", subject];
        openssl(self.folder.path(), &[&new[..], &curve, more].concat());
    }
}

// === impl Shown ===

impl Shown {
    fn name(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Expired => "expired",
            Self::OtherHost => "other-host",
        }
    }

    fn host(self) -> &'static str {
        match self {
            Self::Good | Self::Expired => LOOPBACK,
            Self::OtherHost => "DNS:elsewhere.test",
        }
    }

    fn period(self) -> [&'static str; 2] {
        match self {
            Self::Expired => EXPIRED,
            Self::Good | Self::OtherHost => VALID,
        }
    }
}

fn openssl(folder: &Path, args: &[&str]) {
    let ran = Command::new("openssl").args(args).current_dir(folder).stdin(Stdio::null()).output();
    let ran = ran.unwrap_or_else(|error| panic!("openssl: {error}"));
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "openssl {}:\n{said}", args.join(" "));
}
