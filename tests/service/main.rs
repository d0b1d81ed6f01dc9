//! Tests of the real service over real HTTP on a real Redis. Each ends with a check of the world. The tests move Redis's clock
//! instead of waiting for a lease to expire. Every answer is checked against `openapi.yaml`.

#![allow(clippy::too_many_lines, reason = "a test shows a whole course of events")]

mod world;

mod harness;

/// Jobs: enqueue, deduplication, repeated calls, lists, and the end of a job.
mod jobs {
    mod bulk_calls; // Array calls answer each item on its own, in order.
    mod cancel_purge_retention; // Cancel, purge and retention remove jobs.
    mod completion_details; // A job shows who completed it, how long they held it, and why others returned it.
    mod deduplication; // Equal jobs are found by payload, key, client and queue.
    mod differing_twins; // An equal job for other people is another; else the answer says where it differs.
    mod ended_jobs; // Ended jobs keep their last priority, and a purge finds them.
    mod enqueue; // A new job gets its state, its place and its options.
    mod idempotency_keys; // A repeated call has one effect and the same answer.
    mod lapsed; // A job that is over by time is over for every enqueue, swept or not.
    mod lapsed_for_many; // Calls that decide by more jobs than they name see what time has done to them.
    mod lapsed_for_operators; // Requeue and PATCH see what time has done, and a later expiry gives back what an earlier one cut off.
    mod lists_and_feed; // Lists, their pages and filters, and the feed of completed jobs.
    mod ndjson_upload; // An upload of one job a line stores jobs while it arrives.
    mod payloads; // Payloads are returned byte for byte and have a size limit.
    mod within_lists; // An item of a list finds what the items before it have done.
}

/// Order: priorities, fairness between clients, and calls at the same time.
mod ordering {
    mod concurrent_calls; // Concurrent calls never share a job and have one winner.
    mod equal_turns; // Single jobs of many clients have equal turns and are served by arrival.
    mod grouped_reserves; // Reserves that share a script do not starve each other.
    mod priority_and_fairness; // Jobs are served by priority, then by turns of clients, then by arrival.
    mod several_queues; // A reserve over several queues is one call with one limit for each queue.
    mod turns; // Picks out of order and cancelled jobs do not cost a client its turns.
}

/// Leases: deadline, drafts, grace, limits, and every end of a lease.
mod leases {
    mod abandon_fail_release; // A job returns by abandon, fail or release.
    mod drafts_and_skip; // A worker can store a draft, skip a job, and leave for a grace period.
    mod grace_and_drafts; // Several abandons and drafts of one lease are applied in order.
    mod late_completion; // A late completion counts while the job is free; other results are kept aside.
    mod lease_deadline; // A lease ends at its deadline, with or without a sweep.
    mod max_hold; // A lowered maximum hold keeps granted leases; a resume answers at most a mebibyte.
    mod overdue_leases; // Overdue leases are expired by any call and by the sweeper in time.
    mod skip_scope; // A skip hides a job from one worker, and only for as long as it holds.
    mod undelivered_answers; // A reserve whose answer is not delivered returns its jobs at once.
    mod worker_limit; // The worker limit resumes reservations; a disconnect returns them.
}

/// Asking: a job that must end in time, and one that should.
mod asking {
    mod expiry_boundary; // A job is completed until the millisecond of its expiry, whichever call looks first.
    mod fields_and_patch; // The fields have ranges and two forms, and a PATCH changes them.
    mod held_jobs; // Jobs that expire while they are held, dead, locked or in a batch.
    mod one_question; // A question under a key is one job with one answer, through crashes.
    mod sla; // A breached SLA is reported once and counted, and nothing moves.
}

