//! Limits that all callers share. Where callers have different queues, a part is reserved so that none of them takes all.

use std::{net::SocketAddr, sync::Arc};

/// A caller who holds less than this part of a limit may use the reserved part.
const SMALL_SHARE: usize = 16;
/// The part of a limit that is reserved for small callers.
const RESERVED_SHARE: usize = 4;

/// The part of a limit that is not reserved.
pub fn common(max: usize) -> usize {
    max - max.div_ceil(RESERVED_SHARE)
}

/// Whether a caller holds so little that the reserved part is open to them.
pub fn is_small(own: usize, max: usize) -> bool {
    own * SMALL_SHARE < max
}

/// Whether a caller who holds `own` of all that is `taken` gets `more`. `has_parts`: whether callers have different queues; called
/// only when little is left.
pub fn is_open(taken: usize, own: usize, more: usize, max: usize, has_parts: impl FnOnce() -> bool) -> bool {
    let wanted = taken + more;
    wanted <= common(max) || wanted <= max && (is_small(own, max) || !has_parts())
}

/// The connection of a request.
pub trait ClientConnection: Send + Sync {
    fn peer(&self) -> SocketAddr;

    /// Counts the connection as this caller's. False: they hold too many.
    fn charge(&self, payer: &Arc<str>, has_parts: &dyn Fn() -> bool) -> bool;
}

/// The same, as an extension of the request.
#[derive(Clone)]
pub struct RequestConnection(pub Arc<dyn ClientConnection>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_quarters_are_kept_for_small_callers() {
        let parted = |taken, own, more, max| is_open(taken, own, more, max, || true);
        assert!(parted(74, 74, 1, 100) && !parted(75, 75, 1, 100), "the last quarter is not for who has much");
        assert!(parted(75, 6, 1, 100) && !parted(75, 7, 1, 100), "a sixteenth of 100 is 6.25");
        assert!(parted(99, 0, 1, 100) && !parted(100, 0, 1, 100));
        assert!(
            is_open(75, 75, 25, 100, || false) && !is_open(75, 75, 26, 100, || false),
            "with one key all is theirs"
        );
        for max in 1..20 {
            let held = (0..max).take_while(|own| parted(*own, *own, 1, max)).count();
            assert!(max == 1 || held < max, "of {max} something is left");
            assert!(max == 1 || parted(held, 0, 1, max), "and it is for others");
            assert!(held >= 1);
        }
    }
}
