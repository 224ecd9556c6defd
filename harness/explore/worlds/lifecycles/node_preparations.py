"""A node prepares claims for pods that begin while others end."""

from collections.abc import Iterable, Sequence
from typing import Any

from harness import concurrency
from harness.client import apis
from harness.cluster.dra import claim_infos, pod_claims, preparation_journals
from harness.explore.worlds import small_world, world_fixtures, world_specs
from harness.explore.worlds.oracles import panels, preparations
from harness.scenario import driver_specs

Object = dict[str, Any]
UNPREPARE_S, RETRY_S = 0.1, 0.05
"""Duration of an unpreparation, and wait after a preparation that was refused, in seconds."""


class NodePreparations(small_world.SmallWorld):
    """Pods on one node, each handled by a thread of the kubelet: its claims are prepared, it runs,
    and its claims are unprepared.

    All pods but the last use one claim. That of the last has the same device, as after a
    deallocation that the node does not know of yet: the driver refuses it until the device is free.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        self._judge = preparations.Preparations(unprepare_s=UNPREPARE_S)
        self._done = 0
        super().__init__(*args, **options)
        driver = preparations.observed(self.parts.kubelet.driver, self._judge)
        unprepare = driver_specs.CallSpec(delay_s=UNPREPARE_S)
        self._manager = self.parts.kubelet.manager(
            world_fixtures.NODE,
            get_claim=self._get_claim,
            driver=driver(
                driver_specs.DriverSpec(exclusivity=True, unprepare=unprepare), folder=None
            ),
            checkpoint=self.parts.kubelet.checkpoint(None),
            journal=preparation_journals.PreparationJournal(None),
        )

    def scheduler_names(self) -> Sequence[str]:
        """Return no name: the claims are allocated already."""
        return ()

    def oracles(self) -> Iterable[panels.Oracle]:
        """Return that of the node."""
        return (self._judge,)

    def objects(self) -> Iterable[Object]:
        """Return both claims, allocated and reserved."""
        pods = range(self.sizes["pods"])
        for name in ("claim-1", "claim-2"):
            users = [_reservation(index) for index in pods if self._claim_of(index) == name]
            claim = world_fixtures.claim(name)
            yield {**claim, "status": world_fixtures.allocated("device-0", users)}

    def _claim_of(self, index: int) -> str:
        return "claim-2" if index == self.sizes["pods"] - 1 else "claim-1"

    def _get_claim(self, namespace: str, name: str) -> Object:
        return self.api.get(apis.CLAIMS, name, namespace=namespace)

    def begin(self) -> None:
        """Start a thread for each pod."""
        for index in range(self.sizes["pods"]):
            self._spawn(index)

    def _spawn(self, index: int) -> None:
        concurrency.spawn(f"kubelet-{index + 1}", lambda: self._handle(index))

    def _handle(self, index: int) -> None:
        """Run the pod of this index from its beginning to its end."""
        meta = {**_named(index), "namespace": world_fixtures.NAMESPACE}
        claim = pod_claims.PodClaim(self._claim_of(index), generated=False)
        while not self._is_prepared({"metadata": meta}, claim):
            concurrency.sleep(RETRY_S)
        self._judge.on_running(meta["name"], claim.name)
        self.runtime.point()
        self._judge.on_ended(meta["name"])
        self._manager.unprepare(meta["uid"])
        self._done += 1

    def _is_prepared(self, pod: Object, claim: pod_claims.PodClaim) -> bool:
        try:
            self._manager.prepare(pod, [claim])
        except claim_infos.PreparationError:
            return False
        return True

    def unfinished(self) -> str | None:
        """Return whether a pod has not ended."""
        if self._done < self.sizes["pods"]:
            return f"stuck: {self._done} pods have ended, expected {self.sizes['pods']}"
        return None


def _named(index: int) -> dict[str, str]:
    return {"name": f"pod-{index + 1}", "uid": f"00000000-0000-4000-8000-{index + 1:012}"}


def _reservation(index: int) -> Object:
    return {"resource": "pods", **_named(index)}


WORLDS: dict[str, world_specs.WorldSpec] = {
    "prepare-against-unprepare": world_specs.WorldSpec(
        title="a node prepares a claim for one pod while it unprepares it after another",
        make=NodePreparations,
        sizes={"pods": world_specs.Size(3, 2)},
    ),
}
