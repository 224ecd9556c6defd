"""A node prepares claims for pods, and not all of it succeeds: the driver fails, or is missing."""

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

from harness import concurrency
from harness.client import apis
from harness.cluster.dra import claim_managers, driver_calls, in_process_drivers, pod_claims
from harness.cluster.driver import drivers, prepared_claims
from harness.cluster.kubelet_api import preparations
from harness.explore.worlds import world_fixtures, world_specs
from harness.explore.worlds.lifecycles import node_preparations
from harness.model.objects import Object
from harness.scenario import driver_specs

FAILING_S = 0.12
"""Seconds for which a driver fails, in which a pod is tried at least twice."""
_AGAIN = "00000000-0000-4000-8000-999999999999"
"""uid of the claim that is made again."""


class SeveralClaims(node_preparations.NodePreparations):
    """Each pod uses the first claim, and then one of its own, for which the driver fails once."""

    def claims_of(self, index: int) -> list[str]:
        return ["claim-1", f"claim-{index + 2}"]

    def objects(self) -> Iterable[Object]:
        pods = range(self.sizes["pods"])
        users = [node_preparations.reservation(index) for index in pods]
        yield self._claim("claim-1", "device-0", users)
        for index in pods:
            yield self._claim(f"claim-{index + 2}", f"device-{index + 1}", [users[index]])

    def _claim(self, name: str, device: str, users: Sequence[Object]) -> Object:
        status = node_preparations.with_parameters(users, {"claim": name}, device=device)
        return {**world_fixtures.claim(name), "status": status}

    def _new_manager(self) -> claim_managers.ClaimManager:
        self.parts = dataclasses.replace(
            self.parts,
            kubelet=dataclasses.replace(
                self.parts.kubelet, driver=_failing_once(self.parts.kubelet.driver)
            ),
        )
        return super()._new_manager()


def _failing_once(kind: type[drivers.Driver]) -> type[drivers.Driver]:
    """Return the class of a driver that fails once for each claim but the first one."""

    class FailingOnce(kind):  # type: ignore[misc,valid-type]
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            self._failed: set[str] = set()

        def _configure(self, claim: prepared_claims.PreparedClaim) -> None:
            if claim.name != "claim-1" and claim.name not in self._failed:
                self._failed.add(claim.name)
                raise preparations.PreparationError("FailedOnDemand", "the driver fails once")
            super()._configure(claim)

    return FailingOnce


class FailedPreparation(node_preparations.NodePreparations):
    """The driver fails for a time, in which pods of the first claim are deleted.

    The last pod waits for the device of that claim, which was never prepared.
    """

    driver_spec = driver_specs.DriverSpec(
        exclusivity=True, prepare=driver_specs.CallSpec(failing_from_s=0.0, failing_s=FAILING_S)
    )
    given_up = ("claim-1",)


class UnregisteredDriver(node_preparations.NodePreparations):
    """Pods are bound to a node that does not have their driver, and are deleted."""

    given_up = ("claim-1", "claim-2")

    def drivers(self) -> driver_calls.Drivers:
        return in_process_drivers.InProcessDrivers(_refuse, keeps_endings=True)


def _refuse(driver: str) -> drivers.Driver:
    raise driver_calls.not_registered(driver)


class UnnamedClaim(node_preparations.NodePreparations):
    """The statuses of all pods but the last do not name their claims; they are deleted.

    The claim of a template was not made before.
    """

    given_up = ("claim-1",)

    def claims_of(self, index: int) -> list[str]:
        [name] = super().claims_of(index)
        return [pod_claims.UNKNOWN_NAME if name == "claim-1" else name]


class ClaimMadeAgain(node_preparations.NodePreparations):
    """The first pod is deleted by force while it runs, and its claim is made again for the second.

    The new claim has the same name, the same device, and another uid.
    """

    def begin(self) -> None:
        self._is_again = False
        self._spawn(0)

    def claims_of(self, index: int) -> list[str]:
        del index
        return ["claim-1"]

    def look(self, meta: dict[str, str]) -> None:
        """Make the claim again, or judge which of both the second pod has."""
        if self._is_again:
            [info] = self._manager.infos(meta["uid"])
            self.prepared.on_noted(meta["name"], info.name, [], uid=info.uid, wanted=_AGAIN)
        else:
            self._is_again = True
            self._spawn(1)

    def _get_claim(self, namespace: str, name: str) -> Object:
        found = super()._get_claim(namespace, name)
        if not self._is_again:
            return found
        users = [node_preparations.reservation(1)]
        status = node_preparations.with_parameters(users, {"claim": name})
        return {**found, "metadata": {**found["metadata"], "uid": _AGAIN}, "status": status}


class LatePrepare(node_preparations.NodePreparations):
    """A Prepare that the kubelet has given up is still under way when its pod ends.

    The claim is deleted by force, then unprepared. The last pod waits for its device.
    """

    driver_spec = driver_specs.DriverSpec(exclusivity=True)

    def begin(self) -> None:
        driver = self.parts.kubelet.driver(self.driver_spec, name=world_fixtures.DRIVER)
        api = apis.Api(self.server)
        self._served = self.parts.kubelet.served(driver, api, at=self._happened)
        first, second = (self._reference(name) for name in ("claim-1", "claim-2"))
        concurrency.spawn("late-call", lambda: self._late(first))
        concurrency.spawn("kubelet-1", lambda: self._replace(first, second))

    def _happened(self, moment: str, claim: str) -> None:
        del moment, claim
        self.runtime.point()

    def _late(self, claim: preparations.ClaimReference) -> None:
        self._served.prepare([claim], world_fixtures.NODE)
        self._done += 1

    def _replace(
        self, first: preparations.ClaimReference, second: preparations.ClaimReference
    ) -> None:
        """Delete and unprepare the first claim, then prepare the second one."""
        api = apis.Api(self.server)
        api.delete(apis.CLAIMS, first.name, namespace=first.namespace, grace_period_s=0)
        self._served.unprepare([first], world_fixtures.NODE)
        if self._succeeds(lambda: self._prepare_by_call(second)):
            self._done += 1

    def _prepare_by_call(self, claim: preparations.ClaimReference) -> None:
        answer = self._served.prepare([claim], world_fixtures.NODE)[claim.uid]
        if isinstance(answer, preparations.PreparationError):
            raise answer

    def _reference(self, name: str) -> preparations.ClaimReference:
        claim = self._get_claim(world_fixtures.NAMESPACE, name)
        return preparations.ClaimReference(world_fixtures.NAMESPACE, name, claim["metadata"]["uid"])


WORLDS: dict[str, world_specs.WorldSpec] = {
    "claims-of-one-pod": node_preparations.spec(
        "the driver fails once for the second claim of each pod", make=SeveralClaims, pods=(2, 1)
    ),
    "failed-preparation": node_preparations.spec(
        "pods end whose claim could not be prepared", make=FailedPreparation, pods=(2, 2)
    ),
    "driver-not-registered": node_preparations.spec(
        "pods end on a node that does not have their driver", make=UnregisteredDriver, pods=(2, 1)
    ),
    "claim-not-named": node_preparations.spec(
        "pods end whose status names no claim yet", make=UnnamedClaim
    ),
    "late-prepare": node_preparations.spec(
        "a claim is unprepared while a Prepare of it is under way", make=LatePrepare, pods=(2, 2)
    ),
    "claim-made-again": node_preparations.spec(
        "a claim is made again while the old one is still prepared",
        make=ClaimMadeAgain,
        pods=(2, 2),
    ),
}
