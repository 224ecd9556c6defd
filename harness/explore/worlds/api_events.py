"""The events between the clients of a world and its API server."""

from collections.abc import Callable
from typing import Literal

import msgspec

from harness.apiserver.endpoints import request_info
from harness.apiserver.storage import watch_cache
from harness.client import transports

USER = "user"
"""The client that is none of the parts under test: users, other controllers, and the world."""
COLLECTOR = "garbage-collector"
"""The client that deletes objects whose owners are gone."""
SCHEDULER, CONTROLLER, KUBELET = "scheduler", "claim-controller", "kubelet"
"""Clients that are parts. A second scheduler is `scheduler-2`, a successor `scheduler.2`."""

Kind = Literal[
    "sent",  # a request has arrived at the API server
    "committed",  # a request was carried out, or refused; or `USER` changed an object
    "answered",  # its sender has the response
    "lost-answer",  # it was carried out, and its sender will have no response
    "lost-request",  # it never will be carried out
    "late-request",  # its sender has stopped waiting; it is carried out later
    "may-fail",  # a fault is chosen next
    "awaits",  # a client asks a watch for its next event
    "delivered",  # a client has an event
    "ended-watch",  # instead of an event the watch of a client ends
    "begins",  # all parts are at rest, and the first things happen
    "stopped",  # a process takes no more work
    "started",  # a process starts
]


class ApiEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One event. Which fields it has depends on its kind."""

    kind: Kind
    client: str
    task: str = ""
    """Name of the task in which it happens; empty if it is the explorer itself."""
    verb: str = ""
    """Of a request, as in Kubernetes: `update`, `list`."""
    of: str = ""
    """Its request or resource, `RESOURCE[/NAME[/SUBRESOURCE]]`.

    A creation has the name of its object, or a pattern if the name is generated.
    """
    body: bytes = b""
    """Of a request."""
    status: int = 0
    """HTTP status of a response."""
    commits: tuple[watch_cache.Commit, ...] = ()
    """The changes by a request, or the commit whose event is delivered."""
    faults: tuple[str, ...] = ()
    """The faults that can be chosen, or the one that happened."""
    next_commit: Callable[[], watch_cache.Commit | None] | None = None
    """Of `awaits`: returns the commit whose event the watch has next; None: it waits for one."""


Listener = Callable[[ApiEvent], None]
BEGINNING = ApiEvent(kind="begins", client=USER)


def of_request(
    kind: Kind, client: str, task: str, request: transports.Request, **more: object
) -> ApiEvent:
    """Return an event of a request of a client."""
    path = request.path.partition("?")[0]
    target = request_info.parse_target(path)
    body = request.body or b""
    if target is None:
        return ApiEvent(kind=kind, client=client, task=task, of=path, body=body)
    name = target.name or (_name_in(body) if request.method == "POST" else "")
    parts = (target.resource.plural, name, target.subresource)
    return ApiEvent(
        kind=kind,
        client=client,
        task=task,
        verb=request_info.verb_of(request.method, target),
        of="/".join(part for part in parts if part),
        body=body,
        **more,  # type: ignore[arg-type]
    )


class _Meta(msgspec.Struct):
    name: str = ""
    generate_name: str = msgspec.field(default="", name="generateName")


class _Named(msgspec.Struct):
    metadata: _Meta


def _name_in(body: bytes) -> str:
    """Return the name in the body of a creation, or the pattern of one that is generated."""
    meta = msgspec.json.decode(body, type=_Named).metadata
    return meta.name or f"{meta.generate_name}*"
