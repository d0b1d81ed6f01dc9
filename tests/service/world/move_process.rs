//! `intray move` as a process of its own, which a story may stop where it is.

use std::{
    io::{BufRead, BufReader, Lines},
    process::ChildStderr,
};

use super::{ChildProcess, Exit, World, program, run};

/// All queues of one world to another, to the end.
pub async fn move_queues(from: &World, to: &World) -> Exit {
    move_with_flags(&from.engine.url(), &to.engine.url(), &[]).await
}

pub async fn move_with_flags(from: &str, to: &str, flags: &[&str]) -> Exit {
    run(program(["move", "--redis-url", from, "--to", to].into_iter().chain(flags.iter().copied()))).await
}

/// One that is on its way.
pub struct MoveProcess {
    process: ChildProcess,
    lines: Lines<BufReader<ChildStderr>>,
}

impl MoveProcess {
    pub fn start(from: &str, to: &str) -> Self {
        Self::start_with_flags(&["--redis-url", from, "--to", to])
    }

    pub fn start_with_flags(flags: &[&str]) -> Self {
        let mut process = ChildProcess::spawn(program(["move"].iter().chain(flags)));
        let lines = BufReader::new(process.child().stderr.take().expect("piped")).lines();
        Self { process, lines }
    }

    /// Reads on until it says this; false when it ends without a word of it.
    pub fn read_until(&mut self, what: &str) -> bool {
        self.lines.by_ref().map_while(Result::ok).any(|line| line.contains(what))
    }

    /// Whatever it says yet, until it ends.
    pub fn read_to_end(&mut self) -> Vec<String> {
        self.lines.by_ref().map_while(Result::ok).collect()
    }

    /// Reads so many lines, or to the end; answers whether there were as many.
    pub fn read_lines(&mut self, lines: usize) -> bool {
        self.lines.by_ref().map_while(Result::ok).take(lines).count() == lines
    }

    pub fn signal(&self, signal: i32) {
        self.process.signal(signal);
    }

    pub fn kill(mut self) {
        self.process.kill();
    }
}
