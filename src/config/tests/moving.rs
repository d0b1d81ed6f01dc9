//! Where the queues are to go.

use super::*;

fn moving(line: &str) -> Move {
    match parse(line).expect("a valid line") {
        Command::Move(moving) => moving,
        other => panic!("not move: {other:?}"),
    }
}

#[test]
fn place_is_named_without_credentials() {
    let to = moving("move --data-dir d --to rediss+cluster://ann:s3cr3t@a:1,b:2").to().expect("a server");
    let (url, place) = to.expect("a place");
    assert_eq!((url.contains("s3cr3t"), place.as_str()), (true, "rediss+cluster://a:1,b:2"));
    let from = file("to", "redis://ann:s3cr3t@h\n");
    let to = moving(&format!("move --to-file {}", from.display())).to().expect("a server");
    assert_eq!(to.map(|(_, place)| place).as_deref(), Some("redis://h"));
    assert_eq!(moving("move --cancel").to(), Ok(None));
}

#[test]
fn invalid_place_is_refused_without_its_password() {
    for line in
        ["move", "move --to h", "move --to redis://h --to-file /nowhere", "move --cancel --dry-run --to redis://h"]
    {
        assert_eq!(parse(line).map_err(|refusal| refusal.exit_code()).expect_err(line), 2, "{line}");
    }
    assert!(!refusal("move --to redis://ann:s3cr3t@h:x").contains("s3cr3t"));
    assert!(moving("move --to redis+sentinel://h/name").to().is_err());
}
