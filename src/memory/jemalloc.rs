//! jemalloc, the allocator of releases.

use std::{ffi::CStr, mem::size_of, ptr};

use tikv_jemallocator::Jemalloc;

/// A cycle asks for memory a hundred times: the C library's allocator takes twice as many instructions for it.
#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

/// Each request has 8 KiB to be read into, and a task of a few. A thread keeps a hundred of a size in place of twenty, and looks
/// for what it could do without each MiB in place of each 64 KiB: else every few calls such pieces went back and came again.
#[expect(unsafe_code, reason = "the allocator reads this before anything of ours runs")]
#[unsafe(export_name = "_rjem_malloc_conf")]
static TUNED: &[u8; 57] = b"tcache_nslots_small_min:100,tcache_gc_incr_bytes:1048576\0";

/// Bytes that are in use, small and large ones.
pub fn allocated() -> Option<usize> {
    // The figures are those of when this was last counted on.
    write_control(c"epoch", 1_u64)?;
    read_control(c"stats.allocated")
}

#[expect(unsafe_code, reason = "the allocator's figures have no other door")]
fn read_control(name: &CStr) -> Option<usize> {
    let (mut value, mut length) = (0_usize, size_of::<usize>());
    // SAFETY: the value has the length that is given, and this name's value is a `size_t`; where it is not, that is an error.
    let error = unsafe {
        tikv_jemalloc_sys::mallctl(name.as_ptr(), (&raw mut value).cast(), &raw mut length, ptr::null_mut(), 0)
    };
    (error == 0).then_some(value)
}

#[expect(unsafe_code, reason = "the allocator's figures have no other door")]
fn write_control(name: &CStr, mut value: u64) -> Option<()> {
    // SAFETY: as in `ask`; this name's value is a `uint64_t`.
    let error = unsafe {
        let none = ptr::null_mut();
        tikv_jemalloc_sys::mallctl(name.as_ptr(), none, none.cast(), (&raw mut value).cast(), size_of::<u64>())
    };
    (error == 0).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allocator_has_read_its_configuration() {
        assert_eq!(read_control(c"opt.tcache_gc_incr_bytes"), Some(1 << 20));
        assert_eq!(read_control(c"stats.nothing"), None);
    }
}
