//! What becomes of requests when the store fails, with an engine as hosts use it.

mod blocks;
mod kinds;
mod modes;
mod outside;
mod races;
mod world;
