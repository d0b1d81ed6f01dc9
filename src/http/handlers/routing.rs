//! Who may have a job: the fields of an enqueue and of a PATCH, and the skills of a worker.

use serde_json::value::RawValue;

use crate::{
    http::{
        request::{fields::JsonFields, rules},
        response::field_error::Rule,
    },
    job::{Name, Skill, limits},
    store::{Routing, RoutingPatch},
};

/// The fields, each of which may change by itself.
pub const ROUTING_FIELDS: [&str; 4] = ["assignees", "excluded", "skill", "fallback_ms"];

/// The routing of a new job. `None`: it names no field, so it is for all workers.
pub fn read_routing(fields: &mut JsonFields<'_>) -> Option<Box<Routing>> {
    let is_restricted = fields.has("assignees") || fields.has("skill");
    if fields.has("fallback_ms") && !is_restricted {
        fields.reject::<()>("fallback_ms", "needs assignees or a skill to fall back from");
    }
    let routing = Routing {
        assignees: assignees(fields).unwrap_or_default(),
        excluded: excluded(fields).unwrap_or_default(),
        skill: fields.take("skill", rules::parsed(Skill::parse)),
        fallback_ms: fields.take("fallback_ms", rules::whole(limits::FALLBACK_MS)),
        overlap: 0,
    };
    require_assignee(fields, &routing.assignees, &routing.excluded);
    (!routing.is_empty()).then(|| routing.into())
}

/// What a PATCH changes: `null` takes a field away.
pub fn read_routing_patch(fields: &mut JsonFields<'_>) -> RoutingPatch {
    let patch = RoutingPatch {
        assignees: change(fields, "assignees", assignees),
        excluded: change(fields, "excluded", excluded),
        skill: change(fields, "skill", |fields| fields.take("skill", rules::parsed(Skill::parse))),
        fallback_ms: change(fields, "fallback_ms", |fields| {
            fields.take("fallback_ms", rules::whole(limits::FALLBACK_MS))
        }),
    };
    if let (Some(Some(assignees)), Some(Some(excluded))) = (&patch.assignees, &patch.excluded) {
        require_assignee(fields, assignees, excluded);
    }
    patch
}

/// What a worker can do.
pub fn read_skills(fields: &mut JsonFields<'_>) -> Option<Vec<Skill>> {
    fields.list("skills", 0..=limits::SKILLS, rules::parsed(Skill::parse))
}

/// The new assignees of a reassignment: `null` names none.
pub fn read_successors(fields: &mut JsonFields<'_>) -> Option<Option<Vec<Name>>> {
    if !fields.has("to") {
        return fields.reject("to", "is required, and null is for no assignee");
    }
    change(fields, "to", |fields| fields.list("to", 1..=limits::ASSIGNEES, worker))
}

fn change<'b, T>(
    fields: &mut JsonFields<'b>,
    key: &str,
    read: impl FnOnce(&mut JsonFields<'b>) -> Option<T>,
) -> Option<Option<T>> {
    if fields.null(key) { Some(None) } else { read(fields).map(Some) }
}

fn assignees(fields: &mut JsonFields<'_>) -> Option<Vec<Name>> {
    fields.list("assignees", 1..=limits::ASSIGNEES, worker)
}

fn excluded(fields: &mut JsonFields<'_>) -> Option<Vec<Name>> {
    fields.list("excluded", 1..=limits::EXCLUDED, worker)
}

fn worker(raw: &RawValue) -> Result<Name, Rule> {
    rules::parsed(Name::of_worker)(raw)
}

