"""Valid and invalid claims and templates, with causes in kube-apiserver's order."""

from typing import Any

import pytest

from harness.apiserver.validation import claims
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
    found = fields(claims.claim(claim(request(**change))))
    assert found == [(f"{AT}.exactly.{field}", reason) for field, reason in wrong]


@pytest.mark.parametrize(
    ("names", "wrong"), [(["a/b"], ("[0].name", "Invalid")), (["a", "a"], ("[1]", "Duplicate"))]
)
def test_names_of_alternatives(fields: Any, names: list[str], wrong: tuple[str, str]) -> None:
    either = {"name": "r", "firstAvailable": [{"name": name, **EXACT} for name in names]}
    (found,) = fields(claims.claim(claim(either)))
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
    found = fields(claims.claim(claim(request(), **devices)))
    assert found == [(f"spec.devices.{field}", reason) for field, reason in wrong]


def test_alternatives_are_referred_to_by_both_names(fields: Any) -> None:
    either = {"name": "r", "firstAvailable": [{"name": "a", **EXACT}]}
    constraints = [{"requests": ["r/a", "r"], "matchAttribute": "d/a"}]
    assert fields(claims.claim(claim(either, constraints=constraints))) == []


def test_parameters_may_not_be_null(fields: Any) -> None:
    wrong = {"opaque": {"driver": "d", "parameters": None}}
    found = fields(claims.claim(claim(request(), config=[wrong])))
    assert found == [("spec.devices.config[0].opaque.parameters", "Required")]


def test_templates_have_a_longer_path_and_little_metadata(fields: Any) -> None:
    meta = {"name": "x", "labels": {"a": "b"}, "finalizers": ["f"]}
    document = {"spec": {"metadata": meta, **claim(request(count=-1))}}
    assert fields(claims.template(document)) == [
        ("spec.metadata.name", "Forbidden"),
        ("spec.metadata.finalizers", "Forbidden"),
        ("spec.spec.devices.requests[0].exactly.count", "Invalid"),
    ]


def test_a_spec_does_not_change(fields: Any) -> None:
    old = claim(request())
    assert fields(claims.claim_change(claim(request(selectors=[])), old)) == []
    assert fields(claims.claim_change(claim(request(count=2)), old)) == [("spec", "Invalid")]


def test_only_the_first_request_for_admin_access_is_named(fields: Any) -> None:
    wanted = [request("a"), request("b", adminAccess=True), request("c", adminAccess=True)]
    assert fields(claims.admin_request(claim(*wanted))) == [
        ("spec.devices.requests[1].adminAccess", "Forbidden")
    ]
    template = {"spec": {"spec": claim(*wanted)["spec"]}}
    assert fields(claims.admin_request(template)) == [
        ("spec.devices.requests[1].adminAccess", "Forbidden")
    ]


def test_admin_access_that_was_granted_is_not_questioned(fields: Any) -> None:
    def granting(*granted: bool) -> Document:
        results = [{"adminAccess": value} for value in granted]
        return {"status": {"allocation": {"devices": {"results": results}}}}

    assert fields(claims.admin_result(granting(False, True), {"status": {}})) == [
        ("status.allocation.devices.results[1].adminAccess", "Forbidden")
    ]
    assert fields(claims.admin_result(granting(True, True), granting(True))) == []


def test_admin_claims_in_a_store(store: Any, refuses: Any) -> None:
    from harness.apiserver.scheme import resources

    document = {"metadata": {"name": "c"}, **claim(request(adminAccess=True))}
    with refuses(422, "Invalid", "spec.devices.requests[0].adminAccess: Forbidden: admin access"):
        store.create(resources.CLAIMS, "default", document)
    labels = {"resource.kubernetes.io/admin-access": "true"}
    store.create(resources.NAMESPACES, "", {"metadata": {"name": "admins", "labels": labels}})
    document["metadata"]["namespace"] = "admins"
    assert store.create(resources.CLAIMS, "admins", document).name == "c"


