"""The status of a claim: allocation, reservations, device statuses of drivers."""

from typing import Any

import pytest

from harness.apiserver.validation.dra import claim_status

Document = dict[str, Any]
SHARE = "11111111-2222-4333-8444-555555555555"
SPEC = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c"}}]}}


def result(**fields: Any) -> Document:
    return {"request": "r", "driver": "d.example.com", "pool": "p", "device": "d0", **fields}


def allocation(*results: Document, config: list[Document] | None = None, **more: Any) -> Document:
    return {"devices": {"results": list(results), "config": config}, **more}


def claim(deleting: bool = False, **status: Any) -> Document:
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
        claim_status.claim_status_change(claim(allocation=allocation(document)), claim())
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
    new = claim(allocation=allocation(result(), config=config, nodeSelector=selector))
    assert fields(claim_status.claim_status_change(new, claim())) == [
        ("status.allocation.devices.config[1].source", "NotSupported"),
        ("status.allocation.devices.config[2].source", "Required"),
        ("status.allocation.nodeSelector.nodeSelectorTerms", "Required"),
    ]


def test_an_allocation_is_set_or_cleared_but_never_changed(lines: Any) -> None:
    one, other = allocation(result()), allocation(result(device="d1"))
    assert lines(claim_status.claim_status_change(claim(), claim(allocation=one))) == []
    assert (
        lines(claim_status.claim_status_change(claim(allocation=one), claim(allocation=one))) == []
    )
    assert lines(
        claim_status.claim_status_change(claim(allocation=other), claim(allocation=one))
    ) == [
        (
            'status.allocation: Invalid value: {"devices":{"results":[{"request":"r","driver":'
            '"d.example.com","pool":"p","device":"d1"}],"config":null}}: '
            "field is immutable"
        )
    ]


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
    old = claim(allocation=allocation(result()))
    new = claim(allocation=allocation(result()), reservedFor=users)
    assert fields(claim_status.claim_status_change(new, old)) == wrong


def test_what_is_not_allocated_cannot_be_reserved(lines: Any) -> None:
    assert lines(claim_status.claim_status_change(claim(reservedFor=[user("a")]), claim())) == [
        "status.reservedFor: Forbidden: may not be specified when `allocated` is not set"
    ]


def test_no_new_reservations_while_deletion_is_under_way(fields: Any) -> None:
    old = claim(deleting=True, allocation=allocation(result()), reservedFor=[user("a"), user("b")])
    fewer = claim(deleting=True, allocation=allocation(result()), reservedFor=[user("b")])
    other = claim(deleting=True, allocation=allocation(result()), reservedFor=[user("c")])
    assert fields(claim_status.claim_status_change(fewer, old)) == []
    assert fields(claim_status.claim_status_change(other, old)) == [
        ("status.reservedFor", "Forbidden")
    ]


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
    new = claim(allocation=allocation(result()), devices=[device])
    found = fields(claim_status.claim_status_change(new, claim(allocation=allocation(result()))))
    assert found == [(f"status.devices[0].{field}", reason) for field, reason in wrong]


def test_reports_are_about_allocated_devices(lines: Any) -> None:
    device = {"driver": "d.example.com", "pool": "p", "device": "d1"}
    new = claim(allocation=allocation(result()), devices=[device, device])
    shown = '{"driver":"d.example.com","pool":"p","device":"d1"}'
    missing = f"Invalid value: {shown}: must be an allocated device in the claim"
    assert lines(claim_status.claim_status_change(new, claim(allocation=allocation(result())))) == [
        f"status.devices[0]: {missing}",
        f"status.devices[1]: {missing}",
        f"status.devices[1]: Duplicate value: {shown}",
    ]
