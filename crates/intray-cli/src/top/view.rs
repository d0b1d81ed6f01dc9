//! The content of the screen, and the effect of each key.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::{
    holders::Holders,
    options::Sort,
    queues::{QueueRows, Rows},
    screen::{Look, ScreenLine},
};
use crate::terminal::clean;

const SORTS: &str = "sort: [n]ame [w]aiting [o]ldest [h]eld o[v]erdue [i]n o[u]t [c]ompleted [d]ead";
const KEYS: &str = "[r]everse   ↑ ↓ enter: who holds   [q]uit";
const KEYS_OF_HOLDERS: &str = "↑ ↓   esc: all queues   [q]uit";
/// Lines above and below the rows of the table.
const FRAME: usize = 5;

/// The subject of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TableSubject {
    Queues,
    HoldersOf(String),
}

/// The result of a refresh.
pub(super) enum Seen {
    Queues(QueueRows),
    Holders(Holders),
}

/// The action that follows a key.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Then {
    Draw,
    Look,
    End,
}

pub(super) struct View {
    place: String,
    pub(super) subject: TableSubject,
    sort: Sort,
    turned: bool,
    /// The selected queue, by name, so that it stays selected when the order changes.
    chosen: Option<String>,
    first: usize,
    before: Option<QueueRows>,
    rows: Option<Rows>,
    holders: Option<Holders>,
    trouble: Option<String>,
}

impl View {
    pub(super) fn new(place: String, subject: TableSubject, sort: Sort) -> Self {
        let (chosen, before, rows, holders, trouble) = (None, None, None, None, None);
        Self { place, subject, sort, turned: false, chosen, first: 0, before, rows, holders, trouble }
    }

    /// Takes the result of a refresh. After an error, the old table stays on the screen below the message.
    pub(super) fn take(&mut self, seen: Result<Seen, String>) {
        self.trouble = None;
        match seen {
            Ok(Seen::Queues(queues)) => {
                let mut rows = queues.after(self.before.as_ref());
                rows.sort(self.sort, self.turned);
                self.rows = Some(rows);
                self.before = Some(queues);
            }
            // The user may have left the queue since the refresh began.
            Ok(Seen::Holders(holders)) => {
                let is_wanted = self.subject == TableSubject::HoldersOf(holders.queue.clone());
                self.holders = Some(holders).filter(|_| is_wanted);
            }
            Err(trouble) => self.trouble = Some(trouble),
        }
    }

    pub(super) fn key(&mut self, key: KeyEvent, height: usize) -> Then {
        if key.kind == KeyEventKind::Release {
            return Then::Draw;
        }
        let page = height.saturating_sub(FRAME).max(1);
        match key.code {
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => return Then::End,
            KeyCode::Char('q') => return Then::End,
            KeyCode::Down => self.step(|at, _| at + 1),
            KeyCode::Up => self.step(|at, _| at.saturating_sub(1)),
            KeyCode::PageDown => self.step(|at, _| at + page),
            KeyCode::PageUp => self.step(|at, _| at.saturating_sub(page)),
            KeyCode::Home => self.step(|_, _| 0),
            KeyCode::End => self.step(|_, last| last),
            KeyCode::Enter => return self.enter(),
            KeyCode::Esc | KeyCode::Left | KeyCode::Backspace => return self.leave(),
            KeyCode::Char(letter) => self.letter(letter),
            _ => {}
        }
        Then::Draw
    }

    fn letter(&mut self, letter: char) {
        match letter {
            'r' => self.turned = !self.turned,
            letter => match sort_of(letter) {
                Some(sort) => (self.sort, self.turned) = (sort, false),
                None => return,
            },
        }
        if let Some(rows) = &mut self.rows {
            rows.sort(self.sort, self.turned);
        }
    }

