//! Child processes that die with the test process. They are the same however the tests were started: they have the usual signals, and
//! neither its standard input nor its variables.

use std::{
    env,
    ffi::OsStr,
    io,
    os::unix::process::CommandExt,
    process::{Child, Command, Output, Stdio},
    sync::{
        LazyLock, Mutex, PoisonError,
        mpsc::{Sender, channel},
    },
    thread,
    time::Duration,
};

/// Limit for anything that a story waits for, on a machine with much else to do.
pub const PATIENCE: Duration = Duration::from_secs(60);

type Order = (Command, Sender<io::Result<Child>>);

/// Linux ends such a child when the thread that started it ends, so one thread that never ends starts them all.
static SPAWNER: LazyLock<Mutex<Sender<Order>>> = LazyLock::new(|| {
    let (orders, inbox) = channel::<Order>();
    thread::spawn(move || {
        for (command, answer) in inbox {
            let _ = answer.send(as_child(command).spawn());
        }
    });
    Mutex::new(orders)
});

/// Killed when it is dropped.
pub struct ChildProcess(Child);

impl ChildProcess {
    pub fn spawn(command: Command) -> Self {
        let (answer, born) = channel();
        let what = format!("{command:?}");
        let orders = SPAWNER.lock().unwrap_or_else(PoisonError::into_inner);
        orders.send((command, answer)).expect("the nursery lives as long as the process");
        drop(orders);
        let child = born.recv().expect("the nursery answers").unwrap_or_else(|e| panic!("cannot start {what}: {e}"));
        Self(child)
    }

    pub fn child(&mut self) -> &mut Child {
        &mut self.0
    }

    pub fn pid(&self) -> u32 {
        self.0.id()
    }

    pub fn signal(&self, signal: i32) {
        signal_process(self.pid(), signal);
    }

    pub fn kill(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        self.kill();
    }
}

/// To a process of ours, or to one that a process of ours started.
#[expect(unsafe_code, reason = "the standard library sends no signals but SIGKILL")]
pub fn signal_process(pid: u32, signal: i32) {
    // SAFETY: no memory is involved.
    let failed = unsafe { libc::kill(pid.cast_signed(), signal) };
    assert_eq!(failed, 0, "cannot signal {pid}: {}", io::Error::last_os_error());
}

/// A program of this machine. What it needs of the environment is found there.
pub fn tool(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    let kept = ["PATH", "HOME", "TMPDIR"].into_iter().filter_map(|name| Some((name, env::var_os(name)?)));
    command.env_clear().envs(kept).stdin(Stdio::null());
    command
}

/// Runs a program to its end.
pub fn output(command: Command) -> Output {
    let what = format!("{command:?}");
    as_child(command).output().unwrap_or_else(|e| panic!("cannot start {what}: {e}"))
}

#[expect(unsafe_code, reason = "what happens between fork and exec is the caller's promise")]
fn as_child(mut command: Command) -> Command {
    // SAFETY: all three are async-signal-safe, and nothing here allocates.
    unsafe {
        command.pre_exec(|| {
            #[cfg(target_os = "linux")]
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            // `nohup` and a shell's background leave signals ignored, and a child inherits that.
            for signal in 1..32 {
                libc::signal(signal, libc::SIG_DFL);
            }
            let mut none = std::mem::zeroed();
            libc::sigemptyset(&raw mut none);
            libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
            Ok(())
        });
    }
    command
}

#[expect(unsafe_code, reason = "the standard library knows only its own children")]
pub fn is_alive(pid: u32) -> bool {
    // SAFETY: no memory is involved; signal 0 only asks.
    unsafe { libc::kill(pid.cast_signed(), 0) == 0 }
}
