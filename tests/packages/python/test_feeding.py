"""A feed gives every result once, from wherever its reader left off."""

from __future__ import annotations

import pickle
import threading
from typing import Any
from unittest import mock

from intray_client import Forgotten, Refused, Unavailable
from world import CUT, Call, Fate, Story, lines


class Feeding(Story):
    def test_feed_yields_each_result_once(self) -> None:
        stop = threading.Event()
        feed = self.intray.feed(self.queue, every=0.02, stop=stop)  # before there is such a queue
        seen: list[int] = []

        def listen() -> None:
            seen.extend(job.result for job in feed)

        listener = threading.Thread(target=listen)
        listener.start()
        for first, past in ((0, 1), (1, 2), (2, 150), (150, 151), (151, 400)):
            self.plain.enqueue_many(self.queue, range(first, past))
            self.work_off(past - first)
            self.eventually(lambda: len(seen) == past)
        stop.set()
        listener.join()
        self.assertEqual(seen, list(range(400)))

    def test_feed_restarted_at_any_job_repeats_and_loses_nothing(self) -> None:
        self.plain.enqueue_many(self.queue, range(250))
        self.work_off(250)
        for follow in (False, True):
            feed = self.intray.feed(self.queue, follow=follow, every=0.02)
            seen: list[int] = []
            while len(seen) < 250:
                seen.extend(next(feed).result for _ in range(min(83, 250 - len(seen))))
                self.assertIsInstance(feed.after, str)
                feed = self.intray.feed(self.queue, after=feed.after, follow=follow, every=0.02)
            self.assertEqual(seen, list(range(250)))
            rest = self.intray.feed(self.queue, after=feed.after, follow=False)
            self.assertEqual((list(rest), rest.after), ([], feed.after), "a quiet run gives nothing again")
        self.assertEqual([job.result for job in self.intray.feed(self.queue, client="another", follow=False)], [])

    def test_feed_place_follows_each_job_given(self) -> None:
        self.plain.enqueue_many(self.queue, range(5))
        self.work_off(5)
        feed = self.intray.feed(self.queue, follow=False)
        places = [feed.after for _ in feed]
        self.assertEqual((len(set(places)), None in places), (5, False))

    def test_quiet_feed_asks_once_for_each_wait(self) -> None:
        self.plain.enqueue_many(self.queue, range(99))
        self.work_off(99)
        feed = self.intray.feed(self.queue, every=0.02)
        for _ in range(99):
            next(feed)

        def more() -> None:
            self.plain.enqueue(self.queue, "more")
            self.work_off(1)

        threading.Timer(0.5, more).start()
        self.assertEqual(next(feed).result, "more")
        looks = [len(call.answer if call.is_of_lines else call.answer["jobs"]) for call in self.wire.calls]
        self.assertEqual(looks, [99, 1, 1])

    def test_feed_of_one_client_moves_past_the_jobs_of_others(self) -> None:
        self.plain.enqueue_many(self.queue, range(1_100))
        self.work_off(1_100)
        feed = self.intray.feed(self.queue, client="ann", follow=False)
        self.assertEqual(list(feed), [])
        self.assertIsNotNone(feed.after)

    def test_interrupted_feed_resumes_after_its_last_line(self) -> None:
        self.plain.enqueue_many(self.queue, range(3))
        self.work_off(3)
        whole = list(self.intray.feed(self.queue, follow=False))
        self.wire.rule = lambda call: CUT if len(self.wire.calls) % 2 else None
        self.assertEqual([job.id for job in self.intray.feed(self.queue, follow=False)], [job.id for job in whole])

    def test_feed_outlives_a_deploy_behind_a_proxy(self) -> None:
        self.plain.enqueue(self.queue, 1)
        self.work_off(1)
        fates = [Fate(404, "no backend"), Fate(503, "maintenance"), Fate(200, "welcome"), CUT, Fate(302), Fate(403)]
        self.wire.rule = lambda call: fates.pop(0) if fates else None
        self.assertEqual(next(self.intray.feed(self.queue, every=0.02)).result, 1)

    def test_finite_feed_fails_within_seconds(self) -> None:
        self.wire.rule = lambda call: Fate(503)
        with self.assertRaises(Unavailable):
            next(self.client(retry_for=0.3).feed(self.queue, follow=False))
        self.wire.rule = lambda call: Fate(403)
        with self.assertRaises(Refused):
            next(self.intray.feed(self.queue, follow=False))


