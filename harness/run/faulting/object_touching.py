"""Another client that changes an annotation of the run's objects, so that updates conflict."""

import fnmatch
from collections.abc import Iterator
from typing import Any

from harness import clocks, errors
from harness.client import apis, transports
from harness.history import plans, records
from harness.model import naming
from harness.model.objects import Object
from harness.run.faulting import fault_journal, injecting

ANNOTATION = "flake-hunt/touched"
"""Key of the annotation; its value is the number of the change."""
CLIENT = "run"
"""Name of this client in the record."""


class ObjectTouching:
    """A fault that changes objects, at a rate, one after the other."""

    needs_subject = False

    def __init__(
        self,
        fault: plans.PlannedFault,
        api: apis.Api,
        journal: fault_journal.FaultJournal,
        *,
        namespace: str,
        run_id: str,
    ) -> None:
        self._fault, self._api, self._journal = fault, api, journal
        self._namespace, self._run_id = namespace, run_id
        self._resource = apis.BY_PLURAL[fault.parameters["resource"]]
        self._changes = 0
        self._failure: errors.HarnessError | None = None
        """The last error; single ones are expected, as objects may be gone."""

    def begin(self) -> None:
        """Do nothing: changes begin in `last`."""

    def last(self, ending: injecting.Ending) -> None:
        """Change objects until the time is up; list them again when all have had their turn.

        Raises FaultError if not one could be changed, with the reason of the last failure. One that
        a nemesis has drawn may coincide with an API server that is down: it then has no effect.
        """
        period_ns = 1e9 / self._fault.parameters["rate_per_s"]
        next_ns = begun_ns = float(clocks.monotonic_ns())
        limit_ns = begun_ns + (self._fault.duration_s or float("inf")) * 1e9
        for obj in self._objects():
            wait_s = (next_ns - clocks.monotonic_ns()) / 1e9 if obj else injecting.STEP_S
            if clocks.monotonic_ns() >= limit_ns or ending.over.wait(max(wait_s, 0.0)):
                break
            if obj:
                next_ns += period_ns
                self._touch(obj)
        if self._failure is not None and not self._changes and not self._fault.drawn_by:
            raise errors.FaultError(f"no object could be changed ({self._failure})")

    def heal(self, ending: injecting.Ending) -> None:
        """Close the connection; the annotations stay, they harm nothing."""
        del ending
        self._api.transport.close()

    def _objects(self) -> Iterator[Object | None]:
        """Yield the run's objects whose names match, again and again; None where there are none."""
        pattern = self._fault.parameters["object_name"]
        while True:
            found: list[Object | None] = [
                obj
                for obj in self._listed()
                if fnmatch.fnmatchcase(obj["metadata"]["name"], pattern)
            ]
            yield from found or [None]

    def _listed(self) -> list[Object]:
        """Return the run's own objects; none if the API server does not answer just now."""
        own = f"{naming.RUN_LABEL}={self._run_id}"
        try:
            if self._resource.namespaced:
                return self._api.list(self._resource, namespace=self._namespace).items
            return self._api.list(self._resource, label_selector=own).items
        except (apis.ApiError, transports.TransportError) as error:
            self._failure = error
            return []

    def _touch(self, obj: Object) -> None:
        """Change an object, unless it is gone or the API server does not answer just now."""
        meta: dict[str, Any] = obj["metadata"]
        begun_ns = clocks.monotonic_ns()
        patch = {"metadata": {"annotations": {ANNOTATION: str(self._changes + 1)}}}
        try:
            changed = self._api.patch(
                self._resource, meta["name"], patch, namespace=meta.get("namespace")
            )
        except (apis.ApiError, transports.TransportError) as error:
            self._failure = error
            return
        self._changes += 1
        self._journal.took_effect(self._fault.name)
        self._journal.write(self._record(changed["metadata"], begun_ns))

    def _record(self, meta: dict[str, Any], begun_ns: int) -> records.FaultApplied:
        return records.FaultApplied(
            fault=self._fault.name,
            kind=self._fault.kind,
            client=CLIENT,
            verb="patch",
            resource=self._resource.plural,
            namespace=meta.get("namespace", ""),
            name=meta["name"],
            uid=meta["uid"],
            resource_version=int(meta["resourceVersion"]),
            begun_ns=begun_ns,
            ended_ns=clocks.monotonic_ns(),
            detail="an annotation was changed",
        )
