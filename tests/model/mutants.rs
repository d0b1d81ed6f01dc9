//! Mutants: faults in the scripts, one at a time. The model must find each of them soon.

mod routing;

use crate::{
    chance::Theme,
    patch_scripts::{Edit, NO_FAST_PATH},
    run::{self, Plan},
};

/// Description, text of the scripts, and its replacement.
const MUTANTS: &[(&str, &str, &str)] = &[
    ("a skip outlives a requeue", "r.attempts, r.skips = 0, ''", "r.attempts = 0"),
    (
        "a reservation that ended stays in `reserved`",
        "write.remove(q, 'reserved', id)\n  write.remove(q, 'held', record.held(lease, id))\n  part.leave",
        "write.remove(q, 'held', record.held(lease, id))\n  part.leave",
    ),
    (
        "a reservation that ended stays in `held`",
        "write.remove(q, 'held', record.held(lease, id))\n  part.leave",
        "part.leave",
    ),
    ("an ended job keeps its dedupe key", "then\n      write.delete(q, 'dedupe', digest)", "then"),
    (
        "an expiry counts no attempt",
        "r.attempts = r.expired + 1, r.attempts + 1",
        "r.attempts = r.expired + 1, r.attempts",
    ),
    (
        "a reservation is live at its very deadline",
        "if clock.now(q) < job.deadline then return job",
        "if clock.now(q) <= job.deadline then return job",
    ),
    ("V falls", "if turn > v then", "if turn ~= v then"),
    ("V rises to a job that was passed over", "first and min(score, first - 1) or score", "score"),
    (
        "a client's turn is not remembered",
        "max(top(q, state, priority), share.last) + 1",
        "top(q, state, priority) + 1",
    ),
    ("a turn is not given back", "r.unserved = false\n", "do return end\n"),
    ("the last turn is not free again", "if turn == share.last then share.last = turn - 1 end", ""),
    ("the queue's own clock steps back", "max(last + 1, clock.now(q) * clock.PER_MS)", "clock.now(q) * clock.PER_MS"),
    ("equal places go by chance", "return pack('>I6', arrival) .. id", "return pack('>I6', 0) .. id"),
    (
        "a result before the latest reservation's is taken",
        "(how == ended.EXPIRED or how == GRACE_OVER) and entry == 1 and",
        "(how == ended.EXPIRED or how == GRACE_OVER) and",
    ),
    ("a replayed reservation is undone", " or job.lease.marks > 0", ""),
    ("late results outlive their job", r"write.delete(q, 'results', id .. '\0' .. slot)", ""),
    (
        "the gates of an expired reservation are not freed",
        "if record.is_gated(header) then baton.free_gates(q, id, header) end",
        "if record.is_gated(header) and how ~= ended.EXPIRED then baton.free_gates(q, id, header) end",
    ),
    ("a plain expiry counts no attempt", r"'\0\0\0\1\0\0'", r"'\0\0\0\0\0\0'"),
    (
        "a plain expiry forgets those before",
        "history = record.remember(history, digest .. how .. since",
        "history = (digest .. how .. since",
    ),
    ("what expires plainly stays in `held`", r"write.remove(q, 'held', worker .. '\0' .. nonce .. '\0' .. id)", ""),
    ("the end of a grace is a plain expiry", "if marks % 2 == record.GRACE then return false end", ""),
    (
        "a job that fell due has no turn to give back",
        "bytes[record_bytes.priority(live) + UNSERVED]",
        "bytes[record_bytes.priority(live)]",
    ),
    (
        "no baton is passed when a reservation ends",
        "gate.set_use(q, name, false)\n    end\n  end\n  baton.pass_all(q, id, header)",
        "gate.set_use(q, name, false)\n    end\n  end",
    ),
    (
        "no baton is passed when a job is parked",
        "baton.park(q, job.id, job.record, job.header, name)\n  baton.pass_all(q, job.id, job.header)",
        "baton.park(q, job.id, job.record, job.header, name)",
    ),
    (
        "no baton is passed when a job in line is cancelled",
        "lines.leave(q, id, r, header)\n  if not routing.lines(q, id, header) then baton.pass_all(q, id, header) end",
        "lines.leave(q, id, r, header)",
    ),
    ("two hold one lock", "if gate.is_lock(name) then return false end", "if gate.is_lock(name) then return true end"),
    (
        "a cancelled job stays parked",
        "if r.state == record.BLOCKED then\n    baton.unpark(q, id, r)\n  elseif",
        "if r.state == record.BLOCKED then\n    r.gate = ''\n  elseif",
    ),
    ("a job of a batch is counted where it was", "if from then b.counts[from] = b.counts[from] - 1 end", ""),
    ("a batch ends while a job of it is reserved", "blocked + delayed + reserved == 0", "blocked + delayed == 0"),
    ("the gate of a batch that is over stays", r"write.delete(q, 'gates', '\0' .. code)", ""),
    (
        "a script does not see the jobs that it parked",
        "for member in pairs(parked.added) do",
        "for member in pairs({}) do",
    ),
    (
        "a job that comes back into line stays parked",
        "state.is_parked[member], state.moved[member], parked_at(q, name).added[member] = false",
        "state.is_parked[member], state.moved[member], parked_at(q, name).added[member] = nil",
    ),
    (
        "a lock that was freed is held for the rest of the script",
        "state.uses[name], state.moved[name] = use, true",
        "state.moved[name] = true",
    ),
    (
        "a job of a cancelled batch comes back",
        "return record.is_member(header) and batch.is_marked(batch.read(q, batch.of(id)), batch.TO_CANCEL)",
        "return false",
    ),
];

