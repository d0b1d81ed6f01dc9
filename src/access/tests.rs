//! Passes that are checked again while a call waits.

use std::fs;

use futures_util::FutureExt;

use super::*;

#[tokio::test]
async fn pass_ends_if_its_key_went_before_the_wait_began() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("keys");
    let made = |name: &str| make(&name.parse().expect("a name"), Role::Worker, &Pattern::all(), None);
    let (stays, goes) = (made("stays"), made("goes"));
    fs::write(&path, format!("{}\n{}\n", stays.line, goes.line)).expect("written");
    let access = Access::open(CredentialSources {
        keys_file: Some(path.clone()),
        jwks_file: None,
        secrets: Vec::new(),
        issuer: "intray".to_owned(),
        max_lifetime: Duration::from_secs(60),
        rate: 0,
    });
    let access = access.expect("keys");
    let passes = [&stays, &goes].map(|made| access.authenticate(&made.key).expect("a pass"));
    fs::write(&path, format!("{}\n", stays.line)).expect("written");
    // The second check accepts the change.
    for _ in 0..2 {
        access.check_files();
    }
    assert_eq!(passes.map(|pass| pass.ended().now_or_never().is_some()), [false, true]);
}
