//! Who has worked in a queue lately, by its reservations and its last events.

use std::collections::BTreeSet;

use intray_redis::Fault;

use crate::{
    handle::Queues,
    job::{Code, EventKind, Name, QueueName, Skill, limits},
    layout::route::JobRoute,
    redis::read::Fields,
    views::{
        events::{Event, Subject},
        latest_events::LatestEvents,
    },
};

/// Entries of one read, and reads of one call. An entry holds all events of one script.
const ENTRIES: usize = 100;
const READS: usize = 10;
/// Pages of reservations.
const PAGES: usize = 5;

/// Workers by name, and what they can do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecentWorkers {
    pub names: BTreeSet<Name>,
    pub skills: BTreeSet<Skill>,
}

/// The jobs that workers were given by events that are read from the newest on.
#[derive(Default)]
struct GivenJobs {
    /// Since the last look at their skills.
    given: BTreeSet<Code>,
    /// Changed or handed over later, so that what they ask for now says nothing of those who had them before.
    changed: BTreeSet<Code>,
}

impl GivenJobs {
    fn read(&mut self, event: &Event) {
        let (Subject::Job(id) | Subject::Member(id)) = &event.subject else { return };
        match event.kind {
            EventKind::Reserved if !self.changed.contains(&id.code) => _ = self.given.insert(id.code),
            EventKind::Changed | EventKind::HandedOver => {
                self.given.remove(&id.code);
                self.changed.insert(id.code);
            }
            _ => {}
        }
    }
}

impl Queues {
    /// Adds the names of workers who hold jobs of the queue, of the first 1,000 reservations.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn add_holders(&self, queue: &QueueName, found: &mut RecentWorkers) -> Result<(), Fault> {
        let mut after = None;
        for _ in 0..PAGES {
            let page = self.workers(queue, after, limits::HELD).await?;
            found.names.extend(page.held.into_iter().filter_map(|held| held.worker));
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        Ok(())
    }

    /// Adds the names in the events of the last 1,000 calls that moved jobs of the queue, and the skills of the jobs that were given to
    /// workers then. Ends early when it is enough.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn add_by_events(
        &self,
        queue: &QueueName,
        found: &mut RecentWorkers,
        is_enough: impl Fn(&RecentWorkers) -> bool,
    ) -> Result<(), Fault> {
        let mut latest = LatestEvents::new(self, queue, None, ENTRIES);
        let mut jobs = GivenJobs::default();
        for _ in 0..READS {
            for event in latest.read().await? {
                jobs.read(&event);
                found.names.extend(event.worker);
            }
            let given: Vec<_> = std::mem::take(&mut jobs.given).into_iter().collect();
            self.add_skills(queue, &given, found).await?;
            if latest.is_over || is_enough(found) {
                break;
            }
        }
        Ok(())
    }

    /// Adds the skills that these jobs ask for.
    async fn add_skills(&self, queue: &QueueName, jobs: &[Code], found: &mut RecentWorkers) -> Result<(), Fault> {
        for some in jobs.chunks(ENTRIES) {
            let mut command = redis::cmd("HMGET");
            command.arg(self.parts.runner.keys.of(queue, "routes"));
            some.iter().for_each(|job| _ = command.arg(job.as_str()));
            let answered = self.parts.runner.plain(&command).await?;
            let mut routes = Fields::of(&answered)?;
            while !routes.is_done() {
                // Most jobs have no route.
                let Ok(stored) = routes.slice() else { continue };
                let route = JobRoute::parse(stored)?;
                found.skills.extend(route.skill.filter(|_| !route.fell_back));
            }
        }
        Ok(())
    }
}
