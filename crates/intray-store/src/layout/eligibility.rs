//! Who may have a job, as readers see it.

use serde::Serialize;

use super::{route::JobRoute, routing::HandedTo};
use crate::job::{Millis, Name, Skill};

/// Who may have a job now, as readers see it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Eligibility {
    pub assignees: Option<Vec<Name>>,
    pub excluded: Option<Vec<Name>>,
    pub skill: Option<Skill>,
    pub fallback_ms: Option<u32>,
    pub fallback_at: Option<Millis>,
    pub handed_to: Option<HandedTo>,
}

impl From<JobRoute> for Eligibility {
    /// After the fallback, assignees and skill count no longer.
    fn from(route: JobRoute) -> Self {
        let JobRoute { assignees, excluded, skill, fallback_ms, fallback_at, fell_back, handed, .. } = route;
        let named = |names: Vec<Name>| Some(names).filter(|names| !names.is_empty());
        Self {
            assignees: named(assignees).filter(|_| !fell_back),
            excluded: named(excluded),
            skill: skill.filter(|_| !fell_back),
            fallback_ms,
            fallback_at: fallback_at.filter(|_| !fell_back),
            handed_to: handed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::routing::Routing;

    #[test]
    fn route_is_read_as_routing_is_packed() {
        let [ann, bob] = ["ann", "bob"].map(|name| Name::parse(name).expect("a name"));
        let routing = Routing {
            assignees: vec![ann.clone()],
            excluded: vec![bob.clone()],
            skill: Skill::parse("de").ok(),
            fallback_ms: Some(5_000),
            overlap: 3,
        };
        let mut packed = Vec::new();
        routing.pack(&mut packed);
        let route = JobRoute::parse(&packed).expect("a route");
        let eligibility = Eligibility {
            assignees: Some(vec![ann]),
            excluded: Some(vec![bob]),
            skill: routing.skill,
            fallback_ms: Some(5_000),
            ..Eligibility::default()
        };
        assert_eq!(Eligibility::from(route.clone()), eligibility);
        let fell_back = JobRoute { fell_back: true, fallback_at: Some(Millis(9)), ..route };
        let later = Eligibility { assignees: None, skill: None, ..eligibility };
        assert_eq!(Eligibility::from(fell_back), later, "only who is excluded still counts");
    }
}
