//! Stories of jobs and people, told against the real service over real HTTP on a real Redis, and each ended by a check of
//! the world. Nobody sleeps until a lease is over: the clock is moved. Every answer is held against `openapi.yaml`.

#![allow(clippy::too_many_lines, reason = "a story is told from its beginning to its end")]

mod world;

mod harness;

/// Jobs: how they come, which are the same, what is known of them, how they go.
mod jobs {
    mod ended; // What is left of a job that has ended, and how it goes.
    mod enqueue; // Producers put jobs into a line: where each lands, and which are the same job.
    mod in_bulk; // Many at once: each item has an answer of its own, in the order of the list.
    mod lines; // A job a line, as many as there are: they go into the line while they come.
    mod payloads; // Payloads are the producer's: they come back byte for byte.
    mod repeats; // Calls that are sent twice, because the first answer was lost: one effect, the same answer.
    mod seeing; // What operators and producers see: queues, lists and their pages, the feed of results.
    mod twins; // Which jobs are the same: by payload, by key, by client and queue, or never.
    mod who_did_it; // Who completed a job, since when they had it and how long; and why others gave it back.
    mod withdrawing; // Jobs that are cancelled, purged, forgotten.
}

/// The line: who comes first, whose turn it is, what goes out together.
mod line {
    mod order; // The order of the line: who comes first, who keeps a place, how clients take turns.
    mod races; // Two at the same time.
    mod several_queues; // One reserve over several queues is one call, whatever each of them allows.
    mod ties; // Customers with a job each, the usual case: all of them have the same turn.
    mod together; // Calls that go out together: nobody goes away empty-handed because of the others.
    mod turns; // Turns: picks that pass others over take nobody's, and who leaves the line gives theirs back.
}

/// What somebody holds: how long, what they typed, how it ends, to whom the job goes then.
mod leases {
    mod coming_back; // Leaving for a while, and what was typed by then.
    mod deadline; // The 300 seconds: live before the deadline, over at it, swept or not.
    mod desk; // What a desk gives a person: what they typed, the right to skip a job, time to come back.
    mod giving_back; // A job that comes back: given back, failed, taken away.
    mod holding; // What somebody holds: nobody takes it away by a setting.
    mod late; // Completion: in time, late, twice, by somebody who lost the job.
    mod overdue; // What is overdue: nobody holds it any more, and the background task comes for it in time.
    mod people; // People: how much one of them holds, how a reloaded page finds its job again.
    mod skipping; // Whom a skip concerns, and for how long.
    mod undelivered; // Reserves whose answer is not delivered give their jobs back at once, and the others keep them.
}

/// Locks: jobs that are never out together, and whose turn it is when one is free.
mod locks {
    mod baton; // The turn at a free lock: whoever has it and goes another way passes it on.
    mod behind; // A thousand jobs behind one lock are no matter to whoever needs another.
    mod endings; // In whatever order jobs stand at their locks, and however one that is out ends.
    mod names; // What a lock may be called, how many a job may have, and who is seen to hold them.
    mod races; // A crowd and a few locks: no two reservations of one lock overlap.
    mod sharing; // Locks: two jobs that share one are never out together, everybody else passes.
}

/// Batches: one request of many jobs, so many of them out at once, one end.
mod batches {
    mod cancel; // Batches that are called off: at any stage, and whoever is at work may finish.
    mod crashes; // A service that is killed in the middle of a long work on a batch.
    mod creation; // Ten thousand jobs at once: whole or not at all, whoever asks meanwhile and however full Redis is.
    mod one_end; // Batches: one request of many jobs, so many of them out at once, one end, results in order.
    mod races; // A batch with a limit, and workers that are killed: never too many out, no place lost, one end.
    mod rules; // What a batch may say, what its jobs may say, and that a call that is sent twice makes one batch.
    mod streams; // Batches that are filled while they are worked on: opened, appended to, sealed.
    mod times; // When time moves a batch: while it opens, and when it has been over for long enough.
}

/// Waiting without polling: for a job to reserve, and for a job or batch to reach a state.
mod waiting {
    mod cost; // What waiters cost: connections, commands in Redis, and the time of other callers.
    mod crowds; // Many waiters: only as many are woken as there are jobs, the longest wait first.
    mod disconnects; // A caller that disconnects while it waits takes no job.
    mod faults; // Waiting while the hints connection or Redis is down, frozen or silent.
    mod long_poll; // Waiting for a job: how soon it comes, and the answer when none does.
    mod refused_writes; // Waiting while Redis answers but refuses writes: too few replicas, a demoted primary.
    mod until_state; // Waiting until a job, a batch or a list reaches a state.
    mod wake_causes; // Every change that makes a job ready wakes a waiter, at any instance.
}

/// The stream of events: every transition once, in order.
mod events {
    mod filters; // Filters of a stream: queue, type, client, worker, batch.
    mod gaps; // The retained part of the stream, the gap event behind it, and readers that are too slow.
    mod job_history; // The events of one job, as far as the stream is retained.
    mod mass_resume; // Many streams that resume at once take turns and receive everything.
    mod recent; // The last events of a queue, newest first, page by page.
    mod redis_rollback; // Readers whose cursor is ahead of the stream, because Redis came back with older data or none.
    mod resume; // Readers that reconnect continue after the last event that they received, at any instance.
    mod revoked_key; // A stalled stream whose key is revoked.
    mod stream; // Every type of event, once and in order, with its fields and heartbeats.
}

