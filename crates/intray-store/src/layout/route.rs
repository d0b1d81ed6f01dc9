//! What a job has in addition to its records: when it expires, and when its SLA is over. The twin of `lua/jobs/route.lua`.

use intray_redis::Fault;

use super::{
    moment::{Delay, Moment},
    record::Bytes,
    routing::{self, HandedTo},
};
use crate::{
    job::{CancelReason, Millis, Name, Skill, limits},
    record_fields::{
        LAST_TIME, TIME,
        route_parts::{
            ASSIGNEES, BREACHED, EXCLUDED, EXPIRES, FALLBACK, FALLBACK_AT, FELL_BACK, FROM_NOW, HANDED, LENGTH, MARKS,
            OVER, SKILL, SLA, TAG, put,
        },
    },
    redis::read::broken,
};

/// By when a job has ended, and by when it should have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TimeLimits {
    pub expires: Option<Moment>,
    pub sla: Option<Moment>,
    /// For a job that is put in again: whether its SLA, which may be over then, has been reported as breached.
    pub breached: Option<bool>,
}

/// What a call changes of them; an inner `None` takes one away.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TimeLimitsPatch {
    pub expires: Option<Option<Moment>>,
    pub sla: Option<Option<Moment>>,
}

/// A field whose time breaks a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeError {
    pub field: &'static str,
    pub rule: &'static str,
}

/// A rule that holds from one ms until before another, by Redis's clock.
struct TimeRule {
    from: u64,
    before: u64,
    error: TimeError,
}

/// When the times of a call are valid: from one ms until before another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ValidTimes {
    pub(crate) from: u64,
    pub(crate) before: u64,
}

const PAST: &str = "must be later than now";
const TOO_FAR: &str = "must be at most 30 days from now";
const DELAYED: &str = "must be later than the end of the delay";
/// The scripts hold times in six bytes.
const ALWAYS: u64 = LAST_TIME;

impl TimeLimits {
    pub(crate) fn is_empty(self) -> bool {
        self == Self::default()
    }

    /// The rules that no time can satisfy, given the delay of the job.
    pub fn impossible(self, delay: Option<Delay>) -> Option<TimeError> {
        self.rules(delay).into_iter().find(|rule| rule.from >= rule.before).map(|rule| rule.error)
    }

    /// The rules that are broken at a time.
    pub(crate) fn broken_at(self, now: Millis, delay: Option<Delay>) -> Vec<TimeError> {
        let rules = self.rules(delay).into_iter();
        rules.filter(|rule| now.0 < rule.from || now.0 >= rule.before).map(|rule| rule.error).collect()
    }

    pub(crate) fn valid_times(self, delay: Option<Delay>) -> ValidTimes {
        ValidTimes::of(&self.rules(delay))
    }

    fn rules(self, delay: Option<Delay>) -> Vec<TimeRule> {
        let is_past_sla = |rule: &TimeRule| rule.error == TimeError { field: "sla_at", rule: PAST };
        let rules = TimeLimitsPatch::from(self).rules().into_iter();
        let rules = rules.filter(|rule| self.breached.is_none() || !is_past_sla(rule));
        rules.chain(self.rule_of_delay(delay)).collect()
    }

    /// A delay ends before the job expires.
    fn rule_of_delay(self, delay: Option<Delay>) -> Option<TimeRule> {
        let rule = |from, before, field| Some(TimeRule { from, before, error: TimeError { field, rule: DELAYED } });
        let unless = |is_late: bool, field| if is_late { rule(0, 0, field) } else { None };
        match (delay?, self.expires?) {
            (Delay::For(ms), Moment::In(expires)) => unless(ms >= expires, "expires_ms"),
            (Delay::For(ms), Moment::At(at)) => rule(0, at.0.saturating_sub(ms.into()), "expires_at"),
            (Delay::Until(due), Moment::In(ms)) => rule((due.0 + 1).saturating_sub(ms.into()), ALWAYS, "expires_ms"),
            (Delay::Until(due), Moment::At(at)) => unless(due.0 >= at.0, "expires_at"),
        }
    }

    /// As the scripts read it.
    pub(crate) fn pack(self) -> Vec<u8> {
        let mut packed = TimeLimitsPatch::from(self).pack();
        if self.breached == Some(true) {
            put(MARKS, &[BREACHED as u8], &mut packed);
        }
        packed
    }
}

