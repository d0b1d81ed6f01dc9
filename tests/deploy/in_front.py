"""What must work by way of a proxy: probes, scrapes, streams, polls, large bodies, and to leave."""

import re

from places import say, until


def works(site, instances, what):
    assert site.ok("GET", "/readyz") == "ok"
    assert "http_request_duration_seconds" in site.ok("GET", "/metrics")
    stream_comes_as_it_happens(site)
    poll_waits(site)
    disconnected_callers_stop_waiting(site, instances)
    # Larger than what proxies take by themselves.
    site.ok("POST", "/jobs", [{"queue": "large", "payload": "x" * 200_000, "dedupe": False} for _ in range(20)])
    say(f"{what}: a probe, a scrape, a stream of events, a long poll and 4 MB of jobs are answered with 200, "
        "and a page that has gone waits no longer")


def stream_comes_as_it_happens(site):
    stream = site.events("streamed")
    # The first word is there before anything has happened.
    assert b"heartbeat" in stream.readline() + stream.readline() + stream.readline()
    job = site.ok("POST", "/jobs", {"queue": "streamed", "payload": "x", "dedupe": False})["id"]
    while job.encode() not in stream.readline():
        pass
    stream.close()


def poll_waits(site):
    asked = {"queues": ["nothing-is-here"], "wait_ms": 1_500}
    answer = site.ok("POST", "/jobs/reserve", asked)
    assert answer["jobs"] == [], answer


def lines_are_answered_as_they_come(site, what):
    lines = site.lines()
    for n in (1, 2, 3):
        lines.say({"queue": "lines", "payload": n, "dedupe": False})
        answer = lines.hear()
        assert answer["line"] == n and answer["id"], answer
    lines.end()
    last = lines.hear()
    assert last["complete"] and last["created"] == 3, last
    say(f"{what}: a line is answered before the next is said")


def disconnected_callers_stop_waiting(site, instances):
    def waiting():
        shown = [instance.ok("GET", "/metrics") for instance in instances]
        return sum(int(re.search(r"^intray_waiters (\d+)", text, re.M)[1]) for text in shown)

    page = site.send("POST", "/jobs/reserve", {"queues": ["nothing-is-here"], "wait_ms": 30_000})
    until("a page waits", lambda: waiting() == 1)
    page.close()
    until("nobody waits", lambda: waiting() == 0, seconds=5)
