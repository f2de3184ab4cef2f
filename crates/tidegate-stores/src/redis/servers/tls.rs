//! TLS: who is trusted, and what it means when somebody is not trusted.
//!
//! There is no way to trust everybody, and none back to plain text: a target says TLS or does not.

use core::error::Error;
use core::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, Error as TlsError, RootCertStore};

use crate::redis::trouble::Trouble;
use crate::redis::url::{Address, TargetError, TlsFiles};

/// The TLS settings, ready to wrap connections; all files have been read.
#[derive(Clone)]
pub(super) struct Tls(TlsConnector);

// === impl Tls ===

impl Tls {
    pub(super) fn new(files: &TlsFiles) -> Result<Self, TargetError> {
        let roots = match &files.ca {
            Some(path) => roots_of("ca", &certificates("ca", path)?)?,
            None => {
                let found = rustls_native_certs::load_native_certs();
                roots_of("the system's list of authorities", &found.certs)?
            }
        };
        let config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| unusable("TLS", error))?
            .with_root_certificates(roots);
        let config = match &files.identity {
            None => config.with_no_client_auth(),
            Some((chain, key)) => {
                let chain = certificates("cert", chain)?;
                let key = PrivateKeyDer::from_pem_file(key)
                    .map_err(|error| unusable("key", format!("{}: {error}", key.display())))?;
                config.with_client_auth_cert(chain, key).map_err(|error| unusable("key", error))?
            }
        };
        Ok(Self(TlsConnector::from(Arc::new(config))))
    }

    /// Wraps a connection in TLS, in which the server proves that it is the host that was meant.
    pub(super) async fn wrap(
        &self,
        address: &Address,
        stream: TcpStream,
    ) -> Result<TlsStream<TcpStream>, Trouble> {
        let name = ServerName::try_from(address.host.clone())
            .map_err(|_| Trouble::refusal("the host name is not valid for TLS"))?;
        let wrapped = self.0.connect(name, stream).await;
        wrapped.map_err(|error| {
            refusal(&error)
                .unwrap_or_else(|| Trouble::passing(format!("no TLS handshake: {error}")))
        })
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tls")
    }
}

/// The trouble that an error of TLS itself means; `None` for other errors. It stays until somebody
/// changes a certificate or a setting.
pub(super) fn refusal(error: &(dyn Error + 'static)) -> Option<Trouble> {
    Some(Trouble::refusal(match tls_error(error)? {
        TlsError::InvalidCertificate(why) => format!("its certificate is not accepted: {why}"),
        TlsError::AlertReceived(why) => format!("the server rejected the TLS handshake: {why:?}"),
        TlsError::InvalidMessage(_) => "it does not speak TLS on this port".to_owned(),
        _ => return None,
    }))
}

/// The TLS error within an error: the stream wraps it, and the `redis` crate wraps that in an `Arc`.
fn tls_error<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a TlsError> {
    type Shared = Arc<dyn Error + Send + Sync>;
    let of_stream = |error: &'a (dyn Error + 'static)| match error.downcast_ref::<Shared>() {
        Some(shared) => shared.downcast_ref::<io::Error>(),
        None => error.downcast_ref::<io::Error>(),
    };
    of_stream(error)
        .or_else(|| of_stream(error.source()?))
        .and_then(io::Error::get_ref)
        .and_then(|inner| inner.downcast_ref())
}

fn certificates(
    what: &'static str,
    path: &Path,
) -> Result<Vec<CertificateDer<'static>>, TargetError> {
    let why = |error| unusable(what, format!("{}: {error}", path.display()));
    let found = CertificateDer::pem_file_iter(path).map_err(why)?;
    let found = found.collect::<Result<Vec<_>, _>>().map_err(why)?;
    if found.is_empty() {
        return Err(unusable(what, format!("{}: no certificate in it", path.display())));
    }
    Ok(found)
}

fn roots_of(
    what: &'static str,
    certificates: &[CertificateDer<'static>],
) -> Result<RootCertStore, TargetError> {
    let mut roots = RootCertStore::empty();
    // Systems carry some certificates that no library takes; one that works is enough to go on.
    let (taken, _) = roots.add_parsable_certificates(certificates.iter().cloned());
    if taken == 0 {
        return Err(unusable(what, "it contains no usable CA certificate"));
    }
    Ok(roots)
}

fn unusable(what: &'static str, why: impl fmt::Display) -> TargetError {
    TargetError::Tls { what, why: why.to_string() }
}
