//! The section `http` of a policy file: what the layers need to know, as written and then checked.
//!
//! ```
//! use std::sync::Arc;
//! use tidegate_engine::file::File;
//! use tidegate_engine::memory::{Budget, MemoryStore};
//! use tidegate_engine::{Engine, SystemClock};
//! use tidegate_tower::settings::HttpFile;
//!
//! let file: File<HttpFile> = File::parse("policies.yaml", "
//! version: 1
//! http:
//!   default: read
//!   classes:
//!     read: { early: address, policy: api }
//!   routes:
//!     - { path: '/v1/reports/{id}', methods: [GET], class: read, scope: reports:read }
//! policies:
//!   - name: address
//!     failure_mode: fail_open
//!     limits: [ { name: address, by: [ip, class], bucket: { rate: 50/s, burst: 100 } } ]
//!   - name: api
//!     failure_mode: degraded
//!     limits: [ { name: burst, by: [org, class], bucket: { rate: 10/s, burst: 20 } } ]
//! ")?;
//! let policies = file.policies().clone().build(None)?;
//! let engine = Engine::new(MemoryStore::new(Budget::default(), SystemClock::new()), policies);
//! let gate = file.door().http.gate(Arc::new(engine))?.build()?;
//! let (early, org) = (gate.early(), gate.org());
//! # let _ = (early, org);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod units;
mod written;

pub use tidegate_engine::file::SettingsError;
pub use units::{Header, Length, Network, Size, UnitError};
pub use written::{HttpFile, Written, WrittenAnswers, WrittenClass, WrittenJob, WrittenRoute};
