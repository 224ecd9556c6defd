"""A node prepares claims for pods that begin while others end."""

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from harness import concurrency
from harness.apiserver.scheme import resources
from harness.client import apis
from harness.cluster.dra import (
    claim_infos,
    claim_managers,
    driver_contracts,
    in_process_drivers,
    pod_claims,
    preparation_journals,
)
from harness.cluster.kubelet_api import preparations
from harness.explore.runtime import tasks
from harness.explore.worlds import small_world, world_fixtures, world_specs
from harness.explore.worlds.lifecycles import kept_files
from harness.explore.worlds.oracles import preparations as prepared_claims
from harness.explore.worlds.oracles import protocol
from harness.model.objects import Object
from harness.scenario import driver_specs

UNPREPARE_S, RETRY_S = 0.1, 0.05
"""Duration of an unpreparation, and wait after a preparation that was refused, in seconds."""


class NodePreparations(small_world.SmallWorld):
    """Pods on one node, each handled by a thread of the kubelet: its claims are prepared, it runs,
    and its claims are unprepared.

    All pods but the last use one claim. That of the last has the same device, as after a
    deallocation that the node does not know of yet: the driver refuses it until the device is free.
    """

    schedulers_named = ()
    driver_spec = driver_specs.DriverSpec(
        exclusivity=True, unprepare=driver_specs.CallSpec(delay_s=UNPREPARE_S)
    )

    def __init__(self, *args: Any, **options: Any) -> None:
        self._judge = prepared_claims.Preparations(unprepare_s=UNPREPARE_S)
        self._done = 0
        self._calls = 0
        """Number of calls of the manager that have begun and not ended."""
        super().__init__(*args, **options)
        self._process = tasks.Shared(self.runtime.first_past())
        """The kubelet's process, in which calls begin and end until it is started again."""
        self._files = kept_files.KeptFiles(checkpoint=self.checkpoint_before())
        self._manager = self._new_manager()

    def _new_manager(self) -> claim_managers.ClaimManager:
        parts = self.parts.kubelet
        return parts.manager(
            world_fixtures.NODE,
            get_claim=self._get_claim,
            drivers=self.drivers(),
            checkpoint=kept_files.checkpoint(parts.checkpoint, self._files),
            journal=preparation_journals.PreparationJournal(None),
        )

    def drivers(self) -> driver_contracts.Drivers:
        """Return the drivers of the next process."""
        kind = prepared_claims.observed(self.parts.kubelet.driver, self._judge)
        driver = kept_files.driver(kind, self._files)
        return in_process_drivers.InProcessDrivers(lambda name: driver(self.driver_spec, name=name))

    def checkpoint_before(self) -> bytes | None:
        """Return what the checkpoint file of the node has at first; None: there is none."""
        return None

    def oracles(self) -> Iterable[protocol.Oracle]:
        return (self._judge,)

    def objects(self) -> Iterable[Object]:
        """Return both claims, allocated and reserved."""
        pods = range(self.sizes["pods"])
        for name in ("claim-1", "claim-2"):
            users = [reservation(index) for index in pods if self._claim_of(index) == name]
            claim = world_fixtures.claim(name)
            yield {**claim, "status": with_parameters(users, {"claim": name})}

    def _claim_of(self, index: int) -> str:
        return "claim-2" if index == self.sizes["pods"] - 1 else "claim-1"

    def _get_claim(self, namespace: str, name: str) -> Object:
        return apis.Api(self.server).get(apis.CLAIMS, name, namespace=namespace)

    def begin(self) -> None:
        """Start a thread for each pod."""
        for index in range(self.sizes["pods"]):
            self._spawn(index)

    def _spawn(self, index: int) -> None:
        concurrency.spawn(f"kubelet-{index + 1}", lambda: self._handle(index))

    def _handle(self, index: int) -> None:
        meta = {**named(index), "namespace": world_fixtures.NAMESPACE}
        claim = pod_claims.PodClaim(self._claim_of(index), generated=False)
        while not self._is_prepared({"metadata": meta, "spec": {}}, claim):
            concurrency.sleep(RETRY_S)
        self._judge.on_running(meta["name"], claim.name)
        self.runtime.point()
        self._judge.on_ended(meta["name"])
        self._unprepare(meta["uid"])
        self._done += 1

    def _unprepare(self, pod_uid: str) -> None:
        with self._called() as manager:
            manager.unprepare(pod_uid)

    @contextlib.contextmanager
    def _called(self) -> Iterator[claim_managers.ClaimManager]:
        self.runtime.add_to(self._process)
        self._calls += 1
        try:
            yield self._manager
        finally:
            self.runtime.add_to(self._process)
            self._calls -= 1

    def _is_prepared(self, pod: Object, claim: pod_claims.PodClaim) -> bool:
        try:
            with self._called() as manager:
                manager.prepare(pod, [claim])
        except preparations.PreparationError:
            return False
        return True

    def unfinished(self) -> str | None:
        """Return whether a pod has not ended."""
        if self._done < self.sizes["pods"]:
            return f"stuck: {self._done} pods have ended, expected {self.sizes['pods']}"
        return None


