"""Rules and dashboard: read, fired, and asked of a Prometheus that has watched people work."""

import json
import pathlib
import re
import time
import urllib.parse

import yaml

from compose import Compose
from http_calls import Site, later
from places import DEPLOY, ROOT, run, say, until

HERE = pathlib.Path(__file__).parent
# Where the last comparison of a rule begins: what is before it has an answer, the whole only when it fires.
LIMIT = re.compile(r"\s(<|>|!=)\s*[\d.]+\s*$")


def rules():
    return [rule for group in yaml.safe_load((DEPLOY / "alerts.yaml").read_text())["groups"] for rule in group["rules"]]


def panels():
    return [panel for panel in json.loads((DEPLOY / "grafana.json").read_text())["panels"] if panel["type"] != "row"]


def queries():
    """Every query of every panel and every rule, as Grafana with all queues chosen would ask, and where it stands."""
    for panel in panels():
        for target in panel["targets"]:
            yield f"panel {panel['title']}", target["expr"].replace("$queue", ".*")
    for rule in rules():
        yield f"alert {rule['alert']}", rule["expr"]


def check():
    run("promtool", "check", "config", "--syntax-only", DEPLOY / "prometheus.yaml")
    run("promtool", "check", "rules", "--lint-fatal", DEPLOY / "alerts.yaml")
    run("promtool", "test", "rules", HERE / "alerts.test.yaml")
    tried = (HERE / "alerts.test.yaml").read_text()
    page = (ROOT / "docs" / "alerts.md").read_text()
    names = [rule["alert"] for rule in rules()]
    assert re.findall(r"^## (\w+)$", page, re.M) == names, "docs/alerts.md has a chapter for each alert, in their order"
    for rule in rules():
        assert f"alertname: {rule['alert']}\n" in tried, f"nobody sees {rule['alert']} fire"
        assert rule["annotations"]["runbook"] == f"docs/alerts.md#{rule['alert'].lower()}"
    board_is_whole()
    known = re.findall(r"^\| `([a-z_]+)", (ROOT / "docs" / "metrics.md").read_text(), re.M)
    for where, query in queries():
        for name in re.findall(r"\b(?:intray|http)_[a-z_]+", query):
            bare = re.sub(r"_(bucket|sum|count)$", "", name)
            assert bare in known, f"{where} asks for {name}, which is not in docs/metrics.md"
    say(f"alerts.yaml: {len(names)} rules, each seen to fire; grafana.json: {len(panels())} panels")


def board_is_whole():
    board = json.loads((DEPLOY / "grafana.json").read_text())
    ids = [panel["id"] for panel in board["panels"]]
    assert len(set(ids)) == len(ids), "two panels have one id"
    taken = set()
    for panel in board["panels"]:
        at = panel["gridPos"]
        assert at["x"] + at["w"] <= 24, panel["title"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not taken & cells, f"{panel['title']} lies on another panel"
        taken |= cells
    for panel in panels():
        assert panel["datasource"]["uid"] == "${datasource}", panel["title"]
    variables = {variable["name"] for variable in board["templating"]["list"]}
    used = set(re.findall(r"\$\{?(\w+)", json.dumps(board)))
    assert used - {"__all"} == variables, f"{used} are used, {variables} are there"


def asked(prometheus, query):
    answer = prometheus.ok("GET", f"/api/v1/query?query={urllib.parse.quote(query)}")
    assert answer["status"] == "success", answer
    return answer["data"]["result"]


def work(site, queue):
    """A few jobs, done, given back and failed of, and people who wait for others."""
    site.ok("POST", "/jobs", [{"queue": queue, "payload": n, "dedupe": False} for n in range(4)])
    site.ok("POST", "/jobs", {"queue": f"{queue}-dead", "payload": "poison", "max_attempts": 1, "dedupe": False})
    settle = {"complete": {"result": "fine"}, "abandon": {}, "fail": {"error": "odd"}}
    for call, more in settle.items():
        job = site.ok("POST", "/jobs/reserve", {"queues": [queue]})["jobs"][0]
        site.ok("POST", f"/jobs/{call}", {"reservation": job["reservation"], **more})
    dead = site.ok("POST", "/jobs/reserve", {"queues": [f"{queue}-dead"], "lease_ms": 1_000})["jobs"][0]
    site.ok("POST", "/jobs/fail", {"reservation": dead["reservation"], "error": "poison"})
    # The worker of this job leaves without a call.
    site.ok("POST", "/jobs/reserve", {"queues": [queue], "lease_ms": 1_000})


def story(stage):
    compose = Compose(stage, "compose.yaml")
    compose.up()
    site = Site((compose.address("caddy"), 7070), "localhost:7070")
    prometheus = Site((compose.address("prometheus"), 9090), "prometheus:9090")
    until("Caddy serves", site.is_ready)
    waits = later(lambda: site.ok("POST", "/jobs/reserve", {"queues": ["empty-queue"], "wait_ms": 30_000}))
    start, rounds = time.monotonic(), 0

    def is_recorded():
        nonlocal rounds
        work(site, "reviews" if rounds % 2 else "calls")
        rounds += 1
        return answered(prometheus)

    try:
        until("answers to all queries", is_recorded, seconds=110)
    except SystemExit:
        silent = [f"{where}: {query}" for where, query in queries() if unanswered(prometheus, query)]
        raise SystemExit("no answer has\n" + "\n".join(silent)) from None
    assert not waits()[0]["jobs"]
    loaded = prometheus.ok("GET", "/api/v1/rules")["data"]["groups"][0]["rules"]
    assert [rule["name"] for rule in loaded] == [rule["alert"] for rule in rules()]
    assert all(rule["health"] == "ok" for rule in loaded), loaded
    fires_when_one_is_down(compose, prometheus)
    say(f"Prometheus: {len(list(queries()))} queries of panels and alerts have answers, "
        f"after {rounds} rounds of work in {time.monotonic() - start:.0f} s; an instance that is gone is noticed")


def answered(prometheus):
    """Whether each has an answer by now that is a number."""
    return not any(unanswered(prometheus, query) for _, query in queries())


def unanswered(prometheus, query):
    numbers = [float(row["value"][1]) for row in asked(prometheus, LIMIT.sub("", query))]
    return not any(number == number for number in numbers)


def fires_when_one_is_down(compose, prometheus):
    compose.stage.stop("intray-2")
    down = 'ALERTS{alertname="IntrayDown",instance="intray-2:7070"}'
    until("the alert for an instance that is gone", lambda: asked(prometheus, down), seconds=60)
