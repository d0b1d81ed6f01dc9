//! The history as a file, one entry per line, written during the run.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, BufWriter, Write},
    path::Path,
    sync::mpsc::{Receiver, Sender, channel},
    thread,
    time::Instant,
};

use super::{Entry, History, Moment};

/// Records entries from anywhere.
#[derive(Clone)]
pub struct Recorder {
    entries: Sender<Entry>,
    start: Instant,
}

impl Recorder {
    /// The thread returns the history once the last recorder is dropped.
    pub fn start(path: &Path) -> io::Result<(Self, thread::JoinHandle<io::Result<History>>)> {
        let file = BufWriter::new(File::create(path)?);
        let (entries, inbox) = channel();
        let writer = thread::spawn(move || write(&inbox, file));
        Ok((Self { entries, start: Instant::now() }, writer))
    }

    pub fn now(&self) -> Moment {
        Moment::try_from(self.start.elapsed().as_micros()).unwrap_or(Moment::MAX)
    }

    pub fn add(&self, entry: Entry) {
        self.entries.send(entry).expect("the writer runs as long as a recorder exists");
    }
}

fn write(inbox: &Receiver<Entry>, mut file: BufWriter<File>) -> io::Result<History> {
    let mut history = History::default();
    for entry in inbox {
        serde_json::to_writer(&mut file, &entry)?;
        file.write_all(b"\n")?;
        history.add(entry);
    }
    file.flush()?;
    Ok(history)
}

pub fn read(path: &Path) -> io::Result<History> {
    let mut history = History::default();
    for line in BufReader::new(File::open(path)?).lines() {
        history.add(serde_json::from_str(&line?)?);
    }
    Ok(history)
}
