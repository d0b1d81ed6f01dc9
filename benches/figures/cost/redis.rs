//! Redis alone, called by the crate's own store: the cost of the scripts only.

use std::{path::Path, time::Instant};

use intray::store::Fault;

use super::{
    callgrind::{Callgrind, Profile},
    counter::Counter,
    crowd::{Crowd, Shape, heat},
    kept::Parts,
    server::{Form, Server},
};

pub const CYCLES: u64 = 600;
/// Repetitions and jobs for each script measured alone.
const ROUNDS: u64 = 10;
const TOGETHER: u64 = 12;
/// Steps of the sweep: enough to include Lua's garbage collection, and more than there is to expire.
const STEPS: u64 = 8;
const OVERDUE: u64 = 960;
const SETTLING: u64 = 60;
/// For how long the service uses the form of a queue.
const FORM_AGE_SECONDS: u64 = 2;
/// The cost outside scripts.
const AROUND: [&str; 5] = ["FCALL", "EVALSHA", "INFO", "QUIT", "PING"];
/// A Redis under callgrind is slow, and on a busy machine a call may time out.
pub const ATTEMPTS: usize = 5;

/// A Redis under callgrind, and its callers.
pub struct Looked {
    server: Server,
    counter: Counter,
    crowd: Crowd,
    shape: Shape,
}

pub struct Measured {
    /// The mode of the scripts.
    pub command: &'static str,
    pub profile: Profile,
    pub per_cycle: u64,
    /// Commands per cycle, without the calls of scripts.
    pub commands: Parts,
}

/// The work of one script.
pub struct Apart {
    pub name: &'static str,
    /// Per job.
    pub instructions: f64,
    pub commands: Parts,
    /// Tables, strings and functions allocated.
    pub of_lua: f64,
}

pub async fn measure(engine: &str, shape: Shape, form: Form, profiles: &Path) -> Measured {
    patiently(async || Looked::start(engine, shape, form, profiles).await?.cycles().await).await
}

/// Its answer, once it succeeds.
pub async fn patiently<T>(mut measure: impl AsyncFnMut() -> Result<T, Fault>) -> T {
    for _ in 0..ATTEMPTS {
        match measure().await {
            Ok(measured) => return measured,
            Err(fault) => eprintln!("once more: {fault}"),
        }
    }
    panic!("Redis did not answer in time, {ATTEMPTS} times: the machine is too busy")
}

impl Looked {
    pub async fn start(engine: &str, shape: Shape, form: Form, profiles: &Path) -> Result<Self, Fault> {
        let callgrind = Callgrind::new(profiles);
        let server = Server::start(callgrind.command(engine), form);
        let queues = server.queues().await;
        heat(&queues).await;
        let crowd = Crowd::ready(&queues, shape).await?;
        let counter = Counter::of(callgrind, server.process()).await;
        Ok(Self { server, counter, crowd, shape })
    }

    pub async fn cycles(&mut self) -> Result<Measured, Fault> {
        let (before, begin) = (self.server.commands(), Instant::now());
        let (counted, done) = self.counter.count(async || self.crowd.work(CYCLES).await).await;
        done?;
        let per_cycle = counted.instructions / CYCLES as f64;
        let mut commands = since(&before, self.server.commands(), CYCLES);
        let mut calls = |command: &str| (commands.remove(command).unwrap_or(0.0) * CYCLES as f64).round() as u64;
        let (functions, scripts) = (calls("FCALL"), calls("EVALSHA"));
        // The registry is updated from time to time, and the form of the queue is read, in time and not by cycles.
        let wanted = 3 * CYCLES / self.shape.calls;
        let others = (functions + scripts).checked_sub(wanted).expect("each cycle is three calls");
        let reads = begin.elapsed().as_secs() / FORM_AGE_SECONDS + 1;
        assert!(others <= reads + 3, "{wanted} calls, not {functions} and {scripts}");
        if let Some(gets) = commands.get_mut("HGET") {
            *gets -= others.min(reads) as f64 / CYCLES as f64;
        }
        let command = if functions > scripts { "FCALL" } else { "EVALSHA" };
        commands.retain(|name, _| !AROUND.contains(&name.as_str()));
        Ok(Measured { command, per_cycle: per_cycle as u64, profile: counted.profile, commands })
    }

