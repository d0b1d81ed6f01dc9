//! What must be true of the keyspace at any instant, whatever the model says: recounted from what lies there.

use std::collections::{BTreeMap, BTreeSet};

use intray::{
    job::{Code, Millis, State},
    store::JobRoute,
};

use crate::{
    fixtures::{Verdict, count, set_of},
    real::{
        keyspace::Keyspace,
        record::{Bytes, CLOSING, GRACE, Hold, Row, SKIPS, SPAN, plain},
    },
    reference::NEVER,
};

/// Among the settings: jobs wait that are not for everybody, or did when the sweep last looked.
pub(super) const ROUTED: &str = "routed";

pub(super) fn check(found: &Keyspace, rows: &BTreeMap<String, Row>) -> Verdict {
    each_job_is_in_one_state(found, rows)?;
    turns_are_a_recount(found, rows)?;
    who_holds_is_held(found, rows)?;
    keys_point_at_live_jobs(found, rows)?;
    gates_are_a_recount(found, rows)?;
    no_job_is_stranded(found, rows)?;
    lines_are_a_recount(found, rows)?;
    batches_are_a_recount(found, rows)?;
    parts_are_a_recount(found, rows)?;
    desks_are_in_order(rows)?;
    alarms_are_a_recount(found, rows)?;
    nothing_is_left_over(found, rows)
}

fn claim(holds: bool, what: impl Fn() -> String) -> Verdict {
    if holds { Ok(()) } else { Err(what()) }
}

fn each_job_is_in_one_state(found: &Keyspace, rows: &BTreeMap<String, Row>) -> Verdict {
    for (id, row) in rows {
        let sets: Vec<_> = row.sets.iter().map(|(set, _)| *set).collect();
        let expected = match row.live.state {
            _ if row.header.is_stub => "ended",
            State::Waiting if !lines_of(&row.route).is_empty() => "restricted",
            state => set_of(state),
        };
        // What a batch's jobs came to is in its results, not in the feed.
        let is_in_its_set = sets == [expected] || row.header.is_member && expected == "ended" && sets.is_empty();
        claim(is_in_its_set, || format!("{id} says that it is {expected} and is in {sets:?}"))?;
        let place = row.sets.first().map(|(_, score)| *score).filter(|_| ["inbound", "restricted"].contains(&expected));
        claim(place.is_none() || place == row.live.place, || format!("{id} is not in its place"))?;
    }
    for set in ["inbound", "restricted", "reserved", "delayed", "dead", "ended"] {
        let ids = found.set(set).keys().map(|member| plain(&member[member.len().saturating_sub(Code::LEN)..]));
        let stray = ids.into_iter().find(|id| !rows.contains_key(id));
        claim(stray.is_none(), || format!("{set} holds {stray:?}, which is no job"))?;
    }
    Ok(())
}

/// A client has a turn as long as nobody has had one of its jobs, and its last one is after all of them.
fn turns_are_a_recount(found: &Keyspace, rows: &BTreeMap<String, Row>) -> Verdict {
    let mut expected = BTreeMap::<String, (u64, u32)>::new();
    for row in rows.values().filter(|row| row.live.is_unserved) {
        let place = row.live.place.ok_or("nobody has had a job that has no place")?;
        let (last, jobs) = expected.entry(format!("{} {}", place / SPAN, row.header.client)).or_default();
        (*last, *jobs) = ((*last).max(place % SPAN), *jobs + 1);
    }
    let turns = found.turns()?;
    let is_right = |(client, (last, jobs)): (&String, &(u64, u32))| {
        expected.get(client).is_some_and(|(turn, unserved)| last >= turn && jobs == unserved)
    };
    claim(turns.iter().all(is_right) && turns.len() == expected.len(), || {
        format!("the turns are {turns:?}, and what nobody has had is {expected:?}")
    })
}