impl From<TimeLimits> for TimeLimitsPatch {
    fn from(limits: TimeLimits) -> Self {
        Self { expires: limits.expires.map(Some), sla: limits.sla.map(Some) }
    }
}

impl TimeLimitsPatch {
    pub(crate) fn is_empty(self) -> bool {
        self == Self::default()
    }

    pub(crate) fn broken_at(self, now: Millis) -> Vec<TimeError> {
        let rules = self.rules().into_iter();
        rules.filter(|rule| now.0 < rule.from || now.0 >= rule.before).map(|rule| rule.error).collect()
    }

    pub(crate) fn valid_times(self) -> ValidTimes {
        ValidTimes::of(&self.rules())
    }

    /// The job would expire before its delay ends.
    pub(crate) fn within_delay(self) -> Vec<TimeError> {
        let field = if let Some(Some(Moment::At(_))) = self.expires { "expires_at" } else { "expires_ms" };
        vec![TimeError { field, rule: DELAYED }]
    }

    /// A time is in the future, and not too far in it.
    fn rules(self) -> Vec<TimeRule> {
        let times = [(self.expires, "expires_at"), (self.sla, "sla_at")];
        let rules = times.into_iter().filter_map(|(time, field)| match time {
            Some(Some(Moment::At(Millis(at)))) => Some([
                TimeRule { from: 0, before: at, error: TimeError { field, rule: PAST } },
                TimeRule {
                    from: at.saturating_sub((*limits::JOB_TIME_MS.end()).into()),
                    before: ALWAYS,
                    error: TimeError { field, rule: TOO_FAR },
                },
            ]),
            Some(Some(Moment::In(_)) | None) | None => None,
        });
        rules.flatten().collect()
    }

    pub(crate) fn pack(self) -> Vec<u8> {
        let mut packed = Vec::new();
        for (tag, time) in [(EXPIRES, self.expires), (SLA, self.sla)] {
            match time {
                None => {}
                Some(None) => put(tag, &[], &mut packed),
                Some(Some(Moment::In(ms))) => part(tag + FROM_NOW, ms.into(), &mut packed),
                Some(Some(Moment::At(at))) => part(tag, at.0, &mut packed),
            }
        }
        packed
    }
}

fn part(tag: u8, time: u64, packed: &mut Vec<u8>) {
    put(tag, &time.to_be_bytes()[8 - TIME.width..], packed);
}

impl ValidTimes {
    fn of(rules: &[TimeRule]) -> Self {
        let from = rules.iter().map(|rule| rule.from).max().unwrap_or(0);
        let before = rules.iter().map(|rule| rule.before).min().unwrap_or(ALWAYS);
        Self { from: from.min(ALWAYS), before: before.min(ALWAYS) }
    }

    /// The times that are valid for all.
    pub(crate) fn of_all(times: impl Iterator<Item = Self>) -> Option<Self> {
        times.reduce(|one, other| Self { from: one.from.max(other.from), before: one.before.min(other.before) })
    }
}

/// As it is stored.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JobRoute {
    pub expires_at: Option<Millis>,
    pub sla_at: Option<Millis>,
    /// The SLA was breached.
    pub breached: bool,
    /// The job was cancelled because it expired.
    pub is_over: bool,
    pub assignees: Vec<Name>,
    pub excluded: Vec<Name>,
    pub skill: Option<Skill>,
    pub fallback_ms: Option<u32>,
    /// When assignees and skill stop to count; known once the job was ready.
    pub fallback_at: Option<Millis>,
    /// They no longer count.
    pub fell_back: bool,
    pub handed: Option<HandedTo>,
}

