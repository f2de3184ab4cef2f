//! Routes as they are written, and what can be wrong with them.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use http::Method;
use tidegate_core::{Cost, Name, NameError};

use super::{Endpoint, Jobs, Routes, Variant};
use crate::path;

/// An endpoint class, and which policies decide about its requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Class {
    pub(crate) name: Name,
    /// The policy that decides before authentication.
    pub(crate) early: Name,
    /// The policy that decides behind authentication; none where nobody is known yet, as at a login.
    pub(crate) policy: Option<Name>,
}

/// One route as it is written: a path and its methods, and the class, scope and cost of its requests.
#[derive(Clone, Debug)]
pub struct Route {
    path: Box<str>,
    methods: Vec<Method>,
    class: Box<str>,
    scope: Option<Box<str>>,
    cost: Cost,
}

/// Classes, routes and jobs as they are written, before they are checked.
#[derive(Clone, Debug)]
pub struct RoutesBuilder {
    classes: Vec<Class>,
    routes: Vec<Route>,
    jobs: Vec<Route>,
}

/// Why routes cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RoutesError {
    /// A route of a class that was not declared.
    #[error(
        "route `{route}` is of class `{class}`, which is not declared; declare it with its policies"
    )]
    UnknownClass {
        /// The route, or the job.
        route: Box<str>,
        /// The class.
        class: Box<str>,
    },
    /// A class that was declared twice.
    #[error("class `{0}` is declared twice")]
    ClassTwice(Name),
    /// A template that no canonical path can match.
    #[error(
        "no request can match `{0}`: write the path in its canonical form, `/v1/reports/{{id}}`"
    )]
    NotCanonical(Box<str>),
    /// A template that cannot stand beside the others.
    #[error("route `{route}`: {reason}")]
    Conflict {
        /// The route.
        route: Box<str>,
        /// Why the template cannot be added.
        reason: String,
    },
    /// A route and a method that were written twice.
    #[error("route `{0}` is declared twice for one method")]
    Twice(Box<str>),
    /// A job that was written twice.
    #[error("job `{0}` is declared twice")]
    JobTwice(Box<str>),
    /// A job of a class that has no policy for known callers.
    #[error("job `{job}` is of class `{class}`, which has no policy behind authentication")]
    NobodyKnown {
        /// The job.
        job: Box<str>,
        /// The class.
        class: Name,
    },
}

// === impl Class ===

impl Class {
    /// A class whose requests are decided by the policy `early` before authentication.
    ///
    /// # Errors
    ///
    /// If `name` or `early` is not a valid name.
    pub fn try_new(name: &str, early: &str) -> Result<Self, NameError> {
        Ok(Self { name: Name::try_new(name)?, early: Name::try_new(early)?, policy: None })
    }

    /// Adds the policy that decides behind authentication.
    ///
    /// # Errors
    ///
    /// If `policy` is not a valid name.
    pub fn then(mut self, policy: &str) -> Result<Self, NameError> {
        self.policy = Some(Name::try_new(policy)?);
        Ok(self)
    }
}

// === impl Route ===

impl Route {
    /// A route for every method of a path: `/v1/reports`, `/v1/reports/{id}`, `/files/{*path}`.
    #[must_use]
    pub fn new(path: impl Into<Box<str>>, class: impl Into<Box<str>>) -> Self {
        let (path, class) = (path.into(), class.into());
        Self { path, class, methods: Vec::new(), scope: None, cost: Cost::ONE }
    }

    /// Restricts the route to this method, and others that are added; HEAD comes with GET.
    #[must_use]
    pub fn method(mut self, method: Method) -> Self {
        self.methods.push(method);
        self
    }

    /// Restricts the route to callers to whom this scope was granted.
    #[must_use]
    pub fn scope(mut self, scope: impl Into<Box<str>>) -> Self {
        self.scope = Some(scope.into());
        self
    }

    /// Sets the cost of one request; one unless this is called.
    #[must_use]
    pub const fn cost(mut self, cost: Cost) -> Self {
        self.cost = cost;
        self
    }