/// Routing: who may have a job, and what happens if they do not come.
mod routing {
    mod eligibility; // Each job is given only to those who may have it, by any call.
    mod fallback; // A job falls back to everybody when its time is over, never early.
    mod gates; // A caller that waits for jobs of a gate looks again when that gate opens, and for no other.
    mod hand_over; // A holder hands a job over to another worker, or to those with a skill.
    mod handed_drafts; // Whose a draft is when a job is handed over.
    mod many; // Many workers, skills and jobs: each is given only what is theirs, and all is handed out.
    mod mine; // The list of the jobs that are for a worker.
    mod one_job; // A token for one job: a link in a message.
    mod patch_and_reassign; // An operator changes who may have a job, and gives what waits for one worker to others.
    mod recent_workers; // A queue lists who has worked in it lately, and a call that names others is told so.
    mod request_fields; // The fields have ranges, are refused at their pointers, and are a part of idempotency.
    mod token_skills; // Skills of a token are narrowed by a call, and never widened.
    mod wake_ups; // A job in a line wakes one waiter who may have it, and no other.
}

/// Opinions: equal jobs of a batch, each for another worker.
mod opinions {
    mod agreement; // What such a batch says of its answers: which are equal, who gave which, and what the other jobs are.
    mod answers; // Who sees whose answer, and what a batch with an overlap shares with every other.
    mod changes; // An operator's change leaves each job of a batch with an overlap a worker of its own.
    mod many; // Five people and many batches at random: always different ones, and nothing hides what one may have.
    mod parts; // Which end of a reservation keeps a worker from the other jobs of the batch.
    mod request_fields; // The fields of such a batch, alone and in an array.
}

/// Locks: jobs that share a lock are never reserved together, and the baton names the next one.
mod locks {
    mod baton; // A job that has the baton and leaves the queue passes it on.
    mod concurrent_workers; // Many workers on few locks never overlap and never idle.
    mod exclusion; // A lock is held exactly as long as its lease.
    mod lease_ends; // Every end of a lease frees its locks for the jobs that wait.
    mod lock_names_and_list; // Lock names have rules; the list shows holders and parked jobs.
    mod parked_jobs; // Thousands of jobs parked at one lock do not slow other jobs.
}

/// Batches: a concurrency limit, one end, results in order.
mod batches {
    mod cancel; // A cancelled batch hands out no more jobs and lets reserved ones finish.
    mod concurrency_limit; // The concurrency limit holds when workers crash, and a batch ends once.
    mod creation; // Ten thousand jobs are stored completely or not at all.
    mod lifecycle; // A batch limits its reservations, ends once and keeps its results in order.
    mod open_batches; // Open batches take appends until they are sealed.
    mod opening_and_retention; // Time opens an interrupted batch and removes an ended one.
    mod service_crashes; // A service that is killed during a batch call leaves nothing half-done.
    mod validation_and_idempotency; // Invalid batches store nothing; a repeated call makes one batch.
}

/// Forms: what a result must look like.
mod forms {
    mod completing; // A result that does not fit is refused, and changes nothing.
    mod fixtures; // The form of these stories, and results.
    mod instances; // A form that is set at one instance counts at the others.
    mod reading; // All who may see a queue read its form.
    mod setting; // A form is kept byte for byte, and what is none is refused.
    mod strangers; // A caller without a reservation that counts learns nothing of a form.

    use self::fixtures::{FORM_KEY, VERDICT, harmful, no_verdict, refused_at};
}

/// Day sheets: what each worker did per day.
mod sheets {
    mod days; // A day begins at midnight of the queue's zone, and is kept as long as the setting says.
    mod erased_texts; // In a text, a name goes where it is a word of its own, and nothing else does.
    mod erasing; // A name goes out of every place in which Redis has it.
    mod erasing_calls; // A name goes though the call takes several, others call too, and jobs move meanwhile.
    mod forget; // The lines of a worker are removed, unless they hold a job.
    pub mod lines; // Each event counts once in the line of its worker, on any instance.
    mod reads; // Who reads which lines, as JSON and as CSV.
    mod size; // What sheets take in Redis, and that they cost nothing where they are off.
}

