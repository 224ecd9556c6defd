"""The admin API for faults, the same on the embedded API server and on the fault proxy.

GET    /flake-hunt/v1/faults                 list faults, with applied and held counts, and the
                                             sequence number of the newest application
POST   /flake-hunt/v1/faults                 add a fault (`injection.FaultSpec`); 201 with its name
DELETE /flake-hunt/v1/faults                 remove all faults and resume what they hold
GET    /flake-hunt/v1/faults/NAME            read a fault
DELETE /flake-hunt/v1/faults/NAME            remove a fault and resume what it holds
POST   /flake-hunt/v1/faults/NAME/release    resume what a fault holds, and keep the fault
GET    /flake-hunt/v1/applied?after=N        list applications after sequence number N, oldest first

    {"point": "response", "match": {"clients": ["scheduler"], "verbs": ["update"],
     "resource": "resourceclaims", "subresource": "status", "name": "claim-*"},
     "action": {"type": "lose"}, "count": 1}

Actions at the point `request`: `block` (with `sever` it closes the connection meanwhile), `delay`
(seconds), `reject` (code, reason, message, retryAfterSeconds), `lose` and `stale` (seconds; reads
only); at the point `response`: `block`, `delay`, `reject`, `lose` and `truncate`; at the point
`event`: `block`, `delay`, `drop`, `gone`, `truncate` and `omit` (bookmarks only). A blocked request
is carried out when it is released, even if its client has disconnected. Faults apply to new events
and to those that a watch resumes from, not to its initial objects; events never overtake each
other.
"""

import urllib.parse
from typing import Any

import msgspec

from harness.faults import injection

PREFIX = "/flake-hunt/v1/"
_specs = msgspec.json.Decoder(injection.FaultSpec)


class NotServedError(LookupError):
    """The path or the fault does not exist; the text says which."""


def answer(
    registry: injection.Faults,
    method: str,
    path: str,
    *,
    query: str = "",
    body: bytes = b"",
    boot_id: str,
) -> tuple[int, Any]:
    """Return the status and the document that answer a request below PREFIX.

    Raises NotServedError for an unknown path or fault, ValueError for an invalid fault or option.
    """
    parts = path.removeprefix(PREFIX).strip("/").split("/")
    match method, parts:
        case "GET", ["applied"]:
            return 200, _applied(registry, query, boot_id)
        case "GET", ["faults"]:
            items = [_describe(fault) for fault in registry.all()]
            return 200, {"items": items, "lastSequence": registry.last_sequence}
        case "POST", ["faults"]:
            return 201, _describe(registry.add(_spec(body)))
        case "DELETE", ["faults"]:
            registry.clear()
            return 200, {"items": []}
        case "GET", ["faults", name]:
            return 200, _describe(_named(registry, name))
        case "DELETE", ["faults", name]:
            return 200, _describe(registry.remove(_named(registry, name).name))
        case "POST", ["faults", name, "release"]:
            return 200, {"released": registry.release(_named(registry, name))}
    raise NotServedError("the server could not find the requested resource")


def _named(registry: injection.Faults, name: str) -> injection.Fault:
    try:
        return registry.get(name)
    except KeyError as error:
        raise NotServedError(f"there is no fault named {name}") from error


def _spec(body: bytes) -> injection.FaultSpec:
    try:
        return _specs.decode(body)
    except msgspec.DecodeError as error:
        raise ValueError(str(error)) from error


def _describe(fault: injection.Fault) -> dict[str, Any]:
    return {
        "name": fault.name,
        "spec": fault.spec,
        "appliedCount": fault.applied_count,
        "heldCount": len(fault.held),
        "usedUp": fault.is_used_up,
    }


def _applied(registry: injection.Faults, query: str, boot_id: str) -> dict[str, Any]:
    text = urllib.parse.parse_qs(query).get("after", ["0"])[0]
    if not text.isdecimal():
        raise ValueError(f"expected a sequence number as `after`, got {text!r:.40}")
    after = int(text)
    return {
        "bootID": boot_id,
        "items": [item for item in registry.applied if item.sequence > after],
    }
