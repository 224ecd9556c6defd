"""What an object must be to be stored: names, references, and the rules of Dynamic Resource Allocation (dra.md 4.4 to 4.6).

Causes carry the field and the server's own wording. The server never checks that a device is in one claim only: that is the
whole reason for this project.
"""

import json
from collections.abc import Callable, Iterable
from typing import Any

from harness.apiserver import naming, resources, statuses

Document = dict[str, Any]
Causes = list[statuses.Cause]
RESERVATIONS_MAX = 256
RESULTS_MAX = 32
REQUESTS_MAX = 32
SELECTORS_MAX = 32
SUBREQUESTS_MAX = 8
CONFIG_MAX = 32
ALLOCATION_CONFIG_MAX = 64
EXPRESSION_BYTES_MAX = 10 * 1024
SLICE_DEVICES_MAX = 128
SLICE_DEVICES_MAX_WITH_TAINTS = 64
ATTRIBUTES_MAX = 32
_ALLOCATION_MODES = ("All", "ExactCount")


def check_create(resource: resources.ResourceType, document: Document) -> None:
    """StatusError 422 when a new object breaks rules."""
    causes = _metadata(resource, document)
    if rule := _ON_CREATE.get(resource):
        causes += rule(document)
    _raise(resource, document, causes)


def check_update(
    resource: resources.ResourceType, document: Document, old: Document, *, subresource: str = ""
) -> None:
    """StatusError 422 when a changed object breaks rules."""
    causes = _finalizers(document, old)
    if subresource == "status" and resource is resources.CLAIMS:
        causes += _claim_status(document, old)
    elif not subresource and (rule := _ON_UPDATE.get(resource)):
        causes += rule(document, old)
    _raise(resource, document, causes)


def _raise(resource: resources.ResourceType, document: Document, causes: Causes) -> None:
    if causes:
        name = document["metadata"].get("name") or document["metadata"].get("generateName", "")
        raise statuses.invalid(resource, name, causes)


def _quoted(value: object) -> str:
    return json.dumps(value)


# ------------------------------------------------------------------ metadata


def _metadata(resource: resources.ResourceType, document: Document) -> Causes:
    meta = document["metadata"]
    causes: Causes = []
    label_only = resource is resources.NAMESPACES
    problems = naming.label_problems if label_only else naming.subdomain_problems
    causes += [
        statuses.invalid_value("metadata.name", _quoted(meta["name"]), problem)
        for problem in problems(meta["name"])
    ]
    for index, owner in enumerate(meta.get("ownerReferences") or []):
        causes += [
            statuses.invalid_value(
                f"metadata.ownerReferences[{index}].{key}", '""', f"{key} must not be empty"
            )
            for key in ("apiVersion", "kind", "name", "uid")
            if not owner.get(key)
        ]
    return causes


def _finalizers(document: Document, old: Document) -> Causes:
    """None may be added once deletion is under way (dra.md 4.8)."""
    if not old["metadata"].get("deletionTimestamp"):
        return []
    before = set(old["metadata"].get("finalizers") or [])
    added = [name for name in document["metadata"].get("finalizers") or [] if name not in before]
    if not added:
        return []
    why = f"no new finalizers can be added if the object is being deleted, found new finalizers {json.dumps(added)}"
    return [statuses.forbidden("metadata.finalizers", why)]


# ------------------------------------------------------------------ claims: spec


def _claim_spec(spec: Document, path: str) -> Causes:
    devices = spec.get("devices") or {}
    requests = devices.get("requests") or []
    at = f"{path}.devices.requests"
    causes = _limit(at, requests, REQUESTS_MAX)
    seen: set[str] = set()
    for index, request in enumerate(requests):
        causes += _request(request, f"{at}[{index}]")
        causes += _unique(f"{at}[{index}].name", request.get("name", ""), seen)
    names = _request_names(requests)
    for index, constraint in enumerate(devices.get("constraints") or []):
        where = f"{path}.devices.constraints[{index}].requests"
        causes += _known_requests(where, constraint.get("requests") or [], names)
    causes += _limit(f"{path}.devices.constraints", devices.get("constraints") or [], REQUESTS_MAX)
    return causes + _limit(f"{path}.devices.config", devices.get("config") or [], CONFIG_MAX)


def _request(request: Document, at: str) -> Causes:
    causes = _label(f"{at}.name", request.get("name", ""))
    exactly, alternatives = request.get("exactly"), request.get("firstAvailable")
    if exactly is None and not alternatives:
        why = "exactly one of `exactly` or `firstAvailable` is required"
        return [*causes, statuses.required(at, why)]
    if exactly is not None and alternatives:
        why = (
            "exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set"
        )
        return [*causes, statuses.invalid_value(at, "null", why)]
    if exactly is not None:
        return causes + _exact_request(exactly, f"{at}.exactly")
    causes += _limit(f"{at}.firstAvailable", alternatives or [], SUBREQUESTS_MAX)
    for index, subrequest in enumerate(alternatives or []):
        causes += _label(f"{at}.firstAvailable[{index}].name", subrequest.get("name", ""))
        causes += _exact_request(subrequest, f"{at}.firstAvailable[{index}]")
    return causes


