//! A real Redis, the real service as a process of its own, and a client that costs little: what the benches stand on.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::SocketAddr,
    os::unix::net::UnixStream,
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

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
        let mut service = Command::new(env!("CARGO_BIN_EXE_intray"))
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
        let stream = TcpStream::connect(self.address).await.expect("the service");
        stream.set_nodelay(true).expect("nodelay");
        Client { stream, host: self.address, answer: Vec::new() }
    }
}

fn cpu_us(pid: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("a process");
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks: u64 = fields[11..13].iter().map(|field| field.parse::<u64>().unwrap_or(0)).sum();
    ticks as f64 * 10_000.0
}

/// One kept-alive connection, with no more of HTTP than this service needs: it must cost little beside what is measured.
pub struct Client {
    stream: TcpStream,
    host: SocketAddr,
    answer: Vec<u8>,
}

impl Client {
    /// Posts JSON and answers with the body.
    pub async fn post(&mut self, path: &str, body: &str) -> &str {
        let host = self.host;
        let length = body.len();
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        self.stream.write_all(request.as_bytes()).await.expect("sent");
        self.answer.clear();
        let (mut chunk, mut end) = ([0; 8_192], None);
        loop {
            let n = self.stream.read(&mut chunk).await.expect("an answer");
            assert!(n > 0, "the service closed the connection");
            self.answer.extend_from_slice(&chunk[..n]);
            if end.is_none() {
                end = body_end(&self.answer);
            }
            if let Some((start, end)) = end.filter(|(_, end)| *end <= self.answer.len()) {
                assert!(self.answer.starts_with(b"HTTP/1.1 20"), "{}", String::from_utf8_lossy(&self.answer));
                return std::str::from_utf8(&self.answer[start..end]).expect("UTF-8");
            }
        }
    }
}

fn body_end(answer: &[u8]) -> Option<(usize, usize)> {
    let head = answer.windows(4).position(|window| window == b"\r\n\r\n")?;
    let text = std::str::from_utf8(&answer[..head]).ok()?;
    let length = text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    })?;
    Some((head + 4, head + 4 + length))
}

/// A value out of flat JSON text, without a parser's cost.
pub fn field<'t>(text: &'t str, name: &str) -> &'t str {
    let at = text.find(&format!("\"{name}\":\"")).unwrap_or_else(|| panic!("{name} in {text}")) + name.len() + 4;
    &text[at..at + text[at..].find('"').expect("a string's end")]
}

/// A distinct payload of 200 bytes.
pub fn payload(n: u64) -> String {
    let head = format!(r#"{{"n":{n},"text":""#);
    format!("{head}{}\"}}", "x".repeat(200 - head.len() - 2))
}
