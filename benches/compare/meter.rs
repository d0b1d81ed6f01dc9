//! CPU time by process and calls of Redis between two moments.

use std::{ops::Range, time::Instant};

use super::rig::{
    engine::{Calls, Engine},
    process::{cpu_us, machine_us},
};

/// The processes to measure. A server may use no Redis, or Redis may have no server in front of it.
#[derive(Clone, Copy)]
pub struct Meter<'a> {
    pub server: Option<u32>,
    pub engine: Option<&'a Engine>,
}

#[derive(Clone, Copy)]
pub struct Reading {
    at: Instant,
    server: f64,
    redis: f64,
    own: f64,
    machine: f64,
    calls: Calls,
}

/// Microseconds of processors, seconds that passed, calls.
pub struct Used {
    pub between: Range<Instant>,
    pub seconds: f64,
    pub server: f64,
    pub redis: f64,
    pub own: f64,
    /// Processors that were busy with none of these, on average.
    pub others: f64,
    pub scripts: f64,
    pub script_us: f64,
    pub commands: f64,
}

impl Meter<'_> {
    pub fn read(&self) -> Reading {
        // Redis is read last, because a busy one answers late.
        Reading {
            at: Instant::now(),
            server: self.server.map_or(0.0, cpu_us),
            redis: self.engine.map_or(0.0, |engine| cpu_us(engine.process())),
            own: cpu_us(std::process::id()),
            machine: machine_us(),
            calls: self.engine.map(Engine::calls).unwrap_or_default(),
        }
    }

    pub fn since(&self, before: &Reading) -> Used {
        let now = self.read();
        let seconds = now.at.duration_since(before.at).as_secs_f64();
        let (server, redis, own) = (now.server - before.server, now.redis - before.redis, now.own - before.own);
        let busy = now.machine - before.machine;
        Used {
            between: before.at..now.at,
            seconds,
            server,
            redis,
            own,
            others: ((busy - server - redis - own) / seconds / 1e6).max(0.0),
            scripts: (now.calls.scripts - before.calls.scripts) as f64,
            script_us: now.calls.script_us - before.calls.script_us,
            commands: (now.calls.commands - before.calls.commands) as f64,
        }
    }
}