def _exact_request(request: Document, at: str) -> Causes:
    causes: Causes = []
    name = request.get("deviceClassName", "")
    if not name:
        causes.append(statuses.required(f"{at}.deviceClassName"))
    else:
        causes += _subdomain(f"{at}.deviceClassName", name)
    causes += _selectors(request.get("selectors") or [], f"{at}.selectors")
    mode, count = request.get("allocationMode"), request.get("count", 0)
    if mode == "ExactCount" and count <= 0:
        causes.append(
            statuses.invalid_value(f"{at}.count", str(count), "must be greater than zero")
        )
    elif mode == "All" and count:
        why = 'must not be specified when allocationMode is "All"'
        causes.append(statuses.invalid_value(f"{at}.count", str(count), why))
    elif mode not in _ALLOCATION_MODES:
        causes.append(statuses.unsupported(f"{at}.allocationMode", str(mode), _ALLOCATION_MODES))
    return causes


def _selectors(selectors: list[Document], at: str) -> Causes:
    causes = _limit(at, selectors, SELECTORS_MAX)
    for index, selector in enumerate(selectors):
        expression = (selector.get("cel") or {}).get("expression", "")
        where = f"{at}[{index}].cel.expression"
        if "cel" not in selector:
            causes.append(statuses.required(f"{at}[{index}].cel"))
        elif not expression:
            causes.append(statuses.required(where))
        elif len(expression.encode()) > EXPRESSION_BYTES_MAX:
            message = f"Too long: may not be more than {EXPRESSION_BYTES_MAX} bytes"
            causes.append(statuses.Cause("FieldValueTooLong", message, where))
    return causes


def _request_names(requests: Iterable[Document]) -> set[str]:
    names = set()
    for request in requests:
        names.add(request.get("name", ""))
        for subrequest in request.get("firstAvailable") or []:
            names.add(f"{request.get('name', '')}/{subrequest.get('name', '')}")
    return names


def _known_requests(at: str, wanted: list[str], known: set[str]) -> Causes:
    why = (
        "must be the name of a request in the claim or the name of a request and a subrequest "
        "separated by '/'"
    )
    return [
        statuses.invalid_value(f"{at}[{index}]", _quoted(name), why)
        for index, name in enumerate(wanted)
        if name not in known
    ]


def _claim(document: Document) -> Causes:
    return _claim_spec(document.get("spec") or {}, "spec")


def _template(document: Document) -> Causes:
    return _claim_spec((document.get("spec") or {}).get("spec") or {}, "spec.spec")


def _immutable_spec(document: Document, old: Document) -> Causes:
    if document.get("spec") == old.get("spec"):
        return []
    return [statuses.invalid_value("spec", _quoted(document.get("spec")), "field is immutable")]


# ------------------------------------------------------------------ claims: status


def _claim_status(document: Document, old: Document) -> Causes:
    status, before = document.get("status") or {}, old.get("status") or {}
    allocation, previous = status.get("allocation"), before.get("allocation")
    causes: Causes = []
    if allocation is not None and previous is not None:
        if allocation != previous:
            at = "status.allocation"
            causes.append(statuses.invalid_value(at, _quoted(allocation), "field is immutable"))
    elif allocation is not None:
        causes += _allocation(allocation, document.get("spec") or {})
    causes += _reservations(status, before, deleting="deletionTimestamp" in document["metadata"])
    return causes + _device_statuses(status)


def _allocation(allocation: Document, spec: Document) -> Causes:
    devices = allocation.get("devices") or {}
    results = devices.get("results") or []
    at = "status.allocation.devices.results"
    causes = _limit(at, results, RESULTS_MAX)
    names = _request_names((spec.get("devices") or {}).get("requests") or [])
    for index, result in enumerate(results):
        causes += _result(result, names, f"{at}[{index}]")
    causes += _limit(
        "status.allocation.devices.config", devices.get("config") or [], ALLOCATION_CONFIG_MAX
    )
    selector = allocation.get("nodeSelector")
    if selector is not None and not selector.get("nodeSelectorTerms"):
        where = "status.allocation.nodeSelector.nodeSelectorTerms"
        causes.append(statuses.required(where, "must have at least one node selector term"))
    return causes


