//! What is asked for about a key.

use std::time::Duration;

use super::*;
use crate::access::Pattern;
use crate::access::{CredentialExpiry, Role};

fn key_task(line: &str) -> KeyTask {
    match parse(line) {
        Ok(Command::Key(key)) => key.task().expect("a task"),
        other => panic!("{line}: {other:?}"),
    }
}

fn making(role: Role, pattern: &str, until: Option<CredentialExpiry>) -> KeyTask {
    let pattern = Pattern::parse(pattern).expect("a pattern");
    KeyTask::Make { name: "web".parse().expect("a name"), role, pattern, until }
}

#[test]
fn a_key_is_asked_for_in_words_and_taken_away_too() {
    assert_eq!(key_task("key web producer"), making(Role::Producer, "*", None));
    assert_eq!(key_task("key web asker"), making(Role::Asker, "*", None));
    assert_eq!(key_task("key web worker a*"), making(Role::Worker, "a*", None));
    let until = "2999-12-31".parse().expect("a date");
    assert_eq!(key_task("key web viewer --until 2999-12-31"), making(Role::Viewer, "*", Some(until)));
    let revoked = |hash| KeyTask::Revoke { name: "web".parse().expect("a name"), hash, keys_file: "f".into() };
    assert_eq!(key_task("key --revoke web --keys-file f"), revoked(None));
    assert_eq!(key_task("key --revoke web --keys-file f --hash 0aBc"), revoked("0abc".parse().ok()));
    assert!(matches!(
        key_task("key --rotate web --keys-file f --overlap-ms 0 --until 2999-12-31"),
        KeyTask::Rotate { hash: None, until: Some(_), overlap: Duration::ZERO, .. }
    ));
    for (line, word) in [
        ("key web", "<ROLE>"),
        ("key web boss", "worker, asker, producer, viewer or operator"),
        ("key web viewer --until soon", "RFC 3339"),
        ("key web viewer --until 1999-12-31", "it ended at 2000-01-01T00:00:00Z"),
        ("key --revoke web", "--keys-file"),
        ("key web viewer --keys-file f", "cannot be used with"),
        ("key --keys-file f", "<NAME>"),
        ("key web viewer --revoke web --keys-file f", "cannot be used with"),
        ("key --rotate web", "--keys-file"),
        ("key web viewer --rotate web --keys-file f", "cannot be used with"),
        ("key --rotate web --revoke web --keys-file f", "cannot be used with"),
        ("key web viewer --hash 0abc", "cannot be used with"),
        ("key --revoke web --keys-file f --hash xyz", "hex digits"),
        ("key --revoke web --keys-file f --overlap-ms 1", "cannot be used with"),
        ("key --revoke web --keys-file f --until 2999-12-31", "cannot be used with"),
    ] {
        let message = refusal(line);
        assert!(message.contains(word), "{line}: {message}");
    }
}
