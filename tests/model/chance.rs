//! How often what happens. Simpler things stand first: a sequence that fails is made smaller towards them.

use std::fmt::Debug;

use proptest::{collection::vec, option::weighted, prelude::*, strategy::Union};

use crate::{
    naming::{Nth, nth},
    operations::{CreateBatch, Enqueue, Op},
};

/// What a sequence is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Theme {
    /// All that can happen, as often as it meets something.
    Everything,
    /// Little comes in and nothing goes, so that the same few jobs are handed out again and again.
    FewJobs,
    /// People at a few jobs, who mostly mean what they hold: what they type, skip and come back to.
    Desk,
    /// Jobs for some workers, which are handed over and fall back to everybody.
    Routing,
    /// All that can happen, in long lists whose items say the same as earlier ones of the list.
    Lists,
    /// Batches of hundreds, which take more than one step of whatever is done to them.
    Many,
}

/// How often an operation happens in each theme, against the others; 0 is never.
pub struct Often {
    pub everything: u32,
    pub few_jobs: u32,
    pub desk: u32,
    pub routing: u32,
    pub many: u32,
}

impl Often {
    pub fn within(&self, theme: Theme) -> u32 {
        match theme {
            Theme::Everything | Theme::Lists => self.everything,
            Theme::FewJobs => self.few_jobs,
            Theme::Desk => self.desk,
            Theme::Routing => self.routing,
            Theme::Many => self.many,
        }
    }
}

pub fn op(theme: Theme) -> BoxedStrategy<Op> {
    Union::new_weighted(Op::drawn(theme)).boxed()
}

/// With which a sequence begins.
pub fn start(theme: Theme) -> impl Strategy<Value = Op> {
    let batch = CreateBatch::small(theme).prop_map(Op::CreateBatch);
    prop_oneof![3 => Enqueue::of(theme, 1..=3).prop_map(Op::Enqueue), 1 => batch]
}

/// Mostly one, sometimes up to three; in a sequence about lists more, of which many say what an earlier one does.
pub fn few<T: Debug + Clone + 'static>(theme: Theme, one: impl Strategy<Value = T> + 'static) -> BoxedStrategy<Vec<T>> {
    let one = one.boxed();
    if theme != Theme::Lists {
        return prop_oneof![3 => vec(one.clone(), 1), 1 => vec(one, 2..=3)].boxed();
    }
    let items = vec((one, weighted(0.3, nth())), 2..=8);
    let list = |list: Vec<T>, (item, earlier): (T, Option<Nth>)| {
        let item = earlier.and_then(|nth| nth.of(&list).cloned()).unwrap_or(item);
        [list, vec![item]].concat()
    };
    items.prop_map(move |items| items.into_iter().fold(Vec::new(), list)).boxed()
}
