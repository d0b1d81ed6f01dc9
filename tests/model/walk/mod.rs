//! A walk: a sequence of operations, done to the model and to the real queue, which must answer and look alike after each.

mod compare;
mod recount;

use std::{cell::RefCell, collections::BTreeMap, fmt::Debug};

use futures_util::future::join_all;
use intray::{
    job::{BatchId, Code},
    store::{Fault, Queues},
};

use crate::{
    fixtures::{Verdict, same},
    operations::{Op, Pass, Purge, Retire, Sent, Set, Sweep, Unclear},
    real::Real,
    reference::Queue,
    run,
};

pub struct Walk<'r> {
    pub real: &'r mut Real,
    pub model: Queue,
    pub is_short_sighted: bool,
    /// Every job and stub that there ever was.
    pub ids: Vec<Code>,
    /// Every reservation that was ever handed out: job and secret.
    pub given: Vec<(Code, Code)>,
    /// Worker and number of each reserve call.
    pub calls: Vec<(&'static str, u64)>,
    /// Reserves whose callers may turn out to be gone.
    pub unclear: Vec<Unclear>,
    /// Every batch that there ever was.
    pub batches: Vec<BatchId>,
    /// Appends with an offset.
    pub sent: Vec<Sent>,
    pub last_event: String,
    /// Counts up, for ids and nonces that are the same when the sequence runs again.
    next: u64,
    /// How often what was met.
    met: BTreeMap<String, u64>,
    story: RefCell<Option<Vec<String>>>,
}

impl<'r> Walk<'r> {
    pub fn new(real: &'r mut Real, is_short_sighted: bool) -> Self {
        real.begin();
        Self {
            model: Queue::new(real.now()),
            is_short_sighted,
            real,
            ids: Vec::new(),
            given: Vec::new(),
            calls: Vec::new(),
            unclear: Vec::new(),
            batches: Vec::new(),
            sent: Vec::new(),
            last_event: "0-0".to_owned(),
            next: 0,
            met: BTreeMap::new(),
            story: RefCell::new(None),
        }
    }

    /// Ends at the first difference. Answers how often what was met.
    pub async fn run(mut self, ops: &[Op]) -> Result<BTreeMap<String, u64>, String> {
        let verdict = self.steps(ops).await;
        self.unclear.drain(..).for_each(|(_, undo)| undo.disarm());
        verdict.map(|()| self.met)
    }

    /// Runs again, and says all that was asked and answered.
    pub async fn tell(mut self, ops: &[Op]) -> String {
        self.story = RefCell::new(Some(Vec::new()));
        let verdict = self.steps(ops).await;
        self.unclear.drain(..).for_each(|(_, undo)| undo.disarm());
        let mut story = self.story.into_inner().unwrap_or_default();
        story.push(verdict.err().unwrap_or_else(|| "this time they agree: chance in the queue decides".to_owned()));
        story.join("\n")
    }

    /// All of it, and then all goes: of a queue that nobody uses nothing is left.
    async fn steps(&mut self, ops: &[Op]) -> Verdict {
        self.each(ops).await?;
        let defaults: Vec<_> = self.model.chosen.iter().map(|name| Op::Set(Set::to_default(name))).collect();
        self.each(&defaults).await?;
        self.each(&[Op::Purge(Purge::ALL)]).await?;
        for _ in 0..3 {
            self.each(&[Op::Pass(Pass::Week), Op::Sweep(Sweep)]).await?;
        }
        self.each(&[Op::Retire(Retire)]).await?;
        self.compare_metric()?;
        self.met.insert(run::COMPARED.to_owned(), self.real.compared_calls());
        let found = self.real.look(&self.last_event)?;
        same("keys that are left", &found.keys, &Vec::new())
    }

    async fn each(&mut self, ops: &[Op]) -> Verdict {
        for op in ops {
            self.note(|| format!("{op:?}"));
            let outcome = op.run(self).await;
            self.real.compare_servers()?;
            outcome?;
            self.model.end_batches();
            if self.real.has_second() { self.learn()? } else { self.compare()? }
        }
        Ok(())
    }

    /// One call: what it is answered must be what the model says.
    pub fn answered<A: Debug + PartialEq>(
        &mut self,
        what: &str,
        answer: Result<A, Fault>,
        expect: impl FnOnce(&mut Queue) -> A,
    ) -> Verdict {
        let answer = answer.map_err(broken)?;
        let expected = expect(&mut self.model);
        self.note(|| format!("  {answer:?}"));
        self.met(&format!("{what} {answer:?}"));
        same(&format!("{what} answers"), &answer, &expected)
    }

    /// Calls that go out together, as the service does it with the items of an array.
    pub async fn together<C: Clone, A: Debug + PartialEq>(
        &mut self,
        what: &str,
        calls: Vec<C>,
        send: impl AsyncFn(&Queues, C) -> Result<A, Fault>,
        expect: impl Fn(&mut Queue, &C) -> A,
    ) -> Verdict {
        let answers = join_all(calls.iter().cloned().map(|call| send(&self.real.handle, call))).await;
        for (call, answer) in calls.iter().zip(answers) {
            self.answered(what, answer, |model| expect(model, call))?;
        }
        Ok(())
    }

    /// A number that was not there before.
    pub fn fresh(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// Something happened. Its name ends where numbers and ids begin.
    pub fn met(&mut self, what: &str) {
        let end = ["id:", "Millis", "[", "total", "removed", "expired:", "final_in_ms"]
            .iter()
            .filter_map(|word| what.find(word))
            .min();
        let what = what[..end.unwrap_or(what.len())].trim_end_matches(|c: char| !c.is_alphanumeric());
        *self.met.entry(what.to_owned()).or_default() += 1;
    }

    /// A line of the report, if one is made.
    pub fn note(&self, line: impl Fn() -> String) {
        if let Some(story) = self.story.borrow_mut().as_mut() {
            story.push(line());
        }
    }

    /// A job's name in the story.
    pub fn short(&self, id: Code) -> String {
        let state = self.model.jobs.get(&id).map_or("no job", |job| job.state.word());
        format!("{} ({state})", &id.as_str()[..6])
    }
}

pub fn broken(fault: Fault) -> String {
    match fault {
        Fault::Unavailable { why, .. } => format!("no answer: {why}"),
        Fault::Full(_) | Fault::Broken(_) => format!("the queue failed: {fault}"),
    }
}
