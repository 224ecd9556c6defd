"""A claim for extended resources that the informer has not delivered, and the schedule that exposes
known defects.

The node has one device. The binder creates the claim for pod `p`, which was planned with it; the
scheduler decides about pod `q` before the informer delivers the claim.
"""

from typing import Any

import pytest

from harness.client import apis
from harness.subject import assembling
from harness.subject.extended_resources import extended_claims
from harness.subject.objects import claims
from tests.detection import stages
from tests.support import api_objects, local_servers, plugin_world

pytestmark = pytest.mark.detection
Object = dict[str, Any]
EXPOSED = frozenset({"extended-claim-not-awaited", "in-flight-removed-first"})
"""Defects that hand the device out twice."""
UNNAMED = frozenset({"extended-claim-not-recorded"})
"""Defects that leave the claim out of the pod's status."""
AWAITING = "pre-bind.awaiting-informer"
RESOURCE = f"deviceclass.resource.kubernetes.io/{api_objects.CLASS}"


class Play:
    """The stage with its three actors."""

    def __init__(self, stage: stages.Stage, *defects: str) -> None:
        self.stage = stage
        server = local_servers.LocalServer()
        self.world = plugin_world.World(server, assembling.parts(defects), devices=["a"])
        self.world.extended.resolver.on_add(api_objects.device_class(), initial=True)
        self._attempt = self.world.reserved(self._pod("p"))
        self._late_pod = self._pod("q")

    def perform(self) -> None:
        """The binder is about to wait for the informer, or does not wait, and `q` is decided."""
        for actor in ("binder", "scheduler"):
            self.stage.hold(actor, AWAITING)
        self.stage.start("binder", lambda: self.world.plugin.pre_bind(self._attempt))
        self.stage.start("scheduler", lambda: self.world.schedule(self._late_pod))
        self.stage.start("informer", self._deliver)
        for actor in ("binder", "scheduler"):
            if self.stage.arrivals[actor, AWAITING]:
                self.stage.release(actor)

    def holders(self) -> int:
        """The number of claims that the device is allocated to, by what the server has stored."""
        stored = self.world.api.list(apis.CLAIMS, namespace="default").items
        allocations = [claims.allocation_of(claim) for claim in stored]
        return sum(len([*claims.exclusive_devices(item)]) for item in allocations)

    def names_its_claim(self) -> bool:
        stored = self.world.api.get(apis.PODS, "p", namespace="default")
        return "extendedResourceClaimStatus" in stored["status"]

    def _pod(self, name: str) -> Object:
        made = api_objects.pod(name)
        made["spec"]["containers"][0]["resources"] = {"limits": {RESOURCE: "1"}}
        return self.world.api.create(apis.PODS, made, namespace="default")

    def _deliver(self) -> None:
        for claim in self.world.api.list(apis.CLAIMS, namespace="default").items:
            self.world.cache.on_add(claim, initial=False)


@pytest.fixture(autouse=True)
def _no_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extended_claims, "WAIT_S", 0.0)


def perform(stage: stages.Stage, *chosen: str) -> Play:
    play = Play(stage, *chosen)
    play.perform()
    stage.finish()
    return play


@pytest.mark.parametrize("defect", sorted(EXPOSED | UNNAMED))
def test_a_defect_shows_in_its_schedule(stage: stages.Stage, defect: str) -> None:
    play = perform(stage, defect)
    assert play.holders() == (2 if defect in EXPOSED else 1)
    assert play.names_its_claim() is (defect not in UNNAMED)


def test_the_correct_code_gives_it_once(stage: stages.Stage) -> None:
    play = perform(stage)
    assert play.holders() == 1
    assert stage.arrivals["binder", AWAITING] == 1
    assert play.world.gatherer.gather().devices == {"gpu.example.com/worker-0/a"}
    assert play.world.flight.listed() == []
