//! `intray top`: shows the queues of a running service in a terminal, for operators without a browser.

mod ask;
mod holders;
mod live;
mod options;
mod queues;
mod screen;
mod table;
mod view;
mod webhooks;
mod words;

use std::io::IsTerminal;

pub use self::options::Top;
use self::{holders::Holders, queues::QueueRows};
use crate::client::Service;

/// Shows the table until the user quits. Without a terminal or with `--once`, returns one table as text to print.
///
/// # Errors
/// One line that says why the table cannot be shown.
pub async fn run(options: &Top) -> Result<String, anyhow::Error> {
    let service = Service::new(&options.remote).map_err(anyhow::Error::msg)?;
    if options.once || !std::io::stdout().is_terminal() {
        return once(&service, options).await.map_err(anyhow::Error::msg);
    }
    live::run(&service, options).await?;
    Ok(String::new())
}

/// Reads all queues twice, because rates need two reads.
async fn once(service: &Service, options: &Top) -> Result<String, String> {
    let lines = match &options.queue {
        Some(queue) => Holders::look(service, queue.as_str()).await?.lines(usize::MAX),
        None => {
            let before = QueueRows::look(service).await?;
            tokio::time::sleep(options.interval).await;
            let rows = QueueRows::look(service).await?.after(Some(&before));
            rows.lines(options.sort, false, usize::MAX)
        }
    };
    Ok(lines.into_iter().map(|line| line + "\n").collect())
}
