//! Who has worked in a queue lately, and which of the names that a call gives have not.

use axum::{
    extract::{FromRef, FromRequestParts},
    http::request::Parts,
    response::Response,
};

use crate::{
    http::{
        request::reader::ReadCall,
        response::{counted, problem::Problem, shapes},
    },
    job::{Name, QueueName, Skill},
    sheets::Sheets,
    store::{RecentWorkers, RoutingPatch},
    waiting::Waiting,
};

/// A call that asks who has worked lately.
pub struct RecentCall {
    sheets: Sheets,
    waiting: Waiting,
    pub reader: ReadCall,
}

impl<S: Sync> FromRequestParts<S> for RecentCall
where
    Waiting: FromRef<S>,
    Sheets: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let reader = ReadCall::from_request_parts(parts, state).await?;
        Ok(Self { sheets: Sheets::from_ref(state), waiting: Waiting::from_ref(state), reader })
    }
}

/// The names and skills that a call gives.
pub struct GivenNames<'c> {
    /// Each once.
    names: Vec<&'c Name>,
    skill: Option<&'c Skill>,
}

impl<'c> GivenNames<'c> {
    pub fn new(given: impl Iterator<Item = &'c Name>, skill: Option<&'c Skill>) -> Self {
        let mut names = Vec::new();
        for name in given {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        Self { names, skill }
    }

    pub fn of_patch(patch: &'c RoutingPatch) -> Self {
        let given = [&patch.assignees, &patch.excluded].into_iter().flatten().flatten().flatten();
        Self::new(given, patch.skill.iter().flatten().next())
    }

    fn unseen(&self, found: &RecentWorkers) -> Vec<String> {
        let names = self.names.iter().filter(|name| !found.names.contains(**name)).map(|name| name.as_str().to_owned());
        let skill = self.skill.filter(|skill| !found.skills.contains(*skill));
        names.chain(skill.map(|skill| skill.as_str().to_owned())).collect()
    }
}

impl RecentCall {
    /// `GET /queues/{queue}/workers?recent=true`
    pub async fn answer(self, queue: &QueueName) -> Result<Response, Problem> {
        let turn = self.reader.page_permit().await?;
        let mut found = RecentWorkers::default();
        self.waiting.add_callers(queue, &mut found);
        self.sheets.add_recent(queue, &mut found).await.map_err(Problem::from_read)?;
        Ok(counted::answer(turn, &shapes::RecentWorkersBody::new(&found)))
    }

    /// Those of the given names that are not among the recent ones, and the skill if it is not. `None`: it could not be read, which is no
    /// reason to refuse the call.
    pub async fn unseen(self, queue: &QueueName, given: &GivenNames<'_>) -> Option<Vec<String>> {
        let mut found = RecentWorkers::default();
        self.waiting.add_callers(queue, &mut found);
        if !given.unseen(&found).is_empty() {
            let _turn = self.reader.page_permit().await.ok()?;
            let is_enough = |found: &RecentWorkers| given.unseen(found).is_empty();
            self.sheets.add_recent_until(queue, &mut found, is_enough).await.ok()?;
        }
        Some(given.unseen(&found))
    }
}
