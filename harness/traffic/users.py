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
from harness.traffic import workers


class ClaimUser(locust.User):
    """A user of claims: waits for all the others, works until nothing is left to do, and ends."""

    abstract = True
    worker: workers.Worker
    """Set once in each worker process."""

    def on_start(self) -> None:
        """Get a name, a connection and a random stream."""
        self.name = self.worker.next_user_name()
        self.api = self.worker.api(self.name)
        self.random: random.Random = self.worker.seeds.stream("traffic", self.name)
        self.namespace = self.worker.plan.namespace

    @locust.task
    def work_once(self) -> None:
        """All of the user's work."""
        self.worker.released.wait()
        try:
            self.work()
        finally:
            self.worker.user_done()
        raise exception.StopUser

    def work(self) -> None:
        """What this profile does."""
        raise NotImplementedError

    # ------------------------------------------------------------------ what users do

    def create(self, resource: apis.Resource, obj: Any) -> bool:
        """Whether it was created."""
        return self._measured(
            "create", resource, lambda: self.api.create(resource, obj, namespace=self.namespace)
        )

    def delete(self, resource: apis.Resource, name: str) -> bool:
        """Whether its deletion has begun."""
        return self._measured(
            "delete", resource, lambda: self.api.delete(resource, name, namespace=self.namespace)
        )

    def wait_running(self, pod: str, *, timeout_s: float) -> bool:
        """Wait for a pod to run, and journal how that ended."""
        return self._waited(pod, "Running", timeout_s, self.worker.watch.wait_running)

    def wait_gone(self, pod: str, *, timeout_s: float) -> bool:
        """Wait for a pod to be gone, and journal how that ended."""
        return self._waited(pod, "Deleted", timeout_s, self.worker.watch.wait_gone)

    def hold(self, mean_s: float) -> None:
        """Keep what runs for a while."""
        if mean_s and not self.worker.stopping:
            gevent.sleep(self.random.expovariate(1 / mean_s))

    def delete_pods(self, pods: Sequence[str], *, timeout_s: float) -> None:
        """Delete pods and wait until they are gone."""
        for pod in pods:
            self.delete(apis.PODS, pod)
        for pod in pods:
            self.wait_gone(pod, timeout_s=timeout_s)

    def _measured(self, verb: str, resource: apis.Resource, call: Callable[[], object]) -> bool:
        """Make a call; Locust is told for its summary, the journal has the truth."""
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
        return failure is None

    def _waited(self, pod: str, goal: str, timeout_s: float, wait: Callable[..., bool]) -> bool:
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
    """Creates its part of the claims and of the pods that name them."""

    def work(self) -> None:
        """One claim and its pod after the other."""
        while (item := self.worker.next_item()) is not None:
            claim = f"claim-{item:04d}"
            self.create(apis.CLAIMS, self.worker.new_claim(claim))
            self.create(apis.PODS, self.worker.new_pod(f"pod-{item:04d}", claim_name=claim))


class ChurnUser(ClaimUser):
    """Creates a pod with a claim template, waits until it runs, keeps it a moment, deletes it, and begins again."""

    def work(self) -> None:
        """One pod after the other until the time is over."""
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
    """Creates a claim and several pods at once that use it, waits until all run, keeps them a moment, deletes all."""

    def work(self) -> None:
        """One claim after the other until the time is over."""
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
        """Wait for all of them, for this long in all."""
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
