//! Mutants of hand-outs, of the ends of reservations, and of what the items of a list find of those before.

use super::Fault;

pub const MUTANTS: &[Fault] = &[
    ("a hand-out does not take its locks", "gate.set_use(q, name, id) else", "do end else"),
    ("a hand-out takes no unit of a batch's limit", "gate.use_unit(q, name, 1)", "do end"),
    ("a hand-out exceeds a batch's limit", "return used < capacity", "return used <= capacity"),
    ("the end of a reservation does not free its locks", "gate.set_use(q, name, false)", "do end"),
    ("the end of a reservation returns no unit of a batch's limit", "gate.use_unit(q, name, -1)", "do end"),
    ("a job is parked at no gate", "  r.gate = name\n", ""),
    ("a job that is handed out again is new", "r.handed_out = r.handed_out + 1", "r.handed_out = 1"),
    (
        "a job is given to who has skipped it",
        "if job.record.skips ~= '' and skip.has(job.record, call.worker) then return SKIPPED end",
        "",
    ),
    ("a stranger's secret is taken", "job.lease and job.lease.secret == secret then", "job.lease then"),
    ("a completion after the deadline is in time", "clock.now(q) >= job.deadline, nil", "false, nil"),
    ("a worker is given more than its limit", "call.limit = math.min(call.limit, d.worker_limit - #mine)", ""),
    (
        "a worker at its limit is given another job",
        "if #mine >= d.worker_limit then return resume.all(q, call, mine) end",
        "",
    ),
    (
        "a worker at its limit is given a job by its id",
        "#mine >= d.worker_limit then return {'limit'} end",
        "false then return {'limit'} end",
    ),
    ("a call that comes again is given other jobs", "if before then return before end", ""),
    (
        "the end of a grace ends the last attempt",
        "local counts = not record.is_marked(lease, record.GRACE)",
        "local counts = true",
    ),
];

/// In lists whose items say what earlier ones do.
pub const IN_LISTS: &[Fault] = &[
    ("a list stores the same job twice", "list.here[id] or list.known[i]", "list.known[i]"),
    ("a list stores equal jobs twice", "(list.digests[digest] or list.twins[i])", "list.twins[i]"),
    ("an equal job that is stored is no twin", "(list.digests[digest] or list.twins[i])", "list.digests[digest]"),
    ("a list that a call comes twice in gives it two jobs", "if served.touched[who] or", "if"),
    (
        "a worker who comes twice in a list is given more than its limit",
        "if mine then mine[#mine + 1] = {id = job.id, record = job.record, lease = lease} end",
        "",
    ),
];