SHARE = "11111111-2222-4333-8444-555555555555"
SPEC = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c"}}]}}


def result(**fields: Any) -> Document:
    return {"request": "r", "driver": "d.example.com", "pool": "p", "device": "d0", **fields}


def allocation(*results: Document, config: list[Document] | None = None, **more: Any) -> Document:
    return {"devices": {"results": list(results), "config": config}, **more}


def allocated(deleting: bool = False, **status: Any) -> Document:
    meta = {"deletionTimestamp": "2026-01-01T00:00:00Z"} if deleting else {}
    return {"metadata": meta, "spec": SPEC, "status": status}


RESULTS = [
    (result(), []),
    (result(pool="a/b.c"), []),
    (result(shareID=SHARE), []),
    (result(request="zz"), [("request", "Invalid")]),
    (result(request="a/b/c"), [("request", "Invalid")]),
    (result(driver=""), [("driver", "Required")]),
    (result(pool="Bad Pool"), [("pool", "Invalid")]),
    (result(device=""), [("device", "Invalid")]),
    (result(shareID="x"), [("shareID", "Invalid")]),
    (result(bindingConditions=["a"]), [("bindingFailureConditions", "Invalid")]),
    (result(tolerations=[{"operator": "Like"}]), [("tolerations[0].operator", "NotSupported")]),
]


@pytest.mark.parametrize(("document", "wrong"), RESULTS)
def test_results(fields: Any, document: Document, wrong: list[Any]) -> None:
    found = fields(
        claims.claim_status_change(allocated(allocation=allocation(document)), allocated())
    )
    at = "status.allocation.devices.results[0]"
    assert found == [(f"{at}.{field}", reason) for field, reason in wrong]


def test_the_rest_of_an_allocation(fields: Any) -> None:
    config = [
        {"opaque": {"driver": "d", "parameters": {}}, "source": "FromClaim", "requests": ["r"]},
        {"opaque": {"driver": "d", "parameters": {}}, "source": "FromMoon"},
        {"opaque": {"driver": "d", "parameters": {}}},
    ]
    selector = {"nodeSelectorTerms": []}
    new = allocated(allocation=allocation(result(), config=config, nodeSelector=selector))
    assert fields(claims.claim_status_change(new, allocated())) == [
        ("status.allocation.devices.config[1].source", "NotSupported"),
        ("status.allocation.devices.config[2].source", "Required"),
        ("status.allocation.nodeSelector.nodeSelectorTerms", "Required"),
    ]


def test_an_allocation_is_set_or_cleared_but_never_changed(fields: Any) -> None:
    one, other = allocation(result()), allocation(result(device="d1"))
    old = allocated(allocation=one)
    assert fields(claims.claim_status_change(allocated(), old)) == []
    assert fields(claims.claim_status_change(allocated(allocation=one), old)) == []
    found = fields(claims.claim_status_change(allocated(allocation=other), old))
    assert found == [("status.allocation", "Invalid")]


def user(uid: str) -> Document:
    return {"resource": "pods", "name": f"p-{uid}", "uid": uid}


RESERVED = [
    ([user("a"), user("b")], []),
    ([user("a"), user("a")], [("status.reservedFor[1]", "Duplicate")]),
    (
        [{"uid": "a"}],
        [
            ("status.reservedFor[0].resource", "Required"),
            ("status.reservedFor[0].name", "Required"),
        ],
    ),
    ([user(str(n)) for n in range(257)], [("status.reservedFor", "TooMany")]),
]


@pytest.mark.parametrize(("users", "wrong"), RESERVED)
def test_reservations(fields: Any, users: list[Document], wrong: list[Any]) -> None:
    old = allocated(allocation=allocation(result()))
    new = allocated(allocation=allocation(result()), reservedFor=users)
    assert fields(claims.claim_status_change(new, old)) == wrong


def test_what_is_not_allocated_cannot_be_reserved(fields: Any) -> None:
    found = fields(claims.claim_status_change(allocated(reservedFor=[user("a")]), allocated()))
    assert found == [("status.reservedFor", "Forbidden")]


