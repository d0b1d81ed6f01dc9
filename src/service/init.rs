//! The first process of a container (number 1), which has to reap every process that lost its parent:
//! <https://man7.org/linux/man-pages/man7/pid_namespaces.7.html>. It runs the service as its child, so that the service waits
//! for its own children only, and no exit status is taken from it.

use std::{io, mem::MaybeUninit, ptr};

use libc::sigset_t;
use rustix::{
    io::Errno,
    process::{Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process, wait},
};

/// Signals that the first process forwards to the service. The kernel drops signals to a first process that has no handler.
const FORWARDED: [Signal; 6] = [Signal::TERM, Signal::INT, Signal::QUIT, Signal::HUP, Signal::USR1, Signal::USR2];

/// In the first process of a container: starts a child, and answers its exit status when it has ended, 128 and the signal if
/// it was killed. In that child, and in every other process: `None`, and the caller continues to serve.
///
/// Must be called while this process has a single thread.
///
/// # Errors
/// When no child can be started; the caller may serve without one.
pub fn reap_as_first_process() -> io::Result<Option<u8>> {
    if getpid() != Pid::INIT {
        return Ok(None);
    }
    let signals = set_of(FORWARDED.into_iter().chain([Signal::CHILD]));
    // Signals are blocked before the fork, so that an early one waits for the child, and the child's end is noticed.
    let before = block(&signals)?;
    let forked = fork();
    if let Ok(Some(service)) = forked {
        return Ok(Some(wait_for(service, &signals)));
    }
    restore(&before)?;
    forked.map(|_| None)
}

/// Waits for the service to end. Blocked signals stay pending, also those that the kernel drops for a first process otherwise.
fn wait_for(service: Pid, signals: &sigset_t) -> u8 {
    loop {
        match next_of(signals) {
            Some(Signal::CHILD) => {
                if let Some(status) = reap(service) {
                    return status;
                }
            }
            // If the service has just ended, SIGCHLD is the next signal.
            Some(signal) => drop(kill_process(service, signal)),
            None => {}
        }
    }
}

/// Reaps every ended child, because several share one signal. Returns the exit status of the service, if it is among them.
fn reap(service: Pid) -> Option<u8> {
    let mut ended = None;
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) if pid == service => ended = Some(exit_status(status)),
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Ok(None) | Err(_) => return ended,
        }
    }
}

fn exit_status(status: WaitStatus) -> u8 {
    let status = status.exit_status().or_else(|| Some(128 + status.terminating_signal()?));
    status.and_then(|status| u8::try_from(status).ok()).unwrap_or(u8::MAX)
}

#[expect(unsafe_code, reason = "neither the standard library nor rustix forks")]
fn fork() -> io::Result<Option<Pid>> {
    // SAFETY: there is no other thread, so that the child has all that this process has.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        pid => Ok(Pid::from_raw(pid)),
    }
}

#[expect(unsafe_code, reason = "neither the standard library nor rustix has sets of signals")]
fn set_of(signals: impl IntoIterator<Item = Signal>) -> sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: it is emptied before it is used, which cannot fail, and each signal is one.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for signal in signals {
            libc::sigaddset(set.as_mut_ptr(), signal.as_raw());
        }
        set.assume_init()
    }
}

/// Answers what was blocked before. A child whose end is ignored, as some programs that start us have it, leaves no status.
#[expect(unsafe_code, reason = "neither the standard library nor rustix blocks signals")]
fn block(signals: &sigset_t) -> io::Result<sigset_t> {
    let mut before = MaybeUninit::uninit();
    // SAFETY: no handler is set, and the set of before is read only when it was written.
    unsafe {
        if libc::signal(libc::SIGCHLD, libc::SIG_DFL) == libc::SIG_ERR
            || libc::sigprocmask(libc::SIG_BLOCK, signals, before.as_mut_ptr()) != 0
        {
            return Err(io::Error::last_os_error());
        }
        Ok(before.assume_init())
    }
}

#[expect(unsafe_code, reason = "neither the standard library nor rustix blocks signals")]
fn restore(before: &sigset_t) -> io::Result<()> {
    // SAFETY: both sets are valid or none.
    match unsafe { libc::sigprocmask(libc::SIG_SETMASK, before, ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Waits for the next of them.
#[expect(unsafe_code, reason = "neither the standard library nor rustix waits for signals")]
fn next_of(signals: &sigset_t) -> Option<Signal> {
    let mut signal = 0;
    // SAFETY: both are valid for the time of the call.
    let failed = unsafe { libc::sigwait(signals, &mut signal) };
    Signal::from_named_raw(signal).filter(|_| failed == 0)
}
