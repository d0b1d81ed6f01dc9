//! The allocator, and what this process has allocated by its count.

#[cfg(feature = "jemalloc")]
mod jemalloc;

#[cfg(feature = "jemalloc")]
pub use jemalloc::allocated;

/// Bytes that are in use, small and large ones: <https://man7.org/linux/man-pages/man3/mallinfo.3.html>.
#[cfg(all(not(feature = "jemalloc"), target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "the C library's figures have no other door")]
pub fn allocated() -> Option<usize> {
    // SAFETY: nothing is passed, and what is answered is a copy.
    let figures = unsafe { libc::mallinfo2() };
    Some(figures.uordblks + figures.hblkhd)
}

/// Other C libraries do not say.
#[cfg(all(not(feature = "jemalloc"), not(all(target_os = "linux", target_env = "gnu"))))]
pub fn allocated() -> Option<usize> {
    None
}

#[cfg(all(test, any(feature = "jemalloc", all(target_os = "linux", target_env = "gnu"))))]
mod tests {
    use super::*;

    #[test]
    fn allocated_bytes_grow_and_shrink_with_use() {
        // Much more than other tests use meanwhile; what is zero and not touched takes no memory.
        const MANY: usize = 1 << 30;
        let before = allocated().expect("a count");
        let held = std::hint::black_box(vec![0_u8; MANY]);
        let meanwhile = allocated().expect("a count");
        assert!(meanwhile >= before + MANY / 2, "{before}, then {meanwhile}");
        drop(held);
        let after = allocated().expect("a count");
        assert!(after < before + MANY / 2, "{before}, {meanwhile}, then {after}");
    }
}
