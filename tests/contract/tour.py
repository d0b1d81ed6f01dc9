"""The tour by a client that openapi-python-client makes of the contract: every answer comes as its own type."""

import sys

import intray_client
from intray_api import Client
from intray_api.api.consuming import abandon, complete, extend, reserve
from intray_api.api.producing import enqueue, inspect
from intray_api.models import (
    AbandonItem, CompleteItem, Completed, ExtendItem, Extended, Handouts, Job, NewJob, NothingToReserve, Problem,
    ProblemReason, ReserveRequest, State, Stored,
)


def a(kind, value):
    assert isinstance(value, kind), f"{value!r} is no {kind.__name__}"
    return value


client = Client(base_url=sys.argv[1])
wheel = intray_client.Intray(sys.argv[1])  # The package of the service, beside it.

stored = a(Stored, enqueue.sync(client=client, body=NewJob(queue="typed-too", payload={"photo": 17}, priority=10)))
given = a(Handouts, reserve.sync(client=client, body=ReserveRequest(queues=["typed-too"], worker="ann")))
[job] = given.jobs
assert job.id == stored.id and job.attempt == 1, job

reservation = job.reservation
extended = a(Extended, extend.sync(client=client, body=ExtendItem(reservation=reservation, draft="so far")))
assert extended.expires_in_ms > 0, extended
completed = a(Completed, complete.sync(client=client, body=CompleteItem(reservation=reservation, result={"verdict": "fine"})))
assert not completed.late and not completed.duplicate, completed

refused = abandon.sync_detailed(client=client, body=AbandonItem(reservation=reservation))
problem = a(Problem, refused.parsed)
assert refused.status_code == 409 and problem.type_ == "/problems/reservation-lost", problem
assert problem.reason == ProblemReason.COMPLETED and problem.job_state == State.COMPLETED, problem

nothing = a(NothingToReserve, reserve.sync(client=client, body=ReserveRequest(queues=["typed-too"])))
assert nothing.jobs == [], nothing
done = a(Job, inspect.sync(client=client, id=stored.id))
assert done.state == State.COMPLETED, done
assert wheel.job(stored.id).result == {"verdict": "fine"}

print("openapi-python-client: the tour is done, typed")
