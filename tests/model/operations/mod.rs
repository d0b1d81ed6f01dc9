//! What can happen to the queue. One operation is one file: how it is drawn, how the service is called, what the model does
//! with it, and so what is answered. A new one is such a file, its `mod` and its line in the list.
//!
//! To erase the name of a worker is none of them: the story `sheets::erasing` looks for the name in all of Redis.

mod abandon;
mod append;
mod cancel;
mod cancel_batch;
mod close;
mod complete;
mod create_batch;
mod crowd;
mod enqueue;
mod extend;
mod fail;
mod forget;
mod hand_over;
mod look;
mod pass;
mod patch;
mod purge;
mod reassign;
mod record;
mod release;
mod reopen;
mod reprioritize;
mod requeue;
mod reserve;
mod retire;
mod seal;
mod set;
mod sweep;
mod undo;

use std::fmt::{self, Debug};

use proptest::strategy::{BoxedStrategy, Strategy};

pub use self::{
    abandon::Abandon, append::Sent, create_batch::CreateBatch, enqueue::Enqueue, pass::Pass, purge::Purge,
    reserve::Reserve, retire::Retire, set::Set, sweep::Sweep, undo::Unclear,
};
use crate::{
    chance::{Often, Theme},
    fixtures::Verdict,
    walk::Walk,
};

/// What every operation speaks of.
mod prelude {
    pub use intray::{
        job::{BatchId, BatchState, Code, Ending, Millis, State},
        store::{self, Queues},
    };
    pub use proptest::{option::weighted, prelude::*, sample::select};

    pub use super::Operation;
    pub use crate::{
        chance::{Often, Theme, few},
        fixtures::{ByDebug, Verdict, same, same_debug},
        naming::{Handle, Nth, Which, handle, nth, which},
        reference::{How, Queue},
        walk::{Walk, broken},
    };
}

pub trait Operation: Clone + Debug + 'static {
    const OFTEN: Often;

    /// What a long run must have met besides the operation itself, or it proves nothing about it.
    const MUST_BE_MET: &'static [&'static str] = &[];

    fn draw(theme: Theme) -> BoxedStrategy<Self>;

    /// Does it to both, which must answer alike.
    async fn run(&self, walk: &mut Walk<'_>) -> Verdict;
}

macro_rules! operations {
    ($($module:ident::$name:ident,)*) => {
        #[derive(Clone)]
        pub enum Op {
            $($name($module::$name),)*
        }

        impl Op {
            /// All that can happen within a theme, with how often.
            pub fn drawn(theme: Theme) -> Vec<(u32, BoxedStrategy<Self>)> {
                let mut all = Vec::new();
                $(if let often @ 1.. = $module::$name::OFTEN.within(theme) {
                    all.push((often, $module::$name::draw(theme).prop_map(Self::$name).boxed()));
                })*
                all
            }

            /// Every operation, and what each of them has to meet.
            pub fn must_be_met() -> Vec<&'static str> {
                let mut all = Vec::new();
                $(all.push(stringify!($name));
                all.extend($module::$name::MUST_BE_MET);)*
                all
            }

            pub async fn run(&self, walk: &mut Walk<'_>) -> Verdict {
                match self {
                    $(Self::$name(operation) => {
                        walk.met(stringify!($name));
                        operation.run(walk).await
                    })*
                }
            }
        }

        impl Debug for Op {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$name(operation) => operation.fmt(f),)*
                }
            }
        }
    };
}

// A sequence that fails is made smaller towards what stands first.
operations! {
    enqueue::Enqueue,
    reserve::Reserve,
    pass::Pass,
    complete::Complete,
    close::Close,
    reopen::Reopen,
    abandon::Abandon,
    fail::Fail,
    extend::Extend,
    hand_over::HandOver,
    undo::Undo,
    cancel::Cancel,
    release::Release,
    requeue::Requeue,
    reprioritize::Reprioritize,
    patch::Patch,
    reassign::Reassign,
    purge::Purge,
    sweep::Sweep,
    record::Record,
    retire::Retire,
    forget::Forget,
    set::Set,
    create_batch::CreateBatch,
    append::Append,
    seal::Seal,
    cancel_batch::CancelBatch,
    crowd::Crowd,
    look::Look,
}
