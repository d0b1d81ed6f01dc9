"""What docs/ask.md prints: the script of the shell and the programs, with people who answer, refuse, or do not come.

Those for LangGraph and Temporal are run with the packages of agents.txt, by the Python that AGENTS_PYTHON names.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

from examples import printed, write
from test_webhooks import fresh, signed
from world import Fate, Story, problem

DECISION = {"approved": True, "args": {"order": "A-7", "eur": 90}, "reason": "half of it is his fault"}
AGENTS = os.environ.get("AGENTS_PYTHON")


class Page(Story):
    def setUp(self) -> None:
        super().setUp()
        self.queue = "approvals"
        self.plain.configure(self.queue, {"max_attempts": 1})
        self.plain.purge(self.queue, "all", force=True)
        folder = tempfile.mkdtemp(prefix="intray-ask-")
        self.addCleanup(shutil.rmtree, folder)
        self.folder = Path(folder)

    def start(self, command: list[str], **variables: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder,
            env={**os.environ, **variables},
        )
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def program(self, name: str, arguments: str = "", python: str = sys.executable, **variables: str) -> subprocess.Popen[str]:
        """A printed program, and what is called after it."""
        [path] = [path for path in write(self.folder, self.wire.url, page="ask.md") if path.name == name]
        path.write_text(path.read_text() + arguments)
        return self.start([python, *(["-I"] if python == sys.executable else []), str(path)], **variables)

    def decide(self, result: Any = DECISION) -> str:
        [job] = self.plain.reserve([self.queue], worker="ann", wait=20)
        job.complete(result)
        return job.id


class Shell(Page):
    def script(self) -> subprocess.Popen[str]:
        recipe, acts, retention = printed("ask.md", "sh")
        self.acts = acts
        # It waits for two seconds where the service is away.
        self.assertIn("sleep 2", recipe)
        return self.start(["bash", "-c", recipe.replace("sleep 2", "sleep 0.1") + retention], URL=self.wire.url)

    def outcome(self, script: subprocess.Popen[str]) -> Any:
        _, errors = script.communicate(timeout=60)
        self.assertEqual(script.returncode, 0, errors)
        return json.loads((self.folder / "answer.json").read_text())

    def test_script_ends_with_the_decision(self) -> None:
        script = self.script()
        id = self.decide()
        answer = self.outcome(script)
        self.assertEqual((answer["id"], answer["state"], answer["result"]), (id, "completed", DECISION))
        self.assertEqual(self.plain.settings(self.queue)["retention_ms"], 2_592_000_000)
        [sent] = self.wire.of("/jobs")
        self.assertEqual(sent.body["expires_ms"], 900_000)
        # Only a yes gets beyond the next line.
        for result, pays in ((DECISION, True), ({"approved": False}, False), ({"approved": "true"}, False), (None, False)):
            (self.folder / "answer.json").write_text(json.dumps({"state": "completed" if result else "cancelled", "result": result}))
            output, _ = self.start(["bash", "-c", self.acts]).communicate(timeout=20)
            self.assertEqual("pay it back" in output, pays)
        # The program in Python asks the same.
        process = self.program("question.py")
        self.assertIn("ann decided", process.communicate(timeout=60)[0])
        self.assertEqual({call.answer["id"] for call in self.wire.of("/jobs")}, {id})

    def test_script_that_is_killed_finds_its_question_again(self) -> None:
        script = self.script()
        self.eventually(lambda: len(self.wire.calls) == 2)
        script.kill()
        self.wire.once(f"/jobs/{self.wire.of('/jobs')[0].answer['id']}", Fate(502, "a proxy"), Fate(503), problem(503, "unavailable"))
        again = self.script()
        id = self.decide()
        self.assertEqual(self.outcome(again)["id"], id)
        self.assertEqual(len({call.answer["id"] for call in self.wire.of("/jobs")}), 1)

    def test_script_takes_an_end_for_what_it_is(self) -> None:
        for state in ("cancelled", "dead"):
            script = self.script()
            self.eventually(lambda: self.plain.queue(self.queue).counts["waiting"] == 1)
            if state == "cancelled":
                self.plain.cancel(next(iter(self.plain.jobs(self.queue, "waiting"))).id)
            else:
                [job] = self.plain.reserve([self.queue])
                job.fail("x")
            self.assertEqual(self.outcome(script)["state"], state)
            self.plain.purge(self.queue, "all")

    def test_script_stops_where_it_can_learn_nothing_more(self) -> None:
        for status, slug, method in ((401, "unauthorized", "GET"), (403, "forbidden", "GET"), (404, "unknown-job", "GET"),
                                     (410, "gone", "GET"), (422, "idempotency-key-reused", "POST"), (503, "unavailable", "POST")):
            fate = problem(status, slug)
            self.wire.rule = lambda call, fate=fate, method=method: fate if call.method == method else None  # type: ignore[misc]
            script = self.script()
            _, errors = script.communicate(timeout=60)
            self.assertEqual(script.returncode, 1, status)
            self.assertIn(str(status) if method == "POST" else slug, errors)


class Programs(Page):
    def test_program_prints_the_decision(self) -> None:
        process = self.program("question.py")
        self.decide()
        self.assertIn(f"ann decided {DECISION} at 2", process.communicate(timeout=60)[0])
        process = self.program("question.py")
        self.assertIn("ann decided", process.communicate(timeout=60)[0], "the same key")

    def test_program_says_that_there_is_no_decision(self) -> None:
        process = self.program("question.py")
        self.eventually(lambda: self.plain.queue(self.queue).counts["waiting"] == 1)
        self.plain.cancel(next(iter(self.plain.jobs(self.queue, "waiting"))).id)
        self.assertIn("no decision: approvals-", process.communicate(timeout=60)[0])

    def test_program_asks_two_hundred_at_once(self) -> None:
        process = self.program("questions.py")
        self.eventually(lambda: self.plain.queue(self.queue).counts["waiting"] == 200)
        self.plain.cancel(next(iter(self.plain.jobs(self.queue, "waiting"))).id)
        self.work_off(199)
        self.assertEqual(process.communicate(timeout=60)[0], "199 are answered\n1 are not\n")

    def test_tool_acts_only_on_a_yes(self) -> None:
        call = '\nprint(refund("run-17", "{}", "A-7", 180))\n'
        for number, (result, says, pays) in enumerate((
            (DECISION, "Done as ann approved it: {'order': 'A-7', 'eur': 90}", "paid back 90 for A-7 under run-17-0"),
            ({"approved": True}, "Done as ann approved it", "paid back 180 for A-7 under run-17-1"),
            ({"approved": False, "reason": "not ours"}, "Not done: ann refused it. not ours", None),
            ({"approved": "yes"}, "Not done: ann refused it.", None),
            ({}, "Not done", None),
            (None, "Not done, because there was no decision (Withdrawn)", None),
        )):
            process = self.program("agent_tool.py", call.format(number))
            self.eventually(lambda: self.plain.queue(self.queue).counts["waiting"] == 1)
            if result is None:
                self.plain.cancel(next(iter(self.plain.jobs(self.queue, "waiting"))).id)
            else:
                self.decide(result)
            output, _ = process.communicate(timeout=60)
            self.assertIn(says, output)
            self.assertEqual("paid back" in output, pays is not None)
            self.assertIn(pays or "", output)


@unittest.skipUnless(AGENTS, "AGENTS_PYTHON names no Python with LangGraph and Temporal")
class Agents(Page):
    def agent(self, name: str, arguments: str, **variables: str) -> subprocess.Popen[str]:
        assert AGENTS
        return self.program(name, arguments, AGENTS, **variables)

    def test_class_of_pydantic_is_what_the_answer_is(self) -> None:
        for result, says in (
            ({"refund": "a part", "eur": 90, "reason": "half of it"}, "ann says: a part 90.0\n"),
            ({"refund": "nothing"}, "ann says: nothing None\n"),
            ({"approved": True}, "not as it was asked: {'approved': True}\n"),
            # Pydantic would take it for a number.
            ({"refund": "a part", "eur": "90"}, "not as it was asked: {'refund': 'a part', 'eur': '90'}\n"),
            (None, "no decision\n"),
        ):
            self.plain.purge(self.queue, "all", force=True)
            process = self.agent("decision.py", "")
            self.eventually(lambda: self.counts()["waiting"] == 1)
            [question] = self.plain.jobs(self.queue, "waiting")
            self.assertEqual(list(question.payload["form"]["properties"]), ["refund", "eur", "reason"])
            if result is None:
                self.plain.cancel(question.id)
            else:
                self.decide(result)
            output, errors = process.communicate(timeout=60)
            self.assertEqual(output, says, errors)

    def test_graph_is_interrupted_and_resumed_by_the_webhook(self) -> None:
        """The decision comes while the graph is interrupted. Its process reads deliveries and prints what becomes of each."""
        key, call = fresh(), {"run": "run-17", "action": {"tool": "refund"}}
        process = self.agent("langgraph_node.py", f"""
