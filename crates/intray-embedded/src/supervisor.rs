//! The thread that starts the private server, waits for its end, and restarts it.
//!
//! It is a separate thread because Linux ends a child when the *thread* that started it ends (`PR_SET_PDEATHSIG`). tokio ends
//! surplus threads, which would kill a server that was started from one.

use std::{
    collections::VecDeque,
    io,
    os::unix::process::CommandExt,
    process::{Command, Stdio},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use parking_lot::{Condvar, Mutex};
#[cfg(target_os = "linux")]
use rustix::process::{getpid, getppid, set_parent_process_death_signal};
use rustix::{
    fs::Mode,
    io::Errno,
    process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, umask, waitid},
};
use tokio::sync::watch;
use tracing::{error, info, warn};

use super::{
    GaveUp,
    engine::Engine,
    folder::DataFolder,
    output::Output,
    space::DiskSpace,
    syncer::{self, Asked, Syncer},
};

/// The server is given up after this many deaths within [`DEATHS_WINDOW`].
pub(super) const MAX_DEATHS: usize = 5;
const DEATHS_WINDOW: Duration = Duration::from_secs(60);
const FIRST_RESTART_DELAY: Duration = Duration::from_millis(100);

/// The state of the supervision.
#[derive(Debug)]
pub(super) enum Phase {
    Keeping,
    GaveUp(GaveUp),
    Stopped,
}

/// The handle of the thread.
pub(super) struct Supervisor {
    control: Arc<Control>,
    phase: watch::Receiver<Phase>,
}

impl Supervisor {
    /// The folder stays claimed until the server has ended.
    pub(super) fn start(
        engine: Engine,
        folder: DataFolder,
        max_memory: u64,
        (mut space, asked): (DiskSpace, Asked),
    ) -> io::Result<Self> {
        let control = Arc::new(Control::default());
        let (phases, phase) = watch::channel(Phase::Keeping);
        let (data, syncing, wants_rewrite) = (folder.data().to_owned(), Arc::clone(&control), space.wants_rewrite());
        thread::Builder::new().name("engine-syncer".to_owned()).spawn(move || {
            syncer::run(Syncer::new(&data, wants_rewrite), &asked, || syncing.state.lock().stopping);
        })?;
        // The syncer has its own thread, because a sync may take long.
        let (watching, mut guard) = (Arc::clone(&control), folder.guard());
        thread::Builder::new().name("engine-space".to_owned()).spawn(move || {
            let mut next = space.look();
            while watching.pause(next) {
                guard.look();
                next = space.look();
            }
        })?;
        let supervised = Arc::clone(&control);
        thread::Builder::new().name("engine-keeper".to_owned()).spawn(move || {
            let command = || {
                folder.remove_partial_rewrites();
                engine.command(folder.data(), folder.socket(), max_memory)
            };
            let end = keep(&command, &supervised);
            folder.tidy();
            drop(folder);
            phases.send_replace(end);
        })?;
        Ok(Self { control, phase })
    }

    pub(super) fn phase(&self) -> watch::Receiver<Phase> {
        self.phase.clone()
    }

    /// Stops the supervision: signals the running server, which is not restarted after it ends.
    pub(super) fn stop(&self, signal: Signal) {
        let mut state = self.control.state.lock();
        state.stopping = true;
        if let Some(pid) = state.running {
            // It is not reaped yet. If it has ended, it needs no signal.
            let _ = kill_process(pid, signal);
        }
        self.control.changed.notify_all();
    }

    #[cfg(test)]
    pub(super) fn pid(&self) -> Option<i32> {
        self.control.state.lock().running.map(Pid::as_raw_pid)
    }
}

/// The state shared by the handle and the thread.
#[derive(Default)]
struct Control {
    state: Mutex<SupervisorState>,
    changed: Condvar,
}

#[derive(Default)]
struct SupervisorState {
    stopping: bool,
    /// Set until the process is reaped, whether it runs or has ended, because its pid cannot be reused before.
    running: Option<Pid>,
}

impl Control {
    /// Waits. Returns whether to continue.
    fn pause(&self, length: Duration) -> bool {
        let mut state = self.state.lock();
        self.changed.wait_while_for(&mut state, |state| !state.stopping, length);
        !state.stopping
    }
}

fn keep(engine: &impl Fn() -> Command, control: &Control) -> Phase {
    let mut deaths = VecDeque::new();
    loop {
        let end = match run_once(engine(), control) {
            Ok(Some(end)) => end,
            Ok(None) => return Phase::Stopped,
            Err(error) => error.to_string(),
        };
        let now = Instant::now();
        deaths.retain(|death| now.duration_since(*death) < DEATHS_WINDOW);
        deaths.push_back(now);
        if deaths.len() >= MAX_DEATHS {
            let gave_up = GaveUp { last_words: end };
            error!("{gave_up}");
            return Phase::GaveUp(gave_up);
        }
        let pause = FIRST_RESTART_DELAY * (1 << (deaths.len() - 1));
        warn!(end, deaths = deaths.len(), pause_ms = pause.as_millis(), "the private server died and is started again");
        if !control.pause(pause) {
            return Phase::Stopped;
        }
    }
}

/// Runs the server once. Returns how it ended, or `None` if the end was requested.
fn run_once(mut command: Command, control: &Control) -> io::Result<Option<String>> {
    let mut state = control.state.lock();
    if state.stopping {
        return Ok(None);
    }
    let (output, writer) = io::pipe()?;
    let output = Output::read(output)?;
    command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
    let mut child = tied_to_us(&mut command).spawn()?;
    // The command holds a write end of the pipe, which would keep the reader from seeing the end.
    drop(command);
    let pid = Pid::from_child(&child);
    state.running = Some(pid);
    drop(state);
    info!(pid = pid.as_raw_pid(), "the private server is started");
    // Waits without reaping, which the standard library cannot do, and then reaps under the lock that protects signals, so that
    // no signal reaches another process with the same pid.
    while let Err(Errno::INTR) = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT) {}
    let mut state = control.state.lock();
    state.running = None;
    let status = child.wait()?;
    let is_wanted = state.stopping;
    drop(state);
    Ok(if is_wanted { None } else { Some(format!("{status}; {}", output.last_words())) })
}

/// Gives the server its own process group, so that Ctrl-C reaches the service first, and makes its files private. On Linux the
/// server ends when this thread ends, even by `kill -9`. SIGKILL is certain and loses nothing, because the server answers
/// only after the write to the append-only file.
#[expect(unsafe_code, reason = "what happens between fork and exec is the caller's promise")]
fn tied_to_us(command: &mut Command) -> &mut Command {
    command.process_group(0);
    #[cfg(target_os = "linux")]
    let parent = getpid();
    // SAFETY: umask, prctl and getppid are async-signal-safe, and nothing here allocates.
    unsafe {
        command.pre_exec(move || {
            umask(Mode::RWXG | Mode::RWXO);
            #[cfg(target_os = "linux")]
            {
                set_parent_process_death_signal(Some(Signal::KILL))?;
                // This process may have died before the call above.
                if getppid() != Some(parent) {
                    return Err(Errno::SRCH.into());
                }
            }
            Ok(())
        })
    }
}
