//! The atomics and locks that threads share, and loom's in their place when loom tests them.

#[cfg(not(loom))]
pub(crate) use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
#[cfg(loom)]
pub(crate) use loom::sync::Mutex;
#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering};
#[cfg(not(loom))]
pub(crate) use std::sync::Mutex;

/// Atomics that are all zero. The memory is only touched, and so only becomes resident, as it is
/// used.
#[cfg(not(loom))]
pub(crate) fn zeroed<T: bytemuck::Zeroable>(len: usize) -> Box<[T]> {
    bytemuck::zeroed_slice_box(len)
}

#[cfg(loom)]
pub(crate) fn zeroed<T: Default>(len: usize) -> Box<[T]> {
    (0..len).map(|_| T::default()).collect()
}

/// Waits between two attempts at a lock: spins briefly, then lets other threads run.
pub(crate) fn wait(attempt: u32) {
    #[cfg(not(loom))]
    if attempt % 64 == 63 {
        std::thread::yield_now();
    } else {
        core::hint::spin_loop();
    }
    #[cfg(loom)]
    {
        let _ = attempt;
        loom::thread::yield_now();
    }
}