/// Queues: what operators change and see, and what the service does in the background.
mod queues {
    mod bulk_priority; // One call changes the priority of many jobs: which, in which order, and where it stopped.
    mod cursors; // A page continues only from a cursor that a page has returned.
    mod ended_feed; // Feeds of ended jobs: a reader that follows the cursor misses no job.
    mod history; // The history of a queue: counts by minute and by hour, each counted once.
    mod list_export; // Whole lists as lines, as a table, or as a stream that follows.
    mod many_readers; // Many large reads at once take turns and do not slow other callers.
    mod operator_actions; // Actions of operators: requeue, priority, pause, settings, sweep.
    mod prefixes; // Two prefixes in one Redis do not see each other.
    mod registry; // The registry of queues repairs itself.
    mod retention; // How long ended jobs are kept, and what readers learn about removed ones.
    mod script_bounds; // No script takes long, however many jobs, locks and large payloads there are.
    mod search; // Text search in payloads and errors, page by page, with bounded work per call.
    mod selection; // Operators select jobs of a state by client, batch, error or time.
    mod strays; // Entries in a queue's sets that are not jobs are removed when they are found.
    mod sweeper; // The sweeper delays no other work and costs almost nothing where nothing is due.
    mod workers; // The list of workers: who holds which job in all queues, and who waits.
}

/// Who may call what, and what strangers may cost.
mod access {
    mod acts; // Whose key it was: what is done to the jobs of others names it, in the stream of events and in the log.
    mod browsers; // Pages: whose may call, what they may read, how they leave.
    mod ends; // Keys that are taken away or end and tokens that end while their holders wait, and how long tokens may last.
    mod hanging; // A file of keys that cannot be read: the service goes on with the keys it has, reads it when it can.
    mod hosts; // Names that somebody points at this machine, and pages of other sites.
    mod roles; // Viewers, who read and change nothing; and what callers are told of themselves.
    mod routes; // Who may call what: every route with every credential, and what is nobody else's business.
    mod shares; // Limits that all share: what one key fills, and what is kept for the others.
    mod strangers; // Callers without a credential: what they may say, and what it may cost.
    mod tokens; // Keys that are replaced, and tokens: who makes them, what they fix, how they end.
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
    mod adoption; // Keys of the older design that cannot be adopted.
    mod broken_keys; // Every call that meets a key of the wrong type: no answer claims more than is true.
    mod redis_loss; // Messages about a Redis that is unreachable, came back, came back empty or is too old.
    /// Redis Cluster: each queue lies on the node of its slot, and works as long as that node does.
    mod cluster {
        mod durability; // Changes that wait for replicas or the disk wait at the node of their queue.
        mod life_cycle; // What works on one server works on a cluster, on any node.
        mod migration; // Data of an older version or an older design on a cluster is migrated.
        mod node_loss; // A frozen, killed or replaced node: queues on other nodes keep working, and its own recover.
        mod several_queues; // Calls over queues on several nodes while one is unavailable: the rest answer and name it.
        mod slot_moves; // Slots that move under load: nothing is lost or done twice, and every answer is a documented one.
        mod startup; // What the start and `intray check` report about a cluster.
        mod unserved_slot; // A slot without a node, or a full node: an upload continues with the other queues.
    }
    mod failovers; // A failover behind sentinels: how many acknowledged changes it loses, and how long calls fail.
    mod migration; // A Redis filled by an older version: `intray migrate` keeps every job as it was.
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
    mod fsync_acks; // Changes acknowledged after fsync: which servers can promise that.
    mod outage; // Redis down, slow, read-only or full: a true answer within two seconds.
    mod partitions; // A network partition loses no change that was acknowledged with replicas.
    mod replica_acks; // Changes acknowledged after replicas have them, while replicas are unavailable.
    mod sentinel; // A primary that moves, planned or not: the service follows it.
    mod tls; // Redis behind TLS: both sides check certificates.
    mod tls_topologies; // TLS to a cluster, and to a primary behind sentinels.
}

/// Every transition under faults of the connection and of Redis.
mod faults {
    mod background; // The same for transitions of background tasks.
    mod cases; // For each transition, a queue in which it has work to do.
    mod load; // Faults under load: lost replies, flushed scripts, a frozen Redis.
    mod matrix; // Every transition with every fault: at most one effect, and no answer claims more than is true.
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
    mod documented_calls; // The calls printed in the README and under docs/ are run line by line.
    mod examples; // Each example runs as printed, twice, and shows what it promises.
    mod export; // What `intray export` writes, and where.
    mod first_process; // As the first process of a container, the program reaps orphans.
    mod folder_claims; // The lock or socket in the data folder is removed or linked: no second server starts, and it is logged.
    mod full_disk; // The private server's disk is full: acknowledged changes survive.
    mod guards; // Empty or garbled credential files and settings, and byte order marks.
    mod import; // What `intray import` reads, and the job that each line becomes.
    mod man_page; // Shell completions and the man page.
    mod metric_totals; // Transition metrics of all instances add up to the queue's totals.
    mod metrics; // The metrics match their page, and measure waiting and holding times.
    mod pages; // Pages for browsers: the module, the console, the docs and the demo.
    mod power_cuts; // Power cuts of the private server's machine: what each level of durability loses.
    mod probes; // Probes, metrics and logs.
    mod rolling_update; // New instances replace old ones under load.
    mod shutdown; // Shutdown after a signal.
    mod startup; // Startup: what it refuses, checks and adopts.
    mod top; // `intray top` in a terminal, which it restores, and as a table without one.
    mod warnings; // Warnings at the start: each once, and without secrets.
}