/// Waiting without polling: for a job to reserve, and for a job or batch to reach a state.
mod waiting {
    mod cost; // What waiters cost: connections, commands in Redis, and the time of other callers.
    mod crowds; // Many waiters: only as many are woken as there are jobs, the longest wait first.
    mod disconnects; // A caller that disconnects while it waits takes no job.
    mod faults; // Waiting while the hints connection or Redis is down, frozen or silent.
    mod long_poll; // Waiting for a job: how soon it comes, and the answer when none does.
    mod open_asks; // Many open asks: they hold nothing of what they wait for, and those that end together are all answered.
    mod refused_writes; // Waiting while Redis answers but refuses writes: too few replicas, a demoted primary.
    mod until_state; // Waiting until a job, a batch or a list reaches a state.
    mod wake_causes; // Every change that makes a job ready wakes a waiter, at any instance.
}

/// The stream of events: every transition once, in order.
mod events {
    mod filters; // Filters of a stream: queue, type, client, worker, batch.
    mod gaps; // The retained part of the stream, the gap event after it, and readers that are too slow.
    mod job_history; // The events of one job, as far as the stream is retained.
    mod mass_resume; // Many streams that resume at once take turns and receive everything.
    mod readers; // A webhook and the tally of the sheets read the events before these are deleted.
    mod recent; // The last events of a queue, newest first, page by page.
    mod redis_rollback; // Readers whose cursor is ahead of the stream, because Redis came back with older data or none.
    mod resume; // Readers that reconnect continue after the last event that they received, at any instance.
    mod revoked_key; // A stalled stream whose key is revoked.
    mod stream; // Every type of event, once and in order, with its fields and heartbeats.
}

/// Queues: what operators change and see, and what the service does in the background.
mod queues {
    mod bulk_priority; // One call changes the priority of many jobs: which, in which order, and where it stopped.
    mod by_worker; // Completed and dead jobs are found by their worker, page by page, with bounded work per call.
    mod cursors; // A page continues only from a cursor that a page has returned.
    mod deep_columns; // A table costs one pass of each job, whatever its columns are.
    mod ended_feed; // Feeds of ended jobs: a reader that follows the cursor misses no job.
    mod forgotten; // A queue without a job is removed at once, and nothing of it comes back.
    mod history; // The history of a queue: counts by minute and by hour, each counted once.
    mod list_export; // Whole lists as lines, as a table, or as a stream that follows.
    mod many_readers; // Many large reads at once take turns and do not slow other callers.
    mod no_new_queue; // `create=false`: jobs, lines and batches for a queue that is not there.
    mod operator_actions; // Actions of operators: requeue, priority, pause, settings, sweep.
    mod personal; // The queues that a person may work in, each with what waits for them.
    mod prefixes; // Two prefixes in one Redis do not see each other.
    mod registry; // The registry of queues repairs itself.
    mod retention; // How long ended jobs are kept, and what readers learn about removed ones.
    mod script_bounds; // No script takes long, however many jobs, locks and large payloads there are.
    mod search; // Text search in payloads and errors, page by page, with bounded work per call.
    mod selection; // Operators select jobs of a state by client, batch, error or time.
    mod stalled_crowds; // Readers that take nothing of their answers, by several credentials of one tenant.
    mod strays; // Entries in a queue's sets that are not jobs are removed when they are found.
    mod sweeper; // The sweeper delays no other work and costs almost nothing where nothing is due.
    mod worker_summary; // One worker: what they hold, what they have handed in and given back lately, and their days.
    mod workers; // The list of workers: who holds which job in all queues, and who waits.
}

/// Access: keys, tokens, roles, hosts, origins, and limits for anonymous callers.
mod access {
    mod action_attribution; // Events and logs name the key of an operator's action.
    mod anonymous_limits; // Callers without a credential have limits on memory, size and failed attempts.
    mod cors_and_request_ids; // Foreign origins are refused; allowed ones get CORS headers.
    mod credential_expiry; // A removed or expired credential ends its waits and streams.
    mod host_check; // Requests for unknown hosts and cross-site reads are refused.
    mod key_sets; // A key set is used without the entries that cannot be, which are named.
    mod keys_and_tokens; // Keys are reloaded; tokens are signed, limited to a worker and rotated.
    mod keys_file_changes; // Changes of the keys file at once all count.
    mod limits_per_key; // Shared limits reserve room for other keys.
    mod operator_list; // Operators' actions are listed: who did what, with settings before and after.
    mod reservation_access; // Events say by which credential a worker came to a job.
    mod routes; // Every route admits only its roles; foreign ids look like missing ones.
    mod unreadable_key_files; // The service keeps its keys while their file cannot be read.
    mod viewer_and_identity; // A viewer reads and changes nothing; an asker makes no tokens; `/me` shows the caller.
}

