//! What a Rust user of Tidegate imports.
