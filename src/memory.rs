//! What this process has allocated, by the allocator's own count.

/// Bytes that are in use, small and large ones. `None` where the C library keeps no such count.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "the count is the C library's")]
pub fn allocated() -> Option<usize> {
    // SAFETY: it reads the allocator's figures under its own locks, and gives them by value.
    let figures = unsafe { libc::mallinfo2() };
    Some(figures.uordblks + figures.hblkhd)
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn allocated() -> Option<usize> {
    None
}
