//! What is asked for about a token.

use super::*;
use crate::access::TokenScope;

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

#[test]
fn secrets_by_flag_and_by_file_are_cut_alike() {
    let secret = "a secret of two and thirty bytes";
    for (before, after) in [("", ""), ("", "\n"), ("", "\r\n"), (" \t", " \n\n"), ("\u{a0}", "\u{2003}\n")] {
        let text = format!("{before}{secret}{after}");
        let path = file("cut", &text);
        for from in [["--token-secret", &text], ["--token-secret-file", path.to_str().expect("UTF-8")]] {
            let Ok(Command::Serve(serve)) = parse_words(from) else { panic!("not taken: {text:?}") };
            let exposed: Vec<_> = serve.signing.secrets().map(TokenSecret::expose).collect();
            assert_eq!(exposed, [secret.as_bytes()], "{text:?} by {}", from[0]);
        }
        fs::remove_file(path).expect("our file");
    }
}
