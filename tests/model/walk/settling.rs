//! Extend, complete, abandon and fail, on both.

use intray::{
    job::Reservation,
    queue::{Abandon, Complete, Extend, Fail},
};

use super::{Walk, all};
use crate::{
    ops::{Handle, Leaving, Staying, When},
    reference::Leave,
    words::{DRAFTS, RESULTS, Verdict, json, same},
};

const REASON: &str = "lunch";
const ERROR: &str = "boom";

impl Walk<'_> {
    pub(super) async fn extend(&mut self, items: &[Staying]) -> Verdict {
        let call = |staying: &Staying| Extend {
            reservation: self.handle(staying.handle),
            lease_ms: staying.lease_ms,
            draft: staying.draft.map(|n| json(DRAFTS[n])),
        };
        let calls: Vec<_> = items.iter().map(call).collect();
        let answers = all(calls.iter().cloned().map(|call| self.real.handle.extend(call))).await?;
        for ((staying, call), answer) in items.iter().zip(&calls).zip(answers) {
            let (id, secret) = (call.reservation.job.code, &call.reservation.secret);
            let expected = self.model.extend(id, secret, staying.lease_ms, staying.draft.map(|n| DRAFTS[n]));
            self.note(|| format!("  {answer:?}"));
            self.met(format!("extend {answer:?}"));
            same("extend answers", &answer, &expected)?;
        }
        Ok(())
    }

    pub(super) async fn complete(&mut self, items: &[(Handle, usize)]) -> Verdict {
        let calls: Vec<_> = items.iter().map(|&(handle, result)| (self.handle(handle), RESULTS[result])).collect();
        let sent = calls.iter().map(|(reservation, result)| Complete {
            reservation: reservation.clone(),
            result: (!result.is_empty()).then(|| json(result)),
        });
        let answers = all(sent.map(|call| self.real.handle.complete(call))).await?;
        for ((reservation, result), answer) in calls.iter().zip(answers) {
            let expected = self.model.complete(reservation.job.code, &reservation.secret, result);
            self.note(|| format!("  {answer:?}"));
            self.met(format!("complete {answer:?}"));
            same("complete answers", &answer, &expected)?;
        }
        Ok(())
    }

    pub(super) async fn abandon(&mut self, items: &[Leaving]) -> Verdict {
        let calls: Vec<_> = items.iter().map(|leaving| self.leave(leaving)).collect();
        let sent = calls.iter().map(|(reservation, leave)| Abandon {
            reservation: reservation.clone(),
            reason: Some(leave.reason.to_owned()),
            delay_ms: (leave.delay_ms > 0).then_some(leave.delay_ms),
            skip: leave.skip,
            grace_ms: Some(leave.grace_ms),
            resumes: leave.resumes,
            draft: leave.draft.map(json),
        });
        let answers = all(sent.map(|call| self.real.handle.abandon(call))).await?;
        for ((reservation, leave), answer) in calls.iter().zip(answers) {
            let expected = self.model.abandon(reservation.job.code, &reservation.secret, leave);
            self.note(|| format!("  {answer:?}"));
            self.met(format!("abandon {answer:?}"));
            same("abandon answers", &answer, &expected)?;
        }
        Ok(())
    }

    fn leave(&self, leaving: &Leaving) -> (Reservation, Leave) {
        let reservation = self.handle(leaving.handle);
        let job = self.model.jobs.get(&reservation.job.code);
        let known = job.and_then(|job| job.hold.as_ref()).map_or(0, |hold| hold.resumes);
        let (delay_ms, grace_ms) = match leaving.when {
            When::Now => (0, 0),
            When::Delay(ms) => (ms, 0),
            When::Grace(ms) => (0, ms),
        };
        let leave = Leave {
            reason: REASON,
            delay_ms,
            skip: leaving.skip,
            grace_ms,
            resumes: leaving.resumes.map(|more| known.saturating_add_signed(more)),
            draft: leaving.draft.map(|n| DRAFTS[n]),
        };
        (reservation, leave)
    }

    pub(super) async fn fail(&mut self, items: &[Handle]) -> Verdict {
        let calls: Vec<_> = items
            .iter()
            .map(|&handle| Fail { reservation: self.handle(handle), error: Some(ERROR.to_owned()) })
            .collect();
        let answers = all(calls.iter().cloned().map(|call| self.real.handle.fail(call))).await?;
        for (call, answer) in calls.iter().zip(answers) {
            let expected = self.model.fail(call.reservation.job.code, &call.reservation.secret, ERROR);
            self.note(|| format!("  {answer:?}"));
            self.met(format!("fail {answer:?}"));
            same("fail answers", &answer, &expected)?;
        }
        Ok(())
    }
}
