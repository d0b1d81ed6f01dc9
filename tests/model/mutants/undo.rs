//! Mutants of completions that can be taken back.

use super::Fault;

pub const MUTANTS: &[Fault] = &[
    ("a closing job expires", "if closing.is(lease) then return record.COMPLETED end", ""),
    ("a closing job is held by its worker", "write.remove(q, 'held', record.held(lease, id))\n  mark(", "mark("),
    (
        "a closing job is resumed by its id",
        " and not record.is_marked(lease, record.CLOSING) then return",
        " then return",
    ),
    ("another result is accepted while a job is closing", "if closing.result(q, job.id) == given then", "if true then"),
    ("a closing job is extended", "return job and not closing.is(job.lease) and job or nil", "return job"),
    ("a late completion can be taken back", "if undo_ms > 0 and not late then", "if undo_ms > 0 then"),
    ("a completion from before an undo counts", "resumes < record.undone_at(job.lease) then", "false then"),
    (
        "a resume refuses what was completed before it",
        "resumes < record.undone_at(job.lease) then",
        "resumes < job.lease.resumes then",
    ),
    ("an undo is forgotten by a resume", "record.resumed(lease.marks)", "0"),
    (
        "an undo is forgotten by a grace",
        "bit.bor(bit.band(lease.marks, STAYS), record.GRACE",
        "bit.bor(bit.band(lease.marks, record.REPLAYED), record.GRACE",
    ),
    (
        "a job is closing beyond its expiry",
        "job.deadline = route.cut(q, id, job.header, now + ms)",
        "job.deadline = now + ms",
    ),
    ("an undo leaves less time than there was", "max(deadline, now + before - at)", "deadline"),
    ("an undo loses what was handed in", "draft.save(q, id, lease, given)", ""),
    ("an undone job is not held", "write.add(q, 'held', '0', record.held(lease, id))\n  mark(", "mark("),
    ("an undo leaves the result", "result.drop(q, field(id))\n  event.add(q, 'undone'", "event.add(q, 'undone'"),
    ("the end of a closing job leaves its result", "result.drop(q, field(id))\n  ending.complete", "ending.complete"),
    (
        "the time in which it can be taken back counts as held",
        "at = at}, given, false)",
        "at = clock.now(q)}, given, false)",
    ),
    ("a forced cancel cancels a closing job", "if lease and force and closing.is(lease) then", "if false then"),
    ("a release gives a closing job back", "tonumber(deadline or 0) or closing.is(lease)", "tonumber(deadline or 0)"),
    (
        "a completion at the end of the time is taken for a second one",
        "if is_over or is_closing and clock.now(q) >= job.deadline then",
        "if is_over then",
    ),
    ("a second completion ends a closing job", "if closing.is(job.lease) then return again(q, job, given) end", ""),
];
