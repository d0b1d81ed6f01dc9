//! A real Redis and the real service as a process of its own: what the benches stand on.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::SocketAddr,
    os::unix::net::UnixStream,
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::Duration,
};

use super::client::Client;

pub const SERVICE: &str = env!("CARGO_BIN_EXE_intray");

pub struct Rig {
    pub address: SocketAddr,
    service: Child,
    redis: Child,
    folder: PathBuf,
}

impl Drop for Rig {
    fn drop(&mut self) {
        for child in [&mut self.service, &mut self.redis] {
            let _ = child.kill();
            let _ = child.wait();
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Rig {
    /// Redis as the private server runs it: append-only file, synced each second.
    pub fn start() -> Self {
        Self::start_as(Command::new(SERVICE))
    }

    /// The same with the service run by something that looks at it.
    pub fn start_as(mut service: Command) -> Self {
        let folder = std::env::temp_dir().join(format!("intray-bench-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir(&folder).expect("a folder");
        let socket = folder.join("redis.sock");
        let server = |engine: &str| {
            Command::new(engine)
                .args(["--port", "0", "--save", "", "--appendonly", "yes", "--appendfsync", "everysec", "--unixsocket"])
                .arg(&socket)
                .arg("--dir")
                .arg(&folder)
                .stdout(Stdio::null())
                .spawn()
        };
        let redis = server("valkey-server").or_else(|_| server("redis-server")).expect("an engine");
        while UnixStream::connect(&socket).is_err() {
            std::thread::sleep(Duration::from_millis(5));
        }
        let mut service = service
            .args(["serve", "--listen", "127.0.0.1:0", "--redis-url", &format!("unix://{}", socket.display())])
            .env("RUST_LOG", "warn")
            .stdout(Stdio::piped())
            .spawn()
            .expect("the service");
        let mut lines = BufReader::new(service.stdout.take().expect("stdout")).lines();
        let address = loop {
            let line = lines.next().expect("a ready line").expect("text");
            if let Some((_, address)) = line.split_once("http://") {
                break address.parse().expect("an address");
            }
        };
        std::thread::spawn(move || lines.for_each(drop));
        Self { address, service, redis, folder }
    }

    pub fn service(&self) -> u32 {
        self.service.id()
    }

    /// User and system time that the service and Redis have used, in microseconds.
    pub fn cpu(&self) -> (f64, f64) {
        (cpu_us(self.service.id()), cpu_us(self.redis.id()))
    }

    /// Resident memory of the service, in bytes.
    pub fn resident(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.service.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        line.and_then(|l| l.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) * 1024
    }

    /// One command to Redis, its answer as it came.
    pub fn redis(&self, command: &str) -> String {
        let mut stream = UnixStream::connect(self.folder.join("redis.sock")).expect("Redis");
        write!(stream, "{command}\r\nQUIT\r\n").expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        answer
    }

    /// Jobs and scripts so far, by the service's own figures.
    pub fn groups(&self) -> (f64, f64) {
        let mut stream = std::net::TcpStream::connect(self.address).expect("the service");
        let host = self.address;
        write!(stream, "GET /metrics HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").expect("sent");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("figures");
        let sum = |name: &str| {
            let lines = text.lines().filter(|line| line.starts_with(&format!("intray_script_group_jobs_{name}{{")));
            lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
        };
        (sum("sum"), sum("count"))
    }

    /// Commands that the service has sent to Redis so far: scripts, whatever is in them, and its own questions.
    pub fn commands(&self) -> u64 {
        const SENT: [&str; 5] = ["evalsha", "fcall", "ping", "ssubscribe", "subscribe"];
        let info = self.redis("INFO commandstats");
        let calls = |line: &str| {
            let (name, figures) = line.strip_prefix("cmdstat_")?.split_once(":calls=")?;
            SENT.contains(&name).then(|| figures.split(',').next()?.parse::<u64>().ok())?
        };
        info.lines().filter_map(calls).sum()
    }

    pub fn used_memory(&self) -> u64 {
        let info = self.redis("INFO memory");
        let line = info.lines().find_map(|line| line.strip_prefix("used_memory:"));
        line.and_then(|value| value.trim().parse().ok()).expect("used_memory")
    }

    pub async fn client(&self) -> Client {
        Client::to(self.address).await
    }
}

fn cpu_us(pid: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("a process");
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks: u64 = fields[11..13].iter().map(|field| field.parse::<u64>().unwrap_or(0)).sum();
    ticks as f64 * 10_000.0
}
