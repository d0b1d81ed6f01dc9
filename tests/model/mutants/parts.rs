//! Mutants of batches with an overlap.

use super::Fault;

pub const MUTANTS: &[Fault] = &[
    (
        "a worker is given two parts",
        "return own.overlap and part.keeps_from(q, id, header, worker) and 'overlap'",
        "return false",
    ),
    ("a part is forgotten on expiry", "if how == ended.EXPIRED then return EXPIRED end", ""),
    (
        "a part is forgotten at the end of a grace",
        "if how == ended.GRACE_OVER or not how and may_be_late",
        "if not how and may_be_late",
    ),
    ("a part is forgotten on a skip", "if skip.has(r, worker) then return SKIPPED end", ""),
    (
        "a part is kept on release",
        "if skip.has(r, worker) then return SKIPPED end",
        "if skip.has(r, worker) or how == ended.RELEASED then return SKIPPED end",
    ),
    ("a part is kept by a job that was not delivered", "not how and may_be_late(r, worker)", "not how"),
    ("a job that was not delivered forgets an expiry before it", "or not how and may_be_late(r, worker) then", "then"),
    (
        "a worker takes another job of the batch by its id",
        "if rule then return {'ineligible', rule} end\n  if d.is_paused",
        "if rule and rule ~= 'overlap' then return {'ineligible', rule} end\n  if d.is_paused",
    ),
    ("a worker who may have the job again is kept from it by its id", "return own and own.id ~= id", "return own"),
    ("an unnamed worker is given a job of a batch with an overlap", "if worker == '' then return true end", ""),
    ("the parts that are kept are not read", "known[codes[i]] = decode(raw)", "known[codes[i]] = {}"),
    ("work that comes late leaves no part", "  part.finish(q, job.id, job.header, worker)\n", ""),
    ("an expiry makes room before a skip", "{SKIPPED, EXPIRED}", "{EXPIRED, SKIPPED}"),
    (
        "the last who has had a job makes room",
        "if one.how == how and latest[one.id] > i then",
        "if one.how == how then",
    ),
    ("the parts of a batch outlive it", "if route.is_used(q) then route.drop(q, code) end", ""),
];
