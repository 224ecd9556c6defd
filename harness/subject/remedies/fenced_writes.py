"""The writes of a scheduler that a successor can fence: a part of the remedy `fence-predecessor`.

A write is under way from the moment in which it is sent. A scheduler whose lease has ended sends
none, and one that is under way carries the resourceVersion that its sender had read, so that it
conflicts once the claim has another.
"""

from collections.abc import Callable
from typing import Any

from harness import concurrency
from harness.client import apis, transports
from harness.model.objects import Object
from harness.subject.objects import claims

TRIES = 5
"""Attempts to take a reservation back before giving up on 409 conflicts."""


class FencedApi(apis.Api):
    """An API whose patches that take a reservation back carry the version of the claim.

    The claim is read before each of them. The other writes of claims carry a version already, or
    harm nothing if they come late: a patch that reserves a claim adds what the pod needs.
    """

    def patch(self, resource: apis.Resource, name: str, patch: Any, **options: Any) -> Object:
        """Patch an object; after a conflict a reservation is taken back from what is there now."""
        if resource is not apis.CLAIMS or not _takes_back(patch):
            return super().patch(resource, name, patch, **options)
        for _ in range(TRIES - 1):
            try:
                return self._take_back(name, patch, options)
            except apis.ApiError as error:
                if not error.is_conflict:
                    raise
        return self._take_back(name, patch, options)

    def _take_back(self, name: str, patch: Object, options: dict[str, Any]) -> Object:
        claim = self.get(apis.CLAIMS, name, namespace=options["namespace"])
        concurrency.step("remedy.read", claim=claims.uid_of(claim))
        version = claim["metadata"]["resourceVersion"]
        as_read = claims.with_metadata(patch, resourceVersion=version)
        return super().patch(apis.CLAIMS, name, as_read, **options)


def _takes_back(patch: Object) -> bool:
    """Return whether a patch removes entries of `reservedFor`."""
    entries = patch.get("status", {}).get("reservedFor") or ()
    return any(entry.get("$patch") == "delete" for entry in entries)


class WriteGate:
    """A transport that sends no writes once it is closed for them, or when the lease is over."""

    def __init__(self, transport: transports.Transport, *, still_leads: Callable[[], bool]) -> None:
        self._transport, self._still_leads = transport, still_leads
        self._guard = concurrency.lock("write-gate")
        self._is_closed = False

    def close_for_writes(self) -> None:
        """Send no further write."""
        with self._guard:
            self._is_closed = True

    def send(self, request: transports.Request) -> transports.Response:
        """Return the response. Raises TransportError, also for a write that is not sent."""
        if request.method != "GET":
            self._require_open(request)
        return self._transport.send(request)

    def _require_open(self, request: transports.Request) -> None:
        with self._guard:
            is_closed = self._is_closed
        if is_closed or not self._still_leads():
            concurrency.step("remedy.write-refused", method=request.method, path=request.path)
            raise transports.TransportError(
                f"{request.method} {request.path}: not sent, because this scheduler has stopped or lost its lease",
                sent=False,
            )

    def watch(self, request: transports.Request) -> transports.Watch:
        """Open a watch."""
        return self._transport.watch(request)

    def close(self) -> None:
        """Close the connection of the calling thread."""
        self._transport.close()
