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
/// Bytes in what is looked for in the errors of jobs.
pub const ERROR_PART: usize = 256;
/// Bytes in what is looked for in the payloads and errors of jobs.
pub const SEARCH: usize = 128;
/// Nested arrays and objects in a payload or result.
pub const DEPTH: usize = 127;
/// Jobs in one enqueue, and in one append to a batch.
pub const ENQUEUE_ITEMS: usize = 1_000;
/// Locks of one job.
pub const LOCKS: usize = 8;
/// Jobs in one append to a batch: one script puts them there, all or none.
pub const APPEND_JOBS: usize = 200;
/// Jobs in one batch creation.
pub const BATCH_JOBS: usize = 10_000;
/// Jobs of one batch, however they came into it: the last four digits of an id count them.
pub const BATCH_TOTAL: u32 = 1_048_575;
/// Scripts that put one page together: each looks at 200 entries at most.
pub const PAGE_SCRIPTS: u32 = 5;
/// Scripts of one purge, requeue, release or change of priority: each looks at 200 jobs at most.
pub const STEPS: u32 = 100;
/// Scripts of one sweep: each puts 8 jobs back at most.
pub const SWEEP_STEPS: u32 = 1_500;
/// Scripts of one call that go on with a long work on a batch: each moves 200 jobs at most.
pub const BATCH_STEPS: u32 = 1_000;
/// Results on one page.
pub const RESULTS: u32 = 1_000;
/// Columns of one table.
pub const COLUMNS: usize = 64;
/// Queues on one page.
pub const QUEUES: u32 = 1_000;
/// Of how many minutes a queue keeps what was counted: a day's.
pub const HISTORY_MINUTES: u32 = 1_440;
/// Of how many hours: those of ninety days.
pub const HISTORY_HOURS: u32 = 2_160;
/// Of minutes, or of hours, in one field of it.
pub const HISTORY_PLACES: u64 = 120;
/// Of those who wait for a job so many are listed.
pub const WAITERS: usize = 1_000;
/// Items in one settle call.
pub const SETTLE_ITEMS: usize = 100;
/// Jobs in one reserve.
pub const RESERVE_JOBS: u32 = 100;
/// Queues in one reserve.
pub const RESERVE_QUEUES: usize = 16;
/// Queues, or patterns of them, in one token.
pub const TOKEN_QUEUES: usize = 16;
/// How long a token may last.
pub const TOKEN_MS: std::ops::RangeInclusive<u32> = 1_000..=86_400_000;
/// How long a token lasts that does not say it.
pub const TOKEN_DEFAULT_MS: u32 = 3_600_000;
/// Bytes of the header that holds a key or a token.
pub const AUTHORIZATION: usize = 8 << 10;
/// Payload bytes in one reserve, except that one job is always given.
pub const RESERVE_BYTES: usize = 1 << 20;
pub const BODY: usize = 8 << 20;
/// A body of somebody without a credential: a result, a draft, or many small ones.
pub const STRANGERS_BODY: usize = 1 << 20;
/// Bytes of all bodies in hand: half for callers with a credential, half for all others together, of which one peer has at
/// most a sixteenth.
pub const BODIES_OF_CALLERS: usize = 128 << 20;
pub const BODIES_OF_STRANGERS: usize = 128 << 20;
pub const BODIES_OF_PEER: usize = BODIES_OF_STRANGERS / 16;
/// A body up to this lies in its connection's buffer, which is there anyway.
pub const SMALL_BODY: usize = 8 << 10;
/// Large reads that are done at once, in all and for one caller: a page of jobs or results, each page of an export or a feed,
/// a search, the history of a job, a list over all queues.
pub const READS: usize = 4;
pub const READS_OF_CALLER: usize = 2;
/// Smaller reads that are done at once, in all and for one caller: a job, a batch, a queue, its holders and locks.
pub const LOOKS: usize = 64;
pub const LOOKS_OF_CALLER: usize = 32;
/// Event streams that read the past at once, in all and for one caller, for how long each at a time, and how many events of
/// it one has in memory.
pub const CATCH_UPS: usize = 4;
pub const CATCH_UPS_OF_CALLER: usize = 2;
pub const CATCH_UP_MS: u64 = 50;
pub const CATCH_UP_EVENTS: usize = 64;
/// Bytes of answers of large reads that are in memory, in all and of one caller, and as how many a read counts until its
/// answer is there. The same of smaller reads.
pub const ANSWERS: usize = 32 << 20;
pub const ANSWERS_OF_CALLER: usize = ANSWERS / 4 * 3;
pub const ANSWER: usize = 2 << 20;
pub const SMALL_ANSWERS: usize = 16 << 20;
pub const SMALL_ANSWERS_OF_CALLER: usize = SMALL_ANSWERS / 4 * 3;
/// An answer up to this costs nothing: its connection has as much in hand anyway.
pub const SMALL_ANSWER: usize = 16 << 10;
/// Reads of one caller that wait for their turn, and how long one waits before it is refused.
pub const READS_WAITING: usize = 512;
pub const READ_WAIT_MS: u64 = 2_000;
pub const WAIT_MS: u32 = 30_000;
pub const LEASE_MS: std::ops::RangeInclusive<u32> = 1_000..=86_400_000;
/// Thirty days: the furthest that a delay may reach.
pub const DELAY_MS: u32 = 2_592_000_000;
pub const RETENTION_MS: std::ops::RangeInclusive<u32> = 10_000..=2_592_000_000;
/// How long ended jobs are kept by queues that do not say it, at least, while Redis is short of memory.
pub const SHORT_RETENTION_MS: u32 = 3_600_000;
/// It is, when so much of its `maxmemory` is in use …
pub const MEMORY_SHORT: f64 = 0.70;
/// … and until less than this is.
pub const MEMORY_ENOUGH: f64 = 0.65;
/// Large enough for any real limit, small enough to stay exact everywhere.
pub const COUNT: u32 = 1_000_000_000;
/// The largest limit of jobs that one worker holds.
pub const WORKER_LIMIT: u32 = 100;
pub const PRIORITY: u8 = 99;
/// A job's place in line is its priority and behind it so many bits of turn.
pub const SPAN_BITS: u32 = 46;
/// Results of those who came too late, kept beside a job.
pub const LATE_RESULTS: u64 = 5;
/// Payloads up to this size live in the job's own record, larger ones beside it.
pub const INLINE_PAYLOAD: usize = 1_024;
/// Results over this size need memory to spare: at `maxmemory` they are refused.
pub const SMALL_RESULT: usize = 4_096;
