use super::*;

fn who(name: &str) -> Arc<str> {
    name.into()
}

fn reads(at_once: usize, of_caller: usize, longest: Option<Duration>) -> Reads {
    Reads::new(ReadBounds {
        at_once,
        of_caller,
        longest,
        bytes: 100_000,
        bytes_of_caller: 50_000,
        bytes_of_read: 10_000,
    })
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
    let state = reads.0.state.lock();
    state.callers.is_empty() && state.line.is_empty() && state.taken == ReadUsage::default()
}

#[tokio::test]
async fn answers_in_memory_delay_further_reads() {
    let reads = reads(9, 9, None);
    let large = now(&reads, "ann").await.expect("a turn");
    large.finish_read(41_000);
    assert!(now(&reads, "ann").await.is_none(), "no room for what another read may take");
    let bob = [now(&reads, "bob").await.expect("a turn"), now(&reads, "bob").await.expect("a turn")];
    bob[0].finish_read(45_000);
    assert!(now(&reads, "cid").await.is_none(), "nor in all");
    bob[1].finish_read(20);
    assert!(now(&reads, "cid").await.is_some(), "what is small costs nothing");
    drop((large, bob));
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
    assert_eq!(reads.0.state.lock().taken.reads, 1, "it was given back once");
    drop(next);
}
