//! Where records go.

use std::io;

use super::record::Record;

/// Where records go: a [file](super::JsonLines), or whatever the host has.
///
/// It is called on a thread of its own, so it may take its time. What fails is tried again, with what
/// has come meanwhile; if it panics, that is a failure too.
pub trait Sink: Send {
    /// Adds a record after all before it.
    ///
    /// # Errors
    ///
    /// If it is not there afterwards.
    fn append(&mut self, record: &Record) -> io::Result<()>;

    /// Makes sure that what was added outlives the machine.
    ///
    /// # Errors
    ///
    /// If it may not.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<F: FnMut(&Record) -> io::Result<()> + Send> Sink for F {
    fn append(&mut self, record: &Record) -> io::Result<()> {
        self(record)
    }
}