/// Completions that can be taken back.
mod undo {
    mod others; // What all others see of such a job: it is reserved, and nothing is reported before it is final.
    mod races; // An undo against the end of its time, crashes, and a full Redis: one of both, and nothing is lost.
    mod request_fields; // The fields, alone and in an array.
    mod taking_back; // A worker takes a completion back, and holds the job again.
    mod window; // It is final to the millisecond, whichever call looks first, and before if it would be lost.
}

/// Webhooks: what is delivered, how often, and what becomes of a receiver that does not take it.
mod webhooks {
    mod deliveries; // What is delivered: each event of a webhook's types and queues, once, signed, with the job.
    mod independence; // Webhooks and queues do not wait for each other, and a queue that is matched no longer rests.
    mod large_jobs; // Webhooks for large jobs: what is too long for a delivery is not read.
    mod operators; // What operators see of webhooks and do with them: by role and pattern, and never a secret.
    mod retries; // Deliveries that are not taken: when they are tried again, and under which id.

    use crate::world::receiver::Receiver;

    pub const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    pub const OTHER_SECRET: &str = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";

    /// A line of the webhooks file.
    pub fn line(name: &str, receiver: &Receiver, queues: &str, types: &str) -> String {
        format!("{name} {} {queues} {types} {SECRET}", receiver.url())
    }
}

/// Requests and answers: which are refused, and that every answer matches the contract.
mod requests {
    mod contract; // Every answer that the contract documents is provoked and checked against it.
    mod early_refusal; // Calls refused before their body is read.
    mod hostile; // A caller without a credential that makes up queues for a long time.
    mod http_standards; // What HTTP requires of answers to caches, proxies and browsers, and of invalid requests.
    mod https; // HTTPS and HTTP/2: browser tabs on one connection, and misuse of streams.
    mod malformed; // Requests refused before their fields are read: type, size, route, method.
    mod sockets; // Slow clients and too many connections.
    mod validation; // Invalid input of every kind: a problem that names the field, and nothing stored.
}

/// Redis, in every state.
mod store {
    mod broken_keys; // Every call that meets a key of the wrong type: no answer claims more than is true.
    mod redis_loss; // Messages about a Redis that is unreachable, came back, came back empty or is too old.
    /// Redis Cluster: each queue lies on the node of its slot, and works as long as that node does.
    mod cluster {
        mod durability; // Changes that wait for replicas or the disk wait at the node of their queue.
        mod life_cycle; // What works on one server works on a cluster, on any node.
        mod node_loss; // A frozen, killed or replaced node: queues on other nodes keep working, and its own recover.
        mod several_queues; // Calls over queues on several nodes while one is unavailable: the rest answer and name it.
        mod slot_moves; // Slots that move under load: nothing is lost or done twice, and every answer is a documented one.
        mod startup; // What the start and `intray check` report about a cluster.
        mod unserved_slot; // A slot without a node, or a full node: an upload continues with the other queues.
    }
    mod failovers; // A failover behind sentinels: how many acknowledged changes it loses, and how long calls fail.
    mod migration; // A step to the next layout under a program of the older one, which is refused and harms nothing.
    mod out_of_memory; // Redis at its memory limit, and Redis with a broken library or key.
    /// `intray move`: all queues move to another Redis, and the source is closed.
    mod moving {
        mod complete_move; // A complete move: jobs, reservations and deadlines continue at the target.
        mod from_private_server; // A move from the private server to a cluster, with the jobs of a small company.
        mod interrupted; // A move that is killed at any step, cancelled or run twice: each job exists once.
        mod refused; // A move that is impossible: one line gives the reason, and the source keeps serving.
        mod rights; // The documented Redis users may do what a move needs, and no more.
    }
    mod acl_rights; // A restricted Redis user: the documented rights are required and sufficient.
    mod changed_later; // What Redis is started with and what changes later, clocks too: logged once and counted.
    mod default_user; // A restart of a Redis whose user `default` lacks rights: refused before, reported after.
    mod fsync_acks; // Changes acknowledged after fsync: which servers can promise that.
    mod outage; // Redis down, slow, read-only or full: a true answer within two seconds.
    mod partitions; // A network partition loses no change that was acknowledged with replicas.
    mod redis_timeout; // How long a call waits for a Redis that answers late.
    mod replica_acks; // Changes acknowledged after replicas have them, while replicas are unavailable.
    mod sentinel; // A primary that moves, planned or not: the service follows it.
    mod tls; // Redis over TLS: both sides check certificates.
    mod tls_topologies; // TLS to a cluster, and to a primary behind sentinels.
}

