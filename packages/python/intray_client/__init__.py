"""Producers, workers and operators of intray, a work queue for people. Nothing but Python's own library is needed.

    from intray_client import Intray

    intray = Intray("https://queue.example", key="...")
    job = intray.enqueue("reviews", {"photo": 17})
    print(intray.wait(job.id).result)
"""

from ._ask import Answer
from ._caller import Stopped
from ._client import Intray
from ._errors import (
    Dead,
    Expired,
    Forgotten,
    IntrayError,
    Lost,
    NoAnswer,
    NotGenuine,
    Refused,
    SomeRefused,
    StillOpen,
    Unavailable,
    Withdrawn,
    WrongAnswer,
)
from ._feed import Feed
from ._models import (
    Action,
    Batch,
    Enqueued,
    Job,
    JobChange,
    NewJob,
    Queue,
    Reassigned,
    Result,
    Settings,
    SettingsChange,
    SheetLine,
    Sheets,
    State,
)
from ._opinions import agreement
from ._reserved import Ended, Reserved
from ._webhooks import WebhookEvent, verify
from ._worker_summary import RecentWorkers, WorkerSummary
from .aio import AsyncFeed, AsyncIntray, AsyncReserved

__all__ = [
    "Action",
    "Answer",
    "AsyncFeed",
    "AsyncIntray",
    "AsyncReserved",
    "Batch",
    "Dead",
    "Ended",
    "Enqueued",
    "Expired",
    "Feed",
    "Forgotten",
    "Intray",
    "IntrayError",
    "Job",
    "JobChange",
    "Lost",
    "NewJob",
    "NoAnswer",
    "NotGenuine",
    "Queue",
    "Reassigned",
    "RecentWorkers",
    "Refused",
    "Reserved",
    "Result",
    "Settings",
    "SettingsChange",
    "SheetLine",
    "Sheets",
    "SomeRefused",
    "State",
    "StillOpen",
    "Stopped",
    "Unavailable",
    "WebhookEvent",
    "Withdrawn",
    "WorkerSummary",
    "WrongAnswer",
    "agreement",
    "verify",
]
