//! A key set with entries that cannot be used lets in who the others stand for, and the log and `intray check` name the rest.

use std::fs;

use jsonwebtoken::Algorithm;
use serde_json::{Value, json};

use crate::world::{Client, Engine, World, access::issued, eventually, program, run};

async fn may_come_in(w: &World, kid: &str, algorithm: Algorithm) -> bool {
    let caller: Client = w.with_credential(&issued(algorithm, kid, json!({})));
    caller.get("/me").await.status == 200
}

#[tokio::test]
async fn unusable_key_of_a_set_keeps_the_others_valid() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("jwks.json");
    let jwks: Value = serde_json::from_str(include_str!("../../keys/jwks.json")).expect("JSON");
    let [rsa, ec, ed] = [0, 1, 2].map(|index| jwks["keys"][index].clone());
    let mut without_kid = rsa.clone();
    without_kid.as_object_mut().expect("members").remove("kid");
    let write = |keys: &[&Value]| fs::write(&file, json!({ "keys": keys }).to_string()).expect("written");
    write(&[&without_kid, &ec]);
    let path = file.display().to_string();
    let w = World::plan().own_process().with_keys(&[]).flag("--jwks-file", &path).start().await;
    assert!(may_come_in(&w, "e", Algorithm::ES256).await && !may_come_in(&w, "r", Algorithm::RS256).await);
    assert!(w.service.output().contains("jwks.json: key 1 is not used: it has no kid"), "{}", w.service.output());

    // The issuer rotates, and one entry is a private key.
    let mut private = rsa.clone();
    private["d"] = json!("hunter2");
    write(&[&private, &ed, &ec]);
    eventually("the new key counts", async || may_come_in(&w, "d", Algorithm::EdDSA).await.then_some(())).await;
    assert!(may_come_in(&w, "e", Algorithm::ES256).await && !may_come_in(&w, "r", Algorithm::RS256).await);
    let output = w.service.output();
    assert!(output.contains("jwks.json: key 1 is not used: it holds its private part"), "{output}");
    assert!(!output.contains("hunter2"));

    write(&[&private, &without_kid]);
    let stays = "the previous content stays in use";
    eventually(stays, async || w.service.output().contains(stays).then_some(())).await;
    assert!(may_come_in(&w, "d", Algorithm::EdDSA).await);
    w.check().await;
}

#[tokio::test]
async fn check_names_the_keys_that_are_not_used() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = Engine::start(folder.path(), false).await;
    let (url, file) = (format!("unix://{}", engine.socket().display()), folder.path().join("jwks.json"));
    let path = file.to_str().expect("UTF-8");
    fs::write(&file, include_str!("../../keys/jwks.json")).expect("written");
    let check = async || run(program(["check", "--redis-url", &url, "--jwks-file", path])).await;
    let printed = check().await;
    assert!(printed.status.success(), "{printed:?}");
    for (index, why) in [(4, "it is not for signatures"), (5, "its type is none of")] {
        assert!(printed.stdout.contains(&format!("jwks.json: key {index} is not used: {why}")), "{printed:?}");
    }
    let line = printed.stdout.lines().find(|line| line.contains("access")).expect("a line");
    assert!(line.starts_with("warning  access: "), "{line}");
    fs::write(&file, r#"{"keys":[{"kty":"oct","kid":"a","k":"hunter2"}]}"#).expect("written");
    let printed = check().await;
    assert!(!printed.status.success() && printed.stdout.contains("wrong    access: "), "{printed:?}");
    assert!(printed.stdout.contains("key 1 is not used: it is a shared secret"), "{printed:?}");
    assert!(!format!("{printed:?}").contains("hunter2"));
}
