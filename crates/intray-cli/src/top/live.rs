//! The live table: one task reads from the service, the other draws, until the user quits.

use std::{io, time::Duration, time::Instant};

use anyhow::Context;
use crossterm::event::{Event, EventStream};
use futures_util::StreamExt;
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::{mpsc, watch},
};

use super::{
    holders::Holders,
    options::Top,
    queues::QueueRows,
    screen::Screen,
    view::{Seen, TableSubject, Then, View},
};
use crate::client::Service;

/// The pause after a refresh is at least this many times its duration, to limit the load on the service.
const REST: u32 = 4;

type Update = Result<Seen, String>;

pub(super) async fn run(service: &Service, options: &Top) -> anyhow::Result<()> {
    let queue = options.queue.as_ref().map(|queue| TableSubject::HoldersOf(queue.as_str().to_owned()));
    let subject = queue.unwrap_or(TableSubject::Queues);
    let view = View::new(service.url.to_string(), subject.clone(), options.sort);
    let ((turn, subject), (updates, received)) = (watch::channel(subject), mpsc::channel(1));
    tokio::select! {
        () = look(service, options.interval, subject, updates) => Ok(()),
        shown = show(view, turn, received) => shown,
    }
}

/// Refreshes at each interval, and at once when the subject changes.
async fn look(
    service: &Service,
    interval: Duration,
    mut subject: watch::Receiver<TableSubject>,
    updates: mpsc::Sender<Update>,
) {
    loop {
        let (begin, wanted) = (Instant::now(), subject.borrow_and_update().clone());
        let seen = tokio::select! {
            seen = look_at(service, &wanted) => seen,
            Ok(()) = subject.changed() => continue,
        };
        if updates.send(seen).await.is_err() {
            return;
        }
        tokio::select! {
            () = tokio::time::sleep(interval.max(begin.elapsed() * REST)) => {}
            Ok(()) = subject.changed() => {}
        }
    }
}

async fn look_at(service: &Service, subject: &TableSubject) -> Update {
    match subject {
        TableSubject::Queues => QueueRows::look(service).await.map(Seen::Queues),
        TableSubject::HoldersOf(queue) => Holders::look(service, queue).await.map(Seen::Holders),
    }
}

async fn show(
    mut view: View,
    turn: watch::Sender<TableSubject>,
    mut received: mpsc::Receiver<Update>,
) -> anyhow::Result<()> {
    let [mut terminate, mut interrupt, mut hang_up] = signals()?;
    let mut screen = Screen::open().context("this terminal cannot be used")?;
    let mut events = EventStream::new();
    loop {
        screen.draw(&view.lines(Screen::size()))?;
        let then = tokio::select! {
            Some(seen) = received.recv() => {
                view.take(seen);
                Then::Draw
            }
            event = events.next() => match event {
                Some(Ok(Event::Key(key))) => view.key(key, Screen::size().1),
                // A resize needs only a redraw.
                Some(Ok(_)) => Then::Draw,
                Some(Err(_)) | None => Then::End,
            },
            _ = terminate.recv() => Then::End,
            _ = interrupt.recv() => Then::End,
            _ = hang_up.recv() => Then::End,
        };
        match then {
            Then::Draw => {}
            Then::Look => drop(turn.send(view.subject.clone())),
            Then::End => return Ok(()),
        }
    }
}

fn signals() -> io::Result<[tokio::signal::unix::Signal; 3]> {
    Ok([signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?, signal(SignalKind::hangup())?])
}
