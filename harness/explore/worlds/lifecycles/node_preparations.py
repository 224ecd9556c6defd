"""A node prepares claims for pods that begin while others end."""

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any

import msgspec

from harness import concurrency, writing
from harness.apiserver.scheme import resources
from harness.client import apis
from harness.cluster.dra import (
    claim_infos,
    claim_managers,
    driver_calls,
    in_process_drivers,
    pod_claims,
)
from harness.cluster.driver import drivers, prepared_claims
from harness.cluster.kubelet_api import preparations
from harness.explore.runtime import tasks
from harness.explore.worlds import literals, world, world_fixtures, world_specs
from harness.explore.worlds.oracles import preparations as preparation_oracles
from harness.model.objects import Object
from harness.scenario import driver_specs

UNPREPARE_S, RETRY_S = 0.1, 0.05
"""Duration of an unpreparation, and wait after a preparation that was refused, in seconds."""
ATTEMPTS = 20
"""Attempts to prepare the claims of a pod, or to unprepare them; after these it is stuck."""
ORACLES = (functools.partial(preparation_oracles.Preparations, unprepare_s=UNPREPARE_S),)
REFUSED, REBOOTED, RESTARTED = "refused-pod", "rebooted-node", "restarted-kubelet"
"""Parts: another pod names the first claim, which is not reserved for it; the node's checkpoint has
the first claim, of its first pod, but the driver has nothing prepared; kubelet and driver are
started again while pods run, and go on with their files."""


@dataclasses.dataclass(slots=True)
class _KeptFiles:
    """The files that a restart leaves on a node, of the kubelet and of its driver, in memory."""

    checkpoint: bytes | None = None
    """The content of the checkpoint; None: there is none."""
    prepared: set[tuple[str, str]] = dataclasses.field(default_factory=set)
    """Node and uid of the claims for which the driver has files."""


def _checkpoint(kind: type[claim_infos.Checkpoint], files: _KeptFiles) -> claim_infos.Checkpoint:
    class KeptCheckpoint(kind):  # type: ignore[misc,valid-type]
        def _content(self) -> bytes | None:
            return files.checkpoint

        def _keep(self, write: object, lines: list[bytes]) -> None:
            before = files.checkpoint if write is writing.append else None
            files.checkpoint = (before or b"") + b"".join(lines)

    return KeptCheckpoint(None)


def _driver(kind: type[drivers.Driver], files: _KeptFiles) -> type[drivers.Driver]:
    class KeptDriver(kind):  # type: ignore[misc,valid-type]
        def _configure(self, claim: prepared_claims.PreparedClaim) -> None:
            super()._configure(claim)
            files.prepared.add((claim.node, claim.uid))

        def _unconfigure(self, claim: prepared_claims.PreparedClaim) -> None:
            super()._unconfigure(claim)
            files.prepared.discard((claim.node, claim.uid))

        def _was_prepared(self, claim: prepared_claims.PreparedClaim) -> bool:
            return (claim.node, claim.uid) in files.prepared

    return KeptDriver


