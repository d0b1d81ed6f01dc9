//! The names by which scripts know these tables: `$NAME` in a file of `lua/`.

use super::{batch_fields as batch, event_fields as event, reserve_fields as reserve, *};

pub(crate) fn constants() -> Vec<(&'static str, String)> {
    let numbers = numbers().into_iter().chain(marks());
    let numbers = numbers.map(|(name, number)| (name, number.to_string()));
    let formats = formats().into_iter().map(|(name, fields)| (name, struct_format(&fields)));
    numbers.chain(formats).chain(lists()).collect()
}

/// Places and sizes in records.
fn numbers() -> Vec<(&'static str, u64)> {
    let sizes = [
        ("FLAGS_AT", offset(&RECORD, "flags")),
        ("REST_AT", size(&TAIL) + 1),
        ("DIGEST_SIZE", DIGEST.width),
        ("FINGERPRINT_SIZE", FINGERPRINT.width),
        ("LEASE_MS_SIZE", LEASE_MS.width),
        ("MAX_ATTEMPTS_SIZE", MAX_ATTEMPTS.width),
        ("TRACE_SIZE", TRACE.width),
        ("SECRET_DIGEST_SIZE", SECRET_DIGEST.width),
        ("RESERVED_AT", offset(&ENDED, RESERVED_AT.name)),
        ("LATE_AT", offset(&LIVE, LATE.name)),
    ];
    let numbers = [
        ("LAYOUT", LAYOUT.into()),
        ("INHERITED", INHERITED.into()),
        ("STAMPS_PER_MS", STAMPS_PER_MS),
        ("LAST_TIME", LAST_TIME),
        ("GAUGES", GAUGES as u64),
        ("MAX_LATE", (1 << (8 * LATE.width)) - 1),
    ];
    sizes.map(|(name, size)| (name, size as u64)).into_iter().chain(numbers).collect()
}

/// What is added to a number, and modes.
fn marks() -> [(&'static str, u64); 11] {
    [
        ("UNSERVED", UNSERVED),
        ("SKIP_OVERDUE", reserve::SKIP_OVERDUE.into()),
        ("MORE_FOLLOWS", reserve::MORE.into()),
        ("BY_KEY", task_fields::Lookup::ByKey as u64),
        ("FIXED", task_fields::FIXED.into()),
        ("EXPONENTIAL", task_fields::EXPONENTIAL.into()),
        ("IN_BATCH", event::IN_BATCH),
        ("SKIPPED_NOTE", event::SKIPPED_NOTE.into()),
        ("REASON_NOTE", event::REASON_NOTE.into()),
        ("WHOLE_ENTRY", event::WHOLE_ENTRY.into()),
        ("GATE_MARK_LEN", event::GATE_MARK_LEN as u64),
    ]
}

fn formats() -> Vec<(&'static str, Vec<Field>)> {
    vec![
        ("RECORD_FORMAT", RECORD.to_vec()),
        ("HEAD_FORMAT", HEAD.to_vec()),
        ("TAIL_FORMAT", TAIL.to_vec()),
        ("BACKOFF_FORMAT", BACKOFF.to_vec()),
        ("LIVE_FORMAT", LIVE.to_vec()),
        ("LEASE_FORMAT", IN_LEASE.to_vec()),
        ("ENDED_FORMAT", ENDED.to_vec()),
        ("ENDING_FORMAT", ENDING.to_vec()),
        ("ERROR_FORMAT", ERROR.to_vec()),
        ("LATE_FORMAT", LATE_RESULT.to_vec()),
        ("BATCH_FORMAT", batch::record()),
        ("PART_FORMAT", route_parts::PART.to_vec()),
        ("PART_HEAD_FORMAT", route_parts::PART_HEAD.to_vec()),
        ("HANDED_FORMAT", route_parts::HANDED_OVER.to_vec()),
        ("HANDED_TIMES_FORMAT", vec![TIME, TIME]),
        ("FALLBACK_FORMAT", vec![route_parts::FALLBACK_MS]),
        ("RESERVE_FORMAT", reserve::CALL.to_vec()),
        ("RARE_FORMAT", task_fields::RARE.to_vec()),
        ("VALID_FORMAT", task_fields::VALID.to_vec()),
        ("TIME_FORMAT", vec![TIME]),
        ("SHORT_FORMAT", vec![SHORT]),
        ("LONG_FORMAT", vec![LONG]),
    ]
}

fn lists() -> [(&'static str, String); 8] {
    [
        ("RECORD_FLAGS", named(&flags::ALL)),
        ("LEASE_MARKS", named(&lease_marks::ALL)),
        ("BATCH_STAGES", named(&batch::STAGES)),
        ("BATCH_MARKS", named(&batch::ALL_MARKS)),
        ("RESERVE_MODES", named(&reserve::MODES)),
        ("PASSED_OVER", named(&reserve::PASSED)),
        ("ROUTE_PARTS", route_parts::constants()),
        ("GATE", event::GATE.to_owned()),
    ]
}

/// `NAME = 1, …`, for the constructor of a table.
fn named<N: std::fmt::Display>(numbers: &[(&str, N)]) -> String {
    let each: Vec<_> = numbers.iter().map(|(name, number)| format!("{name} = {number}")).collect();
    each.join(", ")
}
