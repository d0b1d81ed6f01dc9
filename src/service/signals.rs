//! Signals that end a service, all of them in the same order: SIGTERM of a supervisor, SIGINT and SIGQUIT of a keyboard, and
//! SIGHUP of a terminal that is closed.

use std::{future::poll_fn, io, mem::MaybeUninit, task::Poll};

use tokio::signal::unix::{SignalKind, signal};

/// Resolves at the first of them. Those that were ignored when this program was started, as `nohup` has it ignore SIGHUP,
/// stay ignored.
///
/// # Errors
/// When the system lets none be received.
pub fn shutdown_signal() -> io::Result<impl Future<Output = ()>> {
    let kinds = [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::quit(), SignalKind::hangup()];
    let heard = kinds.into_iter().filter(|kind| !is_ignored(kind.as_raw_value())).map(signal);
    let mut heard = heard.collect::<io::Result<Vec<_>>>()?;
    Ok(poll_fn(move |cx| {
        let is_signalled = heard.iter_mut().any(|signal| signal.poll_recv(cx).is_ready());
        if is_signalled { Poll::Ready(()) } else { Poll::Pending }
    }))
}

#[expect(unsafe_code, reason = "neither the standard library nor rustix says what is done at a signal")]
fn is_ignored(signal: i32) -> bool {
    let mut now = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: nothing is set, and what is written is read only when it was.
    unsafe {
        libc::sigaction(signal, std::ptr::null(), now.as_mut_ptr()) == 0
            && now.assume_init().sa_sigaction == libc::SIG_IGN
    }
}
