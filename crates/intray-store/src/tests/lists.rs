//! Reserves that go in one script: the fast path gives them the jobs that the full path gives, in all lines.

use fastrand::Rng;
use intray_redis::Args;
use redis::Value;

use super::{Redis, job, queue, server::ask_for};
use crate::{
    Actor, Dedupe, NewJob, Nonce, Release, Reserve, ReserveOutcome, Routing,
    job::{JobId, Name, Priority, QueueName, Skill, ids},
};

const CASES: u64 = 150;
const WORKERS: [&str; 3] = ["ann", "bob", "cal"];
const SKILLS: [&str; 2] = ["de", "fr"];
/// As lua/jobs/ask.lua has them: the next jobs, of a call that is no repetition; and also while anything is overdue, which no fast
/// path knows.
const PLAIN: u8 = 2;
const FULL: u8 = PLAIN + 128;

fn name(text: &str) -> Name {
    Name::parse(text).expect("a name")
}

/// Most jobs are for some workers only, of one client of two, at one priority of two.
fn jobs(chance: &mut Rng) -> Vec<NewJob> {
    let one = |n: usize, chance: &mut Rng| {
        let mut new = job(&n.to_string());
        let mut names = WORKERS.map(name).to_vec();
        chance.shuffle(&mut names);
        names.truncate(chance.usize(1..=2));
        let mut routing = Routing::default();
        match chance.u8(..8) {
            0 => {}
            1 => routing.excluded = vec![name("dan")],
            2 | 3 => routing.skill = Some(Skill::parse(SKILLS[chance.usize(..2)]).expect("a skill")),
            _ => routing.assignees = names,
        }
        new.task.routing = (routing != Routing::default()).then(|| Box::new(routing));
        new.client = chance.bool().then(|| name("acme"));
        new.priority = Priority::new(if chance.u8(..4) == 0 { 60 } else { 50 }).expect("a priority");
        new.dedupe = Dedupe::Off;
        new
    };
    (0..chance.usize(6..40)).map(|n| one(n, chance)).collect()
}

/// What one caller asks for, but for the mode.
fn ask(worker: &str, chance: &mut Rng) -> Vec<u8> {
    let limit = if chance.u8(..3) == 0 { chance.u8(2..6) } else { 1 };
    let mut ask = vec![0, limit, 0, 0, 0, 0];
    ask.extend(Nonce::random().as_bytes());
    ask.push(u8::try_from(worker.len()).expect("a short name"));
    ask.extend(worker.as_bytes());
    let access = ["open", "key desk"][chance.usize(..2)];
    ask.extend([0, u8::try_from(access.len()).expect("a short name")]);
    ask.extend(access.as_bytes());
    for _ in 0..limit {
        let secret = ids::random_code();
        ask.extend(secret.as_bytes());
        ask.extend(ids::secret_digest(&secret));
    }
    let skills = &SKILLS[..chance.usize(..=2)];
    if !skills.is_empty() {
        ask.push(u8::try_from(skills.len()).expect("a few"));
        for skill in skills {
            ask.push(u8::try_from(skill.len()).expect("a short name"));
            ask.extend(skill.as_bytes());
        }
    }
    ask
}

fn asks(chance: &mut Rng) -> Vec<Vec<u8>> {
    let mut callers = WORKERS.to_vec();
    chance.shuffle(&mut callers);
    callers[..chance.usize(1..=3)].iter().map(|worker| ask(worker, chance)).collect()
}

/// A reply without times and records: what waits, how many wait in the lines of each call, and the jobs that it is given.
fn outline(reply: &Value) -> String {
    match reply {
        Value::Array(parts) => parts.iter().map(outline).collect::<Vec<_>>().join(" "),
        Value::BulkString(bytes) => match std::str::from_utf8(bytes).unwrap_or_default().split_once(' ') {
            Some(("new", waiting)) => format!("new {waiting}"),
            Some((id, _)) if id.len() == 26 => id.to_owned(),
            // Behind its last space is the time until something falls due.
            Some((now, state)) if now.parse::<u64>().is_ok() => {
                state.rsplit_once(' ').map_or(state, |(kept, _)| kept).to_owned()
            }
            _ => String::new(),
        },
        other => panic!("{other:?}"),
    }
}

impl Redis {
    /// Or a worker would get one job at a time, and one who holds jobs be looked at by the full path alone.
    async fn lift_worker_limit(&self, queue: &QueueName) {
        let runner = &self.queues.parts.runner;
        let mut command = redis::cmd("HSET");
        command.arg(runner.keys.of(queue, "settings")).arg("worker_limit").arg(0);
        runner.link.plain(&command).await.expect("set");
    }

