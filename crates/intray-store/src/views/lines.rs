//! The lines of jobs that are not for all workers.

use intray_redis::{Args, Fault};

use crate::job::{Code, Line, Millis, QueueName};
use crate::{
    handle::Queues,
    redis::read::{Fields, broken},
};

/// Looks at jobs of batches in the making for one list of lines; the largest batch takes so many.
const MAX_LOOKS: u32 = 50;

/// What waits in a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineCount {
    pub line: Line,
    pub waiting: u64,
    /// Age of the job that is first in the line.
    pub oldest_ms: u64,
}

impl Queues {
    /// The lines in which jobs wait, at most 100 of them. A job with several assignees is in the line of each, and one of a batch in
    /// the making in none, unless these batches have more jobs than [`MAX_LOOKS`] find.
    ///
    /// # Errors
    /// When Redis is not well.
    pub async fn lines(&self, queue: &QueueName) -> Result<Vec<LineCount>, Fault> {
        let answered = self.run_view("lines", queue, &Args::default()).await?;
        let mut answer = Fields::of(&answered)?;
        let now = answer.time()?;
        let making = read_codes(answer.list()?)?;
        let mut lines = answer.lists().map(|line| read_line(line?, now)).collect::<Result<Vec<_>, _>>()?;
        let mut looks = MAX_LOOKS;
        for batch in making {
            let hidden = self.lines_in_the_making(queue, &batch, now, &mut looks).await?;
            for line in &mut lines {
                let hidden = hidden.get(&line.line.to_string()).copied().unwrap_or(0);
                line.waiting = line.waiting.saturating_sub(hidden);
            }
        }
        lines.retain(|line| line.waiting > 0);
        Ok(lines)
    }
}

fn read_codes(mut fields: Fields<'_>) -> Result<Vec<Code>, Fault> {
    let mut codes = Vec::new();
    while !fields.is_done() {
        codes.push(fields.code()?);
    }
    Ok(codes)
}

fn read_line(mut fields: Fields<'_>, now: Millis) -> Result<LineCount, Fault> {
    let line = Line::parse(fields.word()?).map_err(|_| broken("a line"))?;
    Ok(LineCount { line, waiting: fields.count()?, oldest_ms: now.since(fields.time()?) })
}
