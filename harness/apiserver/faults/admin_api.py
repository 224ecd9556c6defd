"""The admin API for faults. It needs the read-write token and a server started with faults.

GET    /flake-hunt/v1/faults                 list faults, with applied and held counts
POST   /flake-hunt/v1/faults                 add a fault (`injection.FaultSpec`); 201 with its name
GET    /flake-hunt/v1/faults/NAME            read a fault
DELETE /flake-hunt/v1/faults/NAME            remove a fault and resume what it holds
POST   /flake-hunt/v1/faults/NAME/release    resume what a fault holds, and keep the fault
GET    /flake-hunt/v1/applied?after=N        list applications after sequence number N, oldest first

    {"point": "response", "match": {"userAgent": "scheduler", "methods": ["PATCH"],
     "path": "*/status", "name": "claim-*"}, "action": {"type": "hold"}, "count": 1}

Actions at the points `request` and `response`: `hold`, `delay` (seconds), `answer` (code, reason,
message, retryAfterSeconds) and `lose`; at the point `event`: `hold`, `delay`, `drop` and `gone`. A
held request is carried out when it is released, even if its client has disconnected. Faults apply
to events that happen while a watch is open, not to its initial objects; while an event is held,
all later events of that watch wait.
"""

from typing import Any

import msgspec

from harness.apiserver.endpoints import request_info, responses
from harness.apiserver.errors import status_errors
from harness.apiserver.faults import injection

PREFIX = "/flake-hunt/v1/"


def answer(
    registry: injection.Faults | None, request: request_info.Request, *, boot_id: str
) -> responses.Response:
    """Return the response to a request below PREFIX.

    Raises StatusError 400 for an invalid fault, 404 for an unknown fault or path, or if `registry`
    is None.
    """
    if registry is None:
        raise status_errors.unknown_path()
    parts = request.path.removeprefix(PREFIX).strip("/").split("/")
    try:
        match request.method, parts:
            case "GET", ["applied"]:
                return responses.of_document(_applied(registry, request, boot_id))
            case "GET", ["faults"]:
                return responses.of_document(
                    {"items": [_describe(fault) for fault in registry.all()]}
                )
            case "POST", ["faults"]:
                return responses.of_document(_describe(registry.add(_spec(request))), 201)
            case "GET", ["faults", name]:
                return responses.of_document(_describe(registry.get(name)))
            case "DELETE", ["faults", name]:
                return responses.of_document(_describe(registry.remove(name)))
            case "POST", ["faults", name, "release"]:
                return responses.of_document({"released": registry.release(registry.get(name))})
    except KeyError as error:
        message = f"there is no fault named {parts[1]}"
        raise status_errors.StatusError(404, "NotFound", message) from error
    except (ValueError, msgspec.DecodeError) as error:
        raise status_errors.bad_request(f"not a fault: {error}") from error
    raise status_errors.unknown_path()


def _spec(request: request_info.Request) -> injection.FaultSpec:
    return msgspec.json.decode(request.body, type=injection.FaultSpec)


def _describe(fault: injection.Fault) -> dict[str, Any]:
    return {
        "name": fault.name,
        "spec": fault.spec,
        "appliedCount": fault.applied_count,
        "heldCount": len(fault.held),
        "usedUp": fault.is_used_up,
    }


def _applied(
    registry: injection.Faults, request: request_info.Request, boot_id: str
) -> dict[str, Any]:
    after = request.integer("after") or 0
    return {
        "bootID": boot_id,
        "items": [item for item in registry.applied if item.sequence > after],
    }