fn who_holds_is_held(found: &Keyspace, rows: &BTreeMap<String, Row>) -> Verdict {
    let holders = rows.values().filter_map(|row| row.live.hold.as_ref());
    let (closing, holding): (Vec<_>, Vec<_>) = holders.partition(|hold| hold.marks & CLOSING != 0);
    let counts = (found.set("held").len(), found.set("reserved").len(), holding.len(), closing.len());
    claim(counts.0 == counts.2 && counts.1 == counts.2 + counts.3, || {
        format!("held, reserved, who holds, whose completion may be taken back: {counts:?}")
    })
}

fn keys_point_at_live_jobs(found: &Keyspace, rows: &BTreeMap<String, Row>) -> Verdict {
    let dedupe = found.hash("dedupe");
    let is_live =
        |row: &&Row| matches!(row.live.state, State::Waiting | State::Blocked | State::Delayed | State::Reserved);
    for (field, ids) in dedupe {
        for id in ids.chunks(Code::LEN) {
            let owner = rows.get(&plain(id)).filter(is_live);
            let is_named = owner.is_some_and(|row| row.header.digest.as_deref() == Some(&field[..16]));
            claim(is_named, || format!("a dedupe key points at {}: {owner:?}", plain(id)))?;
        }
    }
    // Not the other way round: of those who share a key, only so many are kept.
    Ok(())
}

/// What ended keeps neither draft nor skips; who skips has a name and is remembered once; a mark that says skip says grace.
fn desks_are_in_order(rows: &BTreeMap<String, Row>) -> Verdict {
    for (id, Row { live, draft, .. }) in rows {
        let has_ended = matches!(live.state, State::Completed | State::Cancelled);
        claim(!has_ended || draft.is_none() && live.skips.is_empty(), || {
            format!("{id} has ended: {draft:?}, {live:?}")
        })?;
        let skips: BTreeSet<_> = live.skips.iter().collect();
        let are_names = skips.len() == live.skips.len() && skips.len() <= 16 && skips.iter().all(|who| !who.is_empty());
        claim(are_names, || format!("{id} is skipped by {:?}", live.skips))?;
        let is_sound = |hold: &Hold| hold.marks & SKIPS == 0 || hold.marks & GRACE != 0 && !hold.worker.is_empty();
        claim(live.hold.as_ref().is_none_or(is_sound), || format!("{id} is held so: {:?}", live.hold))?;
    }
    Ok(())
}

fn nothing_is_left_over(found: &Keyspace, rows: &BTreeMap<String, Row>) -> Verdict {
    for hash in ["payloads", "live", "results", "drafts", "routes"] {
        let is_batch = |id: &String| hash == "routes" && found.hash("batches").contains_key(id.as_bytes());
        let mut ids = found.hash(hash).keys().map(|id| plain(&id[..26]));
        let stray = ids.find(|id| !rows.contains_key(id) && !is_batch(id));
        claim(stray.is_none(), || format!("{hash} holds {stray:?}, which is gone"))?;
    }
    Ok(())
}

/// Only jobs with something to come have an alarm, and no reservation reaches beyond the expiry of its job.
fn alarms_are_a_recount(found: &Keyspace, rows: &BTreeMap<String, Row>) -> Verdict {
    for (id, Row { route, alarm, live, sets, header, .. }) in rows {
        let has_ended = matches!(live.state, State::Completed | State::Cancelled | State::Dead);
        let fallback_at = route.fallback_at.filter(|_| !route.fell_back);
        // What was handed over is not taken out of the hands of who has it.
        let until = route.handed.as_ref().map(|handed| match live.state {
            State::Reserved => Millis(NEVER),
            _ => handed.until,
        });
        let times = [route.expires_at, route.sla_at.filter(|_| !route.breached), fallback_at, until];
        let expected = times.into_iter().flatten().min().map(|at| at.0).filter(|_| !has_ended);
        claim(*alarm == expected, || format!("{id} has the alarm {alarm:?} and needs {expected:?}"))?;
        claim(header.is_routed || found.hash("routes").get(id.as_bytes()).is_none(), || {
            format!("{id} hides its route")
        })?;
        let deadline = sets.iter().find(|(set, _)| *set == "reserved").map_or(0, |(_, deadline)| *deadline);
        claim(route.expires_at.is_none_or(|at| deadline <= at.0), || format!("{id} is held beyond its expiry"))?;
    }
    let stray = found.set("alarms").keys().map(|id| plain(id)).find(|id| !rows.contains_key(id));
    claim(stray.is_none(), || format!("{stray:?} has an alarm and is gone"))
}

