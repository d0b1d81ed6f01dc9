//! The workers that hold jobs of one queue.

use jiff::Timestamp;
use serde::Deserialize;

use super::{ask::Talk, table, words::age};
use crate::{client::Service, terminal::clean};

/// Maximum pages of a hundred jobs that are read; the table says when there are more.
const PAGES: usize = 20;

#[derive(Deserialize)]
struct HoldersPage {
    workers: Vec<Worker>,
    next: Option<String>,
    server_time: Timestamp,
}

#[derive(Deserialize)]
struct Worker {
    /// `None` if the worker gave no name.
    worker: Option<String>,
    jobs: Vec<HeldJobRow>,
}

#[derive(Deserialize)]
struct HeldJobRow {
    reserved_at: Timestamp,
    expires_in_ms: u64,
    resumes: u64,
}

/// The worker whose lease ends first comes first.
pub(super) struct Holders {
    pub(super) queue: String,
    people: Vec<Person>,
    are_all: bool,
}

struct Person {
    name: Option<String>,
    jobs: usize,
    /// Milliseconds since the oldest job was reserved, and until the next lease expires.
    since: u64,
    left: u64,
    resumes: u64,
}

impl Holders {
    pub(super) async fn look(service: &Service, queue: &str) -> Result<Self, String> {
        let mut talk = Talk::with(service).await?;
        let mut all = Self { queue: queue.to_owned(), people: Vec::new(), are_all: true };
        let begin = format!("/queues/{queue}/workers?limit=100");
        let mut path = begin.clone();
        for _ in 0..PAGES {
            let page: HoldersPage = talk.get(&path).await?;
            page.workers.iter().for_each(|worker| all.take(worker, page.server_time));
            match page.next {
                Some(next) => path = format!("{begin}&after={}", encoded(&next)),
                None => {
                    all.people.sort_by_key(|person| person.left);
                    return Ok(all);
                }
            }
        }
        all.people.sort_by_key(|person| person.left);
        all.are_all = false;
        Ok(all)
    }

    /// The jobs of one worker may continue on the next page.
    fn take(&mut self, worker: &Worker, now: Timestamp) {
        let since =
            |job: &HeldJobRow| u64::try_from(now.duration_since(job.reserved_at).as_millis()).unwrap_or_default();
        let person = Person {
            name: worker.worker.clone(),
            jobs: worker.jobs.len(),
            since: worker.jobs.iter().map(since).max().unwrap_or_default(),
            left: worker.jobs.iter().map(|job| job.expires_in_ms).min().unwrap_or_default(),
            resumes: worker.jobs.iter().map(|job| job.resumes).sum(),
        };
        match self.people.last_mut().filter(|last| last.name == person.name) {
            Some(last) => {
                last.jobs += person.jobs;
                last.since = last.since.max(person.since);
                last.left = last.left.min(person.left);
                last.resumes += person.resumes;
            }
            None => self.people.push(person),
        }
    }

    /// The totals over all workers.
    pub(super) fn summary(&self) -> String {
        let jobs: usize = self.people.iter().map(|person| person.jobs).sum();
        let some = if self.are_all { "" } else { ", and more that are not shown" };
        format!("{}; workers: {}, jobs: {jobs}{some}", self.queue, self.people.len())
    }

    /// The heading, and one line per worker.
    pub(super) fn table(&self, width: usize) -> Vec<String> {
        let cells: Vec<_> = self.people.iter().map(Person::cells).collect();
        table::lines(["WORKER", "JOBS", "SINCE", "LEFT", "RESUMED"], &cells, width)
    }

    /// The table and the totals, as lines to print.
    pub(super) fn lines(&self, width: usize) -> Vec<String> {
        self.table(width).into_iter().chain([self.summary()]).collect()
    }
}

impl Person {
    fn cells(&self) -> [String; 5] {
        let name = self.name.as_deref().map_or_else(|| "(no name)".to_owned(), clean);
        [name, self.jobs.to_string(), age(Some(self.since)), age(Some(self.left)), self.resumes.to_string()]
    }
}

/// Percent-encodes a cursor for a query string.
fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~');
    let part = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn somebodys_jobs_on_two_pages_are_one_line() {
        let now: Timestamp = "2026-11-21T09:18:00Z".parse().expect("a time");
        let page = |text: &str| serde_json::from_str::<Worker>(text).expect("a worker");
        let mut all = Holders { queue: "q".to_owned(), people: Vec::new(), are_all: true };
        let job = |at: &str, left: u32| {
            format!(r#"{{"id":"q-1","reserved_at":"2026-11-21T09:{at}Z","expires_in_ms":{left},"resumes":1}}"#)
        };
        all.take(&page(&format!(r#"{{"worker":"ann","jobs":[{}]}}"#, job("17:00", 9_000))), now);
        all.take(&page(&format!(r#"{{"worker":"ann","jobs":[{}]}}"#, job("16:59", 240_000))), now);
        all.take(&page(&format!(r#"{{"worker":null,"jobs":[{}]}}"#, job("18:01", 0))), now);
        let lines = all.lines(usize::MAX);
        assert_eq!(lines[1], "ann           2  1m01s    9s        2");
        assert_eq!(lines[2], "(no name)     1     0s    0s        1");
        assert_eq!(lines[3], "q; workers: 2, jobs: 3");
    }

    #[test]
    fn cursor_is_unchanged_in_a_query() {
        assert_eq!(encoded("a b&c=ü~"), "a%20b%26c%3D%C3%BC~");
    }
}
