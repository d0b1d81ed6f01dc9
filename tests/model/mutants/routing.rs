//! Mutants of who may have a job.

use super::Fault;

pub const MUTANTS: &[Fault] = &[
    ("an excluded worker is given a job", "if routing.excludes(own, worker) then return 'excluded' end", ""),
    ("an unnamed worker is never excluded", "(worker == '' or has(own.excluded, worker))", "has(own.excluded, worker)"),
    ("the assignees are not asked", "    return 'assignees'\n", "    return false\n"),
    ("the skill is not asked", "not skills[own.skill]", "false"),
    ("a hand-over is not asked", "local rule = rule_of_hand_over(own, worker, skills)", "local rule = nil"),
    (
        "a job that fell back stays in its line",
        "if fell_back(own) then return end\n  if own.assignees",
        "if own.assignees",
    ),
    (
        "a fallback is a millisecond early",
        "own.fallback_at = since + own.fallback\n  route.keep",
        "own.fallback_at = since + own.fallback - 1\n  route.keep",
    ),
    (
        "a requeue does not restart the fallback",
        "  if own then routing.restart(q, id, own) end\n  alarm.restart",
        "  alarm.restart",
    ),
    ("a patch does not restart the fallback", "  routing.restart(q, id, own)\n  if r.state", "  if r.state"),
    (
        "a patch in a delay restarts the fallback at once",
        "if r.state == record.DELAYED or r.state == record.DEAD then return end\n  if own",
        "if r.state == record.DEAD then return end\n  if own",
    ),
    ("a new job does not fall back", "  routing.ready(q, id, header, now)\n", ""),
    ("a job for everybody falls back", "or own.fallback_at or not routing.is_for_some(own)", "or own.fallback_at"),
    ("a hand-over outlives the next reservation", "  if is_delivered then own.handed = nil end\n", ""),
    ("a hand-over ends when it was not received", "if is_delivered then own.handed = nil end", "own.handed = nil"),
    (
        "the note of a hand-over is not shown",
        "return handed and struct.pack('>I6', handed.since)",
        "return false and struct.pack('>I6', handed.since)",
    ),
    ("a hand-over has no end", "if is_hand_over_due(q, own, is_held) then own.handed = nil end", ""),
    ("no alarm says when a hand-over ends", "own.handed and (is_held and NEVER or own.handed.ends) or huge", "huge"),
    ("a hand-over survives another rule", "if names_line or routing", "if routing"),
    (
        "a skip outlives the hand-over to its worker",
        "if line:byte() == routing.WORKER then skip.take_back(r, line:sub(2)) end",
        "",
    ),
    (
        "a job is handed over to who is excluded",
        "if to and own and own.excluded and text.has(own.excluded, to)",
        "if false",
    ),
    ("a job of a batch with an overlap is handed over", "if own and own.overlap then return", "if false then return"),
    ("a draft is not handed over", "whose == owner or whose == giver", "whose == owner"),
    (
        "a hand-over ends in hand",
        "own.handed and not is_held and own.handed.ends <=",
        "own.handed and own.handed.ends <=",
    ),
    ("a draft that was handed over stays the giver's", "if giver then draft.inherit(q, id, giver, lease) end", ""),
    ("a caller without a name hands the draft of another over", "change_owner(q, id, '', UNNAMED)", ""),
    (
        "a draft of a caller without a name is not handed over",
        "change_owner(q, id, draft.owner('', lease.nonce), '')",
        "",
    ),
    (
        "a hand-over survives that its receiver is excluded",
        "if names_line or routing.excludes_receiver(own) then",
        "if names_line then",
    ),
    (
        "V rises past everybody's head",
        "and first_place.passed or first_place.for_all",
        "and first_place.passed or function() end",
    ),
    (
        "a job that leaves one line stays in another",
        "for _, line in ipairs(own) do parking.set_score(q, 'lines'",
        "for _, line in ipairs(is_there and own or {own[1]}) do parking.set_score(q, 'lines'",
    ),
    (
        "a patch leaves a job in its old line",
        "if r.state == WAITING then lines.leave(q, id, r, header) end\n  local is_changed",
        "local is_changed",
    ),
    (
        "a job that is no longer for everybody passes no baton",
        "elseif before == '' then\n    baton.pass_all(q, id, header)\n",
        "elseif false then\n",
    ),
    (
        "a job that is not for everybody is parked",
        "local name = not routing.lines(q, id, header) and gate.full(q, id, header)",
        "local name = gate.full(q, id, header)",
    ),
    ("a job of a line is parked by reserve", "if job.full and line.name(q) ~= '' then return HELD_UP end", ""),
    (
        "a job that excludes the worker keeps its baton",
        "if name == '' then pass_baton(q, job, passed.seen) end",
        "if name == '' and why ~= NOT_ELIGIBLE then pass_baton(q, job, passed.seen) end",
    ),
    ("a job comes into the first line unmarked", "if q.has_restricted ~= 1 then", "if not q.has_restricted then"),
    (
        "reassign gives a job to who is excluded",
        "elseif is_refused(q, one.id, job.header, from, new, args[2]) then",
        "elseif false then",
    ),
    ("an operator's change leaves a job without a worker", "return left == 0 or left <", "return true or left <"),
    ("an operator's change of a batch is refused", "return left == 0 or left <", "return false and left <"),
    ("an operator's change leaves a skip", "    skip.take_back(r, name)\n", ""),
    ("reassign drops the other assignees", "ipairs(name ~= from and {name} or new)", "ipairs(new)"),
    (
        "reassign leaves a job in its old line",
        "  lines.leave(q, id, job.record, job.header)\n  change(own",
        "  change(own",
    ),
    ("a limit of jobs does not count the restricted", "{q.inbound, q.restricted, q.parked,", "{q.inbound, q.parked,"),
];
