use axum::{
    http::{StatusCode, header},
    response::IntoResponse,
};

use super::*;
use crate::store::Lost;

fn text(problem: &Problem) -> String {
    serde_json::to_string(problem).expect("JSON")
}

#[test]
fn problem_lists_its_errors() {
    let problem =
        Problem::invalid(vec![FieldError::pointer("/a~1b", "is required"), FieldError::parameter("limit", "is odd")]);
    assert_eq!(
        text(&problem),
        r#"{"type":"/problems/invalid-request","title":"The request breaks a rule","status":422,"#.to_owned()
            + r#""detail":"a~1b: is required (and 1 more)","errors":[{"pointer":"/a~1b","detail":"is required"},"#
            + r#"{"parameter":"limit","detail":"is odd"}]}"#
    );
}

#[test]
fn lost_reservation_names_its_reason() {
    let lost = Lost { ending: Ending::Expired, state: Some(State::Waiting) };
    assert!(text(&lost.into()).ends_with(r#""reason":"expired","job_state":"waiting"}"#));
    let unknown = Lost { ending: Ending::Unknown, state: None };
    assert!(text(&unknown.into()).ends_with(r#""reason":"unknown"}"#));
}

#[test]
fn unavailable_redis_has_retry_after() {
    let fault = Fault::Unavailable { applied: Applied::Unknown, why: "secret".to_owned() };
    let problem = Problem::from(fault);
    assert!(text(&problem).ends_with(r#""applied":"unknown","retry_after_ms":1000}"#));
    let response = problem.into_response();
    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(response.headers()[header::RETRY_AFTER], "1");
    assert_eq!(response.headers()[header::CONTENT_TYPE], "application/problem+json");
}
