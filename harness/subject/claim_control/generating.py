"""Pure functions that build the claims generated from ResourceClaimTemplates.

After pkg/controller/resourceclaim/controller.go. A pod gets one claim for each entry in its
`spec.resourceClaims` that names a template.
"""

from typing import Any

from harness.client import apis
from harness.subject import claims

Object = dict[str, Any]
_NAME_BASE_MAX = 57
"""Maximum length of `generateName`, in characters.

It leaves space for a hyphen and 5 random characters in a name of 63 characters.
"""


def generated_claim(pod: Object, entry_name: str, template: Object) -> Object:
    """Return the claim to create for an entry of a pod that names a template."""
    meta, from_template = pod["metadata"], template["spec"].get("metadata") or {}
    return {
        "apiVersion": apis.CLAIMS.api_version,
        "kind": apis.CLAIMS.kind,
        "metadata": {
            "generateName": _name_base(meta["name"], entry_name),
            "labels": from_template.get("labels") or {},
            "annotations": {
                **(from_template.get("annotations") or {}),
                claims.POD_CLAIM_NAME: entry_name,
            },
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
    """Return `<pod>-<entry>-`; if it is too long, both names are shortened in proportion."""
    base = f"{pod_name}-{entry_name}-"
    if len(base) <= _NAME_BASE_MAX:
        return base
    room = _NAME_BASE_MAX - 2
    pod_room = room * len(pod_name) // (len(pod_name) + len(entry_name))
    return f"{pod_name[:pod_room]}-{entry_name[: room - pod_room]}-"
