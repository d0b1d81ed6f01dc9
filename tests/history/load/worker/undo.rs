//! Completions that their worker can take back for a time, and sometimes does.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::Worker;
use crate::record::{Answer, ReportedItem, Settle, Way};

/// A completion that its worker takes back later.
pub struct Regret {
    completion: Settle,
    is_line: bool,
    at: Instant,
}

impl Worker {
    /// Completes a job for a time. The worker may wait to take that back, or take other jobs meanwhile.
    pub async fn complete_for_a_time(&mut self, job: &ReportedItem, is_line: bool) {
        let completion = self.closing(&job.reservation, job.resumes);
        self.finish(Way::Complete, completion.clone()).await;
        let chance = &mut self.caller.chance;
        if chance.percent(25) {
            return;
        }
        let window = completion.undo_ms.unwrap_or(0);
        let after = match chance.up_to(9) {
            0..=6 => chance.up_to(window / 4),
            7 | 8 => chance.within(window - 20, window + 20),
            _ => window + chance.up_to(500),
        };
        let regret = Regret { completion, is_line, at: Instant::now() + Duration::from_millis(after) };
        if chance.percent(50) {
            return self.regrets.push(regret);
        }
        sleep_until(regret.at).await;
        self.take_back(regret).await;
    }

    /// Takes back what is due.
    pub async fn take_back_due(&mut self) {
        let now = Instant::now();
        let regrets = std::mem::take(&mut self.regrets);
        let (due, later): (Vec<_>, _) = regrets.into_iter().partition(|regret| regret.at <= now);
        self.regrets = later;
        for regret in due {
            self.take_back(regret).await;
        }
    }

    async fn take_back(&mut self, Regret { completion, is_line, .. }: Regret) {
        let Some(resumes) = self.undo(&completion.reservation).await else { return };
        if self.caller.chance.percent(25) {
            // It may have been on its way all the time.
            self.settle(Way::Complete, vec![completion.clone()]).await;
        }
        let reservation = completion.reservation.clone();
        match self.caller.chance.up_to(9) {
            0 => {
                self.stale.extend(Some(completion).filter(|_| self.caller.chance.percent(70)));
                self.forgotten.extend(Some(reservation).filter(|_| self.caller.chance.percent(50)));
            }
            1 | 2 => {
                self.give_back(&reservation, is_line).await;
                self.stale.extend(Some(completion).filter(|_| self.caller.chance.percent(20)));
            }
            3 | 4 => {
                let again = self.closing(&reservation, Some(resumes));
                self.finish(Way::Complete, again).await;
            }
            _ => {
                let again = Settle { resumes: Some(resumes), ..self.plain(&reservation) };
                self.finish(Way::Complete, again).await;
            }
        }
    }

    /// Repeats the call until its outcome is known, and sometimes once more. Returns the resumes, if the worker holds the job.
    async fn undo(&mut self, reservation: &str) -> Option<u64> {
        let item = Settle { reservation: reservation.to_owned(), ..Settle::default() };
        for _ in 0..4 {
            match self.settle(Way::Undo, vec![item.clone()]).await {
                Answer::Done(held) if !self.caller.chance.percent(15) => return held.first()?.resumes,
                Answer::Refused(refusal) if !matches!(refusal.status, 0 | 503) => return None,
                Answer::Done(_) | Answer::Refused(_) | Answer::Unknown => self.caller.chance.rest(100).await,
            }
        }
        self.forgotten.push(item.reservation);
        None
    }

    fn closing(&mut self, reservation: &str, resumes: Option<u64>) -> Settle {
        let undo_ms = Some(self.caller.chance.within(300, 6_000));
        Settle { undo_ms, resumes, ..self.plain(reservation) }
    }
}
