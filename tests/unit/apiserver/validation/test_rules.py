"""Rules of which no recorded conversation shows all sides."""

from typing import Any

import pytest

from harness.apiserver.validation import claims, dra_rules, rules, small_kinds

Document = dict[str, Any]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"a": 1, "b": None, "c": [], "d": {"e": None}}, {"a": 1}, True),
        ([{"a": []}], [{}], True),
        (None, {}, False),
        ({"a": 0}, {}, False),
        ({"a": ""}, {}, False),
        ([1, 2], [2, 1], False),
    ],
)
def test_what_is_the_same(one: Any, other: Any, same: bool) -> None:
    assert rules.semantically_equal(one, other) is same


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("example.com/model", []),
        ("a/b/c", []),  # a gap in the server's own rules
        ("/model", ["Invalid"]),
        ("example.com/", ["Invalid"]),
        ("d" * 64 + "/model", ["TooLong"]),
    ],
)
def test_names_of_attributes(fields: Any, name: str, wrong: list[str]) -> None:
    assert [reason for _, reason in fields(dra_rules.attribute_name(name, "a"))] == wrong


def test_admin_access_that_was_granted_is_not_questioned(fields: Any) -> None:
    def granting(*granted: bool) -> Document:
        results = [{"adminAccess": value} for value in granted]
        return {"status": {"allocation": {"devices": {"results": results}}}}

    assert fields(claims.admin_result(granting(False, True), {"status": {}})) == [
        ("status.allocation.devices.results[1].adminAccess", "Forbidden")
    ]
    assert fields(claims.admin_result(granting(True, True), granting(True))) == []


def test_finalizers_of_namespaces_are_known_or_have_a_domain(fields: Any) -> None:
    found = {"spec": {"finalizers": ["kubernetes", "a.b/c", "other"]}}
    assert fields(small_kinds.namespace(found)) == [("spec.finalizers", "Invalid")]


STYLED = {
    "eventTime": "2026-01-01T00:00:00.000000Z",
    "reportingComponent": "x",
    "reportingInstance": "y",
    "action": "a",
    "reason": "r",
}


@pytest.mark.parametrize(
    ("namespace", "place", "more", "wrong"),
    [
        ("default", "", {}, []),
        ("other", "", {}, [("involvedObject.namespace", "Invalid")]),
        ("other", "default", {}, [("involvedObject.namespace", "Invalid")]),
        ("kube-system", "", STYLED, []),
        (
            "default",
            "default",
            STYLED | {"action": "", "reason": "r" * 129, "message": "m" * 1025},
            [("action", "Required"), ("reason", "Invalid"), ("message", "Invalid")],
        ),
    ],
)
def test_events(fields: Any, namespace: str, place: str, more: Document, wrong: list[Any]) -> None:
    meta, about = {"name": "e", "namespace": namespace}, {"namespace": place}
    document = {"metadata": meta, "involvedObject": about, **more}
    assert fields(small_kinds.event(document)) == wrong
