"""Valid and invalid claims and templates, with causes in kube-apiserver's order."""

from typing import Any

import pytest

from harness.apiserver.validation.dra import resource_claims
from tests.support import cases

Document = dict[str, Any]
EXACT = {"deviceClassName": "gpu.example", "allocationMode": "ExactCount", "count": 1}


def request(name: str = "r", **exactly: Any) -> Document:
    return {"name": name, "exactly": {**EXACT, **exactly}}


def claim(*requests: Document, **devices: Any) -> Document:
    return {"spec": {"devices": {"requests": list(requests), **devices}}}


AT = "spec.devices.requests[0]"


@pytest.mark.parametrize(("change", "wrong"), cases.read(__file__, "requests"))
def test_requests(fields: Any, change: Document, wrong: list[Any]) -> None:
    found = fields(resource_claims.claim(claim(request(**change))))
    assert found == [(f"{AT}.exactly.{field}", reason) for field, reason in wrong]


@pytest.mark.parametrize(
    ("names", "wrong"), [(["a/b"], ("[0].name", "Invalid")), (["a", "a"], ("[1]", "Duplicate"))]
)
def test_names_of_alternatives(fields: Any, names: list[str], wrong: tuple[str, str]) -> None:
    either = {"name": "r", "firstAvailable": [{"name": name, **EXACT} for name in names]}
    (found,) = fields(resource_claims.claim(claim(either)))
    assert found == (f"{AT}.firstAvailable{wrong[0]}", wrong[1])


def config(driver: Any = "d", parameters: Any = None, **more: Any) -> Document:
    return {"opaque": {"driver": driver, "parameters": parameters or {"a": 1}}, **more}


DEVICES = [
    ({"constraints": [{"requests": ["r"], "matchAttribute": "d/a"}]}, []),
    ({"constraints": [{"distinctAttribute": "d/a"}]}, []),
    ({"constraints": [{"requests": ["r"]}]}, [("constraints[0]", "Required")]),
    (
        {"constraints": [{"requests": ["r", "r"], "matchAttribute": "d/a"}]},
        [("constraints[0].requests[1]", "Duplicate")],
    ),
    (
        {"constraints": [{"requests": ["r/zz"], "matchAttribute": "numa"}]},
        [("constraints[0].requests[0]", "Invalid"), ("constraints[0].matchAttribute", "Invalid")],
    ),
    ({"config": [config(requests=["r"])]}, []),
    ({"config": [{}]}, [("config[0].opaque", "Required")]),
    ({"config": [config(driver="")]}, [("config[0].opaque.driver", "Required")]),
    ({"config": [config(parameters=[1])]}, [("config[0].opaque.parameters", "Invalid")]),
    ({"config": [config(parameters="x" * 10240)]}, [("config[0].opaque.parameters", "TooLong")]),
]


@pytest.mark.parametrize(("devices", "wrong"), DEVICES)
def test_beside_the_requests(fields: Any, devices: Document, wrong: list[Any]) -> None:
    found = fields(resource_claims.claim(claim(request(), **devices)))
    assert found == [(f"spec.devices.{field}", reason) for field, reason in wrong]


def test_alternatives_are_referred_to_by_both_names(fields: Any) -> None:
    either = {"name": "r", "firstAvailable": [{"name": "a", **EXACT}]}
    constraints = [{"requests": ["r/a", "r"], "matchAttribute": "d/a"}]
    assert fields(resource_claims.claim(claim(either, constraints=constraints))) == []


def test_parameters_may_not_be_null(lines: Any) -> None:
    wrong = {"opaque": {"driver": "d", "parameters": None}}
    assert lines(resource_claims.claim(claim(request(), config=[wrong]))) == [
        "spec.devices.config[0].opaque.parameters: Required value"
    ]


def test_templates_have_a_longer_path_and_little_metadata(lines: Any) -> None:
    meta = {"name": "x", "labels": {"a": "b"}, "finalizers": ["f"]}
    document = {"spec": {"metadata": meta, **claim(request(count=-1))}}
    assert lines(resource_claims.template(document)) == [
        "spec.metadata.name: Forbidden: cannot be set",
        "spec.metadata.finalizers: Forbidden: cannot be set",
        "spec.spec.devices.requests[0].exactly.count: Invalid value: -1: must be greater than zero",
    ]


def test_a_spec_does_not_change(lines: Any) -> None:
    old = claim(request())
    assert lines(resource_claims.claim_change(claim(request(selectors=[])), old)) == []
    (line,) = lines(resource_claims.claim_change(claim(request(count=2)), old))
    assert line.startswith('spec: Invalid value: {"devices":{"requests":[{"name":"r","exactly":')
    assert line.endswith(": field is immutable")


def test_only_the_first_request_for_admin_access_is_named(fields: Any) -> None:
    wanted = [request("a"), request("b", adminAccess=True), request("c", adminAccess=True)]
    assert fields(resource_claims.admin_request(claim(*wanted))) == [
        ("spec.devices.requests[1].adminAccess", "Forbidden")
    ]
    template = {"spec": {"spec": claim(*wanted)["spec"]}}
    assert fields(resource_claims.admin_request(template)) == [
        ("spec.devices.requests[1].adminAccess", "Forbidden")
    ]


def test_admin_access_that_was_granted_is_not_questioned(fields: Any) -> None:
    def allocated(*granted: bool) -> Document:
        results = [{"adminAccess": value} for value in granted]
        return {"status": {"allocation": {"devices": {"results": results}}}}

    assert fields(resource_claims.admin_result(allocated(False, True), {"status": {}})) == [
        ("status.allocation.devices.results[1].adminAccess", "Forbidden")
    ]
    assert fields(resource_claims.admin_result(allocated(True, True), allocated(True))) == []


def test_admin_claims_in_a_store(store: Any, refuses: Any) -> None:
    from harness.apiserver.scheme import resources

    document = {"metadata": {"name": "c"}, **claim(request(adminAccess=True))}
    with refuses(422, "Invalid", "spec.devices.requests[0].adminAccess: Forbidden: admin access"):
        store.create(resources.CLAIMS, "default", document)
    labels = {"resource.kubernetes.io/admin-access": "true"}
    store.create(resources.NAMESPACES, "", {"metadata": {"name": "admins", "labels": labels}})
    document["metadata"]["namespace"] = "admins"
    assert store.create(resources.CLAIMS, "admins", document).name == "c"
