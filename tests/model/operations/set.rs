//! set: an operator changes a setting, or leaves it to its default.

use intray::{job::Backoff, store::SettingsPatch};

use super::prelude::*;
use crate::{
    reference::{DEFAULT, Event},
    work::backoff,
};

macro_rules! settings {
    ($($variant:ident, $name:ident: $value:ty;)*) => {
        /// One setting, or back to its default.
        #[derive(Debug, Clone)]
        pub enum Set {
            $($variant(Option<$value>),)*
        }

        impl Set {
            pub fn to_default(name: &str) -> Self {
                $(if name == stringify!($name) {
                    return Self::$variant(None);
                })*
                panic!("{name} is no setting")
            }

            fn patch(&self) -> SettingsPatch {
                let mut patch = SettingsPatch::default();
                match *self {
                    $(Self::$variant(to) => patch.$name = Some(to),)*
                }
                patch
            }
        }

        impl Queue {
            /// Its name, and whether it is chosen now.
            fn put(&mut self, setting: &Set) -> (&'static str, bool) {
                match *setting {
                    $(Set::$variant(to) => {
                        self.settings.$name = to.unwrap_or(DEFAULT.$name);
                        (stringify!($name), to.is_some())
                    })*
                }
            }
        }
    };
}

settings! {
    Paused, paused: bool;
    LeaseMs, lease_ms: u32;
    MaxHoldMs, max_hold_ms: u32;
    MaxAttempts, max_attempts: u32;
    Backoff, backoff: Backoff;
    Dedupe, dedupe: bool;
    WorkerLimit, worker_limit: u32;
    ShareDrafts, share_drafts: bool;
    Browse, browse: bool;
    RetentionMs, retention_ms: u32;
    RetentionMax, retention_max: u32;
    MaxJobs, max_jobs: u32;
}

impl Operation for Set {
    const OFTEN: Often = Often { everything: 8, few_jobs: 8, desk: 8, routing: 5, many: 0 };

    fn draw(_: Theme) -> BoxedStrategy<Self> {
        prop_oneof![
            3 => weighted(0.4, Just(true)).prop_map(Self::Paused),
            1 => weighted(0.7, Just(10_000)).prop_map(Self::LeaseMs),
            2 => weighted(0.7, select(&[25_000, 0])).prop_map(Self::MaxHoldMs),
            2 => weighted(0.7, select(&[1, 2])).prop_map(Self::MaxAttempts),
            1 => weighted(0.7, backoff()).prop_map(Self::Backoff),
            1 => weighted(0.7, Just(false)).prop_map(Self::Dedupe),
            6 => weighted(0.8, select(&[0, 2, 3])).prop_map(Self::WorkerLimit),
            2 => weighted(0.6, Just(true)).prop_map(Self::ShareDrafts),
            1 => weighted(0.7, Just(10_000)).prop_map(Self::RetentionMs),
            1 => weighted(0.5, select(&[0, 2])).prop_map(Self::RetentionMax),
            2 => weighted(0.5, select(&[6, 4])).prop_map(Self::MaxJobs),
        ]
        .boxed()
    }

    async fn run(&self, walk: &mut Walk<'_>) -> Verdict {
        let answer = walk
            .real
            .handle
            .set(&walk.real.queue, self.patch(), true, &store::Actor::default())
            .await
            .map_err(broken)?;
        walk.model.set(self);
        let store::Configured::Done { info, .. } = answer else {
            return Err("there is no bound on queues here".into());
        };
        same_debug("the queue's counts", &*info, &walk.model.info(&info))
    }
}

impl Queue {
    fn set(&mut self, setting: &Set) {
        self.be_known();
        let was = self.settings.paused;
        let (name, is_chosen) = self.put(setting);
        if is_chosen {
            self.chosen.insert(name)
        } else {
            self.chosen.remove(name)
        };
        if self.settings.paused != was {
            let kind = if was { "unpaused" } else { "paused" };
            let [job, kind, none] = ["0".repeat(26), kind.to_owned(), String::new()];
            self.events.push(Event { job, kind, worker: none.clone(), client: none.clone(), note: none });
        }
    }
}
