"""The normal form of a namespace's claims, pods and events, in which states are compared.

UIDs and generated names are numbered in the order in which they first appear in a case. A field
that is missing and one that is empty are the same.
"""

import copy
import json
import re
from typing import Any

from harness.client import apis

Object = dict[str, Any]
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
GENERATED = re.compile(r"[bcdfghjklmnpqrstvwxz2456789]{5}$")
REASONS = re.compile(r'(Invalid value: \\?"[^"\\]*\\?"): [^"]*?(?=, metadata\.|\]?(\\?"|$))')
"""Why the API server refuses a value, also in JSON: it says so in its own words."""
RANDOM_NAME = re.compile(r'("[a-z0-9.-]+?)[bcdfghjklmnpqrstvwxz2456789]{5}"')
COMBINED = "(combined from similar events): "


class Names:
    """The placeholders of a case."""

    def __init__(self, namespace: str) -> None:
        self.namespace = namespace
        self.claims: dict[str, str] = {}
        self._uids: dict[str, str] = {}

    def copy(self) -> "Names":
        return copy.deepcopy(self)

    def uid(self, found: str) -> str:
        return self._uids.setdefault(found, f"<uid:{len(self._uids) + 1}>")

    def claim(self, name: str, generate_name: str) -> None:
        self.claims.setdefault(name, f"{generate_name}<claim:{len(self.claims) + 1}>")

    def value(self, value: Any) -> Any:
        if isinstance(value, str):
            for name, placeholder in self.claims.items():
                value = value.replace(name, placeholder)
            value = UUID.sub(lambda found: self.uid(found.group()), value)
            return value.replace(self.namespace, "<ns>")
        if isinstance(value, list):
            return [self.value(one) for one in value]
        if isinstance(value, dict):
            return {key: self.value(one) for key, one in value.items()}
        return value


def read(api: apis.Api, names: Names) -> Object:
    """The state of the namespace; extends the names."""
    pods, claims, events = (
        api.list(resource, namespace=names.namespace).items
        for resource in (apis.PODS, apis.CLAIMS, apis.EVENTS)
    )
    pods.sort(key=lambda pod: str(pod["metadata"]["name"]))
    claims.sort(key=lambda claim: _place(claim, names))
    _name_all(pods, claims, names)
    shown = [_without_random(names.value(_event(event))) for event in events]
    different = {json.dumps(event, sort_keys=True): event for event in shown}
    return {
        "claims": [names.value(_claim(claim)) for claim in claims],
        "pods": [names.value(_pod(pod)) for pod in pods],
        "events": [different[key] for key in sorted(different)],
    }


def _place(claim: Object, names: Names) -> tuple[str, bool, str, str]:
    """Claims of one prefix: known ones first, others by what they contain."""
    meta = claim["metadata"]
    known = names.claims.get(meta["name"])
    content = {} if known else names.copy().value(_claim(claim))
    shown = {key: value for key, value in content.items() if key not in ("name", "uid")}
    prefix = meta.get("generateName") or meta["name"]
    return prefix, known is None, known or "", json.dumps(shown, sort_keys=True)


def _name_all(pods: list[Object], claims: list[Object], names: Names) -> None:
    for pod in pods:
        names.uid(pod["metadata"]["uid"])
    for claim in claims:
        meta = claim["metadata"]
        if meta.get("generateName"):
            names.claim(meta["name"], meta["generateName"])
        names.uid(meta["uid"])
    present = {claim["metadata"]["name"] for claim in claims}
    for pod in pods:
        for entry in _statuses(pod):
            name = entry.get("resourceClaimName") or ""
            if GENERATED.search(name) and name not in present:
                names.claim(name, name[:-5])


def _without_random(event: Object) -> Object:
    message = event.get("message", "").removeprefix(COMBINED)
    return {**event, "message": without_reasons(RANDOM_NAME.sub(r'\1<random>"', message))}


def without_reasons(text: str) -> str:
    return REASONS.sub(r"\1", text)


def _statuses(pod: Object) -> list[Object]:
    entries = pod.get("status", {}).get("resourceClaimStatuses", [])
    return sorted(entries, key=lambda entry: str(entry["name"]))


def _without_empty(fields: Object) -> Object:
    return {key: value for key, value in fields.items() if value not in (None, [], {}, "", False)}


def _claim(claim: Object) -> Object:
    meta, status = claim["metadata"], claim.get("status", {})
    return _without_empty(
        {
            "name": meta["name"],
            "generateName": meta.get("generateName"),
            "uid": meta["uid"],
            "labels": meta.get("labels"),
            "annotations": meta.get("annotations"),
            "ownerReferences": meta.get("ownerReferences"),
            "finalizers": meta.get("finalizers"),
            "deleting": "deletionTimestamp" in meta,
            "spec": claim.get("spec"),
            "allocated": status.get("allocation") is not None,
            "reservedFor": status.get("reservedFor"),
            "statusDevices": len(status.get("devices", [])),
        }
    )


def _pod(pod: Object) -> Object:
    meta, status = pod["metadata"], pod.get("status", {})
    managers = sorted(
        [entry["manager"], entry["operation"], entry.get("subresource", "")]
        for entry in meta.get("managedFields", [])
        if "f:resourceClaimStatuses" in entry.get("fieldsV1", {}).get("f:status", {})
    )
    return _without_empty(
        {
            "name": meta["name"],
            "uid": meta["uid"],
            "deleting": "deletionTimestamp" in meta,
            "nodeName": pod["spec"].get("nodeName"),
            "phase": status.get("phase"),
            "resourceClaimStatuses": _statuses(pod),
            "resourceClaimStatusesManagers": managers,
            "extendedResourceClaimStatus": status.get("extendedResourceClaimStatus"),
        }
    )


def _event(event: Object) -> Object:
    involved = event.get("involvedObject", {})
    shown = ("apiVersion", "kind", "name", "namespace", "uid")
    return _without_empty(
        {
            "type": event.get("type"),
            "reason": event.get("reason"),
            "message": event.get("message"),
            "involvedObject": {key: involved[key] for key in shown if key in involved},
            "component": event.get("source", {}).get("component"),
            "reportingComponent": event.get("reportingComponent"),
            "counted": (event.get("count") or 0) > 0,
        }
    )
