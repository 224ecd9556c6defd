"""The objects that users create.

Names are chosen here and never generated, so that a call that was sent twice shows as a 409.
"""

from typing import Any

from harness.client import apis
from harness.model import naming

Object = dict[str, Any]
RUN_LABEL = naming.RUN_LABEL
TEMPLATE = "template"
"""Name of the ResourceClaimTemplate of a run, for the first kind of claims."""
SHARED_CLAIM = "claim"
"""Name of the claim that all pods of the profile `limit` use."""
_ENTRY = "device"
"""Name of the only entry in a pod's `spec.resourceClaims`."""


def claim(name: str, spec: Object, *, run_id: str) -> Object:
    """Return a ResourceClaim."""
    return {
        "apiVersion": apis.CLAIMS.api_version,
        "kind": apis.CLAIMS.kind,
        "metadata": {"name": name, "labels": {RUN_LABEL: run_id}},
        "spec": spec,
    }


def template_name(kind: int) -> str:
    """Return the name of the ResourceClaimTemplate for claims of this kind."""
    return TEMPLATE if kind == 0 else f"{TEMPLATE}-{kind}"


def template(spec: Object, *, run_id: str, name: str = TEMPLATE) -> Object:
    """Return a ResourceClaimTemplate for pods of the `churn` profile."""
    return {
        "apiVersion": apis.CLAIM_TEMPLATES.api_version,
        "kind": apis.CLAIM_TEMPLATES.kind,
        "metadata": {"name": name, "labels": {RUN_LABEL: run_id}},
        "spec": {"metadata": {"labels": {RUN_LABEL: run_id}}, "spec": spec},
    }


def uses_claim(claim_name: str | None, *, template: str = TEMPLATE) -> Object:
    """Return what a pod with the named claim has in its spec; None: one from the template."""
    source = (
        {"resourceClaimTemplateName": template}
        if claim_name is None
        else {"resourceClaimName": claim_name}
    )
    return {
        "containers": [_container({"claims": [{"name": _ENTRY}]})],
        "resourceClaims": [{"name": _ENTRY, **source}],
    }


def uses_extended(resource: str, amount: int) -> Object:
    """Return what a pod with an extended resource has in its spec; it names no claim."""
    amounts = {resource: str(amount)}
    return {"containers": [_container({"requests": amounts, "limits": amounts})]}


def pod(name: str, use: Object, *, run_id: str, scheduler: str, own_nodes: bool = False) -> Object:
    """Return a pod; `use` is what its spec says of devices: `uses_claim` or `uses_extended`.

    `own_nodes`: it may run on nodes of the run only, whatever nodes its devices can be used on.
    """
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {RUN_LABEL: run_id}},
        "spec": {
            "schedulerName": scheduler,
            "terminationGracePeriodSeconds": 1,
            "restartPolicy": "Never",
            "tolerations": [{"key": RUN_LABEL, "value": run_id, "effect": "NoSchedule"}],
            **use,
            **({"nodeSelector": {RUN_LABEL: run_id}} if own_nodes else {}),
        },
    }


def _container(resources: Object) -> Object:
    return {"name": "work", "image": "registry.invalid/none", "resources": resources}