def test_no_new_reservations_while_deletion_is_under_way(fields: Any) -> None:
    old = allocated(
        deleting=True, allocation=allocation(result()), reservedFor=[user("a"), user("b")]
    )
    fewer = allocated(deleting=True, allocation=allocation(result()), reservedFor=[user("b")])
    other = allocated(deleting=True, allocation=allocation(result()), reservedFor=[user("c")])
    assert fields(claims.claim_status_change(fewer, old)) == []
    assert fields(claims.claim_status_change(other, old)) == [("status.reservedFor", "Forbidden")]


CONDITION = {
    "type": "Ready",
    "status": "True",
    "reason": "Fine",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
}
REPORTS = [
    ({}, []),
    ({"conditions": [CONDITION]}, []),
    ({"conditions": [CONDITION] * 2}, [("conditions[1].type", "Duplicate")]),
    (
        {"conditions": [{**CONDITION, "status": "Maybe", "reason": "no reason"}]},
        [("conditions[0].status", "NotSupported"), ("conditions[0].reason", "Invalid")],
    ),
    (
        {"conditions": [{**CONDITION, "type": f"T{n}"} for n in range(9)]},
        [("conditions", "TooMany")],
    ),
    (
        {"conditions": [{**CONDITION, "message": "x" * 32769}]},
        [("conditions[0].message", "TooLong")],
    ),
    ({"data": {"a": 1}}, []),
    ({"data": "x"}, [("data", "Invalid")]),
    ({"data": {"a": "x" * 10240}}, [("data", "TooLong")]),
    ({"networkData": {"interfaceName": "x" * 257}}, [("networkData.interfaceName", "TooLong")]),
    ({"networkData": {"ips": ["10.0.0.1/8"] * 2}}, [("networkData.ips[1]", "Duplicate")]),
    (
        {"networkData": {"ips": [f"10.0.0.{n}/8" for n in range(17)]}},
        [("networkData.ips", "TooMany")],
    ),
]


@pytest.mark.parametrize(("report", "wrong"), REPORTS)
def test_reports_of_drivers(fields: Any, report: Document, wrong: list[Any]) -> None:
    device = {"driver": "d.example.com", "pool": "p", "device": "d0", **report}
    new = allocated(allocation=allocation(result()), devices=[device])
    found = fields(claims.claim_status_change(new, allocated(allocation=allocation(result()))))
    assert found == [(f"status.devices[0].{field}", reason) for field, reason in wrong]


def test_reports_are_about_allocated_devices(fields: Any) -> None:
    device = {"driver": "d.example.com", "pool": "p", "device": "d1"}
    new = allocated(allocation=allocation(result()), devices=[device, device])
    old = allocated(allocation=allocation(result()))
    assert fields(claims.claim_status_change(new, old)) == [
        ("status.devices[0]", "Invalid"),
        ("status.devices[1]", "Invalid"),
        ("status.devices[1]", "Duplicate"),
    ]


NOT_BOOL = [{"cel": {"expression": "1"}}]


def test_classes(fields: Any) -> None:
    wrong = {"spec": {"selectors": NOT_BOOL, "config": [{}], "extendedResourceName": "gpu"}}
    assert fields(claims.device_class(wrong)) == [
        ("spec.selectors[0].cel.expression", "Invalid"),
        ("spec.config[0].opaque", "Required"),
        ("spec.extendedResourceName", "Invalid"),
    ]


def test_unchanged_selectors_are_not_compiled_again(fields: Any) -> None:
    old = {"spec": {"selectors": NOT_BOOL}}
    assert fields(claims.device_class(old, old)) == []
    more = {"spec": {"selectors": [*NOT_BOOL, {"cel": {"expression": "true"}}]}}
    assert fields(claims.device_class(more, old)) == [
        ("spec.selectors[0].cel.expression", "Invalid")
    ]
