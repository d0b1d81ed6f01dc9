"""One job of `consume`. Nothing that the work, its error or its result does ends the loop; what ends the program is always passed on."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable
from traceback import format_tb
from typing import Any, TypeVar

from ._errors import IntrayError, Lost, Refused, Unavailable
from ._io import Event
from ._reserved import ERROR, Handout
from ._text import cut, cut_front

log = logging.getLogger("intray_client")

R = TypeVar("R", bound=Handout)
#: Bytes of an error that places may take.
PLACES = 900

Work = Callable[[R], Any]
Describe = Callable[[Exception], str]

#: Seconds between two extensions, at least and at most; it is a third of the lease in between.
SHORTEST_BEAT, LONGEST_BEAT = 0.1, 60.0
#: Seconds for which a hand-in that was interrupted is tried again while the program ends, and then for which the job is given back.
LAST_HAND_IN, LAST_WORDS = 0.5, 1.0
#: Bytes of a type's name, and how many of the last frames of a traceback are named.
NAME, FRAMES = 128, 20


async def do(job: R, work: Work[R], describe: Describe, traceback: bool) -> None:
    """If this fails, the job returns when its lease expires."""
    done = job._caller.io.event()
    job._on_refused_draft = lambda error: note(logging.WARNING, "a draft of %s was not taken: %s", job.id, _reason(error))
    try:
        try:
            beat_ends = _keep_alive(job, done)
            try:
                await _settle(job, work, describe, traceback)
            finally:
                beat_ends()
        finally:
            done.set()
    except Lost as lost:
        note(logging.WARNING, "%s was lost (%s) before it was handed in", job.id, lost.reason)
    except Exception as error:
        note(logging.ERROR, "%s could not be handed in: %s", job.id, error if isinstance(error, IntrayError) else _name(error))
    except BaseException:
        await _say_last_words(job)
        raise


def note(level: int, text: str, *about: object) -> None:
    """A handler of the log is not ours either."""
    try:
        log.log(level, text, *about)
    except Exception:
        pass


async def _settle(job: R, work: Work[R], describe: Describe, traceback: bool) -> None:
    try:
        result = await job._caller.io.outcome(work(job))
    except Exception as error:
        note(logging.WARNING, "%s failed: %s", job.id, _name(error))
        if log.isEnabledFor(logging.DEBUG):
            note(logging.DEBUG, "%s failed at\n%s", job.id, _frames(error))
        if not job.is_settled:
            await _fail(job, _described(error, describe, traceback), _name(error))
        return
    if job.is_settled:
        return
    try:
        await _hand_in(job, lambda: job._complete(result))
    except Lost:
        raise
    except Exception as error:
        if isinstance(error, Unavailable) and not (error.is_foreign and await _is_answered(job)):
            raise
        # It is no JSON, or too large, or not what the queue's form asks, or something on the way refuses it: so it would be the next time.
        note(logging.WARNING, "the result of %s was not taken: %s", job.id, _reason(error))
        text = f"the result was not taken: {_reason(error)}"
        await _fail(job, f"{text}{places(error)}", text)


async def _fail(job: Handout, *texts: str) -> None:
    """With the first text that is taken, our own at last. A job that cannot be failed goes to another worker: the next call for
    work by this one would get it again, before those after it.
    """
    for text in (*texts, "the job failed, and its error could not be written"):
        try:
            return await _hand_in(job, lambda text=text: job._fail(text))  # type: ignore[misc]
        except Refused as refused:
            if isinstance(refused, Lost):
                raise
            note(logging.WARNING, "the error of %s was not taken: %s", job.id, _reason(refused))
    await job._abandon(reason="it could not be handed in", skip=True)


async def _hand_in(job: Handout, say: Callable[[], Awaitable[object]]) -> None:
    """What something on the way refuses is refused for what it holds if other calls pass. While none does, it is said again."""
    end = time.monotonic() + job._caller.patience
    while True:
        try:
            await say()
            return
        except (Refused, Unavailable) as error:
            is_foreign = error.is_foreign if isinstance(error, Unavailable) else not error.is_own
            if not is_foreign or time.monotonic() > end or await _is_answered(job):
                raise


async def _is_answered(job: Handout) -> bool:
    try:
        await job._extend(retry_for=0)
    except Refused as refused:
        return refused.is_own
    except IntrayError:
        return False
    return True


async def _say_last_words(job: Handout) -> None:
    """What the work came to, if that was on its way; or the job is given back. Whatever becomes of it, nothing is raised."""
    words = [] if job._ending is None else [(*job._ending, LAST_HAND_IN)]
    words.append(("abandon", {"reason": "the worker was stopped"}, LAST_WORDS))
    for word in words:
        if job.is_settled:
            return
        try:
            await job._end_by(*word)
            return
        except Lost:
            return
        except Exception as error:
            note(logging.WARNING, "%s could not be given back: %s", job.id, _name(error))
        except BaseException:
            return  # A second signal: it ends at once, by what was on its way up before.


def _described(error: Exception, describe: Describe, traceback: bool) -> str:
    name = _name(error)
    try:
        text = cut(describe(error), ERROR)
    except Exception as another:
        text = f"{name}: it could not be described ({_name(another)})"
    if not traceback:
        return text or name
    head = cut(text or name, ERROR // 2)
    return f"{head}\n{cut_front(_frames(error), ERROR - len(head.encode()) - 1)}"


def _frames(error: Exception) -> str:
    """Where it was raised, without what it says, which may be a payload. The first frame is ours."""
    try:
        trace = error.__traceback__
        return "".join(format_tb(trace and trace.tb_next, limit=-FRAMES)).rstrip()
    except Exception:
        return "a place that cannot be written"


def _name(error: BaseException) -> str:
    try:
        return cut(type(error).__name__, NAME) or "Exception"
    except Exception:
        return "Exception"


def places(error: Exception) -> str:
    """Where a refused result does not fit the form of the queue, with no value in it."""
    if not isinstance(error, Refused) or error.type != "/problems/invalid-result":
        return ""
    found = [place for place in error.problem.get("errors") or () if isinstance(place, dict)]
    lines = [f"\n{place.get('pointer') or '(the result)'}: {place.get('detail')}" for place in found]
    kept: list[str] = []
    room = PLACES
    for line in lines:
        room -= len(line.encode("utf-8", "replace"))
        if room < 0:
            return "".join([*kept, f"\nand {len(lines) - len(kept)} more"])
        kept.append(line)
    return "".join(kept)


def _reason(error: Exception) -> str:
    """A neutral text that filters accept."""
    if isinstance(error, Refused) and not error.is_own:
        return f"refused on the way with {error.status}"
    return _name(error)


def _keep_alive(job: Handout, done: Event) -> Callable[[], None]:
    try:
        return job._caller.io.start(_beat(job, done), f"intray {job.id}")
    except RuntimeError:  # This process may have no more threads. The job is its own until the lease is over.
        note(logging.WARNING, "%s is not extended: there is no thread for it", job.id)
        return lambda: None


async def _beat(job: Handout, done: Event) -> None:
    while True:
        beat = min(LONGEST_BEAT, max(SHORTEST_BEAT, job.expires_in_ms / 3_000))
        await job._caller.io.sleep(beat, done)
        if done.is_set():
            return
        try:
            await job._extend(retry_for=beat)
        except Lost:
            return
        except Exception as error:
            note(logging.INFO, "%s could not be extended: %s", job.id, _reason(error))