class Forgetting(Story):
    """Lines and pages of a service that has forgotten something after a place; in some tests its answers only say so."""

    def test_removed_results_are_counted_by_the_service(self) -> None:
        place = self.place()
        self.plain.enqueue_many(self.queue, range(3))
        self.work_off(3)
        self.plain.purge(self.queue, "completed")
        for is_more in (False, True):
            if is_more:
                self.plain.enqueue(self.queue, "new")
                self.work_off(1)
            for follow in (False, True):
                feed = self.intray.feed(self.queue, after=place, follow=follow, every=0.02)
                with self.assertRaises(Forgotten) as caught:
                    next(feed)
                self.assertEqual((caught.exception.count, caught.exception.after), (3, place))
                if is_more:
                    self.assertEqual(next(feed).result, "new")
                elif not follow:
                    self.assertEqual(list(feed), [])
                    self.assertNotEqual(feed.after, place, "the next feed begins after what is gone")
                    self.assertEqual(list(self.intray.feed(self.queue, after=feed.after, follow=False)), [])

    def forget(self, place: str, *counts: int | None) -> None:
        """Each look from this place says so, with the last count for good, next to what there really is."""
        left = list(counts)

        def rule(call: Call) -> Fate | None:
            if f"after={place}" not in call.path:
                return None
            count = left.pop(0) if len(left) > 1 else left[0]
            answer = self.wire.ask(call)
            return lines({"forgotten": count}, *answer) if call.is_of_lines else Fate(200, {**answer, "forgotten": count})

        self.wire.rule = rule

    def place(self) -> str:
        self.plain.enqueue(self.queue, "old")
        self.work_off(1)
        feed = self.plain.feed(self.queue, follow=False)
        self.assertEqual(list(feed)[-1].result, "old")
        assert feed.after is not None
        return feed.after

    def test_forgotten_is_raised_once_and_the_feed_continues(self) -> None:
        for count in (7, None):
            place = self.place()
            self.plain.enqueue_many(self.queue, [f"a {count}", f"b {count}"])
            self.work_off(2)
            self.forget(place, count)
            feed = self.intray.feed(self.queue, after=place, follow=False)
            with self.assertRaises(Forgotten) as caught:
                next(feed)
            self.assertEqual((caught.exception.count, caught.exception.after, feed.after), (count, place, place))
            self.assertEqual([job.result for job in feed], [f"a {count}", f"b {count}"])
            self.wire.rule = lambda call: None

    def test_forgotten_jobs_of_an_empty_list_are_raised_too(self) -> None:
        place = self.place()
        self.forget(place, 3)
        for follow in (False, True):
            feed = self.intray.feed(self.queue, after=place, follow=follow, every=0.02)
            with self.assertRaises(Forgotten):
                next(feed)

    def test_forgotten_jobs_that_become_more_are_raised_again(self) -> None:
        place = self.place()
        self.forget(place, 3, 3, 5, 5)
        feed = self.intray.feed(self.queue, after=place, every=0.02)
        counts = []
        with mock.patch("intray_client._feed.WAIT", 0.05):
            for _ in range(2):
                with self.assertRaises(Forgotten) as caught:
                    next(feed)
                counts.append(caught.exception.count)
        self.assertEqual(counts, [3, 5])

    def test_forgotten_jobs_may_be_ignored_or_counted(self) -> None:
        place = self.place()
        self.plain.enqueue(self.queue, "new")
        self.work_off(1)
        self.forget(place, 7)
        for forgotten, seen in (("ignore", []), (None, [7])):
            counts: list[int | None] = []
            how: Any = forgotten or (lambda error: counts.append(error.count))
            feed = self.intray.feed(self.queue, after=place, follow=False, forgotten=how)
            self.assertEqual(([job.result for job in feed], counts), (["new"], seen))

    def test_forgotten_can_be_pickled(self) -> None:
        for count in (7, None):
            error = pickle.loads(pickle.dumps(Forgotten(count, "place")))
            self.assertEqual((error.count, error.after, str(error)), (count, "place", str(Forgotten(count, "place"))))
