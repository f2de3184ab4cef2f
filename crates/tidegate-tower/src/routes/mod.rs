//! What a request is about: its route, and with it the class and the policies that decide.
//!
//! A request that no route matches belongs to the class given first: there is always one, so there is
//! no request without a limit (threats T05, T06).

mod builder;
mod check;

pub use builder::{Class, Route, RoutesBuilder, RoutesError};
pub use check::Unfit;

use std::sync::Arc;

use http::Method;
use tidegate_core::{Cost, Name};

/// Which endpoint each path belongs to, and the jobs that can be enqueued.
#[derive(Clone, Debug)]
pub struct Routes {
    paths: matchit::Router<Box<[Variant]>>,
    unmatched: Arc<Endpoint>,
    jobs: Vec<Arc<Endpoint>>,
    pub(crate) classes: Vec<Class>,
}

/// One endpoint for some methods of a path.
#[derive(Clone, Debug)]
struct Variant {
    /// Any method if there are none.
    methods: Box<[Method]>,
    endpoint: Arc<Endpoint>,
}

/// What requests of one route, or one kind of job, have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The route as it was written, `/v1/reports/{id}`; the name of a job; `other` for what no route
    /// matches.
    pub template: Box<str>,
    /// The endpoint class.
    pub class: Name,
    /// The scope without which nobody may pass.
    pub scope: Option<Box<str>>,
    /// What one request weighs.
    pub cost: Cost,
    /// The place of its class.
    pub(crate) place: usize,
}

// === impl Routes ===

impl Routes {
    /// What requests that no route matches are called.
    pub const UNMATCHED: &'static str = "other";

    /// Routes of which none is written yet: every request belongs to this class.
    #[must_use]
    pub fn builder(unmatched: Class) -> RoutesBuilder {
        RoutesBuilder::new(unmatched)
    }

    /// What a request is about. The path has to be [canonical](crate::path::canonical).
    pub(crate) fn find(&self, method: &Method, path: &str) -> &Arc<Endpoint> {
        let Ok(found) = self.paths.at(path) else { return &self.unmatched };
        let variants = found.value;
        // What may be asked for may be asked about.
        let method = if *method == Method::HEAD { &Method::GET } else { method };
        let of_method = |variant: &&Variant| variant.methods.contains(method);
        let any = |variant: &&Variant| variant.methods.is_empty();
        let found = variants.iter().find(of_method).or_else(|| variants.iter().find(any));
        found.map_or(&self.unmatched, |variant| &variant.endpoint)
    }

    /// The kind of job of this name.
    pub(crate) fn job(&self, name: &str) -> Option<&Arc<Endpoint>> {
        self.jobs.iter().find(|job| &*job.template == name)
    }
}

#[cfg(test)]
mod tests;
