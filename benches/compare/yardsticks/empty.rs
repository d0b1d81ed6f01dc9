//! Three requests to a handler that does nothing: what HTTP alone costs.

use std::process::Command;

use axum::{Router, body::Bytes, routing::post};

use super::{super::crowd, Server};
use crate::rig::{
    client::{Client, payload},
    serving,
};

/// The argument that makes this program the server.
pub const MODE: &str = "empty-server";

pub fn start() -> Server {
    let itself = std::env::current_exe().expect("this program");
    let (child, address) = serving(Command::new(itself).arg(MODE));
    Server { child, address }
}

/// One thread per processor: no Redis needs one.
pub fn serve() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let nothing = || post(async |_: Bytes| "{}");
        let router = Router::new()
            .route("/jobs", nothing())
            .route("/jobs/reserve", nothing())
            .route("/jobs/complete", nothing());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        println!("serving on http://{}", listener.local_addr().expect("an address"));
        axum::serve(listener, router).await.expect("served");
    });
}

pub struct Caller(pub Client);

impl crowd::Caller for Caller {
    async fn cycle(&mut self, n: u64) {
        self.0.post("/jobs", &format!(r#"{{"queue":"bench","payload":{}}}"#, payload(n))).await;
        self.0.post("/jobs/reserve", r#"{"queues":["bench"]}"#).await;
        self.0.post("/jobs/complete", r#"{"reservation":"bench-01KAJ3V7Q2M8Z4R6T9XW5YB1CD.5G2C8N4K7VQX"}"#).await;
    }
}