/// The gates of a job: the field of each in `gates`.
fn gates_of(id: &str, row: &Row) -> Vec<String> {
    let batch = row.header.is_member.then(|| format!("\0{}", batch_of(id)));
    batch.into_iter().chain(row.header.locks.iter().cloned()).collect()
}

fn batch_of(id: &str) -> String {
    format!("{}0000", &id[..22])
}

/// A lock is its holder; a batch with a limit is its use and its capacity. At one without, nobody has to be parked.
fn room(found: &Keyspace, gate: &str) -> u32 {
    match found.hash("gates").get(gate.as_bytes()).map(Vec::as_slice) {
        None if gate.starts_with('\0') => u32::MAX,
        None => 1,
        Some(use_of_it) if gate.starts_with('\0') => {
            let mut use_of_it = Bytes(use_of_it);
            let used = use_of_it.uint(4).unwrap_or(0);
            use_of_it.uint(4).unwrap_or(0).saturating_sub(used) as u32
        }
        Some(_) => 0,
    }
}

/// Who needs each gate: those that hold a job, and how many are in everybody's line, for only these stand for others.
fn who_needs_what(rows: &BTreeMap<String, Row>) -> BTreeMap<String, (Vec<&str>, usize)> {
    let mut gates = BTreeMap::<_, (Vec<&str>, usize)>::new();
    for (id, row) in rows {
        for gate in gates_of(id, row) {
            let (holders, in_line) = gates.entry(gate).or_default();
            if row.live.hold.is_some() {
                holders.push(id);
            }
            *in_line += usize::from(row.live.state == State::Waiting && lines_of(&row.route).is_empty());
        }
    }
    gates
}

fn gates_are_a_recount(found: &Keyspace, rows: &BTreeMap<String, Row>) -> Verdict {
    let needs = who_needs_what(rows);
    for (gate, use_of_it) in found.hash("gates") {
        let gate = plain(gate);
        let holders = needs.get(&gate).map_or(&[][..], |(holders, _)| holders);
        let is_right = match gate.starts_with('\0') {
            true => Bytes(use_of_it).uint(4) == Ok(holders.len() as u64) && use_of_it.len() == 8,
            false => matches!(holders, [holder] if holder.as_bytes() == use_of_it),
        };
        claim(is_right, || format!("the gate {gate:?} is {use_of_it:?} and held by {holders:?}"))?;
    }
    let is_free = |gate: &str| !gate.starts_with('\0') && !found.hash("gates").contains_key(gate.as_bytes());
    let free = needs.iter().find(|(gate, (holders, _))| !holders.is_empty() && is_free(gate));
    claim(free.is_none(), || format!("a lock is free and held: {free:?}"))
}

/// At each gate nothing is parked, or as many jobs in line need it as it has room.
fn no_job_is_stranded(found: &Keyspace, rows: &BTreeMap<String, Row>) -> Verdict {
    let needs = who_needs_what(rows);
    for (gate, _, id) in found.parked()? {
        let names_it = rows.get(&id).is_some_and(|row| row.live.gate == gate && gates_of(&id, row).contains(&gate));
        claim(names_it, || format!("{id} is parked at {gate:?}, and says otherwise"))?;
        let in_line = needs.get(&gate).map_or(0, |(_, in_line)| *in_line);
        let room = room(found, &gate);
        claim(in_line >= room as usize, || format!("{id} is parked at {gate:?}, room {room}, in line {in_line}"))?;
    }
    Ok(())
}

