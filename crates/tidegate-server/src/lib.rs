//! The oracle of Tidegate: decisions over HTTP.

mod accept;
mod backend;
mod connection;
mod problem;
mod server;
mod service;
mod settings;
mod threads;
mod worker;

pub use backend::Backend;
pub use problem::Problem;
pub use server::{Drained, Handle, Server};
pub use settings::{
    Header, Length, Network, Settings, SettingsError, Size, UnitError, WrittenGate, WrittenHeaders,
    WrittenSettings,
};
