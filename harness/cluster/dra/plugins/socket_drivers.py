"""All drivers behind sockets, of all nodes that one process of kubelets acts for."""

from collections.abc import Collection, Sequence

from harness import clocks, concurrency, errors
from harness.cluster.dra import claim_infos, driver_contracts
from harness.cluster.dra.plugins import registries
from harness.cluster.kubelet_api import node_folders

LOOK_S = 0.1
"""Seconds between two looks at the registry folders."""


class SocketDrivers:
    """Finds drivers in registry folders, until it is stopped. Thread-safe."""

    outlive_kubelet = True

    def __init__(self, registry: str, *, note: registries.Note) -> None:
        """`registry` is the folder of all nodes, or one for each node (see `node_folders`)."""
        self._template, self._note = registry, note
        self._guard = concurrency.lock("kubelet.registries")
        self._registries: dict[str, registries.Registry] = {}
        """By the path of the folder."""
        self._stopped = concurrency.Event("kubelet.stopped")

    def start(self, nodes: Sequence[str]) -> None:
        """Begin to look for the drivers of these nodes; those of others are looked for if asked.

        Raises StorageError or UnwritableError if a folder can be neither read nor made.
        """
        for node in nodes:
            self._registry(node)
        concurrency.spawn("kubelet-plugins", self._run)

    def wait_registered(
        self, drivers: Collection[str], nodes: Sequence[str], *, timeout_s: float
    ) -> None:
        """Wait until drivers are registered on all nodes.

        Raises ClusterError if one is not in time.
        """
        try:
            clocks.wait_until(
                lambda: not self._missing(drivers, nodes), timeout_s=timeout_s, why="drivers"
            )
        except errors.WaitTimeoutError:
            raise self._late(drivers, nodes, timeout_s) from None

    def plugin(self, driver: str, node: str) -> driver_contracts.Plugin:
        found = self._registry(node).find(driver)
        if found is None:
            raise driver_contracts.not_registered(driver)
        return found

    def is_prepared(self, info: claim_infos.ClaimInfo, node: str) -> bool:
        del node
        return not info.is_ending

    def stop(self) -> None:
        self._stopped.set()
        with self._guard:
            found = list(self._registries.values())
        for registry in found:
            registry.close()

    def _registry(self, node: str) -> registries.Registry:
        folder = node_folders.of_node(self._template, node)
        with self._guard:
            found = self._registries.get(str(folder))
            if found is None:
                found = registries.Registry(folder, note=self._note)
                self._registries[str(folder)] = found
            return found

    def _run(self) -> None:
        while not self._stopped.wait(LOOK_S):
            with self._guard:
                found = list(self._registries.values())
            for registry in found:
                registry.look()

    def _missing(self, drivers: Collection[str], nodes: Sequence[str]) -> list[tuple[str, str]]:
        return [
            (driver, node)
            for driver in drivers
            for node in nodes
            if self._registry(node).find(driver) is None
        ]

    def _late(
        self, drivers: Collection[str], nodes: Sequence[str], timeout_s: float
    ) -> errors.ClusterError:
        driver, node = self._missing(drivers, nodes)[0]
        problems = self._registry(node).problems()
        folder = node_folders.of_node(self._template, node)
        why = problems[0] if problems else f"no such socket appeared in {folder}"
        return errors.ClusterError(
            f"expected driver {driver} to register on node {node} within {timeout_s:g} s ({why}): "
            "see the driver's log"
        )
