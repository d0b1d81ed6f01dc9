"""Operators' calls: list queues, jobs and actions, change settings and jobs, requeue dead jobs, reassign and remove jobs, day sheets."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, cast

from ._caller import Caller, in_path, log
from ._models import (
    Action,
    Job,
    JobChange,
    Queue,
    Reassigned,
    Settings,
    SettingsChange,
    SheetLine,
    Sheets,
    State,
    read,
)
from ._producer import may_create
from ._worker_summary import RecentWorkers, WorkerSummary, joined, read_summary

#: Jobs, queues, and actions, on a page.
JOBS, QUEUES, ACTIONS = 100, 1_000, 100


class Operator:
    """Each call may be narrowed to jobs of a `client`, of a `batch`, with an `error` that contains a text, or enqueued before a
    time (RFC 3339). Methods that take several calls run until all is done, and return the number of jobs.
    """

    _caller: Caller

    async def queues(self) -> AsyncIterator[Queue]:
        """All queues, by name."""
        async for page in self._pages("/queues", {"limit": QUEUES}):
            for queue in page["queues"]:
                yield read(Queue, queue)

    async def queue(self, queue: str) -> Queue:
        """One queue: its counts, settings and totals."""
        return read(Queue, await self._caller.call("GET", _of_queue(queue)))

    async def settings(self, queue: str) -> Settings:
        """The settings of a queue."""
        return (await self.queue(queue)).settings

    async def configure(self, queue: str, changes: SettingsChange, *, create: bool = True) -> Settings:
        """Changes the given settings; `None` resets one to its default. A queue that is not there is made, and the log warns of it;
        with `create=False` it is refused.
        """
        answer = await self._caller.call("PATCH", _of_queue(queue), changes, query=may_create(create))
        if answer.get("created"):
            log.warning("the queue %s was not there: it is made with these settings", queue)
        return read(Queue, answer).settings

    async def pause(self, queue: str) -> Settings:
        """Pauses the queue: no more jobs are handed out. Reserved jobs may finish. If the queue is not there, see `configure`."""
        return await self.configure(queue, {"paused": True})

    async def resume(self, queue: str) -> Settings:
        """Resumes the queue."""
        return await self.configure(queue, {"paused": False})

    async def jobs(
        self,
        queue: str,
        state: State,
        *,
        client: str | None = None,
        batch: str | None = None,
        error: str | None = None,
        enqueued_before: str | None = None,
        search: str | None = None,
        line: str | None = None,
        worker: str | None = None,
    ) -> AsyncIterator[Job]:
        """The queue's jobs of one state, in the order of that state. `search`: in the payload and the errors. `line`: waiting jobs
        for a worker (`@bob`) or a skill (`+de`). `worker`: who holds a reserved job, has completed a completed one, of a batch or
        not, or had a dead one last.
        """
        only = _only(client=client, batch=batch, error=error, enqueued_before=enqueued_before, search=search)
        only |= _only(line=line, worker=worker)
        async for page in self._pages(_of_queue(queue) + "/jobs", {"state": state, "limit": JOBS, **only}):
            for job in page["jobs"]:
                yield read(Job, job)

    async def mine(
        self, queue: str, *, worker: str | None = None, skills: Sequence[str] | None = None
    ) -> AsyncIterator[Job]:
        """The waiting jobs that are for a worker, in order: those assigned to them; with the queue's setting `browse`, all that they
        may have. With a token, its worker and skills count.
        """
        asked = {"mine": "true", "limit": JOBS, **_only(worker=worker), "skill": list(skills or ())}
        async for page in self._pages(_of_queue(queue) + "/jobs", asked):
            for job in page["jobs"]:
                yield read(Job, job)

    def dead(
        self,
        queue: str,
        *,
        client: str | None = None,
        batch: str | None = None,
        error: str | None = None,
        enqueued_before: str | None = None,
        search: str | None = None,
        worker: str | None = None,
    ) -> AsyncIterator[Job]:
        """The queue's dead jobs, the oldest death first, with their `errors`."""
        only = _only(client=client, batch=batch, error=error, enqueued_before=enqueued_before, search=search)
        return self.jobs(queue, "dead", **only, **_only(worker=worker))

    async def requeue(self, id: str) -> int:
        """Puts a dead job back in line with new attempts, or makes a delayed one ready. 0: it is ready or reserved."""
        return int((await self._caller.call("POST", "/jobs/requeue", {"id": id}))["requeued"])

    async def requeue_all(
        self,
        queue: str,
        *,
        client: str | None = None,
        batch: str | None = None,
        error: str | None = None,
        enqueued_before: str | None = None,
    ) -> int:
        """Puts the queue's dead jobs back in line."""
        only = _only(client=client, batch=batch, error=error, enqueued_before=enqueued_before)
        return await self._until_done("POST", "/jobs/requeue", "requeued", body={"queue": queue, **only})

    async def purge(
        self,
        queue: str,
        state: State | Literal["all"],
        *,
        force: bool = False,
        client: str | None = None,
        batch: str | None = None,
        error: str | None = None,
        enqueued_before: str | None = None,
    ) -> int:
        """Removes the queue's jobs of one state, or `"all"`, permanently. `force`: reserved ones too. Settings stay."""
        only = _only(client=client, batch=batch, error=error, enqueued_before=enqueued_before)
        query = {"state": state, **only, **({"force": "true"} if force else {})}
        return await self._until_done("DELETE", _of_queue(queue), "removed", query=query)

    async def forget_queue(self, queue: str) -> None:
        """Removes a queue that has no jobs, for good: its settings, totals, history, events and day sheets. It is refused while there is
        a job in any state, ended ones included; `purge` removes those.
        """
        await self._caller.call("DELETE", _of_queue(queue), query={"forget": "true"})

    async def change(self, id: str, changes: JobChange) -> State:
        """Changes a job that has not ended: its priority, its times, who may have it. Answers its state. The log warns of names and
        of a skill that have not worked in the queue lately.
        """
        answer = await self._caller.call("PATCH", "/jobs/" + in_path(id), changes)
        if unseen := answer.get("unseen"):
            log.warning("job %s: no one called %s has worked in its queue lately", id, ", ".join(unseen))
        return cast(State, answer["state"])

    async def recent_workers(self, queue: str) -> RecentWorkers:
        """Who has worked in the queue lately."""
        answer = await self._caller.call("GET", f"{_of_queue(queue)}/workers", query={"recent": "true"})
        return RecentWorkers(tuple(answer["names"]), tuple(answer["skills"]), bool(answer["more"]))

    async def reassign(self, queue: str, worker: str, to: Sequence[str] | None) -> Reassigned:
        """Gives the jobs that wait for a worker to others; `None`: only takes them from the worker."""
        body = {"queue": queue, "from": worker, "to": None if to is None else list(to)}
        changed = refused = 0
        unseen: tuple[str, ...] | None = None
        after: dict[str, str] = {}
        while True:
            answer = await self._caller.call("POST", "/jobs/reassign", {**body, **after})
            changed += int(answer["changed"])
            refused += int(answer["refused"])
            if not after and answer.get("unseen") is not None:
                unseen = tuple(answer["unseen"])
            if not answer["more"]:
                return Reassigned(changed, refused, unseen)
            after = {} if answer["next"] is None else {"after": answer["next"]}

    async def release(self, id: str) -> int:
        """Releases a reserved job to its place in line. 0: it was not reserved."""
        return int((await self._caller.call("POST", "/jobs/release", {"id": id}))["released"])

    async def release_all(self, queue: str, worker: str) -> int:
        """Releases all jobs that a worker holds in the queue."""
        return await self._until_done("POST", "/jobs/release", "released", body={"queue": queue, "worker": worker})

    async def reprioritize_all(
        self,
        queue: str,
        priority: int,
        *,
        state: Literal["waiting", "blocked", "delayed", "reserved"] = "waiting",
        client: str | None = None,
        batch: str | None = None,
        error: str | None = None,
        enqueued_before: str | None = None,
    ) -> int:
        """Changes the priority of the queue's jobs of one state."""
        only = _only(client=client, batch=batch, error=error, enqueued_before=enqueued_before)
        body = {"queue": queue, "priority": priority, "state": state, **only}
        return await self._until_done("POST", "/jobs/reprioritize", "changed", body=body)

    async def actions(self, queue: str) -> AsyncIterator[Action]:
        """What operators did in the queue, newest first: the last 1,000 actions."""
        async for page in self._pages(_of_queue(queue) + "/actions", {"limit": ACTIONS}):
            for action in page["actions"]:
                yield read(Action, action)

    async def sheets(
        self, queue: str, *, start: str | None = None, end: str | None = None, worker: str | None = None
    ) -> Sheets:
        """What each worker did per day, from the first to the last day (`2026-11-26`), of all days that are kept if none is named."""
        asked = _only(to=end, worker=worker) | ({} if start is None else {"from": start})
        sheets = read(Sheets, await self._caller.call("GET", _of_queue(queue) + "/sheets", query=asked))
        return replace(sheets, lines=[read(SheetLine, cast("Mapping[str, Any]", line)) for line in sheets.lines])

    async def worker_summary(self, worker: str) -> WorkerSummary:
        """What a worker holds now, and has done lately, in all queues of the key."""
        found: WorkerSummary | None = None
        after: dict[str, str] = {}
        while True:
            page = await self._caller.call("GET", "/workers/" + in_path(worker), query=after)
            part = read_summary(page)
            found = part if found is None else joined(found, part)
            if page["next"] is None:
                return found
            after = {"after": page["next"]}

    async def forget_worker(self, worker: str) -> int:
        """Erases a worker's name in all queues of the key, in as many calls as that takes. Answers how many lines of day sheets are gone."""
        removed = 0
        while True:
            erased = await self._caller.call("DELETE", "/workers/" + in_path(worker))
            removed += int(erased["removed"])
            # A service of an earlier version removes the lines only, in one call.
            if not erased.get("more", False):
                return removed

    async def _pages(self, path: str, query: Mapping[str, Any]) -> AsyncIterator[Any]:
        after: dict[str, str] = {}
        while True:
            page = await self._caller.call("GET", path, query={**query, **after})
            yield page
            if page["next"] is None:
                return
            after = {"after": page["next"]}

    async def _until_done(
        self,
        method: str,
        path: str,
        counted: str,
        *,
        body: Mapping[str, Any] | None = None,
        query: Mapping[str, Any] | None = None,
    ) -> int:
        count = 0
        after: dict[str, str] = {}
        while True:
            asked = None if body is None else {**body, **after}
            answer = await self._caller.call(method, path, asked, query=query and {**query, **after})
            count += int(answer[counted])
            if not answer["more"]:
                return count
            following = answer.get("next")
            after = {} if following is None else {"after": following}


def _only(**words: str | None) -> dict[str, str]:
    return {name: word for name, word in words.items() if word is not None}


def _of_queue(queue: str) -> str:
    return "/queues/" + in_path(queue)
