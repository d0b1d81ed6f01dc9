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

/// Waiting without polling: for a job, and for what becomes of one.
mod waiting {
    mod causes; // Everything that makes a job ready wakes somebody who waits, at whichever instance.
    mod crowds; // Many who wait: as many are woken as there are jobs, those who have waited longest first.
    mod faults; // Waiting while the connection that hears hints, or Redis itself, is not what it should be.
    mod for_a_job; // Waiting for a job without polling: how soon it comes, what is said when none does.
    mod leavers; // A page that is gone takes nothing, whenever it goes.
    mod refused; // Waiting while Redis answers, and takes no writes: too few replicas, a master that was demoted.
    mod until; // Waiting for what becomes of a job, a batch or a list.
}

/// The stream of events: every transition once, in order.
mod events {
    mod ahead; // Readers whose place is ahead of all there is: Redis came back with less than it had.
    mod kept; // What of the past is kept, what a reader is told who wants more.
    mod listening; // Who listens to what: what they asked for and nothing else, and what nobody can ask for.
    mod recent; // What happened last in a queue, newest first, page by page.
    mod resumed; // A reader who comes back: behind what they heard last, at any instance.
    mod resuming; // Many streams that resume at once: they wait for each other, and hear everything.
    mod stalled; // A stream whose reader stands still while their key is taken away.
    mod story; // What happened to one job, as far as the stream is kept.
    mod stream; // The stream of events: every transition once, in order, to whoever wants to hear of it.
}

