//! `make demo` starts a service of its own and never fills another.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Stdio},
};

use crate::world::{Client, Service, World, eventually, run, tool};

/// The script of `make demo`, with a browser that opens nothing.
fn demo(folder: &Path) -> Command {
    let browser = folder.join("xdg-open");
    fs::write(&browser, "#!/bin/sh\n").expect("written");
    fs::set_permissions(&browser, fs::Permissions::from_mode(0o755)).expect("allowed");
    let mut path = folder.as_os_str().to_owned();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    let mut command = tool(Path::new(env!("CARGO_MANIFEST_DIR")).join("web/demo/run.sh"));
    command.args([env!("CARGO_BIN_EXE_intray"), "serve", "--demo", "--data-dir"]).arg(folder.join("data"));
    command.env("PATH", path).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

#[tokio::test]
async fn demo_does_not_fill_the_queues_of_a_running_service() {
    let w = World::start().await;
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = demo(folder.path());
    command.env("INTRAY_LISTEN", w.address());
    let end = run(command).await;
    assert!(!end.status.success(), "{end:?}");
    assert!(end.stderr.contains("cannot listen on") && !end.stdout.contains("The desk is"), "{end:?}");
    assert_eq!(w.get("/queues/moderation").await.status, 404, "the examples are in a queue of another service");
    w.check().await;
}

#[tokio::test]
async fn demo_uses_another_port_when_its_own_is_taken() {
    // This test or another program may hold the port.
    let taken = std::net::TcpListener::bind("127.0.0.1:7070");
    let folder = tempfile::tempdir().expect("a folder");
    let mut desk = Service::start(demo(folder.path())).await;
    assert!(!desk.url().ends_with(":7070"), "{}", desk.url());
    let client = Client::new(desk.url());
    eventually("the demo is ready", async || {
        desk.output()
            .contains(&format!("A desk of one's own, made for moderation alone, is {}/demo/", desk.url()))
            .then_some(())
    })
    .await;
    for (queue, at_least) in [("moderation", 50), ("labels", 12), ("approvals", 8)] {
        let waiting = client.get(&format!("/queues/{queue}")).await.is(200)["counts"]["waiting"].as_u64();
        assert!(waiting >= Some(at_least), "{queue}: {waiting:?}");
    }
    assert!(desk.output().contains("is taken"), "{}", desk.output());
    desk.signal(libc::SIGTERM);
    desk.wait_for_exit().await;
    assert!(client.request("GET", "/livez").send_if_possible().await.is_none(), "the service ends with the script");
    drop(taken);
}
