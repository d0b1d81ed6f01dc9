//! A terminal, with a program in it.

use std::{
    fs::File,
    io::{Read, Write},
    num::NonZero,
    os::{fd::OwnedFd, unix::process::CommandExt},
    process::{Command, ExitStatus, Stdio},
    sync::{Arc, Mutex, PoisonError},
    thread,
};

use rustix::{
    fs::{Mode, OFlags},
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{self, LocalModes, Winsize},
};

use super::{ChildProcess, eventually};

pub struct Terminal {
    process: ChildProcess,
    keys: File,
    /// The side that the program has.
    inside: OwnedFd,
    seen: Arc<Mutex<vt100::Parser>>,
}

impl Terminal {
    pub fn start(mut command: Command, width: u16, height: u16) -> Self {
        let outside = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&outside).and_then(|()| unlockpt(&outside)).expect("a terminal of ours");
        let name = ptsname(&outside, Vec::new()).expect("its name");
        let inside = rustix::fs::open(name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).expect("its inner side");
        let side = || Stdio::from(inside.try_clone().expect("once more"));
        command.stdin(side()).stdout(side()).stderr(side());
        let seen = Arc::new(Mutex::new(vt100::Parser::new(non_zero(height), non_zero(width), 0)));
        let (keys, mut written) = (File::from(outside.try_clone().expect("once more")), File::from(outside));
        let shown = seen.clone();
        // It ends with the terminal.
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(length @ 1..) = written.read(&mut bytes) {
                shown.lock().unwrap_or_else(PoisonError::into_inner).process(&bytes[..length]);
            }
        });
        set_size(&inside, width, height);
        Self { process: ChildProcess::spawn(of_its_terminal(command)), keys, inside, seen }
    }

    pub fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).expect("a terminal");
    }

    pub fn signal(&self, signal: i32) {
        self.process.signal(signal);
    }

    /// Resizes the window.
    pub fn resize(&self, width: u16, height: u16) {
        set_size(&self.inside, width, height);
        self.seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .screen_mut()
            .set_size(non_zero(height), non_zero(width));
        self.signal(libc::SIGWINCH);
    }

    pub fn text(&self) -> String {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).screen().contents()
    }

    pub async fn wait_for_text(&self, what: &str) -> String {
        self.wait_until(what, |text| text.contains(what)).await
    }

    /// Waits until the screen matches.
    pub async fn wait_until(&self, what: &str, is_so: impl Fn(&str) -> bool) -> String {
        eventually(&format!("the terminal shows: {what}"), async || Some(self.text()).filter(|text| is_so(text))).await
    }

    /// Whether line mode, echo, cursor and the main screen are restored.
    pub fn is_restored(&self) -> bool {
        let modes = termios::tcgetattr(&self.inside).expect("a terminal").local_modes;
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        modes.contains(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG)
            && !seen.screen().alternate_screen()
            && !seen.screen().hide_cursor()
    }

    pub async fn wait_for_exit(&mut self) -> ExitStatus {
        eventually("the program ends", async || self.process.child().try_wait().expect("our child")).await
    }
}

/// The program is asked by this terminal alone, and not by one that the tests run in.
#[expect(unsafe_code, reason = "what happens between fork and exec is the caller's promise")]
fn of_its_terminal(mut command: Command) -> Command {
    // SAFETY: both are async-signal-safe, and nothing here allocates.
    unsafe {
        command.pre_exec(|| {
            libc::setsid();
            libc::ioctl(libc::STDIN_FILENO, libc::TIOCSCTTY, 0);
            Ok(())
        });
    }
    command
}

fn non_zero(size: u16) -> NonZero<u16> {
    NonZero::new(size).expect("a terminal has lines and columns")
}

fn set_size(side: &OwnedFd, width: u16, height: u16) {
    let size = Winsize { ws_row: height, ws_col: width, ws_xpixel: 0, ws_ypixel: 0 };
    termios::tcsetwinsize(side, size).expect("a terminal");
}