def named(index: int) -> dict[str, str]:
    """Return name and uid of a pod."""
    return {"name": f"pod-{index + 1}", "uid": f"00000000-0000-4000-8000-{index + 1:012}"}


def reservation(index: int) -> Object:
    """Return the entry of a pod in `reservedFor`."""
    return {"resource": "pods", **named(index)}


def with_parameters(
    users: Sequence[Object], parameters: Object, *, device: str = "device-0"
) -> Object:
    """Return the status of a claim of the device with these parameters for its driver."""
    status = world_fixtures.allocated(device, users)
    opaque = {"driver": world_fixtures.DRIVER, "parameters": parameters}
    status["allocation"]["devices"]["config"] = [{"source": "FromClaim", "opaque": opaque}]
    return status


class RefusedPod(NodePreparations):
    """Another pod names the first claim, which is not reserved for it: it is refused, and ends."""

    def begin(self) -> None:
        super().begin()
        self.refuse()

    def refuse(self) -> None:
        """Start the thread of the pod that is refused."""
        concurrency.spawn("kubelet-of-refused", self._refuse)

    def _refuse(self) -> None:
        index = self.sizes["pods"]
        meta = {**named(index), "namespace": world_fixtures.NAMESPACE}
        claim = pod_claims.PodClaim(self._claim_of(0), generated=False)
        self._is_prepared({"metadata": meta, "spec": {}}, claim)
        self._unprepare(meta["uid"])


class RebootedNode(NodePreparations):
    """The checkpoint has the first claim, of its first pod, but the driver has nothing prepared."""

    def checkpoint_before(self) -> bytes | None:
        """Return the checkpoint as the kubelet left it before the reboot."""
        [stored] = [item for item in self.documents(resources.CLAIMS) if _is_first(item)]
        info = claim_infos.of(stored)
        info.pods[named(0)["uid"]] = named(0)["name"]
        return msgspec.json.encode(info)


class RestartedKubelet(NodePreparations):
    """The kubelet and its driver are started again while pods run, and go on with their files."""

    def begin(self) -> None:
        """Start a thread for each pod, and one for the restart."""
        super().begin()
        self.restart()

    def restart(self) -> None:
        """Start the thread that starts the next process."""
        concurrency.spawn("restart", self._restart)

    def _restart(self) -> None:
        """Start the next process between two calls: what a killed one leaves is not tried."""
        self.runtime.point()
        self.runtime.touch(self._process)
        while self._calls:
            concurrency.sleep(RETRY_S)
            self.runtime.touch(self._process)
        with self.runtime.atomically():
            self._judge.on_restarted()
            self._manager = self._new_manager()


def _is_first(claim: Object) -> bool:
    return bool(claim["metadata"]["name"] == "claim-1")


WORLDS: dict[str, world_specs.WorldSpec] = {
    "prepare-against-unprepare": world_specs.spec(
        NodePreparations,
        "a node prepares a claim for one pod while it unprepares it after another",
        pods=(3, 2),
    ),
    "refused-pod-ends": world_specs.spec(
        RefusedPod, "a pod that may not use a claim ends while another one uses it", pods=(3, 2)
    ),
    "kubelet-restarted": world_specs.spec(
        RestartedKubelet,
        "a kubelet and its driver are started again while pods use claims",
        pods=(3, 2),
    ),
    "node-rebooted": world_specs.spec(
        RebootedNode,
        "a kubelet starts with a checkpoint of claims that are not prepared any more",
        pods=(3, 2),
    ),
}
