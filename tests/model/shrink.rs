//! Shrinks a failing sequence: cuts pieces out, then simplifies the rest, as long as it still fails.

use proptest::strategy::ValueTree;

use crate::operations::Op;

pub fn smallest<T: ValueTree<Value = Op>>(mut trees: Vec<T>, fails: impl Fn(&[Op]) -> bool) -> Vec<Op> {
    let mut ops: Vec<_> = trees.iter().map(ValueTree::current).collect();
    loop {
        let before = ops.len();
        cut(&mut trees, &mut ops, &fails);
        simplify(&mut trees, &mut ops, &fails);
        if ops.len() == before {
            return ops;
        }
    }
}

/// Halves, quarters and so on, down to single operations.
fn cut<T>(trees: &mut Vec<T>, ops: &mut Vec<Op>, fails: impl Fn(&[Op]) -> bool) {
    let mut size = ops.len().div_ceil(2);
    while size > 0 {
        let mut from = 0;
        while from < ops.len() {
            let piece = from..(from + size).min(ops.len());
            let mut rest = ops.clone();
            rest.drain(piece.clone());
            if fails(&rest) {
                *ops = rest;
                trees.drain(piece);
            } else {
                from += size;
            }
        }
        size /= 2;
    }
}

/// Simplifies each operation by itself.
fn simplify<T: ValueTree<Value = Op>>(trees: &mut [T], ops: &mut [Op], fails: impl Fn(&[Op]) -> bool) {
    const TRIES: usize = 60;
    for (at, tree) in trees.iter_mut().enumerate() {
        let mut can_simplify = tree.simplify();
        for _ in 0..TRIES {
            if !can_simplify {
                break;
            }
            let kept = std::mem::replace(&mut ops[at], tree.current());
            can_simplify = if fails(ops) {
                tree.simplify()
            } else {
                ops[at] = kept;
                tree.complicate()
            };
        }
    }
}
