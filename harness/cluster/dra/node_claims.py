"""The claims of all fake nodes: one DRA manager for each node, and the drivers that serve them."""

import dataclasses
import functools
import pathlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from harness import clocks, concurrency, writing
from harness.client import apis, journaling
from harness.cluster.dra import (
    cdi_devices,
    claim_infos,
    claim_managers,
    driver_calls,
    in_process_drivers,
    pod_claims,
)
from harness.cluster.kubelet_api import node_folders, preparations
from harness.history import records
from harness.model.objects import Object
from harness.scenario import driver_specs

CHECKPOINTS = "checkpoints"
"""Folder below the state folder: a file for each node."""

Find = Callable[[Iterable[str]], dict[str, str]]
"""Returns the environment that CDI devices give a container, by their ids."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class NodeClaimsOptions:
    """The files of the nodes, and the behaviour of their driver."""

    driver: driver_specs.DriverSpec
    drivers: driver_calls.Drivers | None = None
    """The drivers; None: the test driver in this process."""
    cdi: str = ""
    """Folder of the CDI files of `drivers`, see `node_folders`."""
    state: pathlib.Path | None = None
    """Folder for checkpoints; None: keep everything in memory."""
    journal: pathlib.Path | None = None
    """Journal of preparations; None: no journal."""
    parts: claim_managers.KubeletParts = claim_managers.CORRECT
    """The classes that do the work, with known defects if there are to be any."""
    run_id: str = ""
    seed: int = 0


class NodeClaims:
    """Prepares the claims of pods on any node. Thread-safe.

    A pod is handled by one thread at a time.
    """

    def __init__(self, api: apis.Api, options: NodeClaimsOptions) -> None:
        """Continue with the claims of the state folder.

        Raises UsageError if a checkpoint is damaged, StorageError or UnwritableError if the folder
        or the journal cannot be written.
        """
        self._api, self.state, self._parts = api, options.state, options.parts
        self.termination_s = options.driver.termination_s
        """Seconds that containers run on after the deletion of their pod was asked for."""
        self._cdi_template = options.cdi
        self._cdi: dict[str, cdi_devices.CdiFolder] = {}
        self._own = in_process_drivers.InProcessDrivers(
            lambda name: self._parts.driver(options.driver, name=name, seed=options.seed),
            keeps_endings=options.state is not None,
        )
        self._drivers = options.drivers or self._own
        self._guard = concurrency.lock("kubelet.nodes")
        self._managers: dict[str, claim_managers.ClaimManager] = {}
        self._journal = None
        if options.journal is not None:
            self._journal = journaling.opened(
                options.journal, process="kubelet", run_id=options.run_id
            )
        self._checkpoints = None if options.state is None else options.state / CHECKPOINTS
        if self._checkpoints is not None:
            with writing.explained(self._checkpoints):
                self._checkpoints.mkdir(parents=True, exist_ok=True)
            for path in sorted(self._checkpoints.glob("*.json")):
                self._manager(path.stem)

    def pods(self) -> set[tuple[str, str, str]]:
        """Return `namespace/name`, uid and node of the pods that use claims."""
        with self._guard:
            managers = list(self._managers.items())
        return {(*pod, node) for node, manager in managers for pod in manager.pods()}

    def prepare(self, pod: Object) -> None:
        """Prepare the claims of a pod on its node.

        Raises PreparationError if one cannot be prepared now, ApiError and TransportError if one
        cannot be read.
        """
        claims = pod_claims.of(pod)
        if claims:
            with self._guard:
                manager = self._manager(pod["spec"]["nodeName"])
            manager.prepare(pod, claims)

    def start_containers(self, pod: Object) -> None:
        """Journal what the containers of a pod find in their environment, after `prepare`.

        Raises PreparationError if a device is not there.
        """
        node, uid = pod["spec"]["nodeName"], pod["metadata"]["uid"]
        with self._guard:
            manager = self._managers.get(node)
        infos = manager.infos(uid) if manager is not None else []
        if not infos or not (self._cdi_template or self.state):
            return
        find: Find = functools.partial(self._own.environment, node)
        if self._cdi_template:
            with self._guard:
                if node not in self._cdi:
                    folder = node_folders.of_node(self._cdi_template, node)
                    self._cdi[node] = cdi_devices.CdiFolder(folder)
                find = self._cdi[node].environment
        about: dict[str, Any] = {
            "node": node,
            "namespace": pod["metadata"]["namespace"],
            "pod": pod["metadata"]["name"],
            "pod_uid": uid,
        }
        try:
            found = environments(pod, infos, find)
        except preparations.PreparationError as error:
            about |= {"reason": error.reason, "message": str(error)}
            self._write(records.ContainersFailed(**about, ts_ns=clocks.monotonic_ns()))
            raise
        for container, environment in found.items():
            record = records.ContainerStarted(
                **about,
                container=container,
                environment=environment,
                ts_ns=clocks.monotonic_ns(),
            )
            self._write(record)

    def note_reboot(self, node: str, boot_id: str) -> None:
        self._write(records.NodeRebooted(node=node, boot_id=boot_id, ts_ns=clocks.monotonic_ns()))

    def unprepare(self, node: str, pod_uid: str, pod: Object | None = None) -> None:
        """Unprepare the claims that only this pod uses on a node; nothing for an unknown pod.

        `pod`: it, if it is to be deleted and still there.

        Raises PreparationError if the driver fails.
        """
        with self._guard:
            manager = self._managers.get(node)
        if manager is not None:
            manager.unprepare(pod_uid, pod)

    def stop(self) -> None:
        self._drivers.stop()

    def close(self) -> None:
        if self._journal is not None:
            self._journal.close()

    def _write(self, record: records.Body) -> None:
        if self._journal is not None:
            self._journal.write(record)

    def _manager(self, node: str) -> claim_managers.ClaimManager:
        found = self._managers.get(node)
        if found is None:
            path = self._checkpoints / f"{node}.json" if self._checkpoints else None
            found = self._managers[node] = self._parts.manager(
                node,
                get_claim=self._get_claim,
                drivers=self._drivers,
                checkpoint=self._parts.checkpoint(path),
                write=self._write,
            )
        return found

    def _get_claim(self, namespace: str, name: str) -> Object | None:
        try:
            return self._api.get(apis.CLAIMS, name, namespace=namespace)
        except apis.ApiError as error:
            if not error.is_not_found:
                raise
            return None


def environments(
    pod: Object, infos: Iterable[claim_infos.ClaimInfo], find: Find
) -> dict[str, dict[str, str]]:
    """Return container -> its environment, of the containers of a pod that use claims.

    `infos` are the prepared claims of the pod. Raises PreparationError if a device cannot be found.
    """
    by_name = {info.name: info for info in infos}
    for info in by_name.values():
        cdi_devices.require_distinct(info)
    claims = [claim for claim in pod_claims.of(pod) if claim.name in by_name]
    by_entry = {claim.entry: by_name[claim.name] for claim in claims}
    spec, found = pod["spec"], {}
    for container in (*(spec.get("initContainers") or ()), *(spec.get("containers") or ())):
        if used := [*_listed(container, by_entry), *_mapped(container, pod, by_name)]:
            ids = [wanted for info, request in used for wanted in info.cdi_ids(request)]
            found[container["name"]] = find(ids)
    return found


Used = list[tuple[claim_infos.ClaimInfo, str]]
"""The claims that a container uses, with the request; empty: all."""


def _listed(container: Object, by_entry: Mapping[str, claim_infos.ClaimInfo]) -> Used:
    return [
        (by_entry[used["name"]], used.get("request") or "")
        for used in (container.get("resources") or {}).get("claims") or ()
        if used["name"] in by_entry
    ]


def _mapped(container: Object, pod: Object, by_name: Mapping[str, claim_infos.ClaimInfo]) -> Used:
    """Return which requests of the claim for extended resources a container uses."""
    requested = (container.get("resources") or {}).get("requests") or {}
    status = (pod.get("status") or {}).get("extendedResourceClaimStatus") or {}
    info = by_name.get(status.get("resourceClaimName", ""))
    return [
        (info, mapping["requestName"])
        for mapping in status.get("requestMappings") or ()
        if mapping["containerName"] == container["name"]
        and mapping["resourceName"] in requested
        and info is not None
    ]
