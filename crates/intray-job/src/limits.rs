//! Every limit of the contract, by name and in one place. Durations are milliseconds, sizes are bytes.

/// Characters in the name of a queue.
pub const QUEUE_NAME: usize = 64;
/// Bytes in the name of a worker or a client.
pub const NAME: usize = 128;
/// Bytes in a dedupe or idempotency key, and in the name of a lock.
pub const KEY: usize = 256;
/// Bytes in the reason of an abandon.
pub const REASON: usize = 256;
/// Bytes in the error of a fail.
pub const ERROR: usize = 1_024;
/// Bytes of the search text in the errors of jobs.
pub const ERROR_PART: usize = 256;
/// Bytes of the search text in the payloads and errors of jobs.
pub const SEARCH: usize = 128;
/// Nested arrays and objects in a payload or result.
pub const DEPTH: usize = 127;
/// Jobs in one enqueue, and in one append to a batch.
pub const ENQUEUE_ITEMS: usize = 1_000;
/// Locks of one job.
pub const LOCKS: usize = 8;
/// Workers that one job is for, and workers that may not have it.
pub const ASSIGNEES: usize = 8;
pub const EXCLUDED: usize = 16;
/// Equal jobs of a batch with an overlap, and batches of one call.
pub const OVERLAP: std::ops::RangeInclusive<u32> = 2..=9;
pub const OVERLAP_BATCHES: usize = 100;
/// Bytes of a skill, and the skills of one worker.
pub const SKILL: usize = 64;
pub const SKILLS: usize = 16;
/// How long a job is for its assignees or a skill before it is for all workers.
pub const FALLBACK_MS: std::ops::RangeInclusive<u32> = JOB_TIME_MS;
/// The same after a hand-over that names no time.
pub const HAND_OVER_MS: u32 = 900_000;
/// Bytes of the note of a hand-over.
pub const NOTE: usize = 1_024;
/// Jobs in one append to a batch: one script adds all of them or none.
pub const APPEND_JOBS: usize = 200;
/// Jobs in one batch creation.
pub const BATCH_JOBS: usize = 10_000;
/// Jobs of one batch in total: the last four digits of an id count them.
pub const BATCH_TOTAL: u32 = 1_048_575;
/// Entries that one script reads for a page, and scripts that make one page.
pub const PAGE_ENTRIES: u32 = 200;
pub const PAGE_SCRIPTS: u32 = 5;
/// Jobs that one script of a long operation reads.
pub const STEP_JOBS: u32 = 200;
/// Scripts of one purge, requeue, release or change of priority.
pub const STEPS: u32 = 100;
/// Jobs that one script of a sweep moves, and scripts of one sweep.
pub const SWEEP_JOBS: u32 = 8;
pub const SWEEP_STEPS: u32 = 1_500;
/// Scripts of one call that continue a long operation on a batch.
pub const BATCH_STEPS: u32 = 1_000;
/// Results on one page.
pub const RESULTS: u32 = 1_000;
/// Columns of one table, steps of each, and how many of them may show the same part of a job: what a row takes is a multiple of
/// its job.
pub const COLUMNS: usize = 64;
pub const COLUMN_STEPS: usize = 16;
pub const COLUMNS_OVERLAP: usize = 4;
/// Queues on one page.
pub const QUEUES: u32 = 1_000;
/// Minutes of history per queue (one day).
pub const HISTORY_MINUTES: u32 = 1_440;
/// Hours of history per queue (90 days).
pub const HISTORY_HOURS: u32 = 2_160;
/// Minutes, or hours, in one field of the history.
pub const HISTORY_PLACES: u64 = 120;
/// How many days a queue keeps day sheets, and the days of one read.
pub const SHEETS_DAYS: std::ops::RangeInclusive<u32> = 1..=400;
/// How many waiting callers are listed.
pub const WAITERS: usize = 1_000;
/// Names of workers, and skills, that a queue lists as seen lately.
pub const RECENT: usize = 1_000;
/// Queues of one summary of a worker, how many of the worker's ended reservations it has, and days of day sheets.
pub const SUMMARY_QUEUES: usize = 32;
pub const SUMMARY_ENDED: usize = 100;
pub const SUMMARY_DAYS: usize = 31;
/// Items in one settle call.
pub const SETTLE_ITEMS: usize = 100;
/// Jobs in one reserve.
pub const RESERVE_JOBS: u32 = 100;
/// Queues in one reserve.
pub const RESERVE_QUEUES: usize = 16;
/// Queues in the list of a worker.
pub const PERSONAL_QUEUES: usize = 200;
/// Queues, or patterns of them, in one token.
pub const TOKEN_QUEUES: usize = 16;
/// Webhooks in one file.
pub const WEBHOOKS: usize = 100;
/// Deliveries of a webhook that wait in one queue, and as many that failed.
pub const WAITING_DELIVERIES: u64 = 10_000;
/// How long a token may last.
pub const TOKEN_MS: std::ops::RangeInclusive<u32> = 1_000..=86_400_000;
/// The default lifetime of a token.
pub const TOKEN_DEFAULT_MS: u32 = 3_600_000;
/// How long Redis has to answer, unless the operator says otherwise.
pub const REDIS_TIMEOUT_DEFAULT_MS: u32 = 1_100;
/// Bytes of the header that holds a key or a token.
pub const AUTHORIZATION: usize = 8 << 10;
/// Payload bytes of one reserve; a single larger job is still handed out.
pub const RESERVE_BYTES: usize = 1 << 20;
pub const BODY: usize = 8 << 20;
/// A body of a caller without a credential: a result, a draft, or many small jobs.
pub const ANONYMOUS_BODY: usize = 1 << 20;
/// Bytes of all request bodies in memory: half for callers with a credential, half for all others, and for one of those
/// addresses at most a sixteenth of that half.
pub const BODIES_OF_CALLERS: usize = 128 << 20;
pub const ANONYMOUS_BODIES: usize = 128 << 20;
pub const BODIES_OF_PEER: usize = ANONYMOUS_BODIES / 16;
/// A body up to this size fits into the buffer of its connection.
pub const SMALL_BODY: usize = 8 << 10;
/// Large reads at once, in total and per caller: a page of jobs or results, each page of an export or a feed, a search, the
/// history of a job, a list over all queues.
pub const READS: usize = 4;
pub const READS_OF_CALLER: usize = 2;
/// Smaller reads at once, in total and per caller: a job, a batch, a queue, its holders and locks.
pub const LOOKS: usize = 64;
pub const LOOKS_OF_CALLER: usize = 32;
/// Event streams that catch up at once, in total and per caller, how long each may read at a time, and how many events it
/// holds in memory.
pub const CATCH_UPS: usize = 4;
pub const CATCH_UPS_OF_CALLER: usize = 2;
pub const CATCH_UP_MS: u64 = 50;
pub const CATCH_UP_EVENTS: usize = 64;
/// Bytes of the answers of large reads in memory, and the bytes reserved for a read before its answer arrives. The same for
/// smaller reads.
pub const ANSWERS: usize = 32 << 20;
pub const ANSWER: usize = 2 << 20;
pub const SMALL_ANSWERS: usize = 16 << 20;
/// An answer up to this size is not counted: the buffer of its connection holds it.
pub const SMALL_ANSWER: usize = 16 << 10;
/// Reads of one caller that wait for a permit, and how long one waits before it is refused.
pub const READS_WAITING: usize = 512;
pub const READ_WAIT_MS: u64 = 2_000;
/// How long a call whose wait has ended waits for a permit.
pub const READ_AFTER_WAIT_MS: u64 = 10_000;
pub const WAIT_MS: u32 = 30_000;
/// Drafts of one reservation, and its results: a person types them.
pub const STORED_PER_SECOND: u32 = 1;
pub const STORED_AT_ONCE: u32 = 10;
pub const LEASE_MS: std::ops::RangeInclusive<u32> = 1_000..=86_400_000;
/// How long a completion can be taken back.
pub const UNDO_MS: std::ops::RangeInclusive<u32> = 0..=60_000;
/// The longest delay: thirty days.
pub const DELAY_MS: u32 = 2_592_000_000;
/// How long from now a job expires, or its SLA is over: thirty days at most.
pub const JOB_TIME_MS: std::ops::RangeInclusive<u32> = 1_000..=DELAY_MS;
pub const RETENTION_MS: std::ops::RangeInclusive<u32> = 10_000..=2_592_000_000;
/// The shortest time that queues without a setting keep ended jobs while Redis is short of memory.
pub const SHORT_RETENTION_MS: u32 = 3_600_000;
/// Memory is short above this part of `maxmemory` …
pub const MEMORY_SHORT: f64 = 0.70;
/// … until it falls below this part.
pub const MEMORY_ENOUGH: f64 = 0.65;
/// Large enough for any real limit, and small enough to be exact in JSON and Lua.
pub const COUNT: u32 = 1_000_000_000;
/// Jobs of one worker that are looked at in a queue. Without a limit a worker may hold more.
pub const HELD: u32 = 200;
/// The largest setting for the number of jobs that one worker may hold.
pub const WORKER_LIMIT: u32 = 100;
pub const PRIORITY: u8 = 99;
/// The score of a job in line is its priority, followed by this many bits of its turn.
pub const SPAN_BITS: u32 = 46;
/// Late results kept with a job.
pub const LATE_RESULTS: u64 = 5;
/// Payloads up to this size are in the job's record, larger ones in a field of their own.
pub const INLINE_PAYLOAD: usize = 1_024;
/// Results over this size are refused at `maxmemory`.
pub const SMALL_RESULT: usize = 4_096;
/// Actions of operators kept with a queue.
pub const ACTIONS: u64 = 1_000;