/// Every transition under faults of the connection and of Redis.
mod faults {
    mod background; // The same for transitions of background tasks.
    mod cases; // For each transition, a queue in which it has work to do.
    mod load; // Faults under load: lost replies, flushed scripts, a frozen Redis.
    mod matrix; // Every transition with every fault: at most one effect, and no answer claims more than is true.
    mod sheets; // The same for day sheets: each event counts once.
    mod webhooks; // The same for webhooks: each end is delivered, under one id however often.
}

/// The program: how it starts, what it shows, how it ends, and what remains of its files.
mod program {
    mod aof_repair; // The private server starts on the valid part of its file after a power cut.
    mod backup; // Backups made under load restore each job once.
    mod backup_of_redis; // Backups of a separate Redis, in a container too, and of a cluster.
    mod bulk; // `intray import` and `intray export` continue after failures and report refusals.
    mod cli_errors; // Every command-line mistake is reported once.
    pub mod crash; // The private server: acknowledged changes survive the death of any process.
    mod demo; // `make demo` starts a service of its own and never fills another.
    mod desk_page; // The desk's page may load what its flags name, and no other page may.
    mod documented_calls; // The calls printed in the README and under docs/ are run line by line.
    mod examples; // Each example runs as printed, twice, and shows what it promises.
    mod export; // What `intray export` writes, and where.
    mod first_process; // As the first process of a container, the program reaps orphans.
    mod folder_claims; // The lock or socket in the data folder is removed or linked: no second server starts, and it is logged.
    mod full_disk; // The private server's disk is full: acknowledged changes survive.
    mod guards; // Empty or garbled credential files and settings, and byte order marks.
    mod import; // What `intray import` reads, and the job that each line becomes.
    mod import_table; // `intray import --csv`: the rows of a table become jobs, or batches of opinions.
    mod late_redis; // A Redis that comes after the service: it serves unready until then, and then does all its work.
    mod lead_page; // The commands of docs/lead.md, from a table to a report and to a leaver.
    mod man_page; // Shell completions and the man page.
    mod metric_totals; // Transition metrics of all instances add up to the queue's totals.
    mod metrics; // The metrics match their page, and measure waiting and holding times.
    mod pages; // Pages for browsers: the module, the console, the docs and the demo.
    mod power_cuts; // Power cuts of the private server's machine: what each level of durability loses.
    mod probes; // Probes, metrics and logs.
    mod quality_page; // The scripts of docs/quality.md, on answers whose figures are known.
    mod restored_jobs; // What was exported becomes the same jobs again, also with an SLA that is over.
    mod rolling_update; // New instances replace old ones under load.
    mod shutdown; // Shutdown after a signal.
    mod startup; // Startup: what it refuses and checks.
    mod top; // `intray top` in a terminal, which it restores, and as a table without one.
    mod warnings; // Warnings at the start: each once, and without secrets.
    mod webhook_command; // `intray webhook` prints a line that the webhooks file accepts.
    mod webhooks_file; // Which webhooks files are refused, how a change is read, and what `intray check` sends.
}
