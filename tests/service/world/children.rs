//! Child processes that die with the test process.

use std::{
    io,
    os::unix::process::CommandExt,
    process::{Child, Command},
    sync::{
        LazyLock, Mutex, PoisonError,
        mpsc::{Sender, channel},
    },
    thread,
};

type Order = (Command, Sender<io::Result<Child>>);

/// Linux ends such a child when the thread that started it ends, so one thread that never ends starts them all.
static SPAWNER: LazyLock<Mutex<Sender<Order>>> = LazyLock::new(|| {
    let (orders, inbox) = channel::<Order>();
    thread::spawn(move || {
        for (command, answer) in inbox {
            let _ = answer.send(with_death_signal(command).spawn());
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

#[expect(unsafe_code, reason = "what happens between fork and exec is the caller's promise")]
fn with_death_signal(mut command: Command) -> Command {
    // SAFETY: prctl is async-signal-safe, and nothing here allocates.
    unsafe {
        command.pre_exec(|| {
            #[cfg(target_os = "linux")]
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
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
