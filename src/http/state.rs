//! What handlers take, each the parts that it uses.

use std::sync::Arc;

use axum::extract::FromRef;
use tokio_util::sync::CancellationToken;

use crate::{
    access::Access,
    http::{
        request::rules::PayloadLimit,
        site::{assets::Demo, health::Readiness, metrics::Figures},
    },
    store::Queues,
    waiting::Waiting,
};

macro_rules! parts {
    ($($name:ident: $part:ty,)*) => {
        pub struct Parts {
            $(pub $name: $part,)*
        }

        $(impl FromRef<App> for $part {
            fn from_ref(app: &App) -> Self {
                app.0.$name.clone()
            }
        })*
    };
}

/// One handle on all, for each request clones it: of the parts those that its handler takes.
#[derive(Clone)]
pub struct App(pub Arc<Parts>);

parts! {
    queues: Queues,
    waiting: Waiting,
    access: Access,
    max_payload: PayloadLimit,
    demo: Demo,
    readiness: Readiness,
    figures: Figures,
    // Cancelled when this instance is to end.
    leaving: CancellationToken,
}
