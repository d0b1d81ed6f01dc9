//! Lists of the jobs of one state.

use intray_redis::{Args, Fault};

use crate::job::{Line, Name, QueueName, Skill, State, limits};
use crate::{
    handle::Queues,
    layout::cursor::Cursor,
    layout::progress::JobSelection,
    layout::routing::pack_skills,
    redis::read::Fields,
    views::inspect::{Job, read_job},
};

/// Which jobs of a queue to list.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct JobFilter {
    pub state: State,
    pub selection: JobSelection,
    /// Who holds a reserved job, has completed a completed one, or had a dead one last.
    pub worker: Option<Name>,
    /// The worker asks, so what others said of a job is left out.
    pub for_worker: bool,
    /// The payload or a stored error contains this text.
    pub search: Option<String>,
    /// Only jobs whose SLA was breached.
    pub breached: bool,
    /// Only waiting jobs of this line.
    pub line: Option<Line>,
    /// Only waiting jobs of this worker, and no other part of the filter counts.
    pub mine: Option<Mine>,
    pub after: Option<Cursor>,
    pub limit: u32,
}

/// Whose own list of waiting jobs is read.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Mine {
    pub worker: Name,
    pub skills: Vec<Skill>,
}

#[derive(Debug)]
pub struct JobPage {
    pub jobs: Vec<Job>,
    pub places: Vec<Option<Cursor>>,
    /// The next page, if there is more.
    pub next: Option<Cursor>,
    /// For a list of ended jobs of all workers: where to continue later, even at its end.
    pub resume: Option<Cursor>,
    /// How many jobs were read for this page.
    pub looked: u64,
    /// The payloads, results and errors on it, in bytes.
    pub bytes: u64,
    pub forgotten: Forgotten,
}

impl JobFilter {
    /// The arguments of the next script for a page.
    fn args_after(&self, page: &JobPage) -> Args {
        let (score, member) = page.next.as_ref().and_then(Cursor::place).unwrap_or_default();
        let limit = u64::from(self.limit).saturating_sub(page.jobs.len() as u64);
        let mut args = Args::default();
        if let Some(Mine { worker, skills }) = &self.mine {
            args.number(limit).push(worker.as_str()).put(|out| pack_skills(skills, false, out));
        } else {
            args.push(self.state.word()).number(limit).push(self.worker.as_ref().map_or("", Name::as_str));
            self.selection.push(&mut args);
            args.push(self.search.as_deref().unwrap_or_default()).number(self.breached.into());
            args.push(self.line.as_ref().map_or_else(String::new, Line::to_string));
        }
        args.push(score).push(member).number(page.bytes);
        args
    }

    /// The worker who asks does not hold the jobs.
    fn hides_others(&self) -> bool {
        self.mine.is_some() || self.for_worker
    }

    /// A job of a page and its place. `ended`: the number of jobs that had ended before the page.
    fn read_job(
        &self,
        queue: &QueueName,
        fields: Fields<'_>,
        ended: Option<u64>,
        ranks: &mut Fields<'_>,
    ) -> Result<(Job, Option<Cursor>), Fault> {
        if let Some(ended) = ended {
            return read_job(queue, fields, Some(ended + ranks.count()? + 1));
        }
        let (job, place) = read_job(queue, fields, None)?;
        // The completed jobs that are in no set.
        let place =
            if self.state == State::Completed { Cursor::in_batches(&ranks.text()?, job.id.code) } else { place };
        Ok((job, place))
    }
}

impl JobPage {
    /// There is no job on it, and none after it.
    pub fn is_empty(&self) -> bool {
        self.jobs.is_empty() && self.next.is_none() && self.forgotten == Forgotten::None
    }

    fn has_only_forgotten_jobs(&self) -> bool {
        self.jobs.is_empty() && self.next.is_none() && self.forgotten != Forgotten::None
    }
}

/// How many ended jobs were removed after the place where a page begins.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Forgotten {
    #[default]
    None,
    Some(u64),
    /// The cursor is from a version that did not count, or the queue was removed since.
    Unknown,
}

impl Forgotten {
    /// The jobs between a cursor and the next one in the list, by the number that had ended before each.
    fn between(cursor: Option<u64>, begin: u64) -> Self {
        match cursor.and_then(|cursor| begin.checked_sub(cursor)) {
            Some(0) => Self::None,
            Some(jobs) => Self::Some(jobs),
            None => Self::Unknown,
        }
    }

    fn and(self, more: Self) -> Self {
        match (self, more) {
            (Self::Unknown, _) | (_, Self::Unknown) => Self::Unknown,
            (Self::None, some) | (some, Self::None) => some,
            (Self::Some(one), Self::Some(other)) => Self::Some(one + other),
        }
    }
}

impl Queues {
    /// A page of the jobs of one state, in order.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn jobs(&self, queue: &QueueName, filter: JobFilter) -> Result<JobPage, Fault> {
        let next = filter.after.clone();
        let forgotten = Forgotten::None;
        let (jobs, places) = (Vec::new(), Vec::new());
        let mut page = JobPage { jobs, places, next, resume: None, looked: 0, bytes: 0, forgotten };
        // One script reads a few jobs, so a large page takes several.
        for _ in 0..limits::PAGE_SCRIPTS {
            let args = filter.args_after(&page);
            let answered = match filter.mine {
                Some(_) => self.run_view("mine", queue, &args).await?,
                None => self.run_view("list", queue, &args).await?,
            };
            let mut answer = Fields::of(&answered)?;
            let (score, member, is_end) = (answer.text()?, answer.bytes()?, answer.flag()?);
            page.bytes = answer.count()?;
            let is_full = answer.flag()?;
            let (looked, jobs) = (answer.count()?, answer.list()?);
            page.looked += looked;
            let (ended, mut ranks) = (answer.maybe_empty()?, answer.list()?);
            if let (Some(begin), Some(cursor)) = (ended, &page.next) {
                page.forgotten = page.forgotten.and(Forgotten::between(cursor.ended(), begin));
            }
            page.resume = ended.and_then(|ended| Cursor::after_ended(&score, &member, ended + looked));
            let place = page.resume.clone().or_else(|| Cursor::after(&score, &member));
            page.next = place.filter(|_| !is_end);
            for job in jobs.lists() {
                let (job, place) = filter.read_job(queue, job?, ended, &mut ranks)?;
                page.jobs.push(if filter.hides_others() { job.without_others() } else { job });
                page.places.push(place);
            }
            if page.has_only_forgotten_jobs() {
                // Report it once: the next page begins at the same place with the current number.
                page.next = page.resume.clone();
                break;
            }
            if is_full || page.next.is_none() || page.jobs.len() >= filter.limit as usize {
                break;
            }
        }
        // What a worker completes later is not always after the end of their list.
        page.resume = page.resume.filter(|_| filter.worker.is_none());
        Ok(page)
    }
}
