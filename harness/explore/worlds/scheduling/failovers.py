"""Another scheduler takes over, or begins to lead, while the first is binding a pod."""

import functools
import random
from typing import Any

from harness import concurrency
from harness.apiserver.scheme import resources
from harness.client import apis, transports
from harness.explore.worlds import (
    api_server,
    literals,
    moments,
    parts,
    world,
    world_fixtures,
    world_specs,
)
from harness.explore.worlds.oracles import rest_judges
from harness.explore.worlds.scheduling import competing_pods
from harness.subject.leadership import leader_election
from harness.subject.scheduling import schedulers

TIMES = leader_election.LeaseTimes(lease_duration_s=1, renew_deadline_s=0.4, retry_period_s=0.2)
WAIT_S = 60.0
"""Wait for the lease, in seconds: longer than a run."""
PATIENCE_S = 60.0
"""Wait of the first scheduler before it tries a pod again, in seconds: longer than a run."""
TAKEN_OVER = "taken-over"
"""The moment in which the second one leads."""


class LeaderChange(world.World):
    """Two schedulers with one name compete for a lease; the first one leads.

    Its first write of an allocation is under way when its connection breaks: none of its requests
    is answered any more. It gives up, its lease ends, and the second one takes over. Then the first
    pod is deleted and the late pods are created, and from then on the write may arrive at any time.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._connection = BreakingConnection(self.server, self.moments)
        # It tries its pod only once while it has its lease.
        self._first = self.new_scheduler(
            world_fixtures.SCHEDULER, apis.Api(self._connection), backoff_s=PATIENCE_S
        )

    def start(self) -> None:
        """Let the first one lead, and the second one stand by."""
        for number, (subject, api) in enumerate(
            [
                (self._first, apis.Api(self._connection)),
                (self.schedulers[0], apis.Api(self.server)),
            ]
        ):
            elector = leader_election.LeaderElector(
                api,
                TIMES,
                namespace=world_fixtures.NAMESPACE,
                name="scheduler",
                identity=f"candidate-{number + 1}",
                jitter=random.Random(number),
                on_lost=functools.partial(_stop, subject),
            )
            concurrency.spawn("start", functools.partial(self._compete, subject, elector))
            self.runtime.run(explore=False, until_idle=True)

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
        self.moments.come(TAKEN_OVER)

    def begin(self) -> None:
        """Create the first pods; the connection may break from now on."""
        super().begin()
        self._connection.may_break = True


def _stop(subject: schedulers.Scheduler) -> None:
    """End a scheduler that has lost its lease, as far as it can be ended."""
    concurrency.spawn("stop", subject.stop)


class BreakingConnection:
    """Breaks at the first write of an allocation, which arrives after the lease has changed."""

    def __init__(self, inner: transports.Transport, known: moments.Moments) -> None:
        self._inner, self._moments = inner, known
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
        self._moments.wait(TAKEN_OVER)
        answer = self._inner.send(request)
        concurrency.step(
            "api.request.arrived",
            method=request.method,
            path=request.path,
            status=answer.status,
        )

    def watch(self, request: transports.Request) -> transports.Watch:
        if self._is_broken:
            raise transports.TransportError(f"{request.path}: no connection", sent=False)
        return self._inner.watch(request)

    def close(self) -> None:
        """Do nothing: there is no connection."""


_TAKES_OVER = literals.does("fail_over")
_LATE = [api_server.OF_BINDINGS]
_OF_START = world_specs.PRIVATE_LOCKS
"""How the informers of a successor start is no matter of these worlds: with choices there, a search
takes three times as many schedules. In drawn worlds there are such choices."""


def _failing_over(sizes: world_specs.Values) -> list[parts.Part]:
    """Return pods, of which the last one comes when a scheduler stops after its first write."""
    others = competing_pods.competing(sizes, late=1, when="stopped")
    return [*others, literals.does("fail_over", when="written")]


WORLDS: dict[str, world_specs.WorldSpec] = {
    "failover": competing_pods.spec(
        "H3: another scheduler takes over while the first is binding a pod",
        _failing_over,
        faults=_LATE,
        private_locks=_OF_START,
    ),
    # The first entry is allocated and reserved, the second one fails, because the claim has an
    # allocation, and Unreserve takes the reservation back. Its patch carries no version. The
    # successor lists the claim before the patch is committed, finds it reserved, and binds the pod.
    "reservation-taken-back-late": literals.spec(
        "H18: a scheduler takes a reservation back after its successor has listed the claim",
        [
            literals.pool(2),
            *literals.claims(),
            literals.pod("pod-1", "claim-1", "claim-1"),
            _TAKES_OVER,
        ],
        faults=_LATE,
        private_locks=_OF_START,
        binders=1,
    ),
    # The successor has listed the pod before, and tries to bind it, too. One of the two fails,
    # because the pod is bound, and its Unreserve takes back the reservation of the pod that runs.
    "pod-bound-late": literals.spec(
        "H19: the binding of a pod is committed after another scheduler has listed the pod",
        [literals.pool(2), *literals.claims(), literals.pod("pod-1", "claim-1"), _TAKES_OVER],
        faults=_LATE,
        private_locks=_OF_START,
        binders=1,
    ),
    # The successor finds the claim that its predecessor has created, and deletes it in PostFilter.
    "extended-pod-bound-late": literals.spec(
        "H19: the same with a pod that asks for an extended resource",
        [literals.pool(2), literals.pod("pod-1"), _TAKES_OVER],
        at_rest=(rest_judges.without_devices,),
        remedies=("fence-predecessor",),
        faults=_LATE,
        private_locks=_OF_START,
        binders=1,
    ),
    "leader-changes": competing_pods.spec(
        "H3: a leader loses its lease while a write of its last binding is under way",
        functools.partial(competing_pods.competing, late=1, when=TAKEN_OVER),
        make=LeaderChange,
        binders=1,
    ),
}
