//! The shared state; each handler extracts the parts that it uses.

use std::sync::Arc;

use axum::extract::FromRef;
use tokio_util::sync::CancellationToken;

use crate::{
    access::{Access, StoreRate},
    http::{
        request::rules::PayloadLimit,
        site::{assets::Demo, desk::DeskPage, health::Readiness, metrics::MetricsPage},
    },
    sheets::Sheets,
    store::Queues,
    waiting::Waiting,
    webhooks::Dispatcher,
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

/// One handle, because every request clones it; handlers clone the parts that they extract.
#[derive(Clone)]
pub struct App(pub Arc<Parts>);

parts! {
    queues: Queues,
    waiting: Waiting,
    dispatcher: Dispatcher,
    sheets: Sheets,
    access: Access,
    stored: StoreRate,
    max_payload: PayloadLimit,
    demo: Demo,
    desk: DeskPage,
    readiness: Readiness,
    figures: MetricsPage,
    // Cancelled when the service shuts down.
    leaving: CancellationToken,
}
