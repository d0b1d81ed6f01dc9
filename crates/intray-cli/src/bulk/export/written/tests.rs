//! Lists that arrive in pieces, break off, or fall silent.

use std::{convert::Infallible, time::Instant};

use clap::Parser;
use futures_util::{StreamExt, stream};
use http_body_util::StreamBody;
use hyper::body::Frame;

use super::*;
use crate::bulk::retry_budget::AskedPause;

#[derive(Parser)]
struct AnswerWords {
    #[command(flatten)]
    export: ExportOptions,
}

/// An export to a temporary file.
fn written(words: &[&str]) -> (Written, tempfile::NamedTempFile) {
    let file = tempfile::NamedTempFile::new().expect("a file");
    let path = file.path().to_str().expect("UTF-8");
    let words = [&["export", "q", "--url", "http://h", "--output", path], words].concat();
    let mut written = Written::new(&AnswerWords::parse_from(words).export);
    assert!(written.open().is_ok());
    (written, file)
}

/// A body that sends the pieces and then stays open and silent.
fn then_silence(pieces: &'static [&'static str]) -> impl Body<Data = Bytes, Error = Infallible> + Unpin {
    let pieces = stream::iter(pieces).map(|piece| Ok(Frame::data(Bytes::from_static(piece.as_bytes()))));
    StreamBody::new(pieces.chain(stream::pending()))
}

fn place(written: &mut Written) -> Option<String> {
    written.place().unwrap_or_else(|NoPlace| panic!("it cannot continue"))
}

#[tokio::test]
async fn export_writes_whole_lines_and_continues_after_the_last() {
    let (mut written, file) = written(&[]);
    written.silence = Duration::from_millis(20);
    let body = then_silence(&["{\"id\":1,\"ne", "xt\":\"a\"}\n\n{\"id\":2,\"next\":\"b\"}\n{\"id\":3,", "\"next\""]);
    let end = written.lines(body, &mut RetryBudget::new()).await;
    assert!(matches!(end, Err(End::Failed(Failure::Passing(..)))), "nothing came for long");
    let text = std::fs::read_to_string(file.path()).expect("a file");
    assert_eq!(text, "{\"id\":1,\"next\":\"a\"}\n{\"id\":2,\"next\":\"b\"}\n");
    assert_eq!(place(&mut written).as_deref(), Some("b"));
}

#[tokio::test]
async fn stalled_table_times_out() {
    let (mut written, _file) = written(&["--csv"]);
    written.silence = Duration::from_millis(20);
    assert!(matches!(written.copy(then_silence(&["id\r\n"])).await, Err(End::Failed(Failure::Passing(..)))));
    assert!(written.place().is_err(), "it cannot continue");
}

#[tokio::test]
async fn blank_lines_keep_a_call_alive_and_an_early_end_fails_it() {
    let (mut written, _file) = written(&["--follow"]);
    let long_ago = Instant::now().checked_sub(Duration::from_secs(3_600)).expect("a while");
    let cut = "{\"error\":{\"status\":503,\"detail\":\"away\"},\"next\":\"c\"}\n";
    for (pieces, is_patient) in [(["\n", cut], true), (["", cut], false)] {
        let mut retries = RetryBudget::new();
        retries.pause(long_ago, AskedPause::None);
        let body =
            StreamBody::new(stream::iter(pieces).map(|piece| Ok::<_, Infallible>(Frame::data(Bytes::from(piece)))));
        assert!(matches!(written.lines(body, &mut retries).await, Err(End::Failed(Failure::Passing(..)))));
        assert_eq!(retries.pause(Instant::now(), AskedPause::None).is_some(), is_patient);
        assert_eq!(place(&mut written).as_deref(), Some("c"), "the cursor of the answer");
    }
}
