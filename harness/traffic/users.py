"""The Locust users, one class for each traffic profile."""

import random
import time
from collections.abc import Callable, Sequence
from typing import Any

import gevent
import locust
from locust import exception

from harness import clocks, errors
from harness.client import apis
from harness.history import records
from harness.traffic import attempts, workers

FAILURE_WAIT_S = 0.1
"""Seconds that a user waits after an object could not be created, before it begins another one."""


class ClaimUser(locust.User):
    """The base class of all users: waits for the other users, does its work once, and stops."""

    abstract = True
    worker: workers.Worker
    """Set once per worker process, before users are created."""

    def on_start(self) -> None:
        """Set the user's name, client, random stream and namespace."""
        self.name = self.worker.next_user_name()
        self.api = self.worker.api(self.name)
        self.random: random.Random = self.worker.seeds.stream("traffic", self.name)
        self.namespace = self.worker.plan.namespace

    @locust.task
    def work_once(self) -> None:
        """Do all of the user's work, then stop."""
        self.worker.released.wait()
        try:
            self.work()
        finally:
            self.worker.user_done()
        raise exception.StopUser

    def work(self) -> None:
        """Do the work of the profile."""
        raise NotImplementedError

    # ------------------------------------------------------------------------ actions

    def create(self, resource: apis.Resource, obj: Any) -> bool:
        """Create an object, in several attempts if necessary; return False if that failed.

        True if the object may exist: after an attempt with an unknown outcome, too.
        """
        result = self._repeated(
            "create", resource, lambda: self.api.create(resource, obj, namespace=self.namespace)
        )
        if not result.may_exist:
            gevent.sleep(FAILURE_WAIT_S)
        return result.may_exist

    def delete(
        self, resource: apis.Resource, name: str, *, grace_period_s: int | None = None
    ) -> bool:
        """Delete an object, in several attempts if necessary; return whether that succeeded."""
        result = self._repeated(
            "delete",
            resource,
            lambda: self.api.delete(
                resource, name, namespace=self.namespace, grace_period_s=grace_period_s
            ),
        )
        return result.failure is None

    def wait_running(self, pod: str, *, timeout_s: float) -> bool:
        """Wait until a pod is Running and journal the wait; return False on a timeout."""
        return self._waited(pod, "Running", timeout_s, self.worker.watch.wait_running)

    def wait_gone(self, pod: str, *, timeout_s: float) -> bool:
        """Wait until a pod is gone and journal the wait; return False on a timeout."""
        return self._waited(pod, "Deleted", timeout_s, self.worker.watch.wait_gone)

    def hold(self, mean_s: float) -> None:
        """Sleep for an exponentially distributed time with this mean, to keep what runs."""
        if mean_s and not self.worker.stopping:
            gevent.sleep(self.random.expovariate(1 / mean_s))

    def delete_pods(self, pods: Sequence[str], *, timeout_s: float) -> None:
        """Delete pods, then wait until they are gone; `timeout_s` applies to each."""
        is_forced = getattr(self.worker.scenario.traffic, "force_delete", False)
        for pod in pods:
            self.delete(apis.PODS, pod, grace_period_s=0 if is_forced else None)
        for pod in pods:
            self.wait_gone(pod, timeout_s=timeout_s)

    def _repeated(
        self, verb: str, resource: apis.Resource, call: Callable[[], object]
    ) -> attempts.Result:
        return attempts.repeat(
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

    def _waited(self, pod: str, goal: str, timeout_s: float, wait: Callable[..., bool]) -> bool:
        """Wait with `wait` and journal the result."""
        started_ns = clocks.monotonic_ns()
        reached = wait(pod, timeout_s=timeout_s)
        self.worker.journal.write(
            records.Waited(
                user=self.name,
                resource="pods",
                namespace=self.namespace,
                name=pod,
                goal=goal,
                reached=reached,
                started_ns=started_ns,
                ts_ns=clocks.monotonic_ns(),
            )
        )
        return reached


class AllAtOnceUser(ClaimUser):
    """Creates its share of all claims, and a pod for each of them; extended ones need no claim."""

    def work(self) -> None:
        """Create claims and pods until the worker's share is used up."""
        traffic: Any = self.worker.scenario.traffic
        while (item := self.worker.next_item()) is not None:
            if item and traffic.interval_s:
                gevent.sleep(traffic.interval_s)
            claim = f"claim-{item:04d}"
            if self.worker.names_claims:
                self.create(apis.CLAIMS, self.worker.new_claim(claim))
            self.create(apis.PODS, self.worker.new_pod(f"pod-{item:04d}", claim_name=claim))


class ChurnUser(ClaimUser):
    """Repeatedly creates a pod with a claim template, waits until it runs, and deletes it."""

    def work(self) -> None:
        """Create, keep and delete one pod after the other until the time is up."""
        traffic: Any = self.worker.scenario.traffic
        number = 0
        while self.worker.is_time_left:
            pod = f"{self.name.replace('/', '-')}-{number}"
            number += 1
            if self.create(apis.PODS, self.worker.new_pod(pod)):
                if self.wait_running(pod, timeout_s=traffic.wait_s):
                    self.hold(traffic.hold_s)
                self.delete_pods([pod], timeout_s=traffic.wait_s)


class SharedUser(ClaimUser):
    """Repeatedly creates a claim with several pods that share it, and deletes them all."""

    def work(self) -> None:
        """Create, share and delete one claim after the other until the time is up."""
        number = 0
        while self.worker.is_time_left:
            claim = f"{self.name.replace('/', '-')}-{number}"
            number += 1
            if self.create(apis.CLAIMS, self.worker.new_claim(claim)):
                self._share(claim)

    def _share(self, claim: str) -> None:
        traffic: Any = self.worker.scenario.traffic
        pods = [f"{claim}-{index}" for index in range(traffic.pods_per_claim)]
        gevent.joinall([gevent.spawn(self._create_pod, pod, claim) for pod in pods])
        if self._all_run(pods, timeout_s=traffic.wait_s):
            self.hold(traffic.hold_s)
        self.delete_pods(pods, timeout_s=traffic.wait_s)
        self.delete(apis.CLAIMS, claim)

    def _all_run(self, pods: Sequence[str], *, timeout_s: float) -> bool:
        """Wait until all pods are Running; `timeout_s` applies to all of them together."""
        deadline_ns = clocks.monotonic_ns() + int(timeout_s * 1e9)
        left_s = ((deadline_ns - clocks.monotonic_ns()) / 1e9 for _ in pods)
        running = [
            self.wait_running(pod, timeout_s=max(left, 0))
            for pod, left in zip(pods, left_s, strict=True)
        ]
        return all(running)

    def _create_pod(self, pod: str, claim: str) -> None:
        self.create(apis.PODS, self.worker.new_pod(pod, claim_name=claim))


BY_PROFILE: dict[str, type[ClaimUser]] = {
    "all-at-once": AllAtOnceUser,
    "churn": ChurnUser,
    "shared": SharedUser,
}
"""The user class of each traffic profile."""
