//! A panic, should there ever be one, ends one connection and nothing else.

use std::sync::Arc;

use serde_json::json;
use tidegate_core::{
    Amended, Amendment, Batch, Blocks, Counter, ManualClock, Page, Readings, Receipt, Settlement,
    Span, Store, StoreError,
};

use crate::world::{NOW, World};

/// A store with a bug.
struct Buggy;

impl Store for Buggy {
    const SHARED: bool = false;
    const FALLIBLE: bool = false;

    fn name(&self) -> &'static str {
        "buggy"
    }

    async fn charge(&self, _: &Batch<'_>, _: &mut Readings) -> Result<(), StoreError> {
        panic!("this is what the test is about")
    }

    async fn peek(&self, _: &Batch<'_>, _: &mut Readings) -> Result<(), StoreError> {
        Err(StoreError::Unavailable)
    }

    async fn settle(&self, _: &Settlement<'_>) -> Result<Receipt, StoreError> {
        Err(StoreError::Unavailable)
    }

    async fn amend(
        &self,
        _: Counter<'_>,
        _: Amendment,
        within: Span,
    ) -> Result<Amended, StoreError> {
        Err(StoreError::Unavailable)
    }

    async fn blocks(&self, _: Page<'_>) -> Result<Blocks, StoreError> {
        Err(StoreError::Unavailable)
    }
}

#[test]
fn a_panic_ends_its_own_connection_alone() {
    let settings = json!({"threads": 1, "max_connections": 2});
    let world = World::start(&settings, Buggy, Arc::new(ManualClock::new(NOW)));
    let mut other = world.client();
    assert_eq!(other.get("/livez").status, 200);
    for _ in 0..5 {
        let mut client = world.client();
        client.try_send(&crate::raw::post("/v1/decide", br#"{"policy":"queue"}"#));
        assert!(client.is_closed());
        assert_eq!(other.get("/livez").status, 200, "the same thread still answers");
    }
    let readiness = other.get("/readyz").json();
    assert_eq!(readiness["connections"], 1, "their places are free again");
}
