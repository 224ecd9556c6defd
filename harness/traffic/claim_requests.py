"""The specs of claims, from what a scenario says about them."""

from harness.model.objects import Object
from harness.scenario import claim_specs, pool_specs

CLAIM_NAME = "{claim}"
"""Stands for the claim's name in the value of a parameter."""


def claim_spec(
    claim: claim_specs.ClaimSpec, pools: pool_specs.PoolsSpec, *, of: str = ""
) -> Object:
    devices: Object = {"requests": [_request(request, pools) for request in claim.asked]}
    if claim.constraints:
        devices["constraints"] = [_constraint(item, pools.driver) for item in claim.constraints]
    if claim.parameters:
        values = {key: value.replace(CLAIM_NAME, of) for key, value in claim.parameters.items()}
        of_files = pools.imported and pools.is_of_files("", "")
        devices["config"] = [
            {"opaque": {"driver": name, "parameters": values}}
            for name in (pools.drivers if of_files else [pools.driver])
        ]
    return {"devices": devices}


def _request(request: claim_specs.RequestSpec, pools: pool_specs.PoolsSpec) -> Object:
    if request.first_available:
        alternatives = [
            {"name": item.name, **_wanted(item, pools)} for item in request.first_available
        ]
        return {"name": request.name, "firstAvailable": alternatives}
    exactly = _wanted(request, pools)
    if request.admin_access:
        exactly["adminAccess"] = True
    return {"name": request.name, "exactly": exactly}


def _wanted(item: claim_specs.AlternativeSpec, pools: pool_specs.PoolsSpec) -> Object:
    name = pools.imported_class(item.class_) if item.class_ else pools.class_of(item.pool)
    wanted: Object = {"deviceClassName": name}
    if item.all:
        wanted["allocationMode"] = "All"
    else:
        wanted |= {"allocationMode": "ExactCount", "count": item.devices}
    if item.selectors:
        wanted["selectors"] = [{"cel": {"expression": text}} for text in item.selectors]
    if item.capacity:
        wanted["capacity"] = {"requests": dict(item.capacity)}
    if item.tolerations:
        wanted["tolerations"] = [_toleration(one) for one in item.tolerations]
    return wanted


def _toleration(one: claim_specs.TolerationSpec) -> Object:
    listed = {"key": one.key, "operator": one.operator, "value": one.value, "effect": one.effect}
    found: Object = {key: value for key, value in listed.items() if value}
    return found if one.seconds is None else found | {"tolerationSeconds": one.seconds}


def _constraint(item: claim_specs.ConstraintSpec, driver: str) -> Object:
    name, kind = item.match_attribute, "matchAttribute"
    if item.distinct_attribute:
        name, kind = item.distinct_attribute, "distinctAttribute"
    document: Object = {kind: name if "/" in name else f"{driver}/{name}"}
    return document | ({"requests": list(item.requests)} if item.requests else {})
