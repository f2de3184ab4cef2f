//! The oracle of Tidegate: decisions over HTTP.