import json, sys
thread = {{"configurable": {{"thread_id": "run-17"}}}}
print(graph.invoke({call!r}, thread)["__interrupt__"][0].value["job"], flush=True)
for line in sys.stdin:
    headers, body = json.loads(line)
    print(resumed(headers, body.encode()).result(), json.dumps(graph.get_state(thread).values.get("decision")), flush=True)
""", WEBHOOK_SECRETS=key)
        assert process.stdin and process.stdout
        asked = process.stdout.readline().strip()
        self.assertEqual(self.plain.job(asked).client, "run-17")

        def deliver(data: dict[str, Any], type: str = "job.completed") -> str:
            assert process.stdin and process.stdout
            body = json.dumps({"type": type, "timestamp": "2026-11-21T09:18:21.900Z", "data": data})
            process.stdin.write(json.dumps([signed([key], body), body]) + "\n")
            process.stdin.flush()
            return process.stdout.readline().strip()

        data = {"queue": self.queue, "id": asked, "state": "completed", "client": "run-17"}
        # A delivery that comes too early changes nothing: the graph is interrupted again.
        self.assertEqual(deliver({}, "intray.test"), "False null")
        self.assertEqual(deliver({**data, "client": "run-18"}), "False null")
        self.assertEqual(deliver(data), "True null")
        self.assertEqual(self.decide(), asked)
        self.assertEqual(deliver(data), f"True {json.dumps(DECISION)}")
        self.assertEqual(deliver(data), f"False {json.dumps(DECISION)}", "it comes twice")
        self.assertEqual({call.answer["id"] for call in self.wire.of("/jobs")}, {asked})

    def test_graph_goes_on_once_however_often_a_yes_is_delivered(self) -> None:
        """The rest of the graph takes longer than a delivery, which is sent again meanwhile."""
        key, call = fresh(), {"run": "run-17", "action": {"tool": "refund"}}
        process = self.agent("langgraph_node.py", f"""
