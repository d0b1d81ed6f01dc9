//! The terminal. Dropping [`Screen`] restores it, however the program ends, except by SIGKILL.

use std::io::{self, Stdout, Write};

use crossterm::{
    cursor::{Hide, MoveTo, Show},
    queue,
    style::{Attribute, Print, SetAttribute},
    terminal::{self, Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen},
};

use super::table::{cut, padded};

/// A line and its style.
pub(super) struct ScreenLine {
    pub(super) text: String,
    pub(super) look: Look,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    Plain,
    Head,
    Chosen,
}

pub(super) struct Screen {
    out: Stdout,
}

impl Screen {
    pub(super) fn open() -> io::Result<Self> {
        terminal::enable_raw_mode()?;
        // From here on, dropping the value restores the terminal.
        let mut screen = Self { out: io::stdout() };
        queue!(screen.out, EnterAlternateScreen, Hide)?;
        screen.out.flush()?;
        Ok(screen)
    }

    /// Returns columns and rows.
    pub(super) fn size() -> (usize, usize) {
        let (width, height) = terminal::size().unwrap_or((80, 24));
        (width.into(), height.into())
    }

    /// Overwrites each line in place, and writes the whole screen at once, to avoid flicker.
    pub(super) fn draw(&mut self, lines: &[ScreenLine]) -> io::Result<()> {
        let (width, height) = Self::size();
        let mut whole = Vec::new();
        for (row, line) in (0..).zip(lines.iter().take(height)) {
            queue!(whole, MoveTo(0, row), SetAttribute(Attribute::Reset))?;
            let text = match line.look {
                Look::Plain => cut(&line.text, width),
                Look::Head => {
                    queue!(whole, SetAttribute(Attribute::Bold))?;
                    cut(&line.text, width)
                }
                Look::Chosen => {
                    queue!(whole, SetAttribute(Attribute::Reverse))?;
                    padded(&line.text, width)
                }
            };
            queue!(whole, Print(text), SetAttribute(Attribute::Reset), Clear(ClearType::UntilNewLine))?;
        }
        if lines.len() < height {
            queue!(whole, MoveTo(0, u16::try_from(lines.len()).unwrap_or(u16::MAX)), Clear(ClearType::FromCursorDown))?;
        }
        self.out.write_all(&whole)?;
        self.out.flush()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // Errors are ignored: a terminal that is gone needs no restoring.
        let _ = queue!(self.out, SetAttribute(Attribute::Reset), Show, LeaveAlternateScreen);
        let _ = self.out.flush();
        let _ = terminal::disable_raw_mode();
    }
}
