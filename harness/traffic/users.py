"""The base class of the Locust users: their identity, and the calls and waits of all profiles."""

import contextlib
import itertools
import random
import time
from collections.abc import Callable, Sequence
from typing import Any

import gevent
import locust
from gevent import pool
from locust import env, exception
from locust.user import users as locust_users
from locust.user.task import LOCUST_STATE_STOPPING

from harness import clocks, errors
from harness.client import apis
from harness.history import records
from harness.traffic import attempts, watching, workers

FAILURE_WAIT_S = 0.1
"""Seconds that a user waits after an object could not be created, before it begins another one."""


class PodLeft(Exception):  # noqa: N818 - an outcome that the scenario asks for
    """A pod did not run in time, and the user leaves it as it is."""


class _OwnTasks(locust_users.DefaultTaskSet):
    """Runs a user's own tasks, nested TaskSets among them, until the user stops."""

    user: "ClaimUser"

    def get_next_task(self) -> Any:
        return self.user.random.choice(self.user.own_tasks())


class ClaimUser(locust.User):
    """The base class of all users: waits for the other users, does its work once, and stops."""

    abstract = True
    tasks: list[Any]
    """Set by Locust: the methods with `@task` of the class and its bases."""
    worker: workers.Worker
    """Set once per worker process, before users are created."""

    def __init__(self, environment: env.Environment) -> None:
        super().__init__(environment)
        self.tasks = [ClaimUser.work_once]  # others are a matter of `work`
        self._pod_numbers = itertools.count()
        self.name = self.worker.next_user_name()
        self.api = self.worker.api(self.name)
        self.random: random.Random = self.worker.seeds.stream("traffic", self.name)
        self.namespace = self.worker.plan.namespace

    @locust.task
    def work_once(self) -> None:
        self.worker.released.wait()
        with contextlib.suppress(PodLeft):  # the judge finds the pod
            self.work()
        raise exception.StopUser

    def work(self) -> None:
        """Do the user's tasks as Locust does them, and stop as Locust does when the time is up.

        Profiles override this.
        """
        self.worker.when_time_is_up(self.stop)
        _OwnTasks(self).run()

    def start(self, group: pool.Group) -> Any:
        """Start as in Locust, and be counted until the end, however it comes."""
        started = super().start(group)
        self.worker.user_begins()
        started.rawlink(lambda _: gevent.spawn(self.worker.user_done))
        return started

    def stop(self, force: bool = False) -> bool:  # noqa: FBT001, FBT002 - as in Locust
        """Stop as in Locust, where only the first call may be made.

        The end of the time, a shape and Locust itself may each ask for it.
        """
        if self._state == LOCUST_STATE_STOPPING and not force:
            return False
        return bool(super().stop(force))

    @classmethod
    def own_tasks(cls) -> list[Any]:
        """Return the methods with `@task` and the TaskSets of a subclass, as often as they weigh.

        They are what Locust has collected in `tasks`.
        """
        return [task for task in cls.tasks if task is not ClaimUser.work_once]

    def repeat(self, job: Callable[[str], None], resource: apis.Resource) -> None:
        """Do a job again and again until the time is up; it gets a new name each time.

        While one takes longer than users like, others begin beside it. `resource`: what the names
        are of.
        """
        names = (f"{self.name.replace('/', '-')}-{number}" for number in itertools.count())
        patience_s = self.worker.patience_s
        if not patience_s:
            while self.worker.is_time_left:
                job(next(names))
            return

        def note(name: str, since_ns: int, beside: str) -> None:
            self._note_wait(resource, name, "Deleted", since_ns, reached=False, begun_beside=beside)

        attempts.surging(
            job, names, patience_s=patience_s, goes_on=lambda: self.worker.is_time_left, note=note
        )

    @property
    def traffic(self) -> Any:
        return self.worker.scenario.traffic

    def give_up(self) -> None:
        """Go on without a pod that did not run in time; raise PodLeft if users do not give up."""
        if not self.traffic.gives_up:
            raise PodLeft

    # ------------------------------------------------------------------------ actions

    def new_pod_name(self) -> str:
        return f"{self.name.replace('/', '-')}-{next(self._pod_numbers)}"

    def create_pod(self, pod: str) -> bool:
        """Create a pod with the scenario's claims; return False if it certainly does not exist."""
        return self.create(apis.PODS, self.worker.objects.pod(pod))

    def create(self, resource: apis.Resource, obj: Any) -> bool:
        """Create an object, in several attempts if necessary; return False if that failed.

        True if the object may exist: after an attempt with an unknown outcome, too.
        """
        _, may_exist = self._repeated(
            "create", resource, lambda: self.api.create(resource, obj, namespace=self.namespace)
        )
        if not may_exist:
            gevent.sleep(FAILURE_WAIT_S)
        return may_exist

    def delete(
        self, resource: apis.Resource, name: str, *, grace_period_s: int | None = None
    ) -> bool:
        """Delete an object, in several attempts if necessary; return whether that succeeded."""
        failure, _ = self._repeated(
            "delete",
            resource,
            lambda: self.api.delete(
                resource, name, namespace=self.namespace, grace_period_s=grace_period_s
            ),
        )
        return failure is None

    def wait_running(self, pod: str, *, timeout_s: float) -> bool:
        """Wait until a pod is Running, or has been; journal the wait, return False on a timeout."""
        return self._waited(pod, "Running", timeout_s, watching.is_in("Running", "Succeeded"))

    def wait_succeeded(self, pod: str, *, timeout_s: float) -> bool:
        """Wait until a pod has succeeded and journal the wait; return False on a timeout."""
        return self._waited(pod, "Succeeded", timeout_s, watching.is_in("Succeeded"))

    def wait_gone(self, pod: str, *, timeout_s: float) -> bool:
        """Wait until a pod is gone and journal the wait; return False on a timeout."""
        return self._waited(pod, "Deleted", timeout_s, lambda seen: seen is None)

    def hold_time_s(self, mean_s: float) -> float:
        return self.random.expovariate(1 / mean_s) if mean_s else 0.0

    def hold(self, mean_s: float) -> None:
        """Sleep for an exponentially distributed time with this mean, to keep what runs.

        The sleep ends early if the run stops.
        """
        if mean_s:
            self.worker.stopped.wait(self.hold_time_s(mean_s))

    def delete_pods(self, pods: Sequence[str], *, timeout_s: float) -> None:
        """Delete pods, then wait until they are gone; `timeout_s` applies to each."""
        is_forced = getattr(self.traffic, "force_delete", False)
        for pod in pods:
            self.delete(apis.PODS, pod, grace_period_s=0 if is_forced else None)
        for pod in pods:
            self.wait_gone(pod, timeout_s=timeout_s)

    def _repeated(
        self, verb: str, resource: apis.Resource, call: Callable[[], object]
    ) -> tuple[errors.HarnessError | None, bool]:
        return attempts.until_answered(
            lambda: self._measured(verb, resource, call), stop=lambda: self.worker.stopping
        )

    def _measured(
        self, verb: str, resource: apis.Resource, call: Callable[[], object]
    ) -> errors.HarnessError | None:
        """Make a call and report its duration to Locust; return its failure, None if it succeeded.

        Locust only uses that for its summary; the evidence is in the journal.
        """
        started = time.perf_counter()
        failure: errors.HarnessError | None = None
        try:
            call()
        except errors.HarnessError as error:
            failure = error
        self.environment.events.request.fire(
            request_type=verb,
            name=resource.plural,
            response_time=(time.perf_counter() - started) * 1e3,
            response_length=0,
            context={},
            exception=failure,
        )
        return failure

    def _waited(self, pod: str, goal: str, timeout_s: float, condition: watching.Condition) -> bool:
        started_ns = clocks.monotonic_ns()
        reached = self.worker.watch.wait(pod, condition, timeout_s=timeout_s)
        self._note_wait(apis.PODS, pod, goal, started_ns, reached=reached)
        return reached

    def _note_wait(
        self,
        resource: apis.Resource,
        name: str,
        goal: str,
        started_ns: int,
        *,
        reached: bool,
        begun_beside: str = "",
    ) -> None:
        self.worker.journal.write(
            records.Waited(
                user=self.name,
                resource=resource.plural,
                namespace=self.namespace,
                name=name,
                goal=goal,
                reached=reached,
                begun_beside=begun_beside,
                started_ns=started_ns,
                ts_ns=clocks.monotonic_ns(),
            )
        )
