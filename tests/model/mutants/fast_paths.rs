//! Mutants of the fast paths.

use super::Fault;

pub const MUTANTS: &[Fault] = &[
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
    ("an alarm outlives a plain completion", "or has.routed > 0 and has_alarms(q, has.routed) then", "then"),
    (
        "a job with an overlap is completed plainly",
        "if high >= ROUTED and high < ROUTED + MEMBER then",
        "if high >= ROUTED then",
    ),
    ("a draft outlives a plain completion", "leave('HDEL', q.drafts, n)", ""),
    ("a plain hand-out gives no turn back", "counts[k] = runs + 1, counts[k] - run", "counts[k] = runs + 1, counts[k]"),
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
