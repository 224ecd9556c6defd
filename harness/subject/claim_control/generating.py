"""Builds the claims generated from ResourceClaimTemplates.

After pkg/controller/resourceclaim/controller.go. A pod gets one claim for each entry in its
`spec.resourceClaims` that names a template.
"""

from harness.client import apis
from harness.model.objects import Object
from harness.subject.objects import claims

_NAME_BASE_MAX = 57
"""Maximum length of `generateName`, in characters.

It leaves space for a hyphen and 5 random characters in a name of 63 characters.
"""


class ClaimGenerator:
    """Builds generated claims; it has no state."""

    def generated_claim(self, pod: Object, entry_name: str, template: Object) -> Object:
        """Return the claim to create for an entry of a pod that names a template."""
        from_template = template["spec"].get("metadata") or {}
        return {
            "apiVersion": apis.CLAIMS.api_version,
            "kind": apis.CLAIMS.kind,
            "metadata": {
                "generateName": name_base(pod["metadata"]["name"], entry_name),
                "labels": from_template.get("labels") or {},
                "annotations": self._annotations(entry_name, from_template),
                "ownerReferences": [self._owner_reference(pod)],
            },
            "spec": template["spec"]["spec"],
        }

    def _annotations(self, entry_name: str, from_template: Object) -> dict[str, str]:
        """Return annotations of the claim's own: those of the template are shared with others."""
        return {**(from_template.get("annotations") or {}), claims.POD_CLAIM_NAME: entry_name}

    def _owner_reference(self, pod: Object) -> Object:
        meta = pod["metadata"]
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "name": meta["name"],
            "uid": meta["uid"],
            "controller": True,
        }


def name_base(pod_name: str, entry_name: str) -> str:
    """Return `<pod>-<entry>-`; if it is too long, both names are shortened in proportion.

    The last hyphen is then missing, as upstream. Long names can give a base that the API server
    refuses, because it begins with a hyphen or has one beside a dot; that is upstream's, too.
    """
    base = f"{pod_name}-{entry_name}-"
    if len(base) <= _NAME_BASE_MAX:
        return base
    pod_room = len(pod_name) * _NAME_BASE_MAX // len(base)
    entry_room = len(entry_name) * _NAME_BASE_MAX // len(base)
    return f"{pod_name[:pod_room]}-{entry_name[:entry_room]}"