/// Mutants of drafts, skips and graces.
const DESK_MUTANTS: &[(&str, &str, &str)] = &[
    ("the draft of an ended job stays", "write.delete(q, 'drafts', id)", ""),
    (
        "a draft is removed after another was kept",
        "write.ask(q, 'HDEL', q.drafts, id)\n  elseif",
        "write.delete(q, 'drafts', id)\n  elseif",
    ),
    ("a draft is given to another", "if shares_drafts or owner == worker and worker ~= '' then", "if true then"),
    ("a draft is not shared", "if shares_drafts or owner", "if owner"),
    ("unnamed workers count as one", "owner == worker and worker ~= ''", "owner == worker"),
    ("a skip is forgotten", "if skips then skip.add(r, worker) end", ""),
    (
        "a job that one has skipped is hidden from all",
        "if own == wanted then return true end",
        "if own then return true end",
    ),
    (
        "a skip with a grace is forgotten",
        "if record.is_marked(lease, record.SKIPS) then skip.add(r, lease.worker) end",
        "",
    ),
    ("an unnamed worker skips a job", "if skips and worker == '' then return {'unnamed'} end", ""),
    (
        "the end of a grace counts an attempt",
        "r.abandoned = r.abandoned + 1\n    if",
        "r.abandoned, r.attempts = r.abandoned + 1, r.attempts + 1\n    if",
    ),
    ("the beacon of an older page ends the newer reservation", "if resumes >= 0 and resumes <", "if resumes >"),
    (
        "who has come back is leaving still",
        "lease.nonce, lease.resumes, lease.marks = call.nonce, lease.resumes + 1, 0",
        "lease.nonce, lease.resumes = call.nonce, lease.resumes + 1",
    ),
    ("who goes on is leaving still", "if not record.is_marked(lease, record.GRACE) then return end", "do return end"),
    ("a grace is longer than the lease", "math.min(job.deadline, clock.now(q) + grace)", "clock.now(q) + grace"),
    (
        "the end of a grace is taken for done",
        "local done = how == DONE or how == DONE_LATE",
        "local done = how >= DONE",
    ),
];

/// Mutants of the fast paths.
const FAST_PATH_MUTANTS: &[(&str, &str, &str)] = &[
    (
        "a plain hand-out takes no unit of a batch's limit",
        "used = used + counts[k] * by\n",
        "used = used + counts[k] * min(by, 0)\n",
    ),
    ("a plain hand-out exceeds a batch's limit", "if used > capacity then return false end", ""),
    (
        "a plain completion passes no baton of its batch",
        "unparked[k] = min(counts[k], capacity - used)",
        "unparked[k] = 0",
    ),
    ("a plain completion does not end its batch", "if is_over then", "if false then"),
    ("a job that is put back into line stays parked, plainly", "write(off_parked, q.parked, found + 2)", ""),
    ("a new batch forgets its limit's name", "NEW .. pack('>I2', #gate) .. gate", "NEW .. '\\0\\0'"),
    ("a held lock counts as free", "if held[i] ~= (expected[i] or false) then return false end", ""),
    ("two jobs of a list get the same lock", "is_unique and not met[name]", "is_unique"),
    ("a plain hand-out does not take its locks", "call(unpack(to_gates, 1, n * 2 + 2))", ""),
    ("a plain completion does not free its locks", "call(unpack(from_gates, 1, n + 2))", ""),
    ("a plain completion leaves jobs parked at its lock", "owners) and not is_awaited(q)", "owners)"),
    ("a lock behind a client's name is not found", "then at = at + 1 + byte(raw, at) end\n  if", "then end\n  if"),
    ("a job that was skipped is taken for plain", "return sub(live, -2) == '\\0\\0' and", "return true and"),
    ("a list with a twin is taken for new", "and not is_there(q.dedupe, digests, deduped)", ""),
    ("a list with the same job twice is taken for new", "or met[id] or met[digest] then", "then"),
    ("an overdue job is completed in time", "or call('ZCOUNT', q.reserved, '-inf', text.of(now)) > 0 then", "then"),
    ("a stranger's secret is taken", "if secret ~= claim or version", "if version"),
    (
        "a completed job keeps its dedupe key, plainly",
        "off_dedupe[freed + 2] = digest\n",
        "off_dedupe[freed + 2] = ''\n",
    ),
    ("a draft outlives a plain completion", "leave('HDEL', q.drafts, n)", ""),
    ("a plain hand-out gives no turn back", "highest[k], counts[k] = run_turn, counts[k] - run", ""),
    ("a plain hand-out does not raise V", "if moved > 0 then call(unpack(to_tops, 1, moved * 2 + 2)) end", ""),
    ("a plain arrival forgets the last turn", "max(tonumber(v[k] or 0), lasts[k])", "tonumber(v[k] or 0)"),
    ("a call that comes twice in a list is given two jobs", "if met[caller] then return end\n", ""),
    (
        "a plain reserve does not check the worker's jobs",
        "if (is_limited or mode == ask.NEXT) and has",
        "if false and has",
    ),
    (
        "the history of a job goes when it is completed",
        "history = record.remember(history, digest",
        "history = (digest",
    ),
    ("a job that is handed out again is new", "unpack('>I4', live, 18) + 1", "1"),
];