class NodePreparations(world.World):
    """Pods on one node, each handled by a thread of the kubelet: its claims are prepared, it runs,
    and its claims are unprepared.

    All pods but the last use one claim. That of the last has the same device, as after a
    deallocation that the node does not know of yet: the driver refuses it until the device is free.
    """

    driver_spec = driver_specs.DriverSpec(
        exclusivity=True, unprepare=driver_specs.CallSpec(delay_s=UNPREPARE_S)
    )
    given_up: Collection[str] = ()
    """The claims whose pods are deleted after one attempt to prepare them."""

    def __init__(self, *args: Any, **options: Any) -> None:
        self._done = 0
        self._calls = 0
        """Number of calls of the manager that have begun and not ended."""
        super().__init__(*args, **options)
        self._process = tasks.Shared(self.runtime.first_past())
        """The kubelet's process, in which calls begin and end until it is started again."""
        is_rebooted = self.setting.has((REBOOTED,))
        self._files = _KeptFiles(checkpoint=self._left_before() if is_rebooted else None)
        self._manager = self._new_manager()

    def _new_manager(self) -> claim_managers.ClaimManager:
        chosen = self.parts.kubelet
        return chosen.manager(
            world_fixtures.NODE,
            get_claim=self._get_claim,
            drivers=self.drivers(),
            checkpoint=_checkpoint(chosen.checkpoint, self._files),
            write=lambda _: None,
        )

    def drivers(self) -> driver_calls.Drivers:
        kind = preparation_oracles.observed(self.parts.kubelet.driver, self.prepared)
        driver = _driver(kind, self._files)
        return in_process_drivers.InProcessDrivers(lambda name: driver(self.driver_spec, name=name))

    def objects(self) -> Iterable[Object]:
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
        for index in range(self.sizes["pods"]):
            self._spawn(index)
        if self.setting.has((REFUSED,)):
            concurrency.spawn("kubelet-of-refused", self._refuse)
        if self.setting.has((RESTARTED,)):
            concurrency.spawn("restart", self._restart)

    def _spawn(self, index: int) -> None:
        concurrency.spawn(f"kubelet-{index + 1}", lambda: self._handle(index))

    def _handle(self, index: int) -> None:
        """Run the pod of this index from its beginning to its end; it does not end if stuck."""
        meta, names = self.meta(index), self.claims_of(index)
        gives_up = self._claim_of(index) in self.given_up
        attempts = 1 if gives_up else ATTEMPTS
        if self._succeeds(lambda: self._prepare(meta, names), attempts=attempts):
            for claim in names:
                self.prepared.on_running(meta["name"], claim)
            self.look(meta)
            self.runtime.point()
            self.prepared.on_ended(meta["name"])
        elif not gives_up:
            return
        if self._succeeds(lambda: self._unprepare(meta["uid"])):
            self._done += 1

    def meta(self, index: int) -> dict[str, str]:
        return {**named(index), "namespace": world_fixtures.NAMESPACE}

    def claims_of(self, index: int) -> list[str]:
        return [self._claim_of(index)]

    def look(self, meta: dict[str, str]) -> None:
        """Judge what the kubelet has noted for a pod that runs: each CDI id once."""
        for info in self._manager.infos(meta["uid"]):
            devices = (device for listed in info.prepared.values() for device in listed)
            ids = [one for device in devices for one in device.cdi_device_ids]
            self.prepared.on_noted(meta["name"], info.name, ids)

    def _succeeds(self, call: Callable[[], None], *, attempts: int = ATTEMPTS) -> bool:
        """Try a call, again and again; return whether it has succeeded."""
        for attempt in range(attempts):
            if attempt:
                concurrency.sleep(RETRY_S)
            with contextlib.suppress(preparations.PreparationError):
                call()
                return True
        return False

    def _prepare(self, meta: dict[str, str], names: Sequence[str]) -> None:
        claims = [pod_claims.PodClaim(name, generated=False) for name in names]
        with self._called() as manager:
            manager.prepare({"metadata": meta, "spec": {}}, claims)

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

    def _refuse(self) -> None:
        """Let a pod that may not use the first claim begin, which is refused, and end."""
        meta = self.meta(self.sizes["pods"])
        self._succeeds(lambda: self._prepare(meta, ["claim-1"]), attempts=1)
        self._unprepare(meta["uid"])

    def _left_before(self) -> bytes:
        """Return the checkpoint as the kubelet left it before the reboot."""
        claims = self.documents(resources.CLAIMS)
        [stored] = [item for item in claims if item["metadata"]["name"] == "claim-1"]
        info = claim_infos.of(stored)
        info.pods[named(0)["uid"]] = named(0)["name"]
        return msgspec.json.encode(info) + b"\n"

    def _restart(self) -> None:
        """Start the next process between two calls: what a killed one leaves is not tried."""
        self.runtime.point()
        self.runtime.touch(self._process)
        while self._calls:
            concurrency.sleep(RETRY_S)
            self.runtime.touch(self._process)
        with self.runtime.atomically():
            self.prepared.on_restarted()
            self._manager = self._new_manager()

    def unfinished(self) -> str | None:
        if self._done < self.sizes["pods"]:
            return f"stuck: {self._done} pods have ended, expected {self.sizes['pods']}"
        return None


def named(index: int) -> dict[str, str]:
    """Return name and uid of a pod."""
    return {"name": f"pod-{index + 1}", "uid": f"00000000-0000-4000-8000-{index + 1:012}"}


def reservation(index: int) -> Object:
    return {"resource": "pods", **named(index)}


def with_parameters(
    users: Sequence[Object], parameters: Object, *, device: str = "device-0"
) -> Object:
    """Return the status of a claim of the device with these parameters for its driver."""
    status = world_fixtures.allocated(device, users)
    opaque = {"driver": world_fixtures.DRIVER, "parameters": parameters}
    status["allocation"]["devices"]["config"] = [{"source": "FromClaim", "opaque": opaque}]
    return status


def spec(
    title: str,
    *happens: str,
    make: type[NodePreparations] = NodePreparations,
    pods: tuple[int, int] = (3, 2),
) -> world_specs.WorldSpec:
    """Return the spec of a world of one node; `happens`: names of parts."""
    made = [literals.actor(name) for name in happens]
    return literals.spec(
        title,
        made,
        make=make,
        oracles=ORACLES,
        has_scheduler=False,
        is_of_node=True,
        pods=pods,
    )


WORLDS: dict[str, world_specs.WorldSpec] = {
    "prepare-against-unprepare": spec(
        "a node prepares a claim for one pod while it unprepares it after another"
    ),
    "refused-pod-ends": spec(
        "a pod that may not use a claim ends while another one uses it", REFUSED
    ),
    "kubelet-restarted": spec(
        "a kubelet and its driver are started again while pods use claims", RESTARTED
    ),
    "node-rebooted": spec(
        "a kubelet starts with a checkpoint of claims that are not prepared any more", REBOOTED
    ),
}
