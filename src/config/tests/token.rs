//! What is asked for about a token.

use super::*;

#[test]
fn a_token_is_asked_for_in_words() {
    assert!(matches!(parse("token --worker ann --queue a,b* --queue c"), Ok(Command::Token(token))
        if matches!(token.scope(), TokenScope::Queues(queues) if queues.len() == 3) && token.ttl_ms == 3_600_000));
    let job = "a-01KAJ3V7Q2M8Z4R6T9XW5YB1CD";
    assert!(matches!(parse(&format!("token --worker ann --job {job}")), Ok(Command::Token(token))
        if matches!(token.scope(), TokenScope::Job(id) if id.to_string() == job)));
    for wrong in ["", "--job a", &format!("--job {job} --queue a")] {
        assert!(parse(&format!("token --worker ann {wrong}")).is_err(), "{wrong}");
    }
}