/// Where a job waits that is not for everybody.
fn lines_of(route: &JobRoute) -> BTreeSet<String> {
    match (&route.handed, &route.skill) {
        (Some(handed), _) => BTreeSet::from([handed.line.to_string()]),
        (None, _) if route.fell_back => BTreeSet::new(),
        (None, Some(skill)) if route.assignees.is_empty() => BTreeSet::from([format!("+{}", skill.as_str())]),
        (None, _) => route.assignees.iter().map(|name| format!("@{}", name.as_str())).collect(),
    }
}

/// A job that is not for everybody waits in each of its lines at its place, has a live record, and is never parked.
fn lines_are_a_recount(found: &Keyspace, rows: &BTreeMap<String, Row>) -> Verdict {
    let mut expected = BTreeSet::new();
    for (id, row) in rows {
        let (lines, live) = (lines_of(&row.route), &row.live);
        claim(lines.is_empty() || live.state != State::Blocked, || format!("{id} is parked, and in {lines:?}"))?;
        if lines.is_empty() || live.state != State::Waiting {
            continue;
        }
        claim(found.hash("live").contains_key(id.as_bytes()), || format!("{id} is restricted without a live record"))?;
        let place = live.place.ok_or_else(|| format!("{id} is restricted and has no place"))?;
        expected.extend(lines.into_iter().map(|line| (line, place, live.arrival, id.clone())));
    }
    // A reserve looks into lines only where it is. The sweep takes it away.
    let is_marked = found.hash("settings").contains_key(ROUTED.as_bytes());
    claim(expected.is_empty() || is_marked, || "there are lines, and the settings do not say so".to_owned())?;
    let lines = found.lines()?;
    claim(lines == expected, || format!("the lines are {lines:?}, and a recount {expected:?}"))
}

fn batches_are_a_recount(found: &Keyspace, rows: &BTreeMap<String, Row>) -> Verdict {
    let batches = found.batches()?;
    for (code, batch) in &batches {
        let members = rows.iter().filter(|(id, row)| row.header.is_member && batch_of(id) == *code);
        let counts = count(members.map(|(_, row)| row.live.state));
        claim(counts == batch.counts, || format!("{code} counts {:?}, and there are {counts:?}", batch.counts))?;
        let c = counts;
        let sum = c.waiting + c.blocked + c.delayed + c.reserved + c.completed + c.dead + c.cancelled;
        claim(sum == u64::from(batch.total), || format!("{code} has {} jobs, and there are {sum}", batch.total))?;
    }
    let orphan = rows.iter().find(|(id, row)| row.header.is_member && !batches.contains_key(&batch_of(id)));
    claim(orphan.is_none(), || format!("{orphan:?} is of a batch that is not there"))?;
    let timers = found.set("timers").len();
    claim(timers == batches.len(), || format!("{timers} timers and {} batches", batches.len()))
}

/// Each held or completed job of a batch with an overlap is so by a worker who has no other part in it.
fn parts_are_a_recount(found: &Keyspace, rows: &BTreeMap<String, Row>) -> Verdict {
    const DONE: u8 = 2;
    for (code, batch) in found.batches()? {
        let members = rows.iter().filter(|(id, row)| row.overlap > 0 && batch_of(id) == code);
        let by = |(id, row): (&String, &Row)| match (row.live.state, &row.live.hold, row.live.ring.first()) {
            (State::Reserved, Some(hold), _) => Some((1, id.clone(), hold.worker.clone())),
            (State::Completed, _, Some((.., worker, _))) => Some((DONE, id.clone(), worker.clone())),
            _ => None,
        };
        let expected: BTreeSet<_> = members.filter_map(by).collect();
        let those: BTreeSet<_> = batch.parts.iter().filter(|(how, ..)| *how <= DONE).cloned().collect();
        claim(those == expected, || format!("{code} keeps {those:?}, and a recount is {expected:?}"))?;
        let workers: BTreeSet<_> = batch.parts.iter().map(|(.., worker)| worker).collect();
        let is_one_each = workers.len() == batch.parts.len() && !workers.contains(&String::new());
        claim(is_one_each, || format!("a worker has two parts in {code}: {:?}", batch.parts))?;
    }
    Ok(())
}
