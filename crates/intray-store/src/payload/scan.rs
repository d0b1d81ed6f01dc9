//! Reads JSON once, from its beginning to its end.

use memchr::memchr2;

/// A place in text that is known to be valid JSON.
pub struct Scan<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Scan<'t> {
    pub fn of(text: &'t str) -> Self {
        Self { text, at: 0 }
    }

    /// The first byte of the next token.
    pub fn peek(&mut self) -> Option<u8> {
        self.space();
        self.byte()
    }

    /// The place of the next byte.
    pub fn place(&self) -> usize {
        self.at
    }

    /// The text from a place to this one.
    pub fn since(&self, place: usize) -> &'t str {
        &self.text[place..self.at]
    }

    /// Moves past the opening bracket or a comma to the next item. Without one, moves past the closing bracket.
    pub fn next_item(&mut self, close: u8) -> bool {
        if self.peek().is_none_or(|byte| byte == close) {
            self.at += 1;
            return false;
        }
        self.at += 1;
        if self.peek() == Some(close) {
            self.at += 1;
            return false;
        }
        true
    }

    /// Moves past a key and its colon. Returns the key as written.
    pub fn key(&mut self) -> &'t str {
        let key = self.string();
        self.space();
        self.at += 1;
        key
    }

    /// Moves past a string. Returns it as written, with its quotes.
    pub fn string(&mut self) -> &'t str {
        let start = self.at;
        self.at += 1;
        while let Some(mark) = memchr2(b'"', b'\\', &self.text.as_bytes()[self.at..]) {
            self.at += mark + 1;
            if self.text.as_bytes()[self.at - 1] == b'"' {
                break;
            }
            self.at += 1; // what is escaped
        }
        self.since(start)
    }

    /// Moves past a number, `true`, `false` or `null`.
    pub fn word(&mut self) -> &'t str {
        let start = self.at;
        while self.byte().is_some_and(|b| !matches!(b, b',' | b']' | b'}' | b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
        self.since(start)
    }

    /// Moves past a value. However deep it is, each byte is read once.
    pub fn skip(&mut self) {
        let mut depth = 0_usize;
        loop {
            match self.peek() {
                None => return,
                Some(b'"') => drop(self.string()),
                Some(b'{' | b'[') => {
                    depth += 1;
                    self.at += 1;
                }
                Some(b'}' | b']') => {
                    depth = depth.saturating_sub(1);
                    self.at += 1;
                }
                Some(b',' | b':') => self.at += 1,
                Some(_) => drop(self.word()),
            }
            if depth == 0 {
                return;
            }
        }
    }

    fn space(&mut self) {
        while self.byte().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }
}
