//! Limits that all callers share: where there are callers for different queues, one of them cannot take what the others need.

use std::{net::SocketAddr, sync::Arc};

/// A caller who holds less than this part of a limit may have of its last quarter.
const SMALL: usize = 16;
/// This part of a limit is kept for them.
const KEPT: usize = 4;

/// How many may be held by all before what is kept begins.
pub fn common(most: usize) -> usize {
    most - most.div_ceil(KEPT)
}

/// Whether what a caller holds is so little that what is kept is for them.
pub fn is_small(own: usize, most: usize) -> bool {
    own * SMALL < most
}

/// Whether a caller who holds `own` of what is `taken` gets `more`. `has_parts`: there are callers for different queues; it is
/// asked only when there is little left.
pub fn is_open(taken: usize, own: usize, more: usize, most: usize, has_parts: impl FnOnce() -> bool) -> bool {
    let wanted = taken + more;
    wanted <= common(most) || wanted <= most && (is_small(own, most) || !has_parts())
}

/// The connection that a request came by.
pub trait Connection: Send + Sync {
    fn peer(&self) -> SocketAddr;

    /// From now on it counts as this caller's, unless they hold too many.
    fn charge(&self, payer: &Arc<str>, has_parts: &dyn Fn() -> bool) -> bool;
}

/// The same, among what comes with a request.
#[derive(Clone)]
pub struct By(pub Arc<dyn Connection>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_quarters_are_kept_for_small_callers() {
        let parted = |taken, own, more, most| is_open(taken, own, more, most, || true);
        assert!(parted(74, 74, 1, 100) && !parted(75, 75, 1, 100), "the last quarter is not for who has much");
        assert!(parted(75, 6, 1, 100) && !parted(75, 7, 1, 100), "a sixteenth of 100 is 6.25");
        assert!(parted(99, 0, 1, 100) && !parted(100, 0, 1, 100));
        assert!(
            is_open(75, 75, 25, 100, || false) && !is_open(75, 75, 26, 100, || false),
            "with one key all is theirs"
        );
        for most in 1..20 {
            let held = (0..most).take_while(|own| parted(*own, *own, 1, most)).count();
            assert!(most == 1 || held < most, "of {most} something is left");
            assert!(most == 1 || parted(held, 0, 1, most), "and it is for others");
            assert!(held >= 1);
        }
    }
}
