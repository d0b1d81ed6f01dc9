//! Mutants of expiries and SLAs. In the first ones only the sweep looks.

use super::Fault;

pub const MUTANTS: &[Fault] = &[
    ("a job that has expired is handed out", "if job.is_over then return 0 end", ""),
    (
        "work counts after the expiry of its job",
        "if is_over or is_closing and clock.now(q) >= job.deadline then",
        "if is_closing and clock.now(q) >= job.deadline then",
    ),
    (
        "a delay is over after the expiry",
        "elseif not ending.expire(q, id, r, header) then",
        "elseif r.state == DELAYED or not ending.expire(q, id, r, header) then",
    ),
    (
        "a reservation ends without its job at the expiry",
        "leave.by_time(q, id, r, lease, header, state == record.CANCELLED)\n  if state == record.CANCELLED then",
        "leave.by_time(q, id, r, lease, header, state == record.CANCELLED)\n  if false then",
    ),
    ("a dead job is requeued after its expiry", "if route.is_over(q, id, header) then return true end", ""),
    (
        "a hand-out forgets the expiry",
        "route.cut(q, id, header, reserve_context.capped(q, now + lease_ms, now))",
        "reserve_context.capped(q, now + lease_ms, now)",
    ),
    ("an extension forgets the expiry", "  deadline = route.cut(q, id, job.header, deadline)", ""),
    (
        "a resumed reservation forgets the expiry",
        "job.deadline = route.cut(q, id, header, deadline)",
        "job.deadline = deadline",
    ),
    (
        "a new expiry leaves the reservation as it is",
        "if r.state == record.RESERVED then\n    local deadline",
        "if false then\n    local deadline",
    ),
    (
        "the end of a grace hides the expiry",
        "if not is_over and record.is_marked(lease, record.GRACE) then",
        "if record.is_marked(lease, record.GRACE) then",
    ),
    ("an SLA is breached again and again", "  route.mark(q, id, own, route.BREACHED)\n", ""),
    ("a new SLA counts as breached", "own.marks = own.marks - route.BREACHED", "own.marks = own.marks"),
    (
        "an SLA is not breached by an end that comes late",
        "if state ~= record.DEAD then alarm.breach(q, id, own, header) end",
        "",
    ),
    (
        "an alarm outlives the end of its job",
        "  if own.expires or own.sla or own.fallback_at or own.handed then put(q, id, huge) end\n  if own.handed",
        "  if own.handed",
    ),
    (
        "a hand-over outlives the end of its job",
        "    own.handed = nil\n    route.keep(q, id, own)\n  end\nend\n\nreturn alarm",
        "  end\nend\n\nreturn alarm",
    ),
    ("a twin differs by nothing", "bits + (found[name] and 2 ^ (i - 1) or 0)", "bits"),
    ("an equal time differs by when it was asked for", "abs((asked - now) - (kept - since)) > NEAR", "asked ~= kept"),
    ("jobs of one key have one payload", "found.payload = job.by_key and is_other_payload(q, job, twin)", ""),
    ("a repeated call forgets in what its twin differs", "text.of((high or 0) * 256 + (low or 0))", "'0'"),
    ("a requeued job has no alarm", "  alarm.restart(q, id, header)\n", ""),
    ("a route outlives its job", "if route.is_used(q) then route.drop(q, id) end", ""),
    ("the reason of a cancellation is forgotten", "  route.mark(q, id, route.of(q, id, header), route.OVER)\n", ""),
];
