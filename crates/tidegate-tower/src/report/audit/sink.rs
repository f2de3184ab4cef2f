//! The destination of audit records.

use std::io;

use super::record::AuditRecord;

/// The destination of audit records: a [file](super::JsonLines), or whatever the host has.
///
/// A sink is called on a thread of its own, so it may take its time. A record that fails is tried again,
/// with those that have come meanwhile; a panic is a failure too.
pub trait Sink: Send {
    /// Adds a record after all those before it.
    ///
    /// # Errors
    ///
    /// If the record could not be added.
    fn append(&mut self, record: &AuditRecord) -> io::Result<()>;

    /// Makes sure that the records added so far survive a crash of the machine.
    ///
    /// # Errors
    ///
    /// If records may be lost in a crash.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<F: FnMut(&AuditRecord) -> io::Result<()> + Send> Sink for F {
    fn append(&mut self, record: &AuditRecord) -> io::Result<()> {
        self(record)
    }
}
