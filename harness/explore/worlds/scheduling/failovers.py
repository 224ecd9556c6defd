"""Another scheduler takes over, or begins to lead, while the first is binding a pod."""

import dataclasses
import functools
import random
from collections.abc import Sequence
from typing import Any

from harness import concurrency
from harness.apiserver.scheme import resources
from harness.client import apis, transports
from harness.explore.worlds import small_world, world_fixtures, world_specs
from harness.explore.worlds.oracles import device_exclusivity, leftovers, reservations
from harness.explore.worlds.scheduling import competing_pods, extended_claims
from harness.model.objects import Object
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

    def new_scheduler(self, name: str) -> schedulers.Scheduler:
        """Return the second scheduler, the first one's successor."""
        api = apis.Api(self.server)
        return schedulers.Scheduler(api, self.scheduler_options(name), self.parts.scheduler)

    def start(self) -> None:
        """Let the first one lead, and the second one stand by."""
        for number, (subject, api) in enumerate(
            [
                (self._first, apis.Api(self._connection)),
                (self.schedulers[0], apis.Api(self.server)),
            ]
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


class Failover(competing_pods.CompetingPods):
    """The scheduler is stopped after its first write of a binding, and another takes over.

    The late pods are created at that moment.
    """

    def begin(self) -> None:
        """Create the first pods, and prepare the failover."""
        super().begin()
        concurrency.spawn("failover", self._fail_over)

    def on_allocated(self) -> None:
        """Do nothing: the late pods come with the failover."""

    def _fail_over(self) -> None:
        """Replace the scheduler, as when a leader loses its lease."""
        self.written.wait()
        self.stop_scheduler()
        self.create_late_pods()
        self.start_successor()


class BoundLate(small_world.SmallWorld):
    """The first scheduler's binding of a pod is committed when another one has taken over.

    The successor has listed the pod before, and tries to bind it, too. One of the two fails,
    because the pod is bound, and its Unreserve takes back the reservation with which the pod runs.
    """

    device_count = 2
    judged_by = (device_exclusivity.DeviceExclusivity, reservations.Reservations)

    def begin(self) -> None:
        """Create the pod; the scheduler may be replaced at any time from now on."""
        self.create(self.pod())
        concurrency.spawn("failover", self._fail_over)

    def pod(self) -> Object:
        return world_fixtures.pod("pod-1", "claim-1")

    def _fail_over(self) -> None:
        self.runtime.point()
        self.stop_scheduler()
        self.start_successor()


class ExtendedBoundLate(BoundLate):
    """The same, with a pod that asks for an extended resource, and with the remedy for H3.

    The successor finds the claim that its predecessor has created, and deletes it in PostFilter.
    """

    def __init__(self, *args: Any, remedies: Sequence[str], **options: Any) -> None:
        super().__init__(*args, remedies=[*{*remedies, "fence-predecessor"}], **options)

    def pod(self) -> Object:
        """Return the pod, which does not use the claim."""
        return extended_claims.pod("pod-1")

    def unfinished(self) -> str | None:
        """Return whether the pod runs without its devices."""
        return leftovers.of_extended_pods(self.state())


class TakenBackLate(BoundLate):
    """The first scheduler fails to bind a pod, and another takes over while it cleans up.

    The pod names its claim twice. The first entry is allocated and reserved, the second one fails,
    because the claim has an allocation, and Unreserve takes the reservation back. Its patch carries
    no version. The successor lists the claim before the patch is committed, finds it reserved, and
    binds the pod.
    """

    def pod(self) -> Object:
        return world_fixtures.pod_naming_twice("pod-1", "claim-1")


WORLDS: dict[str, world_specs.WorldSpec] = {
    "failover": world_specs.spec(
        functools.partial(Failover, late_pods=1),
        "H3: another scheduler takes over while the first is binding a pod",
        **competing_pods.sizes(claims=2, devices=1, late_pods=1),
    ),
    "reservation-taken-back-late": world_specs.spec(
        TakenBackLate,
        "H18: a scheduler takes a reservation back after its successor has listed the claim",
        binders=(1, 1),
    ),
    "pod-bound-late": world_specs.spec(
        BoundLate,
        "H19: the binding of a pod is committed after another scheduler has listed the pod",
        binders=(1, 1),
    ),
    "extended-pod-bound-late": world_specs.spec(
        ExtendedBoundLate,
        "H19: the same with a pod that asks for an extended resource",
        binders=(1, 1),
    ),
    "leader-changes": world_specs.spec(
        functools.partial(LeaderChange, late_pods=1),
        "H3: a leader loses its lease while a write of its last binding is under way",
        **competing_pods.sizes(claims=2, devices=1, late_pods=1, binders=(1, 1)),
    ),
}