    /// Moves the selection among queues, or the scroll position among workers.
    fn step(&mut self, to: impl FnOnce(usize, usize) -> usize) {
        match (&self.subject, &self.rows) {
            (TableSubject::Queues, Some(rows)) => {
                let names: Vec<_> = rows.names().collect();
                let last = names.len().saturating_sub(1);
                let next = to(self.at(rows), last).min(last);
                self.chosen = names.get(next).map(|name| (*name).to_owned());
            }
            (TableSubject::Queues, None) => {}
            // `lines` limits the position to the number of workers.
            (TableSubject::HoldersOf(_), _) => self.first = to(self.first, usize::MAX - 1),
        }
    }

    fn at(&self, rows: &Rows) -> usize {
        rows.names().position(|name| Some(name) == self.chosen.as_deref()).unwrap_or_default()
    }

    fn enter(&mut self) -> Then {
        let (TableSubject::Queues, Some(rows)) = (&self.subject, &self.rows) else { return Then::Draw };
        let Some(name) = rows.names().nth(self.at(rows)).map(str::to_owned) else { return Then::Draw };
        self.chosen = Some(name.clone());
        self.turn_to(TableSubject::HoldersOf(name))
    }

    fn leave(&mut self) -> Then {
        match &self.subject {
            TableSubject::Queues => Then::Draw,
            TableSubject::HoldersOf(_) => self.turn_to(TableSubject::Queues),
        }
    }

    fn turn_to(&mut self, subject: TableSubject) -> Then {
        (self.subject, self.first, self.holders, self.trouble) = (subject, 0, None, None);
        Then::Look
    }

    pub(super) fn lines(&mut self, (width, height): (usize, usize)) -> Vec<ScreenLine> {
        let (summary, table, chosen, keys) = match (&self.subject, &self.rows, &self.holders) {
            (TableSubject::Queues, Some(rows), _) => {
                (rows.summary(), rows.table(width), Some(self.at(rows)), [SORTS, KEYS])
            }
            (TableSubject::HoldersOf(_), _, Some(holders)) => {
                (holders.summary(), holders.table(width), None, [KEYS_OF_HOLDERS, ""])
            }
            (TableSubject::Queues, None, _) => (String::new(), Vec::new(), None, ["[q]uit", ""]),
            (TableSubject::HoldersOf(queue), _, None) => (clean(queue), Vec::new(), None, [KEYS_OF_HOLDERS, ""]),
        };
        let room = height.saturating_sub(FRAME).max(1);
        self.first = match chosen {
            Some(at) => self.first.clamp((at + 1).saturating_sub(room), at),
            None => self.first,
        };
        self.first = self.first.min(table.len().saturating_sub(room + 1));
        let trouble = self.trouble.as_ref().map(|why| format!("{why}; it is asked again"));
        let mut lines = vec![plain(format!("{}  {summary}", self.place)), plain(trouble.unwrap_or_default())];
        let mut table = table.into_iter();
        lines.extend(table.next().map(|text| ScreenLine { text, look: Look::Head }));
        let looks = |nth: usize| if Some(nth) == chosen { Look::Chosen } else { Look::Plain };
        let rows = table.enumerate().skip(self.first).take(room);
        lines.extend(rows.map(|(nth, text)| ScreenLine { text, look: looks(nth) }));
        lines.extend(keys.map(|keys| plain(keys.to_owned())));
        lines
    }
}

fn plain(text: String) -> ScreenLine {
    ScreenLine { text, look: Look::Plain }
}

fn sort_of(letter: char) -> Option<Sort> {
    match letter {
        'n' => Some(Sort::Name),
        'w' => Some(Sort::Waiting),
        'o' => Some(Sort::Oldest),
        'h' => Some(Sort::Held),
        'v' => Some(Sort::Overdue),
        'd' => Some(Sort::Dead),
        'i' => Some(Sort::In),
        'u' => Some(Sort::Out),
        'c' => Some(Sort::Done),
        _ => None,
    }
}
