use super::*;

fn of(figures: &QueueMetrics, queue: &str) -> u64 {
    let begin = format!("intray_transitions_total{{queue=\"{queue}\",");
    let text = figures.rendered();
    let lines = text.lines().filter(|line| line.starts_with(&begin));
    lines.map(|line| line.rsplit(' ').next().and_then(|n| n.parse::<u64>().ok()).expect("a number")).sum()
}

/// As if a minute had gone by.
fn rank(figures: &QueueMetrics, done: &[(&str, Option<u64>)]) {
    figures.seats.write().ranked = None;
    figures.rank(done);
}

#[test]
fn first_queues_have_own_labels_and_the_rest_share_one() {
    let figures = QueueMetrics::default();
    figures.label(2);
    for (queue, n) in [("a", 1), ("b", 2), ("c", 4), ("d", 8), (OTHER, 16)] {
        figures.count(queue, "enqueued", n);
        figures.record_wait(queue, 0.5);
        figures.record_held(queue, 0.5);
    }
    assert_eq!(["a", "b", "c", "d", OTHER].map(|queue| of(&figures, queue)), [1, 2, 0, 0, 28]);
    for count in ["intray_wait_seconds_count", "intray_held_seconds_count"] {
        assert!(figures.rendered().contains(&format!("{count}{{queue=\"other\"}} 3")), "{}", figures.rendered());
    }
}

#[test]
fn label_moves_to_a_queue_that_is_twice_as_busy() {
    let figures = QueueMetrics::default();
    figures.label(1);
    figures.count("a", "enqueued", 1);
    rank(&figures, &[("a", Some(10)), ("b", Some(20))]);
    figures.count("b", "enqueued", 1);
    assert_eq!(["a", "b", OTHER].map(|queue| of(&figures, queue)), [1, 0, 1]);
    rank(&figures, &[("a", Some(10)), ("b", Some(100))]);
    figures.count("a", "enqueued", 1);
    figures.count("b", "enqueued", 1);
    assert_eq!(["a", "b", OTHER].map(|queue| of(&figures, queue)), [0, 1, 2], "what was counted stays where it was");
    assert_eq!(figures.labelled(), HashSet::from(["b".to_owned()]));
}

#[test]
fn deleted_queue_frees_its_label_and_an_unreachable_one_keeps_it() {
    let figures = QueueMetrics::default();
    figures.label(1);
    figures.count("a", "enqueued", 1);
    rank(&figures, &[("a", None), ("b", Some(0))]);
    assert_eq!(figures.labelled(), HashSet::from(["a".to_owned()]));
    rank(&figures, &[("b", Some(0))]);
    assert_eq!(figures.labelled(), HashSet::from(["b".to_owned()]));
    assert_eq!(of(&figures, "a"), 0);
}

#[test]
fn label_moves_to_a_queue_that_is_busier_now() {
    let figures = QueueMetrics::default();
    figures.label(1);
    rank(&figures, &[("a", Some(1_000)), ("b", Some(0))]);
    for n in 1..20 {
        rank(&figures, &[("a", Some(1_000)), ("b", Some(n * 10))]);
    }
    assert_eq!(figures.labelled(), HashSet::from(["b".to_owned()]));
}
