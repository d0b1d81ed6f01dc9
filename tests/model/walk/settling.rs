//! Extend, complete, abandon and fail, on both.

use intray::queue::{Abandon, Complete, Extend, Fail};

use super::{Walk, all};
use crate::{
    ops::Handle,
    words::{RESULTS, Verdict, json, same},
};

const REASON: &str = "lunch";
const ERROR: &str = "boom";

impl Walk<'_> {
    pub(super) async fn extend(&mut self, items: &[(Handle, Option<u32>)]) -> Verdict {
        let calls: Vec<_> = items
            .iter()
            .map(|&(handle, lease_ms)| Extend { reservation: self.handle(handle), lease_ms, draft: None })
            .collect();
        for (call, answer) in calls.iter().zip(all(self.real.handle.extend(calls.clone()).await)?) {
            let expected = self.model.extend(call.reservation.job.code, &call.reservation.secret, call.lease_ms);
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
        for ((reservation, result), answer) in calls.iter().zip(all(self.real.handle.complete(sent.collect()).await)?) {
            let expected = self.model.complete(reservation.job.code, &reservation.secret, result);
            self.note(|| format!("  {answer:?}"));
            self.met(format!("complete {answer:?}"));
            same("complete answers", &answer, &expected)?;
        }
        Ok(())
    }

    pub(super) async fn abandon(&mut self, items: &[(Handle, Option<u32>)]) -> Verdict {
        let call = |walk: &mut Self, &(handle, delay_ms): &(Handle, Option<u32>)| Abandon {
            reservation: walk.handle(handle),
            reason: Some(REASON.to_owned()),
            delay_ms,
            skip: false,
            grace_ms: None,
            resumes: None,
            draft: None,
        };
        let calls: Vec<_> = items.iter().map(|item| call(self, item)).collect();
        for (call, answer) in calls.iter().zip(all(self.real.handle.abandon(calls.clone()).await)?) {
            let (id, secret) = (call.reservation.job.code, &call.reservation.secret);
            let expected = self.model.abandon(id, secret, REASON, call.delay_ms.unwrap_or(0));
            self.note(|| format!("  {answer:?}"));
            self.met(format!("abandon {answer:?}"));
            same("abandon answers", &answer, &expected)?;
        }
        Ok(())
    }

    pub(super) async fn fail(&mut self, items: &[Handle]) -> Verdict {
        let calls: Vec<_> = items
            .iter()
            .map(|&handle| Fail { reservation: self.handle(handle), error: Some(ERROR.to_owned()) })
            .collect();
        for (call, answer) in calls.iter().zip(all(self.real.handle.fail(calls.clone()).await)?) {
            let expected = self.model.fail(call.reservation.job.code, &call.reservation.secret, ERROR);
            self.note(|| format!("  {answer:?}"));
            self.met(format!("fail {answer:?}"));
            same("fail answers", &answer, &expected)?;
        }
        Ok(())
    }
}
