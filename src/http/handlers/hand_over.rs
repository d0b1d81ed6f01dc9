//! The call by which a holder hands a job over. It is read and answered as the others that name a reservation.

use crate::{
    http::{
        handlers::settle::{DRAFT, Settle},
        request::{fields::JsonFields, rules},
        response::{field_error::FieldError, problem::Problem, shapes},
    },
    job::{JobId, Line, Name, Reservation, Skill, limits},
    payload::Json,
    store::{Fault, HandOver, HandOverOutcome, Queues},
};

impl Settle for HandOver {
    type Outcome = HandOverOutcome;
    type Answer = shapes::ReturnedBody;

    fn read(fields: &mut JsonFields<'_>, reservation: Option<Reservation>) -> Option<Self> {
        let to = receiver(fields);
        let note = fields.take("note", rules::text_up_to(limits::NOTE)).filter(|note| !note.is_empty());
        let draft = fields.take("draft", rules::json);
        let fallback_ms = fields.take("fallback_ms", rules::whole(limits::FALLBACK_MS));
        Some(Self { reservation: reservation?, to: to?, note, draft, fallback_ms })
    }

    fn reservation(&self) -> &Reservation {
        &self.reservation
    }

    fn carried(&self) -> (&'static str, Option<&Json>) {
        (DRAFT, self.draft.as_ref())
    }

    async fn settle(self, queues: &Queues) -> Result<HandOverOutcome, Fault> {
        queues.hand_over(self).await
    }

    fn answer(id: JobId, outcome: HandOverOutcome) -> Result<Self::Answer, Problem> {
        match outcome {
            HandOverOutcome::HandedOver { state, duplicate } => Ok(shapes::ReturnedBody { id, state, duplicate }),
            HandOverOutcome::NotEligible(rule) => Err(Problem::ineligible_receiver(rule)),
            HandOverOutcome::SameWorker => {
                let error = FieldError::pointer("/to", "must be another worker than the holder");
                Err(Problem::invalid(vec![error]).with_valid_reservation())
            }
            HandOverOutcome::Closing { final_in_ms } => Err(Problem::closing(final_in_ms)),
            HandOverOutcome::Elsewhere { to, state } => Err(Problem::handed_elsewhere(&to, state)),
            HandOverOutcome::Lost(lost) => Err(lost.into()),
        }
    }
}

/// A worker, or those with a skill.
fn receiver(fields: &mut JsonFields<'_>) -> Option<Line> {
    let (has_worker, has_skill) = (fields.has("to"), fields.has("skill"));
    let worker = fields.take("to", rules::parsed(Name::of_worker)).map(Line::Worker);
    let skill = fields.take("skill", rules::parsed(Skill::parse)).map(Line::Skill);
    match (has_worker, has_skill) {
        (true, true) => fields.reject("skill", "does not go together with to"),
        (false, false) => fields.reject("to", "is required, or skill"),
        (true, false) | (false, true) => worker.or(skill),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(more: Value) -> Result<HandOver, String> {
        let (mut body, reservation) = (more, format!("q-{}.{}", "0".repeat(26), "0".repeat(26)));
        body["reservation"] = json!(reservation);
        let text = body.to_string();
        let mut fields = JsonFields::of(&text).expect("an object");
        let reservation = fields.require("reservation", rules::parsed(Reservation::parse));
        let call = HandOver::read(&mut fields, reservation);
        fields.finish(call).map_err(|problem| {
            let problem = serde_json::to_value(problem).expect("JSON");
            problem["errors"][0]["pointer"].as_str().expect("a pointer").to_owned()
        })
    }

    #[test]
    fn receiver_is_a_worker_or_a_skill() {
        let to = |more| read(more).map(|call| call.to.to_string());
        assert_eq!(to(json!({ "to": "bob" })).as_deref(), Ok("@bob"));
        assert_eq!(to(json!({ "skill": "de" })).as_deref(), Ok("+de"));
        for (more, pointer) in [
            (json!({}), "/to"),
            (json!({ "to": "bob", "skill": "de" }), "/skill"),
            (json!({ "to": " bob" }), "/to"),
            (json!({ "skill": "" }), "/skill"),
            (json!({ "to": "bob", "note": "x".repeat(1_025) }), "/note"),
            (json!({ "to": "bob", "note": "\u{e9}".repeat(513) }), "/note"),
            (json!({ "to": "bob", "note": null }), "/note"),
            (json!({ "to": "bob", "fallback_ms": 999 }), "/fallback_ms"),
        ] {
            assert_eq!(to(more.clone()), Err(pointer.to_owned()), "{more}");
        }
    }

    #[test]
    fn hand_over_carries_note_draft_and_time() {
        let whole = json!({ "to": "bob", "note": "see page 2", "draft": { "a": 1 }, "fallback_ms": 60_000 });
        let call = read(whole).expect("a hand-over");
        assert_eq!((call.note.as_deref(), call.fallback_ms), (Some("see page 2"), Some(60_000)));
        assert_eq!(call.draft.as_ref().map(Json::as_str), Some(r#"{"a":1}"#));
        let bare = read(json!({ "to": "bob", "note": "" })).expect("a hand-over");
        assert_eq!((bare.note, bare.fallback_ms, bare.draft.is_none()), (None, None, true));
    }
}