import json, sys, time
def pay(state):
    print("paid", flush=True)
    time.sleep(2)
    return {{}}
builder = StateGraph(State)
builder.add_node("approve", approve)
builder.add_node("pay", pay)
builder.add_edge(START, "approve")
builder.add_edge("approve", "pay")
builder.add_edge("pay", END)
graph = builder.compile(checkpointer=InMemorySaver())
graph.invoke({call!r}, {{"configurable": {{"thread_id": "run-17"}}}})
print("asked", flush=True)
headers, body = json.loads(sys.stdin.readline())
began = time.monotonic()
first = resumed(headers, body.encode())
print("answered" if time.monotonic() - began < 1 else "late", flush=True)
time.sleep(1)
print(first.done(), [one.result() for one in (first, *(resumed(headers, body.encode()) for _ in range(3)))], flush=True)
""", WEBHOOK_SECRETS=key)
        assert process.stdin and process.stdout
        self.assertEqual(process.stdout.readline().strip(), "asked")
        id = self.decide()
        data = {"queue": self.queue, "id": id, "state": "completed", "client": "run-17"}
        body = json.dumps({"type": "job.completed", "timestamp": "2026-11-21T09:18:21.900Z", "data": data})
        output, _ = process.communicate(json.dumps([signed([key], body), body]) + "\n", timeout=60)
        self.assertEqual(sorted(output.split("\n")), sorted(["answered", "paid", "False [True, False, False, False]", ""]))

    def test_activity_asks_once_and_reads_the_decision(self) -> None:
        call = """
import asyncio
from temporalio.testing import ActivityEnvironment
workflow._Definition.must_from_class(Refund)
for number in range(3):
    print(asyncio.run(ActivityEnvironment().run(ask, "refund-17", {"eur": 180})), flush=True)
    input()
"""
        process = self.agent("temporal_workflow.py", call)
        assert process.stdin and process.stdout
        for expected in (None, None, DECISION):
            self.assertEqual(process.stdout.readline().strip(), str(expected))
            if len(self.wire.of("/jobs")) == 2:
                self.decide()
            process.stdin.write("\n")
            process.stdin.flush()
        self.assertEqual(len({call.answer["id"] for call in self.wire.of("/jobs")}), 1)