    fn endpoint(self, classes: &Declared<'_>) -> Result<Endpoint, RoutesError> {
        let Some((place, class)) = classes.get(&*self.class) else {
            return Err(RoutesError::UnknownClass { route: self.path, class: self.class });
        };
        let (class, place) = (class.name.clone(), *place);
        Ok(Endpoint { template: self.path, class, scope: self.scope, cost: self.cost, place })
    }
}

// === impl RoutesBuilder ===

impl RoutesBuilder {
    pub(super) fn new(unmatched: Class) -> Self {
        Self { classes: vec![unmatched], routes: Vec::new(), jobs: Vec::new() }
    }

    /// Declares a class.
    #[must_use]
    pub fn class(mut self, class: Class) -> Self {
        self.classes.push(class);
        self
    }

    /// Adds a route.
    #[must_use]
    pub fn route(mut self, route: Route) -> Self {
        self.routes.push(route);
        self
    }

    /// Adds a kind of job to [enqueue](crate::Gate::enqueue), as a route whose path is the job's name.
    #[must_use]
    pub fn job(mut self, job: Route) -> Self {
        self.jobs.push(job);
        self
    }

    /// Checks the classes, routes and jobs, and builds the routes.
    ///
    /// # Errors
    ///
    /// The first fault that is found.
    pub fn build(self) -> Result<Routes, RoutesError> {
        let (classes, mut declared) = (self.classes, Declared::new());
        for (place, class) in classes.iter().enumerate() {
            if declared.insert(class.name.as_str(), (place, class)).is_some() {
                return Err(RoutesError::ClassTwice(class.name.clone()));
            }
        }
        let (mut written, mut paths) = (Paths::new(), matchit::Router::new());
        for route in self.routes {
            add(&mut written, route, &declared)?;
        }
        let jobs = jobs(self.jobs, &declared)?;
        let unmatched = Route::new(Routes::UNMATCHED, classes[0].name.as_str());
        let unmatched = Arc::new(unmatched.endpoint(&declared)?);
        for (route, variants) in written {
            let inserted = paths.insert(&*route, variants.into_boxed_slice());
            inserted.map_err(|error| RoutesError::Conflict { route, reason: error.to_string() })?;
        }
        Ok(Routes { paths, unmatched, jobs, classes })
    }
}

/// The classes by their names, each with its place.
type Declared<'c> = HashMap<&'c str, (usize, &'c Class)>;

fn jobs(jobs: Vec<Route>, classes: &Declared<'_>) -> Result<Jobs, RoutesError> {
    let mut all = Jobs::with_capacity(jobs.len());
    for job in jobs {
        let knows_nobody = classes.get(&*job.class).is_some_and(|(_, it)| it.policy.is_none());
        let job = job.endpoint(classes)?;
        if all.contains_key(&job.template) {
            return Err(RoutesError::JobTwice(job.template));
        }
        if knows_nobody {
            return Err(RoutesError::NobodyKnown { job: job.template, class: job.class });
        }
        all.insert(job.template.clone(), Arc::new(job));
    }
    Ok(all)
}

/// The templates, each with the routes that were written for it.
type Paths = BTreeMap<Box<str>, Vec<Variant>>;

fn add(paths: &mut Paths, route: Route, classes: &Declared<'_>) -> Result<(), RoutesError> {
    let template = route.path.clone();
    // Braces and asterisks are no part of a canonical path, so they are left out of the check.
    let plain = template.replace(['{', '}', '*'], "");
    if path::canonical(&plain).ok().as_deref() != Some(&*plain) {
        return Err(RoutesError::NotCanonical(template));
    }
    let methods = route.methods.clone().into_boxed_slice();
    let variant = Variant { methods, endpoint: Arc::new(route.endpoint(classes)?) };
    let variants = paths.entry(template.clone()).or_default();
    let clashes = |earlier: &Variant| {
        let both_any = earlier.methods.is_empty() && variant.methods.is_empty();
        both_any || earlier.methods.iter().any(|method| variant.methods.contains(method))
    };
    if variants.iter().any(clashes) {
        return Err(RoutesError::Twice(template));
    }
    variants.push(variant);
    Ok(())
}
