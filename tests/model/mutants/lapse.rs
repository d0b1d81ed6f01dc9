//! Mutants of what time has done to a job that no sweep has met.

use super::Fault;

pub const MUTANTS: &[Fault] = &[
    (
        "a twin that has expired answers",
        "    elseif job then\n      has_changed = lapse",
        "    elseif job and not route.is_over_in(q, job.id, job.header, job.record.state) then\n      has_changed = lapse",
    ),
    (
        "a twin whose completion is final answers",
        "    elseif job then\n      has_changed = lapse",
        "    elseif job and not (job.record.lease ~= '' and record.is_marked(record.lease(job.record.lease), record.CLOSING)) \
         then\n      has_changed = lapse",
    ),
    (
        "a twin whose last attempt is over answers",
        "    elseif job then\n      has_changed = lapse",
        "    elseif job and not (job.record.state == RESERVED and back.is_out_of_attempts(q, job.record.attempts + 1, \
         job.header)) then\n      has_changed = lapse",
    ),
    ("the twin after one that is over is not asked", "    has_changed = is_changed\n", "    has_changed = false\n"),
    (
        "what is over takes room",
        "min(first_of(q.reserved), first_of(q.alarms)) <= clock.now(q) and 'overdue' or 'full'",
        "'full'",
    ),
    (
        "a fallback counts from the sweep that finds the delay over",
        "  routing.ready(q, id, header, since)\n  back.to_line",
        "  back.to_line",
    ),
    (
        "a later expiry does not give back what the earlier one cut off",
        "route.cut(q, id, header, route.uncut(q, id, header, deadline))",
        "route.cut(q, id, header, deadline)",
    ),
    (
        "a resume forgets what the expiry cut off",
        "local granted = route.uncut(q, id, header, job.deadline)\n  local deadline = math.max(granted,",
        "local deadline = math.max(job.deadline,",
    ),
    (
        "a link is made for who cannot be given the job by now",
        "local state = back.state_after(q",
        "if true then return r.state end local state = back.state_after(q",
    ),
];
