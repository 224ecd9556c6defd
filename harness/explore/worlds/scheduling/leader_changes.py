"""A leader loses its connection in the middle of a binding, and another one takes its lease."""

import dataclasses
import functools
import random
from typing import Any

from harness import concurrency
from harness.apiserver.scheme import resources
from harness.client import apis, transports
from harness.explore.worlds import world_fixtures, world_specs
from harness.explore.worlds.scheduling import competing_pods
from harness.subject.leadership import leader_election
from harness.subject.scheduling import schedulers

TIMES = leader_election.LeaseTimes(lease_duration_s=1, renew_deadline_s=0.4, retry_period_s=0.2)
WAIT_S = 60.0
"""Wait for the lease, in seconds: longer than a run."""
PATIENCE_S = 60.0
"""Wait of the first scheduler before it tries a pod again, in seconds: longer than a run."""


class LeaderChange(competing_pods.CompetingPods):
    """Two schedulers with one name compete for a lease; the first one leads.

    Its first write of an allocation is under way when its connection breaks: none of its requests
    is answered any more. It gives up, its lease ends, and the second one takes over. Then the first
    pod is deleted and the late pods are created, and from then on the write may arrive at any time.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self._taken_over = concurrency.Event("taken-over")
        super().__init__(*arguments, **options)
        self._connection = BreakingConnection(self.server, self._taken_over)
        self._first = self._candidate(apis.Api(self._connection))

    def _candidate(self, api: apis.Api) -> schedulers.Scheduler:
        """Return the first scheduler, which tries its pod only once while it has its lease."""
        options = dataclasses.replace(
            self.scheduler_options(world_fixtures.SCHEDULER),
            backoff_initial_s=PATIENCE_S,
            backoff_max_s=PATIENCE_S,
        )
        return schedulers.Scheduler(api, options, self.parts.scheduler)

    def start(self) -> None:
        """Let the first one lead, and the second one stand by."""
        for number, (subject, api) in enumerate(
            [(self._first, apis.Api(self._connection)), (self.schedulers[0], self.api)]
        ):
            elector = self._elector(number, subject, api)
            concurrency.spawn("start", functools.partial(self._compete, subject, elector))
            self.runtime.run(explore=False, until_idle=True)

    def _elector(
        self, number: int, subject: schedulers.Scheduler, api: apis.Api
    ) -> leader_election.LeaderElector:
        return leader_election.LeaderElector(
            api,
            TIMES,
            namespace=world_fixtures.NAMESPACE,
            name="scheduler",
            identity=f"candidate-{number + 1}",
            jitter=random.Random(number),
            on_lost=lambda: _stop(subject),
        )

    def _compete(
        self, subject: schedulers.Scheduler, elector: leader_election.LeaderElector
    ) -> None:
        """Stand by until the lease is held, then schedule."""
        subject.stand_by()
        elector.start()
        while not elector.wait_leading(WAIT_S):
            pass
        if subject is not self._first:
            self._replace_pods()
        subject.lead(elector.still_leads)

    def _replace_pods(self) -> None:
        self.store.delete(resources.PODS, world_fixtures.NAMESPACE, "pod-1")
        self.create_late_pods()
        self._taken_over.set()

    def begin(self) -> None:
        """Create the first pods; the connection may break from now on."""
        super().begin()
        self._connection.may_break = True

    def on_allocated(self) -> None:
        """Do nothing: the late pods come with the second leader."""

    def bound_expected(self) -> int:
        """Return how many of the other pods are bound; the late write may have taken a device."""
        claim = self.store.get(resources.CLAIMS, world_fixtures.NAMESPACE, "claim-1").document()
        is_taken = "allocation" in claim.get("status", {})
        return min(self.sizes["claims"] - 1, self.sizes["devices"] - is_taken)


def _stop(subject: schedulers.Scheduler) -> None:
    """End a scheduler that has lost its lease, as far as it can be ended."""
    concurrency.spawn("stop", subject.stop)


class BreakingConnection:
    """Breaks at the first write of an allocation, which arrives after the lease has changed."""

    def __init__(self, inner: transports.Transport, taken_over: concurrency.Event) -> None:
        self._inner, self._taken_over = inner, taken_over
        self.may_break = False
        self._is_broken = False

    def send(self, request: transports.Request) -> transports.Response:
        """Return the response. Raises TransportError once the connection has broken."""
        if self._is_broken:
            raise transports.TransportError(f"{request.path}: no connection", sent=False)
        if self.may_break and request.method == "PUT" and request.path.endswith("/status"):
            self._is_broken = True
            concurrency.step("api.request.late", method=request.method, path=request.path)
            concurrency.spawn("late-request", functools.partial(self._arrive, request))
            message = f"{request.method} {request.path}: no answer came"
            raise transports.TransportError(message, sent=True)
        return self._inner.send(request)

    def _arrive(self, request: transports.Request) -> None:
        self._taken_over.wait()
        answer = self._inner.send(request)
        concurrency.step(
            "api.request.arrived",
            method=request.method,
            path=request.path,
            status=answer.status,
        )

    def watch(self, request: transports.Request) -> transports.Watch:
        """Open a watch. Raises TransportError once the connection has broken."""
        if self._is_broken:
            raise transports.TransportError(f"{request.path}: no connection", sent=False)
        return self._inner.watch(request)

    def close(self) -> None:
        """Do nothing: there is no connection."""


WORLDS: dict[str, world_specs.WorldSpec] = {
    "leader-changes": world_specs.spec(
        functools.partial(LeaderChange, late_pods=1),
        "H3: a leader loses its lease while a write of its last binding is under way",
        **competing_pods.sizes(claims=2, devices=1, late_pods=1, binders=(1, 1)),
    ),
}