    /// Each script alone: everything between two readings belongs to it.
    pub async fn apart(&mut self) -> Result<[Apart; 3], Fault> {
        let [mut enqueue, mut reserve, mut complete] = ["enqueue", "reserve", "complete"].map(Apart::of);
        let (calls, scripts) = (self.shape.calls, TOGETHER / self.shape.calls);
        for _ in 0..ROUNDS {
            let mut reserved = Vec::new();
            self.count(&mut enqueue, async |crowd| {
                for _ in 0..scripts {
                    crowd.enqueue(calls).await?;
                }
                Ok(())
            })
            .await?;
            self.count(&mut reserve, async |crowd| {
                for _ in 0..scripts {
                    reserved.push(crowd.reserve().await?);
                }
                Ok(())
            })
            .await?;
            self.crowd.read_form().await?;
            self.count(&mut complete, async |crowd| {
                for held in reserved {
                    crowd.complete(held).await?;
                }
                Ok(())
            })
            .await?;
        }
        Ok([enqueue, reserve, complete].map(|apart| apart.each(ROUNDS * TOGETHER, ROUNDS * scripts)))
    }

    async fn count<W>(&mut self, apart: &mut Apart, work: W) -> Result<(), Fault>
    where
        W: AsyncFnOnce(&mut Crowd) -> Result<(), Fault>,
    {
        let before = self.server.commands();
        let (counted, done) = self.counter.count(async || work(&mut self.crowd).await).await;
        done?;
        apart.instructions += counted.instructions;
        apart.of_lua += counted.profile.of_lua as f64;
        for (name, calls) in since(&before, self.server.commands(), 1) {
            *apart.commands.entry(name).or_default() += calls;
        }
        Ok(())
    }

    /// Some steps that return expired jobs, and the number of jobs in each; before, the instructions for each transition that the sweep counts
    /// in the events.
    pub async fn sweep(&mut self) -> Result<(f64, Apart, u64), Fault> {
        for _ in 0..OVERDUE / self.shape.calls {
            self.crowd.reserve().await?;
        }
        let mut counting = Apart::of("count");
        self.count(&mut counting, async |crowd| {
            while crowd.sweep().await?.more {}
            Ok(())
        })
        .await?;
        let counted = counting.instructions / self.counted_transitions();
        // Until Lua has collected what that has left.
        for _ in 0..SETTLING {
            self.crowd.sweep().await?;
        }
        // Deadlines in the past.
        self.server.ask("ZUNIONSTORE cost:{bench}:2:reserved 1 cost:{bench}:2:reserved WEIGHTS 0");
        let (mut sweep, mut jobs) = (Apart::of("sweep"), 0);
        for _ in 0..STEPS {
            self.count(&mut sweep, async |crowd| {
                jobs += crowd.sweep().await?.expired;
                Ok(())
            })
            .await?;
        }
        Ok((counted, sweep.each(jobs, STEPS), jobs / STEPS))
    }

    /// The parts of the events: where each ends, and its transitions.
    fn counted_transitions(&self) -> f64 {
        let parts = self.server.ask("HGET cost:{bench}:2:totals parts");
        let words: Vec<_> = parts.split_whitespace().collect();
        let ends = words.windows(2).filter(|pair| pair[0].contains('-'));
        ends.map(|pair| pair[1].parse::<f64>().expect("a number")).sum()
    }
}

impl Apart {
    fn of(name: &'static str) -> Self {
        Self { name, instructions: 0.0, commands: Parts::new(), of_lua: 0.0 }
    }

    /// The form of the queue is read in time, and not by jobs.
    fn without_reads(&mut self, reads: f64) {
        if let Some(gets) = self.commands.get_mut("HGET").filter(|_| self.name == "complete") {
            *gets -= reads;
        }
    }

    fn each(mut self, jobs: u64, scripts: u64) -> Self {
        self.instructions /= jobs as f64;
        self.of_lua /= scripts as f64;
        let calls =
            ["FCALL", "EVALSHA"].map(|name| self.commands.get(name).copied().unwrap_or(0.0)).iter().sum::<f64>();
        self.without_reads(calls - scripts as f64);
        self.commands.retain(|name, _| !AROUND.contains(&name.as_str()));
        self.commands.values_mut().for_each(|calls| *calls /= scripts as f64);
        self
    }
}

/// The commands called since, per item.
fn since(before: &Parts, mut now: Parts, each: u64) -> Parts {
    now.iter_mut().for_each(|(name, calls)| *calls = (*calls - before.get(name).unwrap_or(&0.0)) / each as f64);
    now.retain(|_, calls| *calls > 0.0);
    now
}