/// Mutants of expiries and SLAs. In the first ones only the sweep looks.
const LIMIT_MUTANTS: &[(&str, &str, &str)] = &[
    ("a job that has expired is handed out", "if job.is_over then return 0 end", ""),
    (
        "work counts after the expiry of its job",
        "if job and not route.is_over(q, id, job.header) then return complete_held",
        "if job then return complete_held",
    ),
    (
        "work that comes late counts after the expiry of its job",
        "if route.is_over(q, job.id, job.header) then return false end",
        "",
    ),
    ("a delay is over after the expiry", "if ending.expire(q, id, r, header) then return false end", ""),
    (
        "a reservation ends without its job at the expiry",
        "leave.by_time(q, id, r, lease, header, is_over)\n  if is_over then",
        "leave.by_time(q, id, r, lease, header, is_over)\n  if false then",
    ),
    ("a dead job is requeued after its expiry", "if route.is_over(q, id, header) then return true end", ""),
    (
        "a hand-out forgets the expiry",
        "route.capped(q, id, header, reserve_context.capped(q, now + lease_ms, now))",
        "reserve_context.capped(q, now + lease_ms, now)",
    ),
    ("an extension forgets the expiry", "  deadline = route.capped(q, id, job.header, deadline)", ""),
    (
        "a resumed reservation forgets the expiry",
        "job.deadline = route.capped(q, id, header, deadline)",
        "job.deadline = deadline",
    ),
    (
        "a new expiry leaves the reservation as it is",
        "if own.expires < deadline then write.add(q, 'reserved'",
        "if false then write.add(q, 'reserved'",
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
        "  if own.expires or own.sla or own.fallback_at or own.handed then put(q, id, huge) end\nend\n\nreturn alarm",
        "end\n\nreturn alarm",
    ),
    ("a requeued job has no alarm", "  alarm.restart(q, id, header)\n", ""),
    ("a route outlives its job", "if route.is_used(q) then route.drop(q, id) end", ""),
    ("the reason of a cancellation is forgotten", "  route.mark(q, id, route.of(q, id, header), route.OVER)\n", ""),
];

/// Sequences within which a mutant must be found.
const MAX_CASES: u64 = 1_500;

/// One run plants every fifth mutant, beginning by chance; `INTRAY_MUTANTS=all` plants all, another text those whose description has
/// it.
const SAMPLE: usize = 5;

#[test]
fn model_finds_every_mutant() {
    let mutants = MUTANTS.iter().map(|fault| (None, true, fault));
    let desk_mutants = DESK_MUTANTS.iter().map(|fault| (Some(Theme::Desk), true, fault));
    let fast_path_mutants = FAST_PATH_MUTANTS.iter().map(|fault| (None, false, fault));
    let limit_mutants = LIMIT_MUTANTS.iter().map(|fault| (None, true, fault));
    let routing_mutants = routing::MUTANTS.iter().map(|fault| (Some(Theme::Routing), true, fault));
    let plain_routing_mutants = routing::FAST_PATH_MUTANTS.iter().map(|fault| (Some(Theme::Routing), false, fault));
    let of_routing = routing_mutants.chain(plain_routing_mutants);
    let all = mutants.chain(desk_mutants).chain(fast_path_mutants).chain(limit_mutants).chain(of_routing);
    let wanted = std::env::var("INTRAY_MUTANTS").ok();
    let (first, step) = if wanted.is_some() { (0, 1) } else { (fastrand::usize(..SAMPLE), SAMPLE) };
    let is_wanted = |fault: &str| wanted.as_ref().is_none_or(|text| text == "all" || fault.contains(text));
    for (theme, is_full_path, &(fault, from, to)) in all.skip(first).step_by(step) {
        if !is_wanted(fault) {
            continue;
        }
        let edits = [Edit { from, to }].into_iter().chain(is_full_path.then_some(NO_FAST_PATH)).collect();
        let plan = Plan { cases: MAX_CASES, theme, edits, ..Plan::fixed() };
        match run::first_failure(&plan) {
            Ok(Some((_, difference))) if difference.contains("Error compiling") => panic!("{fault}: {difference}"),
            Ok(Some((case, difference))) => {
                let what = difference.lines().next().unwrap_or_default();
                println!("{fault}: found by sequence {case}: {what}");
            }
            Ok(None) => panic!("{fault}: {MAX_CASES} sequences have not found it"),
            Err(why) => panic!("{fault}: {why}"),
        }
    }
}
