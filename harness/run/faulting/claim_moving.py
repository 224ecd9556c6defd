"""Another writer that frees the device of a claim and allocates another one, in two writes."""

from typing import Any

from harness import clocks, errors
from harness.client import apis, transports
from harness.history import plans, records
from harness.model.objects import Object
from harness.run.faulting import fault_journal, injecting

CLIENT = "run"
"""Name of this client in the record."""
_FAILURES = (apis.ApiError, transports.TransportError)


class ClaimMoving:
    """A fault that moves allocated claims to devices that are free."""

    needs_subject = True

    def __init__(
        self,
        fault: plans.PlannedFault,
        api: apis.Api,
        journal: fault_journal.FaultJournal,
        *,
        namespace: str,
    ) -> None:
        self._fault, self._api, self._journal = fault, api, journal
        self._namespace = namespace
        self._moves = 0
        self._problem = "there was no allocated claim, or no free device in its pool"

    def begin(self) -> None:
        """Do nothing: the moves come in `last`."""

    def last(self, ending: injecting.Ending) -> None:
        """Move one claim after the other, at intervals.

        Raises FaultError if not one could be moved, with the reason of the last failure.
        """
        while self._moves < self._fault.parameters["times"]:
            if ending.over.wait(self._fault.parameters["interval_s"]):
                break
            try:
                self._move_one()
            except _FAILURES as error:  # another client was faster, or the server is away
                self._problem = str(error)
        if not self._moves:
            raise errors.FaultError(f"no claim could be moved ({self._problem})")

    def heal(self, ending: injecting.Ending) -> None:
        """Close the connection; what was moved stays where it is."""
        del ending
        self._api.transport.close()

    def _move_one(self) -> None:
        """Move the newest claim that can be moved. Raises ApiError or TransportError."""
        claims = self._api.list(apis.CLAIMS, namespace=self._namespace).items
        free = _free_devices(self._api.list(apis.SLICES).items, claims)
        movable = [claim for claim in claims if _pool_of_one(claim) in free]
        if not movable:
            return
        claim = max(movable, key=lambda claim: int(claim["metadata"]["resourceVersion"]))
        begun_ns = clocks.monotonic_ns()
        moved = self._moved(claim, free[_pool_of_one(claim)][-1])
        self._moves += 1
        self._journal.took_effect(self._fault.name)
        self._journal.write(self._record(moved, begun_ns))

    def _moved(self, claim: Object, device: str) -> Object:
        status = claim["status"]
        (result,) = status["allocation"]["devices"]["results"]
        freed = self._api.update_status(apis.CLAIMS, {**claim, "status": {}})
        devices = {**status["allocation"]["devices"], "results": [{**result, "device": device}]}
        allocation = {**status["allocation"], "devices": devices}
        return self._api.update_status(
            apis.CLAIMS, {**freed, "status": {**status, "allocation": allocation}}
        )

    def _record(self, claim: Object, begun_ns: int) -> records.FaultApplied:
        meta: dict[str, Any] = claim["metadata"]
        (result,) = claim["status"]["allocation"]["devices"]["results"]
        return records.FaultApplied(
            fault=self._fault.name,
            kind=self._fault.kind,
            client=CLIENT,
            verb="update",
            resource=apis.CLAIMS.plural,
            subresource="status",
            namespace=meta["namespace"],
            name=meta["name"],
            uid=meta["uid"],
            resource_version=int(meta["resourceVersion"]),
            begun_ns=begun_ns,
            ended_ns=clocks.monotonic_ns(),
            detail=f"the claim was moved to {result['device']}",
        )


_Pool = tuple[str, str]
"""Driver and name of a pool."""


def _pool_of_one(claim: Object) -> _Pool | None:
    """Return the pool of the only device of a claim that is used; None for all other claims."""
    status = claim.get("status", {})
    results = status.get("allocation", {}).get("devices", {}).get("results", [])
    if len(results) != 1 or claim["metadata"].get("deletionTimestamp"):
        return None
    return (results[0]["driver"], results[0]["pool"]) if status.get("reservedFor") else None


def _free_devices(slices: list[Object], claims: list[Object]) -> dict[_Pool | None, list[str]]:
    used = {
        (result["driver"], result["pool"], result["device"])
        for claim in claims
        for result in claim.get("status", {})
        .get("allocation", {})
        .get("devices", {})
        .get("results", [])
    }
    free: dict[_Pool | None, list[str]] = {}
    for item in slices:
        spec = item["spec"]
        pool = (spec["driver"], spec["pool"]["name"])
        for device in spec.get("devices", []):
            if (*pool, device["name"]) not in used:
                free.setdefault(pool, []).append(device["name"])
    return free
