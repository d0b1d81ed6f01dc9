//! Mutants of the lines of jobs that are not for everybody.

use super::Fault;

pub const MUTANTS: &[Fault] = &[
    ("the route of a new job is forgotten", "asked)\n  route.keep(q, id, own)", "asked)"),
    ("a new job of a line has no live record", "  gate.keep(q, id, r)\n  return WAITING", "  return WAITING"),
    ("a reserve does not know lines", "if not q.context.is_routed then return NONE end", "do return NONE end"),
    (
        "a list of calls looks into no worker's line",
        "local finds_workers = #calls < 2 or line_set.has_workers(q)",
        "local finds_workers = #calls < 2",
    ),
    ("everybody's line comes first", "(not first or source.precedes(entry, first))", "not first"),
    (
        "jobs of two lines with equal places come in any order",
        "return place.arrival_of(one.member) < place.arrival_of(other.member)",
        "return false",
    ),
    (
        "a job that leaves its lines stays restricted",
        "parking.set_score(q, 'restricted', member, is_there and r.score)",
        "parking.set_score(q, 'restricted', member, r.score)",
    ),
    ("a hand-out says that its jobs still wait", "return total - left", "return total"),
    ("a look does not see the restricted", "waiting = waiting + line_set.count(q, line)", "waiting = waiting + 0"),
];
