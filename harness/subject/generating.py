"""The claims that are made from templates, one for each entry of a pod that names one. Pure functions."""

from typing import Any

from harness.client import apis
from harness.subject import claims

Object = dict[str, Any]
_NAME_BASE_MAX = 57


def generated_claim(pod: Object, entry_name: str, template: Object) -> Object:
    """The claim to create for an entry of a pod that names a template."""
    meta, wanted = pod["metadata"], template["spec"].get("metadata") or {}
    return {
        "apiVersion": apis.CLAIMS.api_version,
        "kind": apis.CLAIMS.kind,
        "metadata": {
            "generateName": _name_base(meta["name"], entry_name),
            "labels": wanted.get("labels") or {},
            "annotations": {**(wanted.get("annotations") or {}), claims.POD_CLAIM_NAME: entry_name},
            "ownerReferences": [
                {
                    "apiVersion": "v1",
                    "kind": "Pod",
                    "name": meta["name"],
                    "uid": meta["uid"],
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": template["spec"]["spec"],
    }


def _name_base(pod_name: str, entry_name: str) -> str:
    """`<pod>-<entry>-`, both shortened in proportion when that is too long for a generated name."""
    base = f"{pod_name}-{entry_name}-"
    if len(base) <= _NAME_BASE_MAX:
        return base
    room = _NAME_BASE_MAX - 2
    pod_room = room * len(pod_name) // (len(pod_name) + len(entry_name))
    return f"{pod_name[:pod_room]}-{entry_name[: room - pod_room]}-"
