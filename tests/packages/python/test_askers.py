"""Many processes ask under one key, and what they raise crosses between processes."""

from __future__ import annotations

import pickle
import subprocess
import sys

from intray_client import Dead, Expired, IntrayError, NoAnswer, StillOpen, Withdrawn
from world import Story

ASKER = """
import sys
from intray_client import Intray
answer = Intray(sys.argv[1]).ask(sys.argv[2], {"eur": 180}, key="run-17-refund-3", expires=900)
print(answer.job, answer.worker, answer.completed_at, answer.result)
"""


class Askers(Story):
    def test_ten_processes_of_one_key_share_one_answer(self) -> None:
        command = [sys.executable, "-c", ASKER, self.service.url, self.queue]
        askers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(10)]
        # The fourth is killed while it waits, and its program starts again.
        self.eventually(lambda: any(queue.name == self.queue for queue in self.plain.queues()))
        askers[3].kill()
        askers[3].communicate()
        askers[3] = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        [job] = self.plain.reserve([self.queue], worker="ann", wait=10)
        job.complete("yes")
        outputs = [asker.communicate(timeout=60)[0] for asker in askers]
        done = self.plain.job(job.id)
        assert done.completed
        self.assertEqual(outputs, [f"{job.id} ann {done.completed['at']} yes\n"] * 10)
        self.assertEqual(self.plain.queue(self.queue).totals["enqueued"], 1)

    def test_errors_can_be_pickled(self) -> None:
        for kind in (Expired, Withdrawn, Dead, StillOpen):
            error = pickle.loads(pickle.dumps(kind("reviews-1")))
            self.assertEqual((type(error), error.job, str(error)), (kind, "reviews-1", str(kind("reviews-1"))))
            self.assertIsInstance(error, IntrayError)
        self.assertTrue(issubclass(Expired, NoAnswer) and not issubclass(StillOpen, NoAnswer))
        self.assertTrue(issubclass(StillOpen, TimeoutError))