/// A job that all its assignees are kept from would wait for nothing.
fn require_assignee(fields: &mut JsonFields<'_>, assignees: &[Name], excluded: &[Name]) {
    if !assignees.is_empty() && assignees.iter().all(|name| excluded.contains(name)) {
        fields.reject::<()>("assignees", "must name a worker who is not excluded");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::http::response::problem::Problem;

    fn pointers(problem: Problem) -> Vec<String> {
        let problem = serde_json::to_value(problem).expect("JSON");
        let errors = problem["errors"].as_array().expect("errors").iter();
        errors.map(|error| error["pointer"].as_str().expect("a pointer").to_owned()).collect()
    }

    fn read<T>(body: &Value, read: impl FnOnce(&mut JsonFields<'_>) -> T) -> Result<T, Vec<String>> {
        let text = body.to_string();
        let mut fields = JsonFields::of(&text).expect("an object");
        let value = read(&mut fields);
        fields.finish(Some(value)).map_err(pointers)
    }

    fn names(names: &[&str]) -> Vec<Name> {
        names.iter().map(|name| Name::parse(name).expect("a name")).collect()
    }

    #[test]
    fn job_without_fields_has_no_routing() {
        assert_eq!(read(&json!({}), read_routing), Ok(None));
        let whole =
            json!({ "assignees": ["ann", "bob"], "excluded": ["bob"], "skill": "German C1", "fallback_ms": 1e3 });
        let routing = Routing {
            assignees: names(&["ann", "bob"]),
            excluded: names(&["bob"]),
            skill: Skill::parse("German C1").ok(),
            fallback_ms: Some(1_000),
            overlap: 0,
        };
        assert_eq!(read(&whole, read_routing), Ok(Some(routing.into())));
    }

    #[test]
    fn wrong_fields_are_named_by_their_pointers() {
        let many = |n: usize| (0..n).map(|i| format!("w{i}")).collect::<Vec<_>>();
        for (body, pointer) in [
            (json!({ "assignees": [] }), "/assignees"),
            (json!({ "assignees": many(9) }), "/assignees"),
            (json!({ "assignees": "ann" }), "/assignees"),
            (json!({ "assignees": null }), "/assignees"),
            (json!({ "assignees": ["ann", "ann"] }), "/assignees/1"),
            (json!({ "assignees": ["ann "] }), "/assignees/0"),
            (json!({ "excluded": many(17) }), "/excluded"),
            (json!({ "excluded": ["ann", ".."] }), "/excluded/1"),
            (json!({ "skill": "" }), "/skill"),
            (json!({ "skill": " de" }), "/skill"),
            (json!({ "skill": "x".repeat(65) }), "/skill"),
            (json!({ "skill": "de", "fallback_ms": 999 }), "/fallback_ms"),
            (json!({ "skill": "de", "fallback_ms": 2_592_000_001_u64 }), "/fallback_ms"),
            (json!({ "fallback_ms": 5_000 }), "/fallback_ms"),
            (json!({ "excluded": ["ann"], "fallback_ms": 5_000 }), "/fallback_ms"),
            (json!({ "assignees": ["ann", "bob"], "excluded": ["cleo", "bob", "ann"] }), "/assignees"),
        ] {
            assert_eq!(read(&body, read_routing).map(drop), Err(vec![pointer.to_owned()]), "{body}");
        }
        assert!(read(&json!({ "assignees": many(8), "excluded": many(16)[8..] }), read_routing).is_ok());
    }

    #[test]
    fn patch_tells_null_from_a_missing_field() {
        assert_eq!(read(&json!({}), read_routing_patch), Ok(RoutingPatch::default()));
        let none = json!({ "assignees": null, "excluded": null, "skill": null, "fallback_ms": null });
        let patch =
            RoutingPatch { assignees: Some(None), excluded: Some(None), skill: Some(None), fallback_ms: Some(None) };
        assert_eq!(read(&none, read_routing_patch), Ok(patch));
        let alone = RoutingPatch { fallback_ms: Some(Some(5_000)), ..RoutingPatch::default() };
        assert_eq!(read(&json!({ "fallback_ms": 5_000 }), read_routing_patch), Ok(alone));
        for (body, pointer) in [
            (json!({ "assignees": [] }), "/assignees"),
            (json!({ "excluded": [] }), "/excluded"),
            (json!({ "assignees": ["ann"], "excluded": ["ann"] }), "/assignees"),
        ] {
            assert_eq!(read(&body, read_routing_patch).map(drop), Err(vec![pointer.to_owned()]), "{body}");
        }
    }

    #[test]
    fn skills_are_sixteen_distinct_ones_at_most() {
        let many = |n: usize| json!({ "skills": (0..n).map(|i| format!("s{i}")).collect::<Vec<_>>() });
        assert_eq!(read(&json!({}), read_skills), Ok(None));
        for n in [0, 16] {
            assert_eq!(read(&many(n), read_skills).map(|skills| skills.map(|skills| skills.len())), Ok(Some(n)));
        }
        for (body, pointer) in [(many(17), "/skills"), (json!({ "skills": ["de", "de"] }), "/skills/1")] {
            assert_eq!(read(&body, read_skills).map(drop), Err(vec![pointer.to_owned()]), "{body}");
        }
    }

    #[test]
    fn successors_are_named_or_null() {
        let of = |body: Value| read(&body, read_successors).map(Option::flatten);
        assert_eq!(of(json!({ "to": null })), Ok(None));
        assert_eq!(of(json!({ "to": ["cleo"] })), Ok(Some(names(&["cleo"]))));
        for wrong in [json!({}), json!({ "to": [] }), json!({ "to": "cleo" })] {
            assert_eq!(of(wrong), Err(vec!["/to".to_owned()]));
        }
    }
}
