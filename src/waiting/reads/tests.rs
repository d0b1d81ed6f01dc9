use super::*;

fn who(name: &str) -> ReaderId {
    ReaderId::new(name.into(), name.into())
}

fn reads(at_once: usize, of_caller: usize, longest: Option<Duration>) -> Reads {
    Reads::new(ReadBounds { at_once, of_caller, longest, bytes: 100_000, bytes_of_read: 10_000 })
}

/// Tries once.
async fn now(reads: &Reads, name: &str) -> Option<ReadPermit> {
    time::timeout(Duration::from_millis(20), reads.enter(&who(name))).await.ok()
}

#[tokio::test]
async fn reads_are_limited_in_total_and_per_caller() {
    let reads = reads(3, 2, None);
    let ann = [now(&reads, "ann").await, now(&reads, "ann").await];
    assert!(ann.iter().all(Option::is_some) && now(&reads, "ann").await.is_none(), "two of one caller");
    let bob = now(&reads, "bob").await;
    assert!(bob.is_some() && now(&reads, "bob").await.is_none(), "three in all");
    drop(ann);
    assert!(now(&reads, "bob").await.is_some(), "what is given back is there for others");
    drop(bob);
    assert!(is_empty(&reads), "who has gone is forgotten");
}

fn is_empty(reads: &Reads) -> bool {
    reads.0.all.lock().is_unused()
}

#[tokio::test]
async fn answers_in_memory_delay_further_reads() {
    let reads = reads(9, 9, None);
    let large = now(&reads, "ann").await.expect("a turn");
    large.finish_read(66_000);
    assert!(now(&reads, "ann").await.is_none(), "the last quarter is not for one who holds much");
    let bob = now(&reads, "bob").await.expect("a turn");
    bob.finish_read(20_000);
    assert!(now(&reads, "bob").await.is_none());
    let cid = now(&reads, "cid").await.expect("a turn");
    assert!(now(&reads, "dan").await.is_none(), "no room for what another read may take");
    cid.finish_read(20);
    assert!(now(&reads, "dan").await.is_some(), "what is small costs nothing");
    drop((large, bob, cid));
    assert!(is_empty(&reads));
}

#[tokio::test]
async fn callers_get_permits_in_turn() {
    let reads = reads(1, 1, None);
    let first = reads.enter(&who("crowd")).await;
    let (sender, mut served) = tokio::sync::mpsc::unbounded_channel();
    for name in ["crowd"; 50].into_iter().chain(["ann"]) {
        let (reads, sender) = (reads.clone(), sender.clone());
        tokio::spawn(async move {
            let turn = reads.enter(&who(name)).await;
            sender.send(name).expect("heard");
            drop(turn);
        });
        tokio::task::yield_now().await;
    }
    drop((first, sender));
    let mut order = Vec::new();
    while let Some(name) = served.recv().await {
        order.push(name);
    }
    assert_eq!(order.len(), 51);
    assert!(order[..2].contains(&"ann"), "{order:?}");
}

#[tokio::test]
async fn cancelled_waiters_get_no_permit() {
    let reads = reads(1, 1, None);
    let first = reads.enter(&who("ann")).await;
    for _ in 0..3 {
        assert!(now(&reads, "ann").await.is_none());
    }
    drop(first);
    assert!(now(&reads, "ann").await.is_some());
    assert!(is_empty(&reads));
}

#[tokio::test]
async fn permit_that_is_not_returned_expires() {
    let reads = reads(1, 1, Some(Duration::from_millis(30)));
    let kept = reads.enter(&who("ann")).await;
    let next = time::timeout(Duration::from_secs(10), reads.enter(&who("bob"))).await.expect("a turn");
    drop(kept);
    assert_eq!(reads.0.all.lock().taken.reads, 1, "it was given back once");
    drop(next);
}

fn token(name: &str) -> ReaderId {
    ReaderId::new("pattern".into(), name.into())
}

#[tokio::test]
async fn credentials_of_one_payer_share_what_it_has() {
    let reads = reads(9, 9, None);
    let hold = async |who: ReaderId, bytes| {
        let turn = time::timeout(Duration::from_millis(20), reads.enter(&who)).await.ok()?;
        turn.finish_read(bytes);
        Some(turn)
    };
    let many = [hold(token("t1"), 25_000).await, hold(token("t2"), 25_000).await];
    assert!(many.iter().all(Option::is_some));
    assert!(hold(token("t1"), 1).await.is_none(), "the last quarter of the payer's is not for one of much");
    let (few, other) = (hold(token("t3"), 20_000).await, hold(who("bob"), 20_000).await);
    assert!(few.is_some() && other.is_some(), "it is for the payer's other tokens, and the last of all for others");
    assert!(hold(token("t4"), 1).await.is_none(), "the payer has its part");
    drop((many, few, other));
    assert!(is_empty(&reads));
}

#[tokio::test]
async fn waits_that_have_ended_are_not_refused_for_their_number() {
    let reads = reads(1, 1, None);
    let first = reads.enter(&who("ann")).await;
    let ann = who("ann");
    let read = async |_| reads.enter_after_wait(&ann).await.map(drop);
    let all = futures_util::future::join_all((0..limits::READS_WAITING + 9).map(read));
    let (all, ()) = tokio::join!(all, async { drop(first) });
    assert!(all.iter().all(Result::is_ok));
    assert!(is_empty(&reads));
}
