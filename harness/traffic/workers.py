"""The state that the users of one Locust worker process share.

It consists of plan, client, journal and watch, and of the signals to begin and to stop.
"""

import functools
import itertools
import os
import pathlib
from collections.abc import Callable, Iterator

import gevent.event

from harness import clocks, errors, seeds
from harness.client import apis, journaling, transports
from harness.history import directories, journal_writer, plans, records
from harness.model import naming
from harness.model.objects import Object
from harness.scenario import specs, traffic_specs
from harness.traffic import attempts, launching, object_rounds, objects, watching

TIME_CHECK_S = 0.05
"""Seconds between two looks at whether time is left."""


class Worker:
    """A worker process of the traffic."""

    def __init__(self) -> None:
        directory = directories.existing(pathlib.Path(os.environ[launching.DIRECTORY_VARIABLE]))
        self.plan = plans.read(directory.plan)
        self.scenario = specs.Scenario.model_validate(self.plan.settings)
        self.objects = objects.RunObjects(self.plan, self.scenario)
        self.rounds = object_rounds.ObjectRounds(self.scenario, run_id=self.plan.run_id)
        self.index, self.journal = _claim_journal(directory, self.plan)
        self.seeds = seeds.Seeds(self.plan.seed)
        self.transport = transports.connect(pathlib.Path(os.environ[launching.KUBECONFIG_VARIABLE]))
        self._is_enough = launching.enough_file(directory).exists
        self.watch = watching.PodWatch(apis.Api(self.transport), namespace=self.plan.namespace)
        self.released = gevent.event.Event()
        self.stopped = gevent.event.Event()
        self._time_is_up = gevent.event.Event()
        self.on_done: Callable[[], None]
        """Called when all users of this process are done; set before `release`."""
        self.patience_s: float = getattr(self.scenario.traffic, "surge_after_s", 0.0)
        """Seconds after which a user begins something beside what it waits for; 0: never."""
        self._are_all_there = False
        """False: they are not released yet, or come and go."""
        self._working = 0
        self._is_done = False
        self._least_ns, self._most_ns = 0, 0
        self._user_numbers = itertools.count()
        traffic = self.scenario.traffic
        self._items = iter(range(self.index, getattr(traffic, "pods", 0), traffic.processes))
        """The numbers of this process' share of all pods."""

    def prepare(self) -> None:
        self.watch.start()
        for resource, obj in self._shared_objects():
            create = functools.partial(self._create_once, resource, obj)
            failure, _ = attempts.until_answered(create, stop=lambda: self.stopping)
            if failure is not None:
                raise failure

    def _shared_objects(self) -> Iterator[tuple[apis.Resource, Object]]:
        if not self.objects.names_claims:
            return
        for template in self.rounds.templates():
            yield apis.CLAIM_TEMPLATES, template
        for template in self.objects.templates():
            yield apis.CLAIM_TEMPLATES, template
        if isinstance(self.scenario.traffic, traffic_specs.LimitTraffic):
            yield apis.CLAIMS, self.objects.claim(objects.SHARED_CLAIM, number=0)

    def _create_once(self, resource: apis.Resource, obj: Object) -> errors.HarnessError | None:
        try:
            self.api(records.SET_UP).create(resource, obj, namespace=self.plan.namespace)
        except apis.ApiError as error:
            return None if error.is_already_exists else error  # another worker was first
        except transports.TransportError as error:
            return error
        return None

    def release(self, *, is_shaped: bool = False) -> None:
        """Let all users begin at the same time; with a shape they come and go until its end.

        All calls but the first have no effect.
        """
        if self.released.is_set():
            return
        self._are_all_there = not is_shaped
        least_s = getattr(self.scenario.traffic, "duration_s", 0)
        longest_s = getattr(self.scenario.traffic, "load_max_s", 0)
        most_s = longest_s * traffic_specs.LONGER_FOR_FAULTS
        now_ns = clocks.monotonic_ns()
        self._least_ns, self._most_ns = now_ns + int(least_s * 1e9), now_ns + int(most_s * 1e9)
        gevent.spawn(self._await_end)
        self.released.set()
        self.when_time_is_up(self._finish)
        self._finish()  # there may be fewer users than workers

    def _finish(self) -> None:
        may_end = self._are_all_there or self._time_is_up.is_set()
        if may_end and not self._working and not self._is_done:
            self._is_done = True
            self.on_done()

    def end_time(self) -> None:
        self._most_ns = clocks.monotonic_ns()

    def user_begins(self) -> None:
        self._working += 1

    def user_done(self) -> None:
        self._working -= 1
        self._finish()

    def stop(self) -> None:
        self.stopped.set()
        self.released.set()
        self.watch.stop()

    @property
    def stopping(self) -> bool:
        return self.stopped.is_set()

    @property
    def is_time_left(self) -> bool:
        now_ns = clocks.monotonic_ns()
        if self.stopping or now_ns >= self._most_ns:
            return False
        return now_ns < self._least_ns or not self._is_enough()

    def when_time_is_up(self, act: Callable[[], object]) -> None:
        self._time_is_up.rawlink(lambda _: gevent.spawn(act))

    def _await_end(self) -> None:
        while self.is_time_left:
            self.stopped.wait(TIME_CHECK_S)
        self._time_is_up.set()

    def next_user_name(self) -> str:
        return f"{naming.traffic(self.index)}/user-{next(self._user_numbers)}"

    def next_item(self) -> int | None:
        return None if self.stopping else next(self._items, None)

    def api(self, user: str) -> apis.Api:
        return apis.Api(journaling.JournalingTransport(self.transport, self.journal, user=user))


def _claim_journal(
    directory: directories.RunDirectory, plan: plans.Plan
) -> tuple[int, journaling.Journal]:
    """Open the first journal that no other worker has opened; return its index and the journal.

    Locust's own worker index is not known before the load begins.
    """
    for index in range(plan.settings["traffic"]["processes"]):
        name = naming.traffic(index)
        try:
            writer = journal_writer.Writer(
                directory.operations(name), process=name, run_id=plan.run_id
            )
        except FileExistsError:
            continue
        return index, journaling.Journal(writer)
    raise errors.ProcessError("expected no more workers than the plan has journals for")
