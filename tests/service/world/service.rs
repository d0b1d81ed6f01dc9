//! The service as a process of its own.

use std::{
    ffi::{OsStr, OsString},
    io::Read,
    os::fd::OwnedFd,
    process::{Command, ExitStatus, Stdio},
    sync::{
        Arc, Mutex,
        mpsc::{Receiver, channel},
    },
    thread,
    time::{Duration, Instant},
};

use rustix::event::{PollFd, PollFlags, poll};

use super::children::{ChildProcess, PATIENCE, tool};

/// The output of a process so far.
#[derive(Clone, Default)]
pub struct ProcessOutput(Arc<Mutex<OutputSoFar>>);

#[derive(Default)]
struct OutputSoFar {
    /// Whole lines.
    text: String,
    pipes: Vec<Arc<OwnedFd>>,
}

pub struct Service {
    process: ChildProcess,
    url: String,
    output: ProcessOutput,
}

/// Exit status and output of a program.
#[derive(Debug)]
pub struct Exit {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

/// Words that begin an error message, and need not stand in its cause too.
const ERROR_WORDS: [&str; 7] = ["error", "cannot", "could not", "invalid", "failed", "is not available", "no answer"];

impl Exit {
    /// Expects no line of the error output to repeat itself.
    #[track_caller]
    pub fn assert_no_repetition(&self) {
        for line in self.stderr.lines() {
            for complaint in ERROR_WORDS {
                let times = line.to_lowercase().matches(complaint).count();
                // The number of an error of the system is not a complaint.
                let of_the_system = if complaint == "error" { line.matches("(os error").count() } else { 0 };
                assert!(times - of_the_system <= 1, "{complaint}: {self:?}");
            }
            let mut parts: Vec<_> = line.split(": ").collect();
            let count = parts.len();
            parts.sort_unstable();
            parts.dedup();
            assert_eq!(parts.len(), count, "a part is there twice: {self:?}");
        }
    }
}

impl Service {
    /// Waits for the line with its address.
    pub async fn start(command: Command) -> Self {
        Self::try_start(command).await.unwrap_or_else(|output| panic!("the service did not get ready: {output}"))
    }

