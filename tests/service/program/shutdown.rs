//! Shutdown after a signal.

use std::time::Duration;

use crate::{
    program::crash::{embedded, server_of},
    world::{Fault, World, eventually, is_alive},
};

#[tokio::test]
async fn shutdown_answers_calls_in_flight_and_exits_with_0() {
    let mut w = World::plan().own_process().with_proxy().start().await;
    let id = w.enqueue(1).await;
    w.proxy().set_fault(Fault::Freeze);
    let in_hand = tokio::spawn({
        let client = (*w).clone();
        async move { client.reserve_as("ann").await }
    });
    eventually("the call is sent", async || w.proxy().is_withholding().then_some(())).await;
    w.service.signal(libc::SIGTERM);
    tokio::time::sleep(Duration::from_millis(200)).await;
    w.proxy().set_fault(Fault::None);
    assert_eq!(in_hand.await.expect("answered").id, id);
    assert!(w.service.wait_for_exit().await.success());
    assert!(w.request("GET", "/livez").send_if_possible().await.is_none(), "the port is closed");
    w.restart().await;
    w.check().await;
}

#[tokio::test]
async fn readiness_fails_before_the_service_stops() {
    let mut w = World::start_process().await;
    assert_eq!(w.get("/readyz").await.status, 200);
    w.service.signal(libc::SIGTERM);
    eventually("readiness fails or the service has ended", async || {
        match w.request("GET", "/readyz").send_if_possible().await {
            Some(answer) => (answer.status == 503).then_some(()),
            None => Some(()),
        }
    })
    .await;
    assert!(w.service.wait_for_exit().await.success());
    let log = w.service.output();
    assert!(log.contains("intray is ready on http://"));
}

/// A closed terminal, Ctrl-C, Ctrl-\ and a supervisor's signal: the private server writes its data and ends.
#[tokio::test]
async fn every_signal_stops_the_private_server_cleanly() {
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

/// `nohup` makes it ignore the end of its terminal.
#[tokio::test]
async fn service_under_nohup_outlives_its_terminal() {
    let w = World::start_process().await;
    let (service, client) = w.start_instance_after("trap '' HUP").await;
    service.signal(libc::SIGHUP);
    tokio::time::sleep(Duration::from_millis(700)).await;
    assert_eq!(client.get("/readyz").await.status, 200);
    w.check().await;
}
