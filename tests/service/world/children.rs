//! Child processes that die with the test process. They are the same however the tests were started: they have the usual signals, and
//! neither its standard input nor its variables.

use std::{
    env,
    ffi::OsStr,
    io,
    net::TcpListener,
    ops::Range,
    path::PathBuf,
    process::{Child, Command, Output, Stdio},
    sync::{
        LazyLock, Mutex, Once, PoisonError,
        atomic::{AtomicU16, Ordering},
        mpsc::{Sender, channel},
    },
    thread,
    time::Duration,
};

/// Limit for anything that a story waits for, on a machine with much else to do.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// By how much a busy machine may delay what takes its time.
pub const SLOW_MACHINE: Duration = Duration::from_secs(20);

type Order = (Command, Sender<io::Result<Child>>);

/// Linux ends such a child when the thread that started it ends, so one thread that never ends starts them all.
static SPAWNER: LazyLock<Mutex<Sender<Order>>> = LazyLock::new(|| {
    let (orders, inbox) = channel::<Order>();
    thread::spawn(move || {
        have_the_usual_signals();
        for (mut command, answer) in inbox {
            let _ = answer.send(command.spawn());
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

/// Linux kills the child with the thread that started it.
const DIES_WITH_US: [&str; 3] = ["--pdeathsig", "KILL", "--"];

/// Sets that and becomes the program. With code between fork and exec, or a program to look for, each start would copy the page tables of
/// the test process.
static SETPRIV: LazyLock<Option<PathBuf>> = LazyLock::new(|| {
    if cfg!(not(target_os = "linux")) {
        return None;
    }
    let places = env::var_os("PATH").expect("PATH");
    let found = env::split_paths(&places).map(|place| place.join("setpriv")).find(|program| program.is_file());
    let setpriv = found.expect("setpriv, of util-linux, on PATH");
    let works = Command::new(&setpriv).args(DIES_WITH_US).arg("true").status().is_ok_and(|status| status.success());
    assert!(works, "{} does not take --pdeathsig: that of util-linux does", setpriv.display());
    Some(setpriv)
});

/// A program of this machine. What it needs of the environment is found there.
pub fn tool(program: impl AsRef<OsStr>) -> Command {
    let mut command = match &*SETPRIV {
        Some(setpriv) => {
            let mut command = Command::new(setpriv);
            command.args(DIES_WITH_US).arg(program);
            command
        }
        None => Command::new(program),
    };
    let kept = ["PATH", "HOME", "TMPDIR"].into_iter().filter_map(|name| Some((name, env::var_os(name)?)));
    command.env_clear().envs(kept).stdin(Stdio::null());
    command
}

/// Runs a program to its end.
pub fn output(mut command: Command) -> Output {
    have_the_usual_signals();
    command.output().unwrap_or_else(|e| panic!("cannot start {command:?}: {e}"))
}

/// A child of this thread blocks and ignores no signal.
#[expect(unsafe_code, reason = "the standard library sets no masks")]
fn have_the_usual_signals() {
    static ONCE: Once = Once::new();
    ONCE.call_once(unignore);
    // SAFETY: a zeroed set is one, and is emptied before it is used.
    unsafe {
        let mut none = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
    }
}

/// `nohup` and a shell's background leave signals ignored, and a child inherits that, but no handler. The standard library restores SIGPIPE.
#[expect(unsafe_code, reason = "the standard library sets no handlers")]
fn unignore() {
    extern "C" fn nothing(_: libc::c_int) {}
    for signal in (1..32).filter(|signal| *signal != libc::SIGPIPE) {
        // SAFETY: the handler does nothing, and a zeroed sigaction is valid: no flags, an empty mask.
        unsafe {
            let mut current: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, std::ptr::null(), &raw mut current);
            if current.sa_sigaction == libc::SIG_IGN {
                current.sa_sigaction = nothing as *const () as libc::sighandler_t;
                current.sa_flags = libc::SA_RESTART;
                libc::sigaction(signal, &raw const current, std::ptr::null_mut());
            }
        }
    }
}

#[expect(unsafe_code, reason = "the standard library knows only its own children")]
pub fn is_alive(pid: u32) -> bool {
    // SAFETY: no memory is involved; signal 0 only asks.
    unsafe { libc::kill(pid.cast_signed(), 0) == 0 }
}

/// Below the ports that Linux gives by default to programs that ask for any: no connection and no listener of another story takes one of
/// these before its owner does, or while that is away.
const PORTS: Range<u16> = 10_000..32_000;

/// A port that is free now, and which no other story of this process gets.
pub fn free_port() -> u16 {
    static NEXT: LazyLock<AtomicU16> = LazyLock::new(|| AtomicU16::new(fastrand::u16(..)));
    loop {
        let port = PORTS.start + NEXT.fetch_add(1, Ordering::Relaxed) % PORTS.len() as u16;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}
