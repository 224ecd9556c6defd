"""Plans whose users create what manifests say: facts of the claims and pods in them."""

from collections.abc import Iterator, Mapping
from typing import Any

from harness.history import plans


def claim_specs(settings: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the specs of the claims in the manifests, and of those that their templates give.

    `settings` are those of a plan. None for other traffic.
    """
    for item in _objects(settings):
        manifest = item["manifest"]
        if manifest["kind"] == "ResourceClaim":
            yield manifest["spec"]
        elif manifest["kind"] == "ResourceClaimTemplate":
            yield manifest["spec"]["spec"]


def have(plan: plans.Plan, key: str) -> bool:
    """Return whether the `devices` of a claim in the manifests have a key, as `constraints`."""
    return any((spec.get("devices") or {}).get(key) for spec in claim_specs(plan.settings))


def extended_resources(settings: Mapping[str, Any]) -> set[str]:
    """Return the names of the extended resources that containers in the manifests ask for."""
    objects = list(_objects(settings))
    if not objects:
        return set()
    from harness.scenario.object_sets import set_specs  # 0.2 s, with pydantic

    given = (set_specs.SetObject.model_construct(**item) for item in objects)
    made = (workload for item in given if (workload := item.workload))
    return {name for workload in made for name in workload.amounts if "/" in name}


def _objects(settings: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for one in (settings.get("traffic") or {}).get("sets") or ():
        yield from one["objects"]