impl JobRoute {
    /// Skips parts of a later version.
    pub(crate) fn parse(raw: &[u8]) -> Result<Self, Fault> {
        let (mut bytes, mut route) = (Bytes(raw), Self::default());
        while !bytes.0.is_empty() {
            let (tag, length) = (bytes.uint(TAG.width)? as u8, bytes.uint(LENGTH.width)? as usize);
            let (value, rest) = bytes.0.split_at_checked(length).ok_or_else(|| broken("a route"))?;
            bytes.0 = rest;
            let number = value.iter().fold(0, |n, &byte| n << 8 | u64::from(byte));
            match tag {
                EXPIRES => route.expires_at = Some(Millis(number)),
                SLA => route.sla_at = Some(Millis(number)),
                MARKS => {
                    (route.breached, route.is_over) = (number & BREACHED != 0, number & OVER != 0);
                    route.fell_back = number & FELL_BACK != 0;
                }
                ASSIGNEES => route.assignees = routing::names(value)?,
                EXCLUDED => route.excluded = routing::names(value)?,
                SKILL => {
                    let skill = std::str::from_utf8(value).ok().and_then(|text| Skill::parse(text).ok());
                    route.skill = Some(skill.ok_or_else(|| broken("a skill"))?);
                }
                FALLBACK => route.fallback_ms = Some(number as u32),
                FALLBACK_AT => route.fallback_at = Some(Millis(number)),
                HANDED => route.handed = Some(HandedTo::parse(value)?),
                _ => {}
            }
        }
        Ok(route)
    }

    /// Why the job was cancelled, if it was.
    pub(crate) fn cancel_reason(&self) -> CancelReason {
        if self.is_over { CancelReason::Expired } else { CancelReason::Withdrawn }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_800_000_000_000;
    const MONTH: u64 = 2_592_000_000;

    fn expiry(moment: Moment) -> TimeLimits {
        TimeLimits { expires: Some(moment), ..TimeLimits::default() }
    }

    fn rules(limits: TimeLimits, delay: Option<Delay>) -> Vec<&'static str> {
        let valid = limits.valid_times(delay);
        let broken = limits.broken_at(Millis(NOW), delay);
        assert_eq!((valid.from..valid.before).contains(&NOW), broken.is_empty(), "{limits:?} {delay:?}");
        broken.into_iter().map(|error| error.rule).collect()
    }

    #[test]
    fn named_time_is_in_the_next_thirty_days() {
        for (at, broken) in [(NOW, &[PAST][..]), (NOW + 1, &[]), (NOW + MONTH, &[]), (NOW + MONTH + 1, &[TOO_FAR])] {
            assert_eq!(rules(expiry(Moment::At(Millis(at))), None), broken, "{at}");
            let sla = TimeLimits { sla: Some(Moment::At(Millis(at))), ..TimeLimits::default() };
            assert_eq!(rules(sla, None), broken, "{at}");
            let again = TimeLimits { breached: Some(false), ..sla };
            assert_eq!(rules(again, None), if broken == [PAST] { &[] } else { broken }, "{at}");
        }
        assert!(rules(expiry(Moment::In(1_000)), None).is_empty());
    }

    #[test]
    fn delay_ends_before_the_expiry_in_each_form() {
        for (later, broken) in [(0, &[DELAYED][..]), (1, &[])] {
            let (ms, at) = (5_000 + later as u32, Millis(NOW + 5_000 + later));
            for delay in [Delay::For(5_000), Delay::Until(Millis(NOW + 5_000))] {
                assert_eq!(rules(expiry(Moment::In(ms)), Some(delay)), broken, "{delay:?} {ms}");
                assert_eq!(rules(expiry(Moment::At(at)), Some(delay)), broken, "{delay:?} {at:?}");
            }
        }
        let is_impossible = |moment, delay| expiry(moment).impossible(Some(delay)).is_some();
        assert!(is_impossible(Moment::In(5_000), Delay::For(5_000)));
        assert!(!is_impossible(Moment::At(Millis(NOW + 5_000)), Delay::For(5_000)), "the clock decides");
    }

    #[test]
    fn route_skips_parts_of_a_later_version() {
        let packed = TimeLimits { sla: Some(Moment::At(Millis(7))), ..expiry(Moment::At(Millis(NOW))) }.pack();
        let raw = [&[99, 0, 2, 1, 1][..], &packed, &[MARKS, 0, 1, 3]].concat();
        let route = JobRoute::parse(&raw).expect("a route");
        assert_eq!((route.expires_at, route.sla_at), (Some(Millis(NOW)), Some(Millis(7))));
        assert_eq!((route.breached, route.cancel_reason()), (true, CancelReason::Expired));
        assert!(JobRoute::parse(&raw[..raw.len() - 1]).is_err());
    }
}
