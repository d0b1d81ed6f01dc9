"""Producers, workers and operators of intray, a work queue for people. Nothing but Python's own library is needed.

    from intray_client import Intray

    intray = Intray("https://queue.example", key="...")
    job = intray.enqueue("reviews", {"photo": 17})
    print(intray.wait(job.id).result)
"""

from ._caller import Stopped
from ._client import Intray
from ._errors import Forgotten, IntrayError, Lost, NotGenuine, Refused, SomeRefused, Unavailable
from ._feed import Feed
from ._models import Batch, Enqueued, Job, NewJob, Queue, Result, Settings, SettingsChange, State
from ._reserved import Ended, Reserved
from ._webhooks import WebhookEvent, verify

__all__ = [
    "Batch",
    "Ended",
    "Enqueued",
    "Feed",
    "Forgotten",
    "Intray",
    "IntrayError",
    "Job",
    "Lost",
    "NewJob",
    "NotGenuine",
    "Queue",
    "Refused",
    "Reserved",
    "Result",
    "Settings",
    "SettingsChange",
    "SomeRefused",
    "State",
    "Stopped",
    "Unavailable",
    "WebhookEvent",
    "verify",
]