/// Queues: what operators do and see, and what the service does for them unasked.
mod queues {
    mod bounds; // No script asks Redis for much, however many jobs, locks and large payloads there are.
    mod choosing; // An operator means some of the jobs of a state: of a client, of a batch, with a certain error, of a time.
    mod cursors; // Where a page goes on: only from where a page has ended.
    mod feed; // The feeds of what has ended: a reader who goes on behind a cursor misses nothing.
    mod history; // The history of a queue: what was counted, minute by minute and hour by hour, each once.
    mod operating; // What operators do and see: requeue, priorities, pause, settings, lists.
    mod prefixes; // Two prefixes in one Redis: neighbours that know nothing of each other.
    mod priorities; // Another priority for many jobs at once: of whom, in which order, and where the next call goes on.
    mod reading; // Many who read as much as they can: they wait for each other, and nobody else notices.
    mod registry; // The registry of queues: what it lost is put back.
    mod retention; // How long ended jobs are kept, and what readers learn of those that are gone.
    mod searching; // What payloads and errors contain: found page by page, in bounded looks.
    mod strays; // What stands in a queue's sets and is no job, whoever put it there: it goes when somebody meets it.
    mod streams; // Whole lists: as lines, as a table, and for ever.
    mod sweeping; // The background task: it holds nobody up, costs next to nothing where nothing is due.
    mod workers; // Everybody who works: who holds what in all queues, and who waits.
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

/// Requests and answers: what is refused, and that every answer is as the contract says.
mod requests {
    mod contract; // Every answer that the contract documents is provoked here, and held against it.
    mod hostile; // A caller without a credential who does the worst they can, for long: made-up queues.
    mod https; // The service by TLS: a person's tabs on one connection of HTTP/2, and peers who misuse one.
    mod malformed; // Requests that are refused before anybody looks at a field: type, size, route, method.
    mod refusals; // Bad input of every kind: a problem that names the place, and nothing stored.
    mod refused_early; // Calls that are refused before anybody reads their body.
    mod sockets; // Sockets of those who dawdle, and of too many at once.
    mod standards; // What caches, proxies and browsers make of answers, and of requests that a standard calls wrong.
}

/// Redis, in whatever state it is.
mod store {
    mod adopting; // Keys of the older design that cannot be taken over as things are.
    mod away; // What is said of a Redis that is not there, came back, came back empty or is too old.
    mod broken; // A key of another type, and every call that may meet it: no answer says more than is true.
    /// A cluster: queues lie on its nodes as their slots do, and go on as long as their own node does.
    mod cluster {
        mod kept; // Changes that wait until replicas or the disk have them: each waits at its own node.
        mod life; // What works on one server works on a cluster, whichever node a queue lies on.
        mod losses; // A node that is frozen, killed or replaced: the queues of the others go on, and its own when it is back.
        mod moves; // Slots that move under load: nothing is lost, nothing is done twice, nobody gets an odd answer.
        mod older; // What an older program or an older design has left on a cluster.
        mod several; // Calls over queues of several nodes, while one is away: the others answer, and it is said who does not.
        mod starting; // What the start and `intray check` say of a cluster.
        mod unserved; // A slot without a node, or a node that is full: an upload goes on with the other queues.
    }
    mod failovers; // What a failover behind sentinels costs of what was acknowledged, and for how long nobody is served.
    mod full; // Redis at its limit of memory, and Redis with something in it that should not be there.
    mod migrating; // A Redis that an older program has filled: after `intray migrate` every job in it is what it was.
    /// `intray move`: all queues go to another Redis, and the one of before is left.
    mod moving {
        mod cut; // A move that is killed wherever it is, called off, or run twice at once: each job is there once, in one place.
        mod private; // A private server that is left for a cluster: as many jobs as a small firm ever has.
        mod refused; // A move that cannot be: one line says why, and the queues are served where they were.
        mod rights; // What the users of both places may do is what the documents say, and no more.
        mod whole; // A Redis that is left behind: its queues go on elsewhere, as if nothing had been.
    }
    mod outage; // Redis away, slow, read-only, full: an answer within two seconds that says what is true.
    mod partitions; // A network that falls apart: of what was acknowledged on either side, nothing is lost.
    mod replicated; // Changes that are acknowledged when replicas have them: what becomes of them when replicas are away.
    mod rights; // A user of Redis who may do only some things: what is needed is known, is enough.
    mod sentinel; // A primary that moves, by an accident and by a plan: the service goes where it goes, and who waits for what.
    mod synced; // Changes that are acknowledged when they are on disk: who can promise that, and who cannot.
    mod tls;
    mod tls_of_many; // TLS to a cluster, and to what sentinels name. // A Redis behind TLS: it is known by its certificate, it knows us by ours.
}

/// Every transition, whatever becomes of the wire or of Redis just then.
mod faults {
    mod load; // The same under load and for long: lost replies, scripts that are flushed, a Redis that stands still.
    mod matrix; // Every transition with every fault of the wire: one effect at most, and no answer says more than is true.
    mod situations; // A queue in which each transition has something to do.
    mod unasked; // The same of what nobody asks for.
}

/// The program: how it starts, what it shows, how it ends, and what is left of its file.
mod program {
    mod backup; // Copies of what is kept, made while everybody works: what is restored elsewhere has each job, once.
    mod backup_of_redis; // The same of a Redis of one's own, in a container too, and of a cluster.
    mod bulk; // `intray import` and `intray export`: what breaks is gone on with, what is refused is said.
    mod carried_in; // What `intray import` reads, and what it makes of a line.
    mod carried_out; // What `intray export` writes, and where.
    mod claimed; // What a running service goes by is removed, renamed or linked: nobody else gets in, and it is said.
    mod counted; // What the metrics of an instance say of what it did.
    pub mod crash; // The private server: it comes with the service, and nothing acknowledged is lost whoever is killed.
    mod demo; // `make demo`: a service of its own, and never anybody else's.
    mod examples; // The examples, each run as it is printed: what it shows does happen, and happens again.
    mod figures; // What the page of the metrics says of them, and what they say of people's work.
    mod first; // The first process of a container reaps what is left to it.
    mod full_disk; // The private server's disk runs full: what was acknowledged is there.
    mod guards; // What guards the service and is empty or garbled, and byte order marks.
    mod leaving; // A service that is told to end.
    mod manual; // What a shell and a reader are told of the flags.
    mod pages; // What browsers are served: the module, the console and, for those who ask for it, the demo.
    mod power; // Power cuts of the private server's machine, many of them: what each level of durability loses.
    mod printed; // The calls that the README and the pages under docs/ print, run as they are, line by line.
    mod probes; // What probes, monitoring and logs see.
    mod rolling; // New instances in place of old ones while everybody works.
    mod starting; // The program itself: what it refuses to start with, what it checks, what it takes over.
    mod top; // `intray top`: queues in a terminal, which is as it was when it has ended, and as a table where there is none.
    mod torn; // What a power cut leaves of the private server's file: it starts on everything that was whole.
    mod typos; // Every mistake that a command line can have: what is wrong is said, and said once.
    mod warnings; // What a start says of its surroundings: once, and never a secret.
}