    /// # Errors
    /// The output of the program.
    pub async fn try_start(command: Command) -> Result<Self, String> {
        let mut process = ChildProcess::spawn(command);
        let output = ProcessOutput::default();
        let address = output.listen(process.child().stdout.take().expect("piped"));
        let errors = output.listen(process.child().stderr.take().expect("piped"));
        let found = tokio::task::spawn_blocking(move || address.recv_timeout(PATIENCE)).await.expect("a thread");
        let Ok(url) = found else {
            process.kill();
            let _ = tokio::task::spawn_blocking(move || errors.recv_timeout(PATIENCE)).await;
            return Err(output.text());
        };
        Ok(Self { process, url, output })
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// Its standard output and error, as they came.
    pub fn output(&self) -> String {
        self.output.text()
    }

    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    pub fn signal(&self, signal: i32) {
        self.process.signal(signal);
    }

    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Waits for the end of the process.
    pub async fn wait_for_exit(&mut self) -> ExitStatus {
        super::eventually("the service ends", async || self.process.child().try_wait().expect("our child")).await
    }
}

/// Redis has so long to answer that no busy machine fails a story.
pub const REDIS_TIMEOUT: (&str, &str) = ("INTRAY_REDIS_TIMEOUT_MS", "30000");

/// A call of the program: everything comes from the arguments, nothing from this environment.
pub fn program<I: IntoIterator<Item: Into<OsString>>>(args: I) -> Command {
    program_at(env!("CARGO_BIN_EXE_intray"), args)
}

/// By what the long waits of a hurried service are divided; a release divides none.
const HURRY: u32 = if cfg!(debug_assertions) { 5 } else { 1 };

/// The same, for a story about the end of a long wait.
pub fn hurried(mut command: Command) -> Command {
    command.env(intray_base::waits::VARIABLE, HURRY.to_string());
    command
}

/// How long such a wait takes there.
pub fn hurried_wait(full: Duration) -> Duration {
    full / HURRY
}

/// The same of another binary.
pub fn program_at<I: IntoIterator<Item: Into<OsString>>>(binary: impl AsRef<OsStr>, args: I) -> Command {
    let mut command = tool(binary);
    command.args(args.into_iter().map(Into::into)).env_remove("HOME").env_remove("TMPDIR").env("RUST_BACKTRACE", "1");
    command.env(REDIS_TIMEOUT.0, REDIS_TIMEOUT.1);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// The same, for a story about a Redis that does not answer.
pub fn with_default_redis_timeout(mut command: Command) -> Command {
    command.env_remove(REDIS_TIMEOUT.0);
    command
}

/// The same, from a shell that does something first.
pub fn program_after(first: &str, args: &[String]) -> Command {
    let script = format!("{first} && exec \"$0\" \"$@\"").replace("; ", " && ");
    let mut command = program_at("/bin/sh", ["-c", &script, env!("CARGO_BIN_EXE_intray")]);
    command.args(args);
    command
}

/// Runs a program that ends by itself.
pub async fn run(command: Command) -> Exit {
    let mut process = ChildProcess::spawn(command);
    let read = |pipe: Box<dyn Read + Send>| {
        thread::spawn(move || {
            let (mut pipe, mut text) = (pipe, String::new());
            let _ = pipe.read_to_string(&mut text);
            text
        })
    };
    let stdout = read(Box::new(process.child().stdout.take().expect("piped")));
    let stderr = read(Box::new(process.child().stderr.take().expect("piped")));
    let begin = Instant::now();
    let status = loop {
        match process.child().try_wait().expect("our child") {
            Some(status) => break status,
            None if begin.elapsed() > PATIENCE => {
                process.kill();
                panic!("it does not end: {}{}", stdout.join().expect("read"), stderr.join().expect("read"));
            }
            None => tokio::time::sleep(Duration::from_millis(5)).await,
        }
    };
    Exit { status, stdout: stdout.join().expect("read"), stderr: stderr.join().expect("read") }
}

impl ProcessOutput {
    /// All lines that the process has written before this call. A reader takes from a pipe only while it has the lock, so what is not in an
    /// empty pipe is in the text.
    fn text(&self) -> String {
        let begin = Instant::now();
        loop {
            assert!(begin.elapsed() < PATIENCE, "the output of the process is not read");
            let so_far = self.0.lock().expect("no thread panics with it");
            if so_far.pipes.iter().all(|pipe| rustix::io::ioctl_fionread(pipe).is_ok_and(|waiting| waiting == 0)) {
                return so_far.text.clone();
            }
            drop(so_far);
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Reads a pipe to its end, because a full pipe blocks the process. Sends the address that the service announces.
    fn listen(&self, pipe: impl Into<OwnedFd>) -> Receiver<String> {
        let (found, address) = channel();
        let (output, pipe) = (self.clone(), Arc::new(pipe.into()));
        self.0.lock().expect("no thread panics with it").pipes.push(pipe.clone());
        thread::spawn(move || {
            let mut rest = Vec::new();
            while let Some(lines) = output.read_lines(&pipe, &mut rest) {
                for at in lines.lines().filter_map(|line| Some(&line[line.find("ready on http")? + 9..])) {
                    let _ = found.send(at.split([' ', '"']).next().unwrap_or_default().to_owned());
                }
            }
        });
        address
    }

    /// The next whole lines, which are added to the text; `None` at the end. `rest`: of a line whose end is not there yet.
    fn read_lines(&self, pipe: &OwnedFd, rest: &mut Vec<u8>) -> Option<String> {
        while poll(&mut [PollFd::new(pipe, PollFlags::IN)], None).is_err() {}
        let mut so_far = self.0.lock().expect("no thread panics with it");
        let begin = rest.len();
        rest.resize(begin + 64 * 1024, 0);
        let read = rustix::io::read(pipe, &mut rest[begin..]).unwrap_or(0);
        rest.truncate(begin + read);
        let end =
            if read == 0 { rest.len() } else { rest.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1) };
        let lines = String::from_utf8_lossy(&rest.drain(..end).collect::<Vec<_>>()).into_owned();
        so_far.text.push_str(&lines);
        (read > 0).then_some(lines)
    }
}
