//! File descriptors that have run out.
//!
//! A flood of connections can take every descriptor there is. A file that cannot be opened then is not
//! wrong, and must not be reported as if it were: an operator who reads the log would mend the file.

use std::io;

/// `EMFILE`: this process has no descriptor left.
const EMFILE: i32 = 24;
/// `ENFILE`: the machine has no descriptor left.
const ENFILE: i32 = 23;

/// The error of a read that found no descriptor left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
enum OutOfDescriptors {
    /// This process has no descriptor left.
    #[error(
        "the process is out of file descriptors; close connections, or raise the limit \
         (`ulimit -n`). The file itself may be fine"
    )]
    Process,
    /// The whole machine has no descriptor left.
    #[error(
        "the machine is out of file descriptors; end what holds them, or raise the limit \
         (`sysctl fs.file-max`). The file itself may be fine"
    )]
    Machine,
}

/// The same error; if the cause is that no descriptor is left, in words that say so.
pub(crate) fn explained(error: io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(EMFILE) => io::Error::other(OutOfDescriptors::Process),
        Some(ENFILE) => io::Error::other(OutOfDescriptors::Machine),
        _ => error,
    }
}

/// Whether a read failed because no descriptor was left.
pub(crate) fn were_missing(error: &anyhow::Error) -> bool {
    let is_one = |cause: &(dyn std::error::Error + 'static)| {
        let inner = cause.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        inner.and_then(|inner| inner.downcast_ref::<OutOfDescriptors>()).is_some()
    };
    error.chain().any(is_one)
}

#[cfg(test)]
mod tests {
    use anyhow::Context;

    use super::*;

    #[test]
    fn only_a_missing_descriptor_is_told_as_one() {
        for (number, who) in [(EMFILE, "the process"), (ENFILE, "the machine")] {
            let error = explained(io::Error::from_raw_os_error(number));
            let error = Err::<(), _>(error).context("cannot read policies.yaml").unwrap_err();
            assert!(were_missing(&error));
            let told = format!("{error:#}");
            assert!(told.contains(&format!("{who} is out of file descriptors")), "{told}");
        }
        let gone = explained(io::Error::from(io::ErrorKind::NotFound));
        assert_eq!(gone.kind(), io::ErrorKind::NotFound);
        assert!(!were_missing(&anyhow::Error::new(gone)));
        assert!(!were_missing(&anyhow::Error::new(io::Error::other("too large"))));
    }
}
