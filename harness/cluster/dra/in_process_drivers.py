"""The test driver inside the process of the kubelets: it serves all drivers' names on all nodes."""

from collections.abc import Sequence

from harness.cluster.dra import claim_infos, driver_contracts
from harness.cluster.driver import cdi_files, drivers
from harness.cluster.kubelet_api import preparations
from harness.model.objects import Object


class InProcessDrivers:
    """Calls the test driver for one claim after the other."""

    outlive_kubelet = False

    def __init__(self, driver: drivers.Driver) -> None:
        self._driver = driver

    def plugin(self, driver: str, node: str) -> driver_contracts.Plugin:
        """Return the test driver under a name; every name is registered."""
        return _Plugin(self._driver, driver, node)

    def is_prepared(self, info: claim_infos.ClaimInfo, node: str) -> bool:
        """Let the driver note a claim that an earlier process has prepared; False: it has not."""
        return self._driver.restore(info, node)

    def stop(self) -> None:
        """End the waits of all calls."""
        self._driver.stop()


class _Plugin:
    """The part of the test driver that is asked under one name."""

    def __init__(self, driver: drivers.Driver, name: str, node: str) -> None:
        self._driver, self._name, self._node = driver, name, node

    def prepare(self, claims: Sequence[Object]) -> driver_contracts.PrepareAnswers:
        return {claim["metadata"]["uid"]: self._prepared(claim) for claim in claims}

    def _prepared(self, claim: Object) -> preparations.Prepared | preparations.PreparationError:
        own = _of_driver(claim, self._name)
        try:
            self._driver.prepare(own, claim_infos.of(own), self._node)
        except preparations.PreparationError as error:
            return error
        return tuple(cdi_files.prepared_devices(own))

    def unprepare(
        self, claims: Sequence[claim_infos.ClaimInfo]
    ) -> driver_contracts.UnprepareAnswers:
        return {claim.uid: self._unprepared(claim) for claim in claims}

    def _unprepared(self, claim: claim_infos.ClaimInfo) -> preparations.PreparationError | None:
        try:
            self._driver.unprepare(claim.of_driver(self._name), self._node)
        except preparations.PreparationError as error:
            return error
        return None


def _of_driver(claim: Object, driver: str) -> Object:
    """Return a claim with the devices of one driver only."""
    allocation = claim["status"]["allocation"]
    results = (allocation.get("devices") or {}).get("results") or []
    own = [result for result in results if result["driver"] == driver]
    if len(own) == len(results):
        return claim
    devices = {**allocation["devices"], "results": own}
    return {
        **claim,
        "status": {**claim["status"], "allocation": {**allocation, "devices": devices}},
    }
