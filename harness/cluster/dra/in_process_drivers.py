"""The test driver inside the process of the kubelets, under any name, on all nodes."""

from collections.abc import Callable, Iterable, Sequence

from harness import concurrency
from harness.cluster.dra import claim_infos, driver_calls
from harness.cluster.driver import drivers, prepared_claims
from harness.cluster.kubelet_api import preparations
from harness.model.objects import Object


class InProcessDrivers:
    """Calls the test driver; there is one for each driver's name. Thread-safe."""

    def __init__(
        self, make: Callable[[str], drivers.Driver], *, keeps_endings: bool = False
    ) -> None:
        self.keeps_endings = keeps_endings
        self._make, self._guard = make, concurrency.lock("kubelet.drivers")
        self._drivers: dict[str, drivers.Driver] = {}

    def plugin(self, driver: str, node: str) -> driver_calls.Plugin:
        return _Plugin(self._driver(driver), node)

    def is_prepared(self, info: claim_infos.ClaimInfo, node: str) -> bool:
        """Let drivers note a claim that an earlier process has prepared; False: none has."""
        if self.keeps_endings and info.is_ending:
            return False
        restored = []
        for name in info.drivers:
            claim = prepared_claims.PreparedClaim(
                node=node,
                namespace=info.namespace,
                name=info.name,
                uid=info.uid,
                devices=info.prepared.get(name, ()),
                exclusive=frozenset(one for one in info.exclusive if one.startswith(f"{name}/")),
            )
            restored.append(self._driver(name).restore(claim))
        return any(restored)

    def environment(self, node: str, ids: Iterable[str]) -> dict[str, str]:
        """Return the environment that CDI devices give a container, a later one winning.

        Raises PreparationError for a device that no driver has made ready.
        """
        found: dict[str, str] = {}
        for one in ids:
            edits = self._driver(one.partition("/")[0]).edits.get((node, one))
            if edits is None:
                text = f"unresolvable CDI device {one}: the driver has not made it ready"
                raise preparations.PreparationError("CreateContainerError", text)
            found |= edits
        return found

    def stop(self) -> None:
        with self._guard:
            made = list(self._drivers.values())
        for driver in made:
            driver.stop()

    def _driver(self, name: str) -> drivers.Driver:
        if (found := self._drivers.get(name)) is not None:
            return found
        with self._guard:
            if name not in self._drivers:
                self._drivers[name] = self._make(name)
            return self._drivers[name]


class _Plugin:
    """The test driver on a node."""

    def __init__(self, driver: drivers.Driver, node: str) -> None:
        self._driver, self._node = driver, node

    def prepare(self, claims: Sequence[Object]) -> driver_calls.PrepareAnswers:
        return self._driver.prepare(claims, self._node)

    def unprepare(self, claims: Sequence[claim_infos.ClaimInfo]) -> driver_calls.UnprepareAnswers:
        return self._driver.unprepare([claim.reference for claim in claims], self._node)