def _result(result: Document, names: set[str], at: str) -> Causes:
    causes: Causes = []
    if result.get("request", "") not in names:
        why = (
            "must be the name of a request in the claim or the name of a request and a subrequest "
            "separated by '/'"
        )
        value = _quoted(result.get("request", ""))
        causes.append(statuses.invalid_value(f"{at}.request", value, why))
    causes += _required_then(f"{at}.driver", result.get("driver"), naming.subdomain_problems)
    causes += _required_then(f"{at}.pool", result.get("pool"), _pool_problems)
    return causes + _required_then(f"{at}.device", result.get("device"), naming.label_problems)


def _pool_problems(name: str) -> list[str]:
    return [problem for part in name.split("/") for problem in naming.subdomain_problems(part)]


def _required_then(at: str, value: str | None, problems: Callable[[str], list[str]]) -> Causes:
    if not value:
        return [statuses.required(at)]
    return [statuses.invalid_value(at, _quoted(value), problem) for problem in problems(value)]


def _reservations(status: Document, before: Document, *, deleting: bool) -> Causes:
    entries, at = status.get("reservedFor") or [], "status.reservedFor"
    causes = _limit(at, entries, RESERVATIONS_MAX)
    if causes:
        return causes
    seen: set[str] = set()
    for index, entry in enumerate(entries):
        for key in ("resource", "name", "uid"):
            if not entry.get(key):
                causes.append(statuses.required(f"{at}[{index}].{key}"))
        causes += _unique(f"{at}[{index}]", entry.get("uid", ""), seen)
    if entries and status.get("allocation") is None:
        causes.append(statuses.forbidden(at, "may not be specified when `allocated` is not set"))
    known = {entry.get("uid") for entry in before.get("reservedFor") or []}
    if deleting and any(entry.get("uid") not in known for entry in entries):
        why = "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set"
        causes.append(statuses.forbidden(at, why))
    return causes


def _device_statuses(status: Document) -> Causes:
    allocation = status.get("allocation") or {}
    results = (allocation.get("devices") or {}).get("results") or []
    allocated = {_device_key(result) for result in results}
    causes: Causes = []
    seen: set[str] = set()
    for index, device in enumerate(status.get("devices") or []):
        at = f"status.devices[{index}]"
        shown = json.dumps(
            {
                "Driver": device.get("driver", ""),
                "Pool": device.get("pool", ""),
                "Device": device.get("device", ""),
                "ShareID": device.get("shareID", ""),
            },
            separators=(",", ":"),
        )
        if _device_key(device) not in allocated:
            why = "must be an allocated device in the claim"
            causes.append(statuses.invalid_value(at, shown, why))
        if shown in seen:
            causes.append(statuses.duplicate(at, shown))
        seen.add(shown)
    return causes


def _device_key(device: Document) -> tuple[str, str, str, str]:
    return (
        device.get("driver", ""),
        device.get("pool", ""),
        device.get("device", ""),
        device.get("shareID") or "",
    )


# ------------------------------------------------------------------ slices and classes


def _slice(document: Document) -> Causes:
    spec = document.get("spec") or {}
    causes = _required_then("spec.driver", spec.get("driver"), naming.subdomain_problems)
    causes += _pool(spec.get("pool") or {})
    causes += _node_choice(spec)
    devices = spec.get("devices") or []
    tainted = any(d.get("taints") or d.get("consumesCounters") for d in devices)
    limit = SLICE_DEVICES_MAX_WITH_TAINTS if tainted else SLICE_DEVICES_MAX
    causes += _limit("spec.devices", devices, limit)
    seen: set[str] = set()
    for index, device in enumerate(devices):
        at = f"spec.devices[{index}]"
        causes += _required_then(f"{at}.name", device.get("name"), naming.label_problems)
        causes += _unique(f"{at}.name", device.get("name", ""), seen)
        attributes, capacity = device.get("attributes") or {}, device.get("capacity") or {}
        if len(attributes) + len(capacity) > ATTRIBUTES_MAX:
            why = f"the total number of attributes and capacities must not exceed {ATTRIBUTES_MAX}"
            count = str(len(attributes) + len(capacity))
            causes.append(statuses.invalid_value(at, count, why))
        causes += _attributes(attributes, f"{at}.attributes")
    return causes


def _attributes(attributes: Document, at: str) -> Causes:
    why = "exactly one value must be specified"
    return [
        statuses.invalid_value(f"{at}[{name}]", _quoted(value), why)
        for name, value in attributes.items()
        if not isinstance(value, dict)
        or len([key for key in value if key in ("string", "int", "bool", "version")]) != 1
    ]


