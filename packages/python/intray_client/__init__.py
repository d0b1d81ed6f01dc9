"""Producers and workers of intray, a work queue for people. Nothing but Python's own library is needed.

    from intray_client import Intray

    intray = Intray("https://queue.example", key="...")
    job = intray.enqueue("reviews", {"photo": 17})
    print(intray.wait(job.id).result)
"""

from ._caller import Stopped
from ._client import Intray
from ._errors import IntrayError, Lost, Refused, SomeRefused, Unavailable
from ._models import Batch, Enqueued, Job, NewJob, Result
from ._reserved import Reserved

__all__ = [
    "Batch",
    "Enqueued",
    "Intray",
    "IntrayError",
    "Job",
    "Lost",
    "NewJob",
    "Refused",
    "Reserved",
    "Result",
    "SomeRefused",
    "Stopped",
    "Unavailable",
]
