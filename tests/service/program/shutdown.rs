//! A service that is told to end.

use std::time::Duration;

use serde_json::{Value, json};

use crate::{
    program::crash::{embedded, server_of},
    world::{Fault, World, eventually, is_alive},
};

#[tokio::test]
async fn a_service_told_to_end_answers_what_is_in_hand_and_ends_well() {
    let mut w = World::plan().with_proxy().start().await;
    let id = w.enqueue(1).await;
    w.proxy().set_fault(Fault::Freeze);
    let in_hand = tokio::spawn({
        let client = (*w).clone();
        async move { client.reserve_as("ann").await }
    });
    eventually("the call is on its way", async || w.proxy().is_withholding().then_some(())).await;
    w.service.signal(libc::SIGTERM);
    tokio::time::sleep(Duration::from_millis(200)).await;
    w.proxy().set_fault(Fault::None);
    assert_eq!(in_hand.await.expect("answered").id, id);
    assert!(w.service.wait_for_exit().await.success());
    assert!(w.request("GET", "/livez").send_if_possible().await.is_none(), "nobody listens any more");
    w.restart().await;
    w.check().await;
}

#[tokio::test]
async fn readiness_goes_before_the_service_does() {
    let mut w = World::start().await;
    assert_eq!(w.get("/readyz").await.status, 200);
    w.service.signal(libc::SIGTERM);
    eventually("it says that it is leaving, or has left", async || {
        match w.request("GET", "/readyz").send_if_possible().await {
            Some(answer) => (answer.status == 503).then_some(()),
            None => Some(()),
        }
    })
    .await;
    assert!(w.service.wait_for_exit().await.success());
    let said: Value = json!(w.service.output());
    assert!(said.as_str().expect("text").contains("intray is ready on http://"));
}

/// A terminal that is closed, Ctrl-C, Ctrl-\ and a supervisor: the private server has written what it holds and is gone.
#[tokio::test]
async fn every_signal_that_ends_it_ends_it_in_order() {
    for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM] {
        let folder = tempfile::Builder::new().prefix("intray-").tempdir().expect("a folder");
        let (mut service, client) = embedded(folder.path()).await;
        client.enqueue(1).await;
        let server = server_of(folder.path()).await;
        service.signal(signal);
        let status = service.wait_for_exit().await;
        assert!(status.success(), "{signal}: {status:?} {}", service.output());
        assert!(service.output().contains("leaving"), "{signal}: {}", service.output());
        assert!(!is_alive(server), "{signal}: the private server was left behind");
        assert!(!folder.path().join("redis.sock").exists(), "{signal}: its socket was left behind");
    }
}

/// `nohup` has it ignore the end of its terminal, and that stays so.
#[tokio::test]
async fn a_service_under_nohup_outlives_its_terminal() {
    let w = World::start().await;
    let (service, client) = w.start_instance_after("trap '' HUP").await;
    service.signal(libc::SIGHUP);
    tokio::time::sleep(Duration::from_millis(700)).await;
    assert_eq!(client.get("/readyz").await.status, 200);
    w.check().await;
}
