//! What a request is about: its route, and with it the class and the policies that decide.
//!
//! A request that no route matches belongs to the class given first: there is always one, so there is
//! no request without a limit (threats T05, T06).

mod builder;
mod check;

pub use builder::{Class, Route, RoutesBuilder, RoutesError};
pub use check::Unfit;

use std::collections::HashMap;
use std::sync::Arc;

use http::Method;
use tidegate_core::{Cost, Name};

/// Which endpoint each path belongs to, and the jobs that can be enqueued.
#[derive(Clone, Debug)]
pub struct Routes {
    paths: matchit::Router<Box<[Variant]>>,
    unmatched: Arc<Endpoint>,
    jobs: Jobs,
    pub(crate) classes: Vec<Class>,
}

/// The kinds of jobs, by their names.
type Jobs = HashMap<Box<str>, Arc<Endpoint>>;

/// One endpoint for some methods of a path.
#[derive(Clone, Debug)]
struct Variant {
    /// The methods of this endpoint; any method if there are none.
    methods: Box<[Method]>,
    endpoint: Arc<Endpoint>,
}

/// The facts that requests of one route, or one kind of job, have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The route as it was written, `/v1/reports/{id}`; the name of a job; `other` for what no route
    /// matches.
    pub template: Box<str>,
    /// The endpoint class.
    pub class: Name,
    /// The scope that a caller needs to pass, if any.
    pub scope: Option<Box<str>>,
    /// The cost of one request or job.
    pub cost: Cost,
    /// The index of the endpoint's class among the classes of the routes.
    pub(crate) place: usize,
}

// === impl Routes ===

impl Routes {
    /// The template of requests that no route matches.
    pub const UNMATCHED: &'static str = "other";

    /// Begins routes of which none is written yet: every request belongs to the class `unmatched`.
    #[must_use]
    pub fn builder(unmatched: Class) -> RoutesBuilder {
        RoutesBuilder::new(unmatched)
    }

    /// The endpoint of a request. The path has to be [canonical](crate::path::canonical).
    pub(crate) fn find(&self, method: &Method, path: &str) -> &Arc<Endpoint> {
        let Ok(found) = self.paths.at(path) else { return &self.unmatched };
        let variants = found.value;
        // HEAD asks about what GET asks for, so it has the endpoint of GET.
        let method = if *method == Method::HEAD { &Method::GET } else { method };
        let of_method = |variant: &&Variant| variant.methods.contains(method);
        let any = |variant: &&Variant| variant.methods.is_empty();
        let found = variants.iter().find(of_method).or_else(|| variants.iter().find(any));
        found.map_or(&self.unmatched, |variant| &variant.endpoint)
    }

    /// The endpoint of the job of this name, if it was declared.
    pub(crate) fn job(&self, name: &str) -> Option<&Arc<Endpoint>> {
        self.jobs.get(name)
    }
}

#[cfg(test)]
mod tests;