    async fn list(&self, queue: &QueueName, key: &str, verb: &str, range: &[&str]) -> Vec<Vec<u8>> {
        let runner = &self.queues.parts.runner;
        let mut command = redis::cmd(verb);
        command.arg(runner.keys.of(queue, key)).arg(range);
        let Ok(Value::Array(items)) = runner.link.plain(&command).await else { panic!("a list") };
        items.iter().map(|item| redis::from_redis_value_ref(item).expect("text")).collect()
    }

    /// What a hand-out changes beside the records: the order, and where the other jobs stand, without when they arrived.
    async fn standing(&self, queue: &QueueName) -> Vec<String> {
        let mut found = Vec::new();
        for key in ["turns", "tops"] {
            let mut pairs: Vec<_> = self.list(queue, key, "HGETALL", &[]).await.chunks(2).map(<[_]>::concat).collect();
            pairs.sort();
            found.extend(pairs.iter().map(|pair| format!("{key} {}", pair.escape_ascii())));
        }
        for key in ["inbound", "restricted", "lines"] {
            for member in self.list(queue, key, "ZRANGE", &["0", "-1"]).await {
                let arrival = member.len() - 32;
                let (line, id) = (member[..arrival].escape_ascii(), member[arrival + 6..].escape_ascii());
                found.push(format!("{key} {line} {id}"));
            }
        }
        found
    }
}

#[tokio::test]
async fn calls_of_a_list_are_given_plainly_what_the_full_path_gives() {
    let redis = Redis::start().await;
    for seed in 0..CASES {
        let mut chance = Rng::with_seed(seed);
        let new = jobs(&mut chance);
        let lists: Vec<_> = (0..3).map(|_| asks(&mut chance)).collect();
        let mut seen = Vec::new();
        for (mode, prefix) in [(PLAIN, "plain"), (FULL, "full")] {
            let queue = QueueName::parse(&format!("{prefix}-{seed}")).expect("a name");
            for job in &new {
                let id = JobId { queue: queue.clone(), code: job.id.code };
                redis.queues.enqueue(NewJob { id, ..job.clone() }).await.expect("stored");
            }
            redis.lift_worker_limit(&queue).await;
            let mut found = Vec::new();
            for asks in &lists {
                let mut args = Args::default();
                for ask in asks {
                    args.put(|bytes| {
                        bytes.push(mode);
                        bytes.extend(ask);
                    });
                }
                let reply = redis.queues.run_view("reserve", &queue, &args).await.expect("a reply");
                found.push(outline(&reply));
                found.extend(redis.standing(&queue).await);
            }
            seen.push(found);
        }
        assert_eq!(seen[0], seen[1], "case {seed}");
    }
}

impl Redis {
    /// A job of a client, perhaps for ann alone.
    async fn one(&self, client: &str, is_for_ann: bool) -> JobId {
        let mut new = job("1");
        new.client = Name::parse(client).ok();
        new.dedupe = Dedupe::Off;
        if is_for_ann {
            new.task.routing = Some(Box::new(Routing { assignees: vec![name("ann")], ..Routing::default() }));
        }
        let id = new.id.clone();
        self.queues.enqueue(new).await.expect("stored");
        id
    }

    async fn ann_takes(&self, limit: u32, id: Option<&JobId>) {
        let call = Reserve { id: id.cloned(), ..ask_for(Some(name("ann")), limit) };
        let taken = self.queues.reserve(call).await.expect("an answer");
        if let ReserveOutcome::Jobs { undo, .. } = taken {
            undo.disarm();
        }
    }

    /// It is handed out, and stands at its old place again.
    async fn take_and_release(&self, id: &JobId) {
        self.ann_takes(1, Some(id)).await;
        self.queues.release(&Release::Job(id.clone()), &Actor::default()).await.expect("released");
    }
}

/// Two jobs of a client that were handed out before and have the same turn: the second, of a worker's own line, does not take back what
/// the first, for everybody, has raised V to.
#[tokio::test]
async fn jobs_with_the_same_turn_raise_v_one_by_one() {
    let w = Redis::start().await;
    let first = w.one("z", false).await;
    let old = w.one("", false).await;
    w.take_and_release(&old).await;
    let own = w.one("", true).await;
    w.take_and_release(&own).await;
    w.one("c", false).await;
    w.queues.cancel(first, false, &Actor::default()).await.expect("cancelled");
    w.lift_worker_limit(&queue()).await;
    w.ann_takes(2, None).await;
    let standing = w.standing(&queue()).await;
    assert_eq!(
        standing.iter().find(|line| line.starts_with("tops ")).map(String::as_str),
        Some("tops 501"),
        "{standing:?}"
    );
}
