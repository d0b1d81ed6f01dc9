//! `docs/figures.md`, made from the results.

use std::fmt::Write;

use clap::ValueEnum;

use super::{
    parts::Part,
    record::{Record, Taken},
};

/// What is not measured, and why.
const LEFT_OUT: [(&str, &str); 3] = [
    ("lmstfy", "no package of it is kept where the others come from"),
    ("several machines", "everything here shares one, and its loopback"),
    ("instructions, allocations and system calls of a cycle", "`make cost` counts them: [what a cycle costs](cost.md)"),
];

pub fn page(record: &Record) -> String {
    let mut page = preface(record);
    for part in Part::value_variants() {
        let (title, text) = words(*part);
        write!(page, "\n## {title}\n\n{text}\n").expect("memory");
        let Some(taken) = record.parts.get(&part.name()) else {
            write!(page, "\nNot run: `make bench OPTIONS={}`.\n", part.name()).expect("memory");
            continue;
        };
        page += &of(*part, taken);
    }
    page += "\n## Not measured here\n\n";
    for (what, why) in LEFT_OUT {
        writeln!(page, "- {what}: {why}.").expect("memory");
    }
    page
}

fn preface(record: &Record) -> String {
    let machine = &record.machine;
    format!(
        "# Figures\n\nWritten by `make bench`: do not edit it.\n\n{} × {}, {} GiB, Linux {}; {}.\n\n\
         The service, Redis with its append-only file and the clients share that machine, over loopback, with payloads of 200\n\
         bytes. Machines of one kind differ by more than twice: read the ratios, and run it on yours before you lean on a\n\
         number. A figure is the median of its rounds, which take turns, and a ratio is the median of the rounds' ratios.\n\
         \"Other load\" is how many processors were busy meanwhile with anything else: far from 0, the figures are not worth\n\
         much. µs are processor time; those of scripts are the time that Redis says it was in them.\n",
        machine.cores,
        machine.model,
        machine.memory_gib,
        machine.kernel,
        machine.versions.join(", "),
    )
}

fn of(part: Part, taken: &Taken) -> String {
    let mut text = String::new();
    if part.curve().is_some() {
        write!(text, "\n![{}](figures/{}.svg)\n", words(part).0, part.name()).expect("memory");
    }
    text + "\n" + &taken.page()
}

fn words(part: Part) -> (&'static str, &'static str) {
    match part {
        Part::Closed => (
            "The life of a job, compared with others",
            "Enqueue, reserve and complete, or what is nearest to them, by 64 callers who each call again when they have\n\
             their answer. intray does more at it than any of the others: it finds duplicates, keeps leases, attempts, results,\n\
             events, and is fair to clients. Those with a log sync it each second. BullMQ has its callers in its own\n\
             process; what it says of a server is that process. How the ratios hang on the kind of processor:\n\
             [what a cycle costs](cost.md#where-the-time-goes-of-two-processors).",
        ),
        Part::Connections => ("Connections", "The same by fewer and by more callers."),
        Part::Open => (
            "At a part of the maximum",
            "Calls come when they are due, those of a quarter of a millisecond together, whatever has become of those before; a\n\
             latency counts from when the call was due, not from when it could be sent. The maximum is what 64 callers got out\n\
             of a closed loop just before.",
        ),
        Part::With => (
            "With what a queue can do",
            "The life of a job by 64 callers. With batches, 100 jobs come in one call, and at most 16 of them are out at once. The last two\n\
             wait until a replica has each change, and until it is on the disk of the private server.",
        ),
        Part::Bulk => ("Many in a call", "Latencies are those of a call, however many jobs are in it."),
        Part::Waiting => (
            "Cost against jobs that wait",
            "One call at a time. A ratio is to the smallest. Bytes are those of Redis's `used_memory`: records, places, keys of\n\
             deduplication, events.",
        ),
        Part::Kept => ("Cost against kept jobs", "So many jobs have ended and are kept; nothing waits."),
        Part::Clients => {
            ("Cost against clients", "As many jobs wait in each row, as many as there are clients in the last.")
        }
        Part::Locks => {
            ("Cost against locks", "So many locks are held, and a job waits for each. The calls are about others.")
        }
        Part::Queues => ("Cost against queues", "So many queues with a job each, at a service of their own."),
        Part::Overdue => (
            "Cost against what is overdue at once",
            "Reservations that end within the same moment, and what it takes the background task to bring their jobs back.",
        ),
        Part::Waiters => (
            "Cost against people who wait",
            "Each holds a connection open for a job to come. Then jobs are enqueued one by one, and each reaches one of them.",
        ),
        Part::Through => (
            "Memory that comes back",
            "Jobs that were put, taken and completed in bulk by 8 callers, and forgotten ten seconds later.",
        ),
        Part::Start => ("Start", "With a private server that has no data yet."),
    }
}
