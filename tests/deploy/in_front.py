"""What must work by way of a proxy: probes, scrapes, streams, polls, large bodies."""

from places import say


def works(site, what):
    assert site.ok("GET", "/readyz") == "ok"
    assert "http_request_duration_seconds" in site.ok("GET", "/metrics")
    stream_comes_as_it_happens(site)
    poll_waits(site)
    # Larger than what proxies take by themselves.
    site.ok("POST", "/jobs", [{"queue": "large", "payload": "x" * 200_000, "dedupe": False} for _ in range(20)])
    say(f"{what}: a probe, a scrape, a stream of events, a long poll and 4 MB of jobs are answered with 200")


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
