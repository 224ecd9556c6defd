"""Other writers of the run's objects: one makes updates conflict, one moves claims."""

import fnmatch
from collections.abc import Iterator

from harness import clocks, errors
from harness.client import apis, transports
from harness.history import plans
from harness.model import naming
from harness.model.objects import Object
from harness.run.faulting import injecting

ANNOTATION = "flake-hunt/touched"
"""Key of the annotation that is changed; its value is the number of the change."""
_FAILURES = (apis.ApiError, transports.TransportError)


class _Writer(injecting.Injection):
    def __init__(self, fault: plans.PlannedFault, stage: injecting.Stage) -> None:
        super().__init__(fault, stage)
        self._api, self._namespace = stage.connected(), stage.plan.namespace
        self._count = 0
        self._failure = ""
        """The last error; single ones are expected, as other clients may be faster."""

    def heal(self, ending: injecting.Ending) -> None:
        del ending
        self._api.transport.close()


class TouchedObjects(_Writer):
    """An annotation of objects is changed, at a rate, one after the other."""

    def last(self, ending: injecting.Ending) -> None:
        """Change objects until the time is up; list them again when all have had their turn.

        Raises FaultError if not one could be changed, with the reason of the last failure. One that
        a nemesis has drawn may coincide with an API server that is down: it then has no effect.
        """
        period_ns = 1e9 / self._parameters["rate_per_s"]
        next_ns = begun_ns = float(clocks.monotonic_ns())
        limit_ns = begun_ns + (self._fault.duration_s or float("inf")) * 1e9
        for obj in self._objects():
            wait_s = (next_ns - clocks.monotonic_ns()) / 1e9 if obj else injecting.STEP_S
            if clocks.monotonic_ns() >= limit_ns or ending.over.wait(max(wait_s, 0.0)):
                break
            if obj:
                next_ns += period_ns
                self._touch(obj["metadata"])
        if self._failure and not self._count and not self._fault.drawn_by:
            raise errors.FaultError(f"no object could be changed ({self._failure})")

    @property
    def _resource(self) -> apis.Resource:
        return apis.BY_PLURAL[self._parameters["resource"]]

    def _objects(self) -> Iterator[Object | None]:
        pattern = self._parameters["object_name"]
        while True:
            found: list[Object | None] = [
                obj
                for obj in self._listed()
                if fnmatch.fnmatchcase(obj["metadata"]["name"], pattern)
            ]
            yield from found or [None]

    def _listed(self) -> list[Object]:
        own = f"{naming.RUN_LABEL}={self._stage.plan.run_id}"
        try:
            if self._resource.namespaced:
                return self._api.list(self._resource, namespace=self._namespace).items
            return self._api.list(self._resource, label_selector=own).items
        except _FAILURES as error:
            self._failure = str(error)
            return []

    def _touch(self, meta: Object) -> None:
        begun_ns = clocks.monotonic_ns()
        patch = {"metadata": {"annotations": {ANNOTATION: str(self._count + 1)}}}
        try:
            changed = self._api.patch(
                self._resource, meta["name"], patch, namespace=meta.get("namespace")
            )
        except _FAILURES as error:
            self._failure = str(error)
            return
        self._count += 1
        self._changed(
            self._resource.plural,
            changed["metadata"],
            verb="patch",
            detail="an annotation was changed",
            begun_ns=begun_ns,
        )


class MovedClaims(_Writer):
    """The device of a claim is freed and another one is allocated, in two writes."""

    needs_subject = True

    def last(self, ending: injecting.Ending) -> None:
        """Move one claim after the other, at intervals.

        Raises FaultError if not one could be moved, with the reason of the last failure.
        """
        while self._count < self._parameters["times"]:
            if ending.over.wait(self._parameters["interval_s"]):
                break
            try:
                self._move_one()
            except _FAILURES as error:
                self._failure = str(error)
        if not self._count:
            why = self._failure or "there was no allocated claim, or no free device in its pool"
            raise errors.FaultError(f"no claim could be moved ({why})")

    def _move_one(self) -> None:
        claims = self._api.list(apis.CLAIMS, namespace=self._namespace).items
        free = _free_devices(self._api.list(apis.SLICES).items, claims)
        movable = [claim for claim in claims if _pool_of_one(claim) in free]
        if not movable:
            return
        claim = max(movable, key=lambda claim: int(claim["metadata"]["resourceVersion"]))
        begun_ns, device = clocks.monotonic_ns(), free[_pool_of_one(claim)][-1]
        moved = self._moved(claim, device)
        self._count += 1
        self._changed(
            apis.CLAIMS.plural,
            moved["metadata"],
            verb="update",
            subresource="status",
            detail=f"the claim was moved to {device}",
            begun_ns=begun_ns,
        )

    def _moved(self, claim: Object, device: str) -> Object:
        status = claim["status"]
        (result,) = _results(claim)
        freed = self._api.update_status(apis.CLAIMS, {**claim, "status": {}})
        devices = {**status["allocation"]["devices"], "results": [{**result, "device": device}]}
        allocation = {**status["allocation"], "devices": devices}
        return self._api.update_status(
            apis.CLAIMS, {**freed, "status": {**status, "allocation": allocation}}
        )


_Pool = tuple[str, str]
"""Driver and name of a pool."""


def _results(claim: Object) -> list[Object]:
    devices: Object = claim.get("status", {}).get("allocation", {}).get("devices", {})
    return list(devices.get("results", []))


def _pool_of_one(claim: Object) -> _Pool | None:
    results = _results(claim)
    if len(results) != 1 or claim["metadata"].get("deletionTimestamp"):
        return None
    return (
        (results[0]["driver"], results[0]["pool"]) if claim["status"].get("reservedFor") else None
    )


def _free_devices(slices: list[Object], claims: list[Object]) -> dict[_Pool | None, list[str]]:
    used = {
        (result["driver"], result["pool"], result["device"])
        for claim in claims
        for result in _results(claim)
    }
    free: dict[_Pool | None, list[str]] = {}
    for spec in (item["spec"] for item in slices):
        pool = (spec["driver"], spec["pool"]["name"])
        for device in spec.get("devices", []):
            if (*pool, device["name"]) not in used:
                free.setdefault(pool, []).append(device["name"])
    return free
