//! Tests with the real server.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    process::Command,
    sync::atomic::{AtomicU32, Ordering},
};

use redis::Commands;

use super::*;

/// A data folder that is removed at the end of the test.
struct Data(PathBuf);

impl Data {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let data = Self(std::env::temp_dir().join(format!("intray-embedded-{}-{number}", std::process::id())));
        // An earlier process with the same pid may have left it.
        let _ = fs::remove_dir_all(&data.0);
        data
    }

    fn mode(&self) -> u32 {
        fs::metadata(&self.0).expect("the folder").permissions().mode() & 0o777
    }
}

impl Drop for Data {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn connect(server: &PrivateServer) -> redis::Connection {
    redis::Client::open(server.url()).and_then(|client| client.get_connection()).expect("a connection")
}

fn pid(server: &PrivateServer) -> i32 {
    server.supervisor.pid().expect("a running server")
}

fn kill(pid: i32) {
    let pid = rustix::process::Pid::from_raw(pid).expect("a process");
    rustix::process::kill_process(pid, Signal::KILL).expect("a signal");
}

fn is_there(pid: i32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

async fn until(what: &str, holds: impl Fn() -> bool) {
    let deadline = time::Instant::now() + Duration::from_secs(20);
    while !holds() {
        assert!(time::Instant::now() < deadline, "{what}");
        time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn a_killed_server_comes_back_with_what_it_knew() {
    let data = Data::new();
    let server = start(&data.0, None).await.expect("a server");
    let first = pid(&server);
    let () = connect(&server).set("k", "v").expect("stored");
    let begun = data.0.join("temp-rewriteaof-bg-1.aof");
    fs::write(&begun, "the half of it").expect("written");
    kill(first);
    until("another server", || server.supervisor.pid().is_some_and(|pid| pid != first)).await;
    server.ready().await;
    assert_eq!(connect(&server).get::<_, String>("k").expect("read"), "v");
    assert!(!begun.exists(), "the rewrite that it had begun is of no use");
    server.stop().await;
}

#[tokio::test]
async fn stored_data_survives_a_stop_and_a_start() {
    let data = Data::new();
    let server = start(&data.0, None).await.expect("a server");
    let () = connect(&server).set("k", "v").expect("stored");
    let was = pid(&server);
    server.stop().await;
    assert!(!is_there(was) && !data.0.join("redis.sock").exists());
    let server = start(&data.0, None).await.expect("a server");
    assert_eq!(connect(&server).get::<_, String>("k").expect("read"), "v");
    server.stop().await;
}

#[tokio::test]
async fn data_is_private_and_nothing_is_evicted() {
    let data = Data::new();
    let server = start(&data.0, None).await.expect("a server");
    assert_eq!(data.mode(), 0o700);
    for file in fs::read_dir(&data.0).expect("the folder").map(|entry| entry.expect("an entry").path()) {
        let mode = fs::metadata(&file).expect("the file").permissions().mode();
        assert_eq!(mode & 0o077, 0, "{}", file.display());
    }
    let settings = "maxmemory-policy noeviction|appendonly yes|save |port 0|hash-max-listpack-entries 64\
                    |zset-max-listpack-entries 16|latency-tracking no|rdbcompression no";
    for (setting, value) in settings.split('|').filter_map(|line| line.split_once(' ')) {
        let setting_value: Vec<String> =
            redis::cmd("CONFIG").arg("GET").arg(setting).query(&mut connect(&server)).expect("an answer");
        assert_eq!(setting_value, [setting, value]);
    }
    server.stop().await;
}

#[tokio::test]
async fn server_takes_half_of_the_memory_by_default() {
    for (asked, expected) in [(None, memory::half()), (Some(0), 0), (Some(30 << 20), 30 << 20)] {
        let data = Data::new();
        let server = start(&data.0, asked).await.expect("a server");
        let setting_value: Vec<String> =
            redis::cmd("CONFIG").arg("GET").arg("maxmemory").query(&mut connect(&server)).expect("an answer");
        assert_eq!(setting_value, ["maxmemory", &expected.to_string()]);
        server.stop().await;
    }
}

#[tokio::test]
async fn two_services_never_share_a_folder() {
    let data = Data::new();
    let server = start(&data.0, None).await.expect("a server");
    assert!(matches!(start(&data.0, None).await, Err(StartError::InUse(_))));
    assert!(probe::ping(&server.socket).await.is_ok(), "the first continues");
    server.stop().await;
    start(&data.0, None).await.expect("free again").stop().await;
}

#[tokio::test]
async fn a_server_left_by_a_killed_service_does_not_hinder_the_next() {
    let data = Data::new();
    let folder = DataFolder::claim(&data.0).expect("claimed");
    let engine = engine::find().await.expect("an engine");
    let orphan = engine.command(folder.data(), folder.socket(), 0).stdout(std::process::Stdio::null()).spawn();
    let mut orphan = orphan.expect("a server without an owner");
    while probe::ping(folder.socket()).await.is_err() {
        time::sleep(Duration::from_millis(10)).await;
    }
    drop(folder);
    let reaper = std::thread::spawn(move || orphan.wait());
    let server = start(&data.0, None).await.expect("a server");
    let () = connect(&server).set("k", "v").expect("stored");
    assert!(reaper.join().expect("no panic").expect("its end").success());
    server.stop().await;
}

#[tokio::test]
async fn a_stale_socket_does_not_hinder_a_start() {
    let data = Data::new();
    fs::create_dir(&data.0).expect("a folder");
    drop(std::os::unix::net::UnixListener::bind(data.0.join("redis.sock")).expect("a socket"));
    start(&data.0, None).await.expect("a server").stop().await;
}

#[tokio::test]
async fn failed_start_is_reported_with_the_last_lines() {
    let data = Data::new();
    fs::create_dir_all(data.0.join("appendonlydir")).expect("a folder");
    fs::write(data.0.join("appendonlydir/appendonly.aof.manifest"), "nonsense\n").expect("a file");
    match start(&data.0, None).await {
        Err(StartError::GaveUp(gave_up)) => assert!(gave_up.to_string().contains("manifest"), "{gave_up}"),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("a server on nonsense"),
    }
    until("the folder is free", || DataFolder::claim(&data.0).is_ok()).await;
}

#[tokio::test]
async fn crash_loop_is_reported() {
    let data = Data::new();
    let server = start(&data.0, None).await.expect("a server");
    let failed = server.failed();
    let killer = async {
        loop {
            if let Some(pid) = server.supervisor.pid() {
                kill(pid);
            }
            time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::select! {
        gave_up = failed => assert!(gave_up.to_string().contains("5 times"), "{gave_up}"),
        () = killer => {}
    }
    server.stop().await;
}

#[tokio::test]
async fn a_stop_is_not_a_failure() {
    let data = Data::new();
    let server = start(&data.0, None).await.expect("a server");
    server.stop().await;
    assert!(time::timeout(Duration::from_millis(50), server.failed()).await.is_err());
}

#[tokio::test]
async fn a_long_path_gets_its_socket_in_a_short_private_folder() {
    let data = Data::new();
    let deep = data.0.join("d".repeat(60)).join("e e%".repeat(15));
    let server = start(&deep, None).await.expect("a server");
    let short = server.socket.parent().expect("a folder").to_owned();
    assert!(!server.socket.starts_with(&deep));
    assert_eq!(fs::metadata(&short).expect("the short folder").permissions().mode() & 0o777, 0o700);
    let () = connect(&server).set("k", "v").expect("stored");
    server.stop().await;
    assert!(!short.exists());

    symlink(&data.0, &short).expect("a trap");
    let trapped = start(&deep, None).await;
    fs::remove_file(&short).expect("our trap");
    assert!(matches!(trapped, Err(StartError::Folder { .. })));
}

#[tokio::test]
async fn a_path_with_odd_characters_is_a_path() {
    let data = Data::new();
    let server = start(&data.0.join("ü %20 \"?#'"), None).await.expect("a server");
    let () = connect(&server).set("k", "v").expect("stored");
    server.stop().await;
}

#[tokio::test]
async fn world_writable_folder_is_refused() {
    let data = Data::new();
    fs::create_dir(&data.0).expect("a folder");
    fs::set_permissions(&data.0, fs::Permissions::from_mode(0o1777)).expect("ours");
    assert!(matches!(start(&data.0, None).await, Err(StartError::OpenToAll(_))));
    assert_eq!(data.mode(), 0o777, "and left as it was");
}

#[tokio::test]
async fn a_folder_with_other_things_in_it_keeps_its_mode() {
    let data = Data::new();
    fs::create_dir(&data.0).expect("a folder");
    fs::set_permissions(&data.0, fs::Permissions::from_mode(0o755)).expect("ours");
    fs::write(data.0.join("theirs"), "").expect("a file");
    start(&data.0, None).await.expect("a server").stop().await;
    assert_eq!(data.mode(), 0o755);
}

/// The server must not keep our port or our lock after our end.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_server_holds_nothing_of_ours() {
    let data = Data::new();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let server = start(&data.0, None).await.expect("a server");
    let open = |pid: i32| -> Vec<String> {
        let files = fs::read_dir(format!("/proc/{pid}/fd")).expect("its files");
        files.filter_map(|file| fs::read_link(file.ok()?.path()).ok()).map(|to| to.display().to_string()).collect()
    };
    let theirs = open(pid(&server));
    let own = |file: &String| file.starts_with("socket:") || file.ends_with("intray.lock");
    let ours: Vec<String> = open(std::process::id().cast_signed()).into_iter().filter(own).collect();
    assert!(ours.iter().any(|file| file.ends_with("intray.lock")));
    assert!(!theirs.iter().any(|file| ours.contains(file)), "{theirs:?} {ours:?}");
    drop(listener);
    server.stop().await;
}

/// Runs the test in a separate process, which starts a server and is killed.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn killed_service_takes_its_server_along_and_loses_nothing() {
    const CHILD: &str = "INTRAY_TEST_EMBEDDED_CHILD";
    if let Some(data) = std::env::var_os(CHILD) {
        let server = start(Path::new(&data), None).await.expect("a server");
        let () = connect(&server).set("k", "v").expect("stored");
        fs::write(Path::new(&data).join("pid"), pid(&server).to_string()).expect("written");
        return pending().await;
    }
    let data = Data::new();
    let this = "tests::killed_service_takes_its_server_along_and_loses_nothing";
    let mut child = Command::new(std::env::current_exe().expect("this program"));
    let mut child =
        child.args(["--exact", this]).env(CHILD, &data.0).stdout(std::process::Stdio::null()).spawn().expect("a child");
    let written_pid = || fs::read_to_string(data.0.join("pid")).ok().and_then(|text| text.parse::<i32>().ok());
    until("the child's server", || written_pid().is_some()).await;
    child.kill().expect("killed");
    let server = start(&data.0, None).await.expect("a server at once");
    child.wait().expect("reaped");
    let orphan = written_pid().expect("a number");
    assert!(pid(&server) != orphan);
    assert_eq!(connect(&server).get::<_, String>("k").expect("read"), "v");
    until("the child's server is gone", || !is_there(orphan) || is_zombie(orphan)).await;
    server.stop().await;
}

/// An orphan may stay unreaped, as in a container without an init.
fn is_zombie(pid: i32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| stat.contains(") Z "))
}
