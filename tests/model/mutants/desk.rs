//! Mutants of drafts, skips and graces.

use super::Fault;

pub const MUTANTS: &[Fault] = &[
    ("the draft of an ended job stays", "write.delete(q, 'drafts', id)", ""),
    (
        "a draft is removed after another was kept",
        "write.ask(q, 'HDEL', q.drafts, id)\n  elseif",
        "write.delete(q, 'drafts', id)\n  elseif",
    ),
    ("a draft is given to another", "return (is_shared or whose == owner or whose == giver) and", "return"),
    ("a draft is not shared", "(is_shared or whose == owner", "(whose == owner"),
    ("unnamed workers count as one", "return worker ~= '' and worker or UNNAMED .. nonce", "return worker"),
    ("a skip is forgotten", "if skips then skip.add(r, worker) end", ""),
    (
        "a job that one has skipped is hidden from all",
        "if own == wanted then return true end",
        "if own then return true end",
    ),
    ("a skip with a grace is forgotten", "if skips then skip.add(r, lease.worker) end", ""),
    ("an unnamed worker skips a job", "if skips and worker == '' then return {'unnamed'} end", ""),
    (
        "the end of a grace counts an attempt",
        "r.abandoned = r.abandoned + 1\n    local skips",
        "r.abandoned, r.attempts = r.abandoned + 1, r.attempts + 1\n    local skips",
    ),
    (
        "the beacon of an older page ends the newer reservation",
        "if resumes >= 0 and resumes < job.lease",
        "if resumes > job.lease",
    ),
    (
        "who has come back is leaving still",
        "lease.nonce, lease.resumes, lease.marks = call.nonce, lease.resumes + 1, record.resumed(lease.marks)",
        "lease.nonce, lease.resumes = call.nonce, lease.resumes + 1",
    ),
    ("who goes on is leaving still", "if not record.is_marked(lease, record.GRACE) then return end", "do return end"),
    ("a grace is longer than the lease", "math.min(granted, clock.now(q) + grace)", "clock.now(q) + grace"),
    (
        "the end of a grace is taken for done",
        "local done = how == DONE or how == DONE_LATE",
        "local done = how >= DONE",
    ),
];
