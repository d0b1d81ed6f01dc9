use serde_json::json;

use super::*;

fn skills(words: &[&str]) -> Vec<Skill> {
    words.iter().map(|word| Skill::parse(word).expect("a skill")).collect()
}

fn taken_with(skills: &Value) -> Option<Caller> {
    taken(&token(Algorithm::EdDSA, Some("d"), &with(json!({ "skills": skills })), &ed()))
}

#[test]
fn token_skills_can_only_be_narrowed() {
    let caller = taken_with(&json!(["fr", "de", "fr"])).expect("taken");
    assert_eq!(caller.skills(None), skills(&["de", "fr"]));
    assert_eq!(caller.skills(Some(skills(&["en", "fr"]))), skills(&["fr"]));
    assert_eq!(caller.skills(Some(Vec::new())), []);
}

#[test]
fn token_without_the_claim_has_no_skills() {
    for none in [json!([]), Value::Null] {
        let caller = taken_with(&none).expect("taken");
        assert_eq!(caller.skills(None), []);
        assert_eq!(caller.skills(Some(skills(&["de"]))), []);
    }
}

#[test]
fn caller_without_a_token_names_the_skills() {
    let caller = Caller::without_access_control();
    assert_eq!(caller.skills(None), []);
    assert_eq!(caller.skills(Some(skills(&["de"]))), skills(&["de"]));
}

#[test]
fn token_with_wrong_skills_is_refused() {
    let all: Vec<_> = (0..limits::SKILLS).map(|i| format!("s{i}")).collect();
    assert!(taken_with(&json!(all)).is_some());
    let beyond: Vec<_> = (0..=limits::SKILLS).map(|i| format!("s{i}")).collect();
    for wrong in [json!(beyond), json!("de"), json!([""]), json!([" de"]), json!([7]), json!(["x".repeat(65)])] {
        assert!(taken_with(&wrong).is_none(), "{wrong}");
    }
}

#[test]
fn minted_token_says_its_skills() {
    let (worker, queues) = (Name::parse("ann").expect("a name"), TokenScope::Queues(vec![Pattern::all()]));
    let signer = Signer::new(SECRET, "intray".to_owned());
    let token = signer.sign(&worker, &queues, &skills(&["de", "C1 German"]), DAY, None, None).expect("signed").token;
    assert_eq!(taken(&token).expect("taken").skills(None), skills(&["C1 German", "de"]));
}
