"""The objects that users create.

Names are chosen here and never generated, so that a call that was sent twice shows as a 409.
"""

from collections.abc import Mapping, Sequence

from harness.client import apis
from harness.model import naming
from harness.model.objects import Object

RUN_LABEL = naming.RUN_LABEL
TEMPLATE = "template"
"""Name of the ResourceClaimTemplate of a run; further ones get suffixes."""
SHARED_CLAIM = "claim"
"""Name of the claim that all pods of the profile `limit` use."""
SLEEP = "sleep"
"""The command of containers that end by themselves; fake kubelets know it."""
_ENTRY = "device"
"""Name of the first entry in a pod's `spec.resourceClaims`; further ones get a number."""


def claim(
    name: str, spec: Object, *, run_id: str, annotations: Mapping[str, str] | None = None
) -> Object:
    return {
        "apiVersion": apis.CLAIMS.api_version,
        "kind": apis.CLAIMS.kind,
        "metadata": {"name": name, **_marks(run_id, annotations)},
        "spec": spec,
    }


def _marks(run_id: str, annotations: Mapping[str, str] | None) -> Object:
    marks: Object = {"labels": {RUN_LABEL: run_id}}
    return {**marks, "annotations": dict(annotations)} if annotations else marks


def owned_devices(driver: str, number: int, count: int) -> str:
    return f'device.attributes["{driver}"].index % {count} == {number}'


def template_name(entry: int, owner: str = "", *, kind: int = 0) -> str:
    """Return the name of the template for an entry of pods and a kind of claims.

    `owner`: only for this scheduler.
    """
    number = f"-{entry + 1}" if entry else ""
    number += f"-kind-{kind}" if kind else ""
    return f"{TEMPLATE}{number}" + (f"-{owner}" if owner else "")


def template(
    name: str, spec: Object, *, run_id: str, annotations: Mapping[str, str] | None = None
) -> Object:
    """Return a ResourceClaimTemplate; the annotations are those of its claims."""
    return {
        "apiVersion": apis.CLAIM_TEMPLATES.api_version,
        "kind": apis.CLAIM_TEMPLATES.kind,
        "metadata": {"name": name, "labels": {RUN_LABEL: run_id}},
        "spec": {"metadata": _marks(run_id, annotations), "spec": spec},
    }


def uses(claims: Sequence[str] = (), templates: Sequence[str] = ()) -> Object:
    sources = [
        *({"resourceClaimName": name} for name in claims),
        *({"resourceClaimTemplateName": name} for name in templates),
    ]
    entries = [_ENTRY if index == 0 else f"{_ENTRY}-{index + 1}" for index in range(len(sources))]
    return {
        "containers": [_container({"claims": [{"name": name} for name in entries]})],
        "resourceClaims": [
            {"name": name, **source} for name, source in zip(entries, sources, strict=True)
        ],
    }


def uses_extended(resource: str, amount: int) -> Object:
    """Return what a pod with an extended resource has in its spec; it names no claim."""
    amounts = {resource: str(amount)}
    return {"containers": [_container({"requests": amounts, "limits": amounts})]}


def pod(
    name: str,
    use: Object,
    *,
    run_id: str,
    scheduler: str,
    node_name: str = "",
    own_nodes: bool = False,
    runs_s: float | None = None,
) -> Object:
    """Return a pod; `use` is what its spec says of devices, a result of `uses` or `uses_extended`.

    `node_name`: the pod is bound to this node already. `own_nodes`: it may run on nodes of the run
    only, whatever nodes its devices can be used on. `runs_s`: its container ends by itself after
    these seconds, None: never.
    """
    program = {} if runs_s is None else {"command": [SLEEP, f"{runs_s:.3f}"]}
    containers = [{**container, **program} for container in use["containers"]]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {RUN_LABEL: run_id}},
        "spec": {
            "schedulerName": scheduler,
            "terminationGracePeriodSeconds": 1,
            "restartPolicy": "Always" if runs_s is None else "Never",
            "tolerations": [{"key": RUN_LABEL, "value": run_id, "effect": "NoSchedule"}],
            **use,
            "containers": containers,
            **({"nodeName": node_name} if node_name else {}),
            **({"nodeSelector": {RUN_LABEL: run_id}} if own_nodes else {}),
        },
    }


def on_own_nodes(spec: Object, run_id: str) -> Object:
    """Return the spec of a pod that may run on nodes of the run only, and tolerates their taint."""
    own = {"key": RUN_LABEL, "value": run_id, "effect": "NoSchedule"}
    return {
        **spec,
        "nodeSelector": {**(spec.get("nodeSelector") or {}), RUN_LABEL: run_id},
        "tolerations": [*(spec.get("tolerations") or ()), own],
    }


def _container(resources: Object) -> Object:
    return {"name": "work", "image": "registry.invalid/none", "resources": resources}