def _pool(pool: Document) -> Causes:
    causes = _required_then("spec.pool.name", pool.get("name"), _pool_problems)
    if pool.get("resourceSliceCount", 0) <= 0:
        count = str(pool.get("resourceSliceCount", 0))
        at = "spec.pool.resourceSliceCount"
        causes.append(statuses.invalid_value(at, count, "must be greater than zero"))
    if pool.get("generation", 0) < 0:
        at, value = "spec.pool.generation", str(pool["generation"])
        causes.append(statuses.invalid_value(at, value, "must be greater than or equal to zero"))
    return causes


def _node_choice(spec: Document) -> Causes:
    keys = ("nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection")
    chosen = [key for key in keys if spec.get(key)]
    why = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
    if not chosen:
        return [statuses.required("spec", why)]
    if len(chosen) > 1:
        shown = "{" + ", ".join(f"`{key}`" for key in chosen) + "}"
        return [statuses.invalid_value("spec", shown, why + ", but multiple fields are set")]
    return []


def _slice_update(document: Document, old: Document) -> Causes:
    spec, before = document.get("spec") or {}, old.get("spec") or {}
    causes = _slice(document)
    pairs = (
        ("spec.driver", spec.get("driver"), before.get("driver")),
        (
            "spec.pool.name",
            (spec.get("pool") or {}).get("name"),
            (before.get("pool") or {}).get("name"),
        ),
        ("spec.nodeName", spec.get("nodeName"), before.get("nodeName")),
    )
    return causes + [
        statuses.invalid_value(at, _quoted(new), "field is immutable")
        for at, new, was in pairs
        if new != was
    ]


def _device_class(document: Document) -> Causes:
    spec = document.get("spec") or {}
    causes = _selectors(spec.get("selectors") or [], "spec.selectors")
    return causes + _limit("spec.config", spec.get("config") or [], CONFIG_MAX)


# ------------------------------------------------------------------ pods


def _pod(document: Document) -> Causes:
    spec = document.get("spec") or {}
    causes: Causes = []
    containers = spec.get("containers") or []
    if not containers:
        causes.append(statuses.required("spec.containers"))
    seen: set[str] = set()
    for index, container in enumerate(containers):
        at = f"spec.containers[{index}]"
        causes += _required_then(f"{at}.name", container.get("name"), naming.label_problems)
        causes += _unique(f"{at}.name", container.get("name", ""), seen)
        if not container.get("image"):
            causes.append(statuses.required(f"{at}.image"))
    return causes + _pod_claims(spec.get("resourceClaims") or [])


def _pod_claims(claims: list[Document]) -> Causes:
    causes: Causes = []
    seen: set[str] = set()
    for index, claim in enumerate(claims):
        at = f"spec.resourceClaims[{index}]"
        causes += _required_then(f"{at}.name", claim.get("name"), naming.label_problems)
        causes += _unique(f"{at}.name", claim.get("name", ""), seen)
        given = [k for k in ("resourceClaimName", "resourceClaimTemplateName") if claim.get(k)]
        if len(given) != 1:
            why = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
            causes.append(statuses.invalid_value(at, _quoted(claim), why))
    return causes


def _pod_update(document: Document, old: Document) -> Causes:
    spec, before = document.get("spec") or {}, old.get("spec") or {}
    frozen = ("nodeName", "resourceClaims", "restartPolicy", "volumes", "schedulerName")
    if all(spec.get(key) == before.get(key) for key in frozen):
        return []
    why = (
        "pod updates may not change fields other than `spec.containers[*].image`,"
        "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions "
        "to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it "
        "was previously negative)"
    )
    return [statuses.forbidden("spec", why)]


# ------------------------------------------------------------------ small rules


def _limit(at: str, items: list[Any], limit: int) -> Causes:
    return [statuses.too_many(at, len(items), limit)] if len(items) > limit else []


def _unique(at: str, value: str, seen: set[str]) -> Causes:
    known = value in seen
    seen.add(value)
    return [statuses.duplicate(at, _quoted(value))] if known and value else []


def _label(at: str, value: str) -> Causes:
    return _required_then(at, value, naming.label_problems)


def _subdomain(at: str, value: str) -> Causes:
    return _required_then(at, value, naming.subdomain_problems)


_ON_CREATE: dict[resources.ResourceType, Callable[[Document], Causes]] = {
    resources.PODS: _pod,
    resources.CLAIMS: _claim,
    resources.CLAIM_TEMPLATES: _template,
    resources.SLICES: _slice,
    resources.DEVICE_CLASSES: _device_class,
}
_ON_UPDATE: dict[resources.ResourceType, Callable[[Document, Document], Causes]] = {
    resources.PODS: _pod_update,
    resources.CLAIMS: _immutable_spec,
    resources.CLAIM_TEMPLATES: _immutable_spec,
    resources.SLICES: _slice_update,
    resources.DEVICE_CLASSES: lambda document, _: _device_class(document),
}
