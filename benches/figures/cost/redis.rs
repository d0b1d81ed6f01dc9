//! Redis alone, called by the crate's own store: what the scripts cost, and nothing else.

use std::path::Path;

use super::{
    callgrind::{Callgrind, Profile},
    crowd::{Crowd, Shape, heat},
    server::{Form, Server},
};

pub const CYCLES: u64 = 600;

pub struct Measured {
    /// How the scripts were called.
    pub command: &'static str,
    pub profile: Profile,
    pub per_cycle: u64,
}

pub async fn measure(engine: &str, shape: Shape, form: Form, profiles: &Path) -> Measured {
    let callgrind = Callgrind::new(profiles);
    let server = Server::start(callgrind.command(engine), form);
    let queues = server.queues().await;
    heat(&queues).await;
    let mut crowd = Crowd::ready(&queues, shape).await;

    let before = server.calls();
    callgrind.begin(server.process());
    crowd.work(CYCLES).await;
    let profile = callgrind.end(server.process());
    let after = server.calls();
    let (functions, scripts) = (after.0 - before.0, after.1 - before.1);
    // Now and then the registry is told that the queue is in use.
    let wanted = 3 * CYCLES / shape.calls;
    assert!((wanted..=wanted + 3).contains(&(functions + scripts)), "{wanted} calls, not {functions} and {scripts}");
    let command = if functions > scripts { "FCALL" } else { "EVALSHA" };
    Measured { command, per_cycle: profile.instructions / CYCLES, profile }
}
