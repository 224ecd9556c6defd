"""Other writers of the run's objects: one makes updates conflict, one moves claims."""

from collections.abc import Iterator

from harness import clocks, errors
from harness.client import apis, transports
from harness.model import naming
from harness.model.objects import Object
from harness.run.faulting import injecting

ANNOTATION = "flake-hunt/touched"
"""Key of the annotation that is changed; its value is the number of the change."""
_FAILURES = (apis.ApiError, transports.TransportError)


class _Writer:
    def __init__(self, it: injecting.Injection) -> None:
        self._it, self._api, self._namespace = it, it.connected(), it.stage.plan.namespace
        self.count = 0
        self.failure = ""
        """The last error; single ones are expected, as other clients may be faster."""


def touch(it: injecting.Injection) -> None:
    """Change an annotation of objects at a rate, one after the other, until the time is up.

    They are listed again when all have had their turn. Raises FaultError if not one could be
    changed, with the reason of the last failure. One that a nemesis has drawn may coincide with an
    API server that is down: it then has no effect.
    """
    writer, period_ns = _Toucher(it), 1e9 / it.parameters["rate_per_s"]
    next_ns = begun_ns = float(clocks.monotonic_ns())
    limit_ns = begun_ns + (it.fault.duration_s or float("inf")) * 1e9
    for obj in writer.objects():
        wait_s = (next_ns - clocks.monotonic_ns()) / 1e9 if obj else injecting.STEP_S
        if clocks.monotonic_ns() >= limit_ns or it.wait(max(wait_s, 0.0)):
            break
        if obj:
            next_ns += period_ns
            writer.touch(obj["metadata"])
    if writer.failure and not writer.count and not it.fault.drawn_by:
        raise errors.FaultError(f"no object could be changed ({writer.failure})")


class _Toucher(_Writer):
    @property
    def _resource(self) -> apis.Resource:
        return apis.BY_PLURAL[self._it.parameters["resource"]]

    def objects(self) -> Iterator[Object | None]:
        while True:
            found: list[Object | None] = [*self._listed()]
            yield from found or [None]

    def _listed(self) -> list[Object]:
        own = f"{naming.RUN_LABEL}={self._it.stage.plan.run_id}"
        try:
            if self._resource.namespaced:
                return self._api.list(self._resource, namespace=self._namespace).items
            return self._api.list(self._resource, label_selector=own).items
        except _FAILURES as error:
            self.failure = str(error)
            return []

    def touch(self, meta: Object) -> None:
        begun_ns = clocks.monotonic_ns()
        patch = {"metadata": {"annotations": {ANNOTATION: str(self.count + 1)}}}
        try:
            changed = self._api.patch(
                self._resource, meta["name"], patch, namespace=meta.get("namespace")
            )
        except _FAILURES as error:
            self.failure = str(error)
            return
        self.count += 1
        self._it.changed(
            self._resource.plural,
            changed["metadata"],
            verb="patch",
            detail="an annotation was changed",
            begun_ns=begun_ns,
        )


def move_claims(it: injecting.Injection) -> None:
    """Move claims to other devices, in two writes each; raise FaultError if none could be."""
    writer = _Mover(it)
    while writer.count < it.parameters["times"]:
        if it.wait(it.parameters["interval_s"]):
            break
        try:
            writer.move_one()
        except _FAILURES as error:
            writer.failure = str(error)
    if not writer.count:
        why = writer.failure or "there was no allocated claim, or no free device in its pool"
        raise errors.FaultError(f"no claim could be moved ({why})")


class _Mover(_Writer):
    def move_one(self) -> None:
        claims = self._api.list(apis.CLAIMS, namespace=self._namespace).items
        free = _free_devices(self._api.list(apis.SLICES).items, claims)
        movable = [claim for claim in claims if _pool_of_one(claim) in free]
        if not movable:
            return
        claim = max(movable, key=lambda claim: int(claim["metadata"]["resourceVersion"]))
        begun_ns, device = clocks.monotonic_ns(), free[_pool_of_one(claim)][-1]
        moved = self._moved(claim, device)
        self.count += 1
        self._it.changed(
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
