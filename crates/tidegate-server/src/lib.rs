//! The oracle of Tidegate: decisions over HTTP.

mod accept;
mod answer;
mod backend;
mod body;
mod connection;
mod gate;
mod metrics;
mod openapi;
mod problem;
mod route;
mod routes;
mod server;
mod service;
mod settings;
mod suggest;
mod threads;
mod wire;
mod worker;

pub use backend::Backend;
pub use openapi::openapi;
pub use problem::Problem;
pub use server::{Drained, Handle, Server};
pub use settings::{
    Header, Length, Network, Settings, SettingsError, Size, UnitError, WrittenGate, WrittenHeaders,
    WrittenSettings,
};
