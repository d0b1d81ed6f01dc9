//! Where the name of a worker is kept, until when, and what becomes of it when it is erased: the tables of `docs/personal-data.md`, row by row.
//! The story of `DELETE /workers/{worker}` fills each place, and finds the name in none of them after it.

/// A place in a queue that `DELETE /workers/{worker}` clears.
#[derive(Debug)]
pub struct NamePlace {
    pub what: &'static str,
    /// The key of Redis, as the table of keys in `docs/how-it-works.md` names it.
    pub key: &'static str,
    pub until: &'static str,
    pub afterwards: &'static str,
}

const fn place(what: &'static str, key: &'static str, until: &'static str, afterwards: &'static str) -> NamePlace {
    NamePlace { what, key, until, afterwards }
}

const UNTIL_JOB_IS_REMOVED: &str = "the job is removed";

/// What the call clears.
pub const NAME_PLACES: [NamePlace; 13] = [
    place("day sheets", "sheets", "`sheets_days`, or sheets are switched off", "the lines are removed"),
    place(
        "jobs: who has had one, and how that ended",
        "live",
        UNTIL_JOB_IS_REMOVED,
        "`worker` is `null`; results and times stay",
    ),
    place("reasons and errors", "live", UNTIL_JOB_IS_REMOVED, "`worker` is `null`, and the name in the text is `*`"),
    place("skips", "live", "the job has ended", "the skip is gone"),
    place("late results", "results", UNTIL_JOB_IS_REMOVED, "`worker` is `null`; the result stays"),
    place("assignees and exclusions", "routes", UNTIL_JOB_IS_REMOVED, "the name is not in the list"),
    place(
        "the line of a worker",
        "lines",
        "the job leaves it",
        "the job stands in the lines of its other assignees, or in everybody's",
    ),
    place(
        "hand-overs and their notes",
        "routes",
        "the hand-over ends",
        "one to the worker ends; one by the worker has no giver; the name in the note is `*`",
    ),
    place("opinions: who has had an item", "routes", "the batch is removed", "it was a worker without a name"),
    place("drafts", "drafts", "the job has ended", "removed; one that was handed over or is shared has no owner"),
    place(
        "events",
        "events",
        "10,000 newer ones, up to 100,000 for a webhook or a sheet",
        "deleted, with all events of the same call, when webhooks and sheets have read them, at the latest after ten minutes",
    ),
    place(
        "bodies of deliveries",
        "bodies",
        "taken, or seven days after they failed",
        "`worker` is `null`, and the name in the reason is `*`",
    ),
    place(
        "operators' actions",
        "actions",
        "1,000 newer ones",
        "`null` among the workers of a call, and `*` in its texts",
    ),
];

/// A place that the call leaves as it is.
#[derive(Debug)]
pub struct LeftPlace {
    pub what: &'static str,
    pub until: &'static str,
    pub remedy: &'static str,
}

const fn left(what: &'static str, until: &'static str, remedy: &'static str) -> LeftPlace {
    LeftPlace { what, until, remedy }
}

/// What it leaves.
pub const LEFT_PLACES: [LeftPlace; 11] = [
    left(
        "names of API keys, in events and actions",
        "as those are kept",
        "none: they say who did what. Name keys after programs and teams",
    ),
    left("payloads and results", UNTIL_JOB_IS_REMOVED, "purge the jobs"),
    left("`client`, names of locks, of skills and of queues", UNTIL_JOB_IS_REMOVED, "do not put names of people there"),
    left("the list of erasures (`erasures`)", "the events are deleted, at most ten minutes", "wait"),
    left("an instance's memory", "a minute", "wait"),
    left("tokens", "they expire", "give out no more, or change the secret"),
    left(
        "pages: drafts, the name, what was kept",
        "the person signs out in that browser",
        "**Sign out** on the desk, or clear the browser's data of this site",
    ),
    left("what webhooks have taken, and tables and sheets that were downloaded", "their owners remove it", "tell them"),
    left("logs of the service and of proxies", "you remove them", "their rotation"),
    left("backups and replicas of Redis", "you remove them", "erase again after a restore"),
    left("jobs that the worker has again by now", "they are given back", "the same call once more"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::KEYS;

    const PAGE: &str = include_str!("../../../docs/personal-data.md");

    fn rows(header: &str) -> Vec<&str> {
        let rows = PAGE.lines().skip_while(|line| *line != header).skip(2);
        rows.take_while(|line| line.starts_with('|')).collect()
    }

    #[test]
    fn page_has_the_same_tables() {
        let of_place = |at: &NamePlace| format!("| {} | `{}` | {} | {} |", at.what, at.key, at.until, at.afterwards);
        let places: Vec<_> = NAME_PLACES.iter().map(of_place).collect();
        assert_eq!(rows("| where | in Redis | until | after the call |"), places);
        let lefts = LEFT_PLACES.iter().map(|left| format!("| {} | {} | {} |", left.what, left.until, left.remedy));
        assert_eq!(rows("| where | until | what to do |"), lefts.collect::<Vec<_>>());
    }

    #[test]
    fn places_are_keys_of_a_queue() {
        for place in &NAME_PLACES {
            assert!(KEYS.iter().any(|(key, _)| *key == place.key), "{place:?}");
        }
    }
}
