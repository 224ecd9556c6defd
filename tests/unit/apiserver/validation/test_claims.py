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


def test_admin_access_that_was_granted_is_not_questioned(fields: Any) -> None:
    def granting(*granted: bool) -> Document:
        results = [{"adminAccess": value} for value in granted]
        return {"status": {"allocation": {"devices": {"results": results}}}}

    assert fields(claims.admin_result(granting(False, True), {"status": {}})) == [
        ("status.allocation.devices.results[1].adminAccess", "Forbidden")
    ]
    assert fields(claims.admin_result(granting(True, True), granting(True))) == []


SPEC = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c"}}]}}


def result(**fields: Any) -> Document:
    return {"request": "r", "driver": "d.example.com", "pool": "p", "device": "d0", **fields}


def allocation(*results: Document, config: list[Document] | None = None, **more: Any) -> Document:
    return {"devices": {"results": list(results), "config": config}, **more}


def allocated(deleting: bool = False, **status: Any) -> Document:
    meta = {"deletionTimestamp": "2026-01-01T00:00:00Z"} if deleting else {}
    return {"metadata": meta, "spec": SPEC, "status": status}


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
